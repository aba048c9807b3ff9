"""Choosing questions: refits of the map, the expected information of questions, and the queue of a study."""
