"""Labels beside points: short names, and where they fit."""
