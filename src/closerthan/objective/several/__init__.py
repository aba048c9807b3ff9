"""One fit by several processes."""
