"""Meaning: from a table to answers, and from answers to comparisons."""
