"""Answers, as comparisons of distances: the one container of data, and what belongs to it."""

from closerthan.comparisons.container import Comparisons, pair_questions
from closerthan.comparisons.parsing import in_order, most_objects, text_of
from closerthan.comparisons.rows import first_mentions, pair_numbers, pairs_of, reversed_rows
from closerthan.comparisons.trials import Trials

__all__ = [
    "Comparisons",
    "Trials",
    "first_mentions",
    "in_order",
    "most_objects",
    "pair_numbers",
    "pair_questions",
    "pairs_of",
    "reversed_rows",
    "text_of",
]
