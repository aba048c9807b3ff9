"""One fit shared by several processes, on one machine or many."""
