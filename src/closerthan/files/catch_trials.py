"""Catch trials: questions with one right answer, which a study asks to see whether people pay attention.

They say nothing about the objects, so that they are not among the comparisons. Where the anchor itself is one of the
objects to choose from, it is the right answer; then it is counted who passed.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.column_names import plain
from closerthan.files.choosing import ChosenRows
from closerthan.files.columns import Layout
from closerthan.files.questions import Question
from closerthan.files.tables import MISSING, Table

__all__ = ["CATCH", "Catch", "Checked", "catch_columns", "catch_trials", "checks_of"]

# A column that says what kind of trial a row is, with one of the words below in its cells.
_KINDS = (
    "kind", "trial", "trial_type", "trial_kind", "type", "question_type", "question_kind", "item_type", "sample_alg",
    "samplealg", "trial_category",
)  # fmt: skip
_CATCH_WORDS = frozenset({
    "check", "checks", "catch", "catch_trial", "catch_trials", "attention", "attention_check", "attention_trial",
    "sanity", "sanity_check", "vigilance", "vigilance_trial", "vigilance_check",
})  # fmt: skip
# A column that says of each row whether it is a catch trial.
_FLAGS = frozenset({*_CATCH_WORDS, *(f"is_{word}" for word in _CATCH_WORDS)})
_YES = frozenset({"1", "true", "yes"})
_NO = frozenset({"", "0", "false", "no", "na", "nan", "null"})

CATCH = ("drop", "keep")
"""What can be done with catch trials."""


class Catch(NamedTuple):
    """Which rows are catch trials, and how the file says so."""

    rows: NDArray[np.bool_]
    column: int
    words: str


def catch_columns(table: Table, taken: Sequence[int]) -> list[int]:
    """The columns that may say which rows are catch trials."""
    usual = {*_KINDS, *_FLAGS}
    return [place for place, name in enumerate(table.names) if name and place not in taken and plain(name) in usual]


def catch_trials(table: Table, columns: Sequence[int]) -> Catch | None:
    """The rows that a column marks as catch trials; None if there are none, or nothing else."""
    for position in columns:
        column, name = table.column(position), plain(table.names[position] or "")
        if name in _FLAGS and all(cell.strip().lower() in _YES | _NO for cell in column.labels):
            marked = [cell.strip().lower() in _YES for cell in column.labels]
        else:
            marked = [plain(cell) in _CATCH_WORDS for cell in column.labels]
        rows = np.array(marked)[column.codes]
        if rows.any() and not rows.all():
            words = " or ".join(cell for cell, is_catch in zip(column.labels, marked, strict=True) if is_catch)
            return Catch(rows, position, f"{table.title(position)} is {words}")
    return None


class Checked(NamedTuple):
    """How many catch trials a person had, and how many of them were answered rightly."""

    asked: int
    passed: int


def checks_of(table: Table, layout: Layout, rows: NDArray[np.bool_]) -> Mapping[str, Checked]:
    """The catch trials of each person, of those whose right answer is known; all under "" if people are not known."""
    if layout.form.kind != "triplet":
        return {}
    trials = ChosenRows(table, np.flatnonzero(rows))
    try:
        said = Question(trials, layout).comparisons(None).rows
    except ValueError:  # whatever they are, they are no answers about objects
        return {}
    anchor, near, far = said.T
    people = np.full(len(said), "", dtype=object)
    if "participant" in layout.columns:
        column = trials.column(layout.columns["participant"][0])
        people = np.array(["" if name in MISSING else name for name in column.labels], dtype=object)[column.codes]
    found: dict[str, Checked] = {}
    for person, passed, failed in zip(people.tolist(), anchor == near, anchor == far, strict=True):
        if passed != failed:
            before = found.get(person, Checked(0, 0))
            found[person] = Checked(before.asked + 1, before.passed + int(passed))
    return found
