"""Charts of errors, of the course of a fit, and of people."""
