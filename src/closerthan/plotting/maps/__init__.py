"""Figures of maps."""
