"""Objectives: the mean loss of a map over all comparisons, and the devices that evaluate it."""
