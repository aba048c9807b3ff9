"""Models compared with people: answers from features and matrices, questions put to programs, and aligned features."""
