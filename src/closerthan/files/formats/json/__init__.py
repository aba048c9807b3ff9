"""JSON: lists of records, JSON lines, nested records, and results of JATOS."""
