"""The commands, one module per theme."""
