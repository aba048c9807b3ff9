"""Statements about maps and about answers."""
