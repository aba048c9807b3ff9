"""Speed and defaults, measured: each module is a command."""
