"""Compiled code: the only package that knows numba."""
