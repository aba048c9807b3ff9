"""Attributes of rows: condition, block, response time and sides, and whether a row is a catch trial or left out."""
