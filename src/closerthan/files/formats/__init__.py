"""Readers for file formats: from the bytes of a file to a table."""
