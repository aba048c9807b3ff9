"""Writers of comparisons."""
