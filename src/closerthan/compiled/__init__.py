"""Kernels for the CPU, compiled by numba. No other package imports numba."""
