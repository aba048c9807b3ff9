"""Labels beside points: abbreviated names and their placement."""
