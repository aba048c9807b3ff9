"""Comparisons in a form that tests can compare with literals."""

from typing import Any


def rows_by_name(answers: Any) -> list[tuple[str, ...]]:
    """Return the rows of comparisons (or of answers that were read) with the names of the objects."""
    comparisons = getattr(answers, "comparisons", answers)
    return [tuple(comparisons.names[number] for number in row) for row in comparisons.rows.tolist()]
