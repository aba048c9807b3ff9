"""Figures of errors, fits and people."""
