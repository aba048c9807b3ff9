"""Formats: from the bytes of a file to a table."""
