"""Answers as comparisons of distances: the containers of data and the functions that work on rows."""

from closerthan.comparisons.choices import Choices
from closerthan.comparisons.container import Comparisons
from closerthan.comparisons.labels import sort_names, text_of
from closerthan.comparisons.on_disk import array_bytes
from closerthan.comparisons.parsing import most_objects
from closerthan.comparisons.questions import pair_questions
from closerthan.comparisons.rows import first_mentions, pair_numbers, pairs_of, reversed_rows
from closerthan.comparisons.trials import Trials

__all__ = [
    "Choices",
    "Comparisons",
    "Trials",
    "array_bytes",
    "first_mentions",
    "most_objects",
    "pair_numbers",
    "pair_questions",
    "pairs_of",
    "reversed_rows",
    "sort_names",
    "text_of",
]
