"""Compiled code: the only room that knows numba."""
