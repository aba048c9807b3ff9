"""The objective of comparisons that are read in blocks."""
