"""Objects that are not on the map yet."""
