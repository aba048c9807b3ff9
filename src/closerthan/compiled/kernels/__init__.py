"""The numba kernels, one file per subject."""
