"""Sparse, non-negative dimensions of objects, which people can name."""
