"""Comparisons that do not fit into the memory of a device and are read in blocks."""
