"""Models beside people: answers from features and matrices, questions put to programs, features aligned with people."""
