"""The objective: what a solver may ask for, and who answers."""
