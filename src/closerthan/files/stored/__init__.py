"""Files that are larger than memory, read block by block."""
