"""One fit, from answers to a map."""
