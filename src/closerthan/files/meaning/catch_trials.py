"""Catch trials: questions with one right answer, which a study asks to see whether people pay attention.

They say nothing about the objects, so they are not among the comparisons. Where the anchor itself is one of the objects
to choose from (or two of three objects are the same), the right answer is known, and the trials that each person passed
are counted. Such trials are recognised even where no column marks them.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons import pairs_of
from closerthan.comparisons.column_names import plain
from closerthan.files.formats.tables import MISSING, Table
from closerthan.files.meaning.choosing import ChosenRows, Conditions, column_place
from closerthan.files.meaning.columns import Layout
from closerthan.files.meaning.questions import Question

__all__ = [
    "CATCH",
    "Catch",
    "CatchColumn",
    "Checked",
    "catch_column",
    "catch_columns",
    "catch_trials",
    "checks_of",
    "sum_of_checks",
    "unmarked_checks",
]

# A column that says what kind of trial a row is, with one of the words below in its cells.
_KINDS = (
    "kind", "trial", "trial_type", "trial_kind", "type", "question_type", "question_kind", "item_type", "sample_alg",
    "samplealg", "trial_category",
)  # fmt: skip
_CATCH_WORDS = frozenset({
    "check", "checks", "catch", "catch_trial", "catch_trials", "catchtrial", "catchtrials", "attention",
    "attention_check", "attention_checks", "attentioncheck", "attention_trial", "sanity", "sanity_check", "vigilance",
    "vigilance_trial", "vigilance_check",
})  # fmt: skip
# A column that says of each row whether it is a catch trial.
_FLAGS = frozenset({*_CATCH_WORDS, *(f"is_{word}" for word in _CATCH_WORDS)})
# Flags that may also mark answers for a test of the map: they count where people are known, and mark the lesser part.
_VAGUE_FLAGS = frozenset({"validation", "is_validation", "validation_trial", "is_validation_trial"})
_YES = frozenset({"1", "true", "yes", "t", "y"})
_NO = frozenset({"", "0", "false", "no", "f", "n", "na", "nan", "null"})

FEWEST_CHECKS = 5  # unmarked trials with a known right answer; fewer, by judgement, may be mistakes in the file

CATCH = ("drop", "keep")
"""What can be done with catch trials."""


class Catch(NamedTuple):
    """Which rows are catch trials, and how the file says so."""

    rows: NDArray[np.bool_]
    column: int
    words: str


class CatchColumn(NamedTuple):
    """A column that marks catch trials because the user says so, and the cells that do; None: find out."""

    position: int
    marking: Conditions | None


def catch_column(table: Table, column: str | int | None) -> CatchColumn | None:
    """The column that a user names, as in "is_catch" or "kind=attention" (in cells of which the word marks them)."""
    if column is None:
        return None
    name, sign, words = column, "", ""
    if isinstance(column, str) and column not in table.names:
        name, sign, words = column.partition("=")
    position = column_place(table, int(name) if isinstance(name, str) and sign and name.isdecimal() else name, "catch")
    return CatchColumn(position, Conditions.of(words.split(",")) if sign else None)


def catch_columns(table: Table, taken: Sequence[int]) -> list[int]:
    """The columns that may say which rows are catch trials."""
    usual = {*_KINDS, *_FLAGS, *_VAGUE_FLAGS}
    return [place for place, name in enumerate(table.names) if name and place not in taken and plain(name) in usual]


def catch_trials(
    table: Table, columns: Sequence[int], own: CatchColumn | None = None, *, with_people: bool = False
) -> Catch | None:
    """The rows that a column marks as catch trials; None if there are none, or nothing else.

    Parameters
    ----------
    table, columns
        The columns that may say so.
    own
        The column that does, because the user says so; others are then not looked at.
    with_people
        Whether the file tells people apart.
    """
    if own is not None:
        return _trials_by_column(table, own)
    for position in columns:
        name, labels = plain(table.names[position] or ""), table.column(position).labels
        is_flag = all(cell.strip().lower() in _YES | _NO for cell in labels)
        vague = name in _VAGUE_FLAGS
        if vague and not (is_flag and with_people):
            continue
        marked = (
            [cell.strip().lower() in _YES for cell in labels]
            if is_flag and name in _FLAGS | _VAGUE_FLAGS
            else [plain(cell) in _CATCH_WORDS for cell in labels]
        )
        catch = _marked(table, position, marked)
        if catch.rows.any() and not catch.rows.all() and not (vague and catch.rows.mean() >= 0.5):
            return catch
    return None


def _trials_by_column(table: Table, own: CatchColumn) -> Catch | None:
    labels = table.column(own.position).labels
    if own.marking is not None:
        rows = own.marking.hold(table, own.position)
        marked = np.zeros(len(labels), dtype=bool)
        marked[table.column(own.position).codes[rows]] = True
    elif all(cell.strip().lower() in _YES | _NO for cell in labels):
        marked = np.array([cell.strip().lower() in _YES for cell in labels])
    else:
        marked = np.array([plain(cell) in _CATCH_WORDS for cell in labels])
        if not marked.any():
            listed = ", ".join(repr(cell) for cell in labels[:10]) + ", ..." * (len(labels) > 10)
            name = table.names[own.position] or own.position
            raise ValueError(
                f"{table.path}: {table.title(own.position)} holds {listed}; say which of these mark catch trials, as "
                f'in columns={{"catch": "{name}={labels[0]}"}}'
            )
    catch = _marked(table, own.position, marked.tolist())
    if catch.rows.all():
        raise ValueError(f"{table.path}: all rows are catch trials, as {catch.words}; no answer is left")
    return catch if catch.rows.any() else None


def _marked(table: Table, position: int, marked: Sequence[bool]) -> Catch:
    column = table.column(position)
    words = " or ".join(cell for cell, is_catch in zip(column.labels, marked, strict=True) if is_catch)
    return Catch(np.array(marked)[column.codes], position, f"{table.title(position)} is {words}")


class Checked(NamedTuple):
    """How many catch trials a person had, and how many of them were answered correctly."""

    asked: int
    passed: int


def checks_of(table: Table, layout: Layout, rows: NDArray[np.bool_]) -> Mapping[str, Checked]:
    """The catch trials of each person, of those whose right answer is known; all under "" if people are not known."""
    trials = ChosenRows(table, np.flatnonzero(rows))
    try:
        question = Question(trials, layout)
        passed, failed = _outcomes(question)
    except ValueError:  # whatever they are, they are no answers about objects
        return {}
    return _by_person(trials, layout, passed, failed)


def unmarked_checks(
    question: Question, checks: Mapping[str, Checked]
) -> tuple[NDArray[np.bool_], Mapping[str, Checked]] | None:
    """Rows that are evidently checks although no column marks them, and the checks of each person; None if none are.

    Rows that compare an object with itself are checks if people are known, there are several such rows, and the object
    itself was mostly chosen. Otherwise they are errors in the file. The ``checks`` that a column marks count, too.
    """
    is_possible = any(problem.option == "self_pairs" for problem in question.problems)
    if not is_possible or "participant" not in question.layout.columns:
        return None
    passed, failed = _outcomes(question)
    marked = sum_of_checks(checks)
    number, n_passed = int(passed.sum() + failed.sum()), int(passed.sum())
    total = marked.asked + number
    if not number or total < FEWEST_CHECKS or marked.passed + n_passed < total / 2:
        return None
    return passed | failed, _by_person(question.table, question.layout, passed, failed)


def sum_of_checks(checks: Mapping[str, Checked]) -> Checked:
    """The checks of all people."""
    return Checked(sum(one.asked for one in checks.values()), sum(one.passed for one in checks.values()))


def _outcomes(question: Question) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The rows in which an object was compared with itself and rightly found nearest, and those in which it was not."""
    keep = np.ones(question.table.n_rows, dtype=bool)
    for problem in question.problems:
        if problem.option != "self_pairs":  # an answer that was not given is neither right nor wrong
            keep &= ~problem.rows
    comparisons = question.comparisons(keep)
    (i, j), (l, k) = pairs_of(comparisons.rows)  # noqa: E741
    passed, failed = np.zeros((2, question.table.n_rows), dtype=bool)
    passed[comparisons.source[(i == j) & (l != k)]] = True
    failed[comparisons.source[(l == k) & (i != j)]] = True
    return passed & ~failed, failed


def _by_person(
    table: Table, layout: Layout, passed: NDArray[np.bool_], failed: NDArray[np.bool_]
) -> Mapping[str, Checked]:
    names, person = [""], np.zeros(len(passed), dtype=np.int32)
    if "participant" in layout.columns:
        column = table.column(layout.columns["participant"][0])
        names, person = ["" if name in MISSING else name for name in column.labels], column.codes
    asked = np.bincount(person[passed | failed], minlength=len(names))
    right = np.bincount(person[passed], minlength=len(names))
    checks: dict[str, Checked] = {}
    for name, number, rightly in zip(names, asked.tolist(), right.tolist(), strict=True):
        if number:  # several labels may stand for an empty name
            before = checks.get(name, Checked(0, 0))
            checks[name] = Checked(before.asked + number, before.passed + rightly)
    return checks
