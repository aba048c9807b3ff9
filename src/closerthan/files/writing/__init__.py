"""Writing comparisons, in every format that can be read."""
