"""The objective on the CPU."""
