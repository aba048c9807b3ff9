"""Choosing questions: the refit process, what it believes about the map, and the queue of questions."""
