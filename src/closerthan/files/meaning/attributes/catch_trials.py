"""Catch trials: questions with one correct answer, which a study asks to test attention.

They carry no information about the objects, so they are not read as comparisons. If the anchor itself is one of the
options (or two of three objects are the same), the correct answer is known, and the trials that each person passed are
counted. Such trials are recognised even if no column marks them.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons import pairs_of
from closerthan.comparisons.column_names import plain
from closerthan.files.formats.tables import MISSING, Table, abbreviated
from closerthan.files.meaning.attributes.conditions import Conditions, SelectedRows, find_column
from closerthan.files.meaning.columns import Layout
from closerthan.files.meaning.interpretation import Interpretation
from closerthan.files.meaning.several_kinds import interpret
from closerthan.messages import value_error

__all__ = [
    "KIND_COLUMNS",
    "NO",
    "YES",
    "Catch",
    "CatchColumn",
    "CheckCount",
    "catch_column",
    "catch_columns",
    "catch_trials",
    "count_checks",
    "total_checks",
    "unmarked_checks",
]

KIND_COLUMNS = (
    "kind", "trial", "trial_type", "trial_kind", "type", "question_type", "question_kind", "item_type", "sample_alg",
    "samplealg", "trial_category",
)  # fmt: skip
"""Names of columns with the kind of trial; one of the words below in a cell marks a catch trial."""
_CATCH_WORDS = frozenset({
    "check", "checks", "catch", "catch_trial", "catch_trials", "catchtrial", "catchtrials", "attention",
    "attention_check", "attention_checks", "attentioncheck", "attention_trial", "sanity", "sanity_check", "vigilance",
    "vigilance_trial", "vigilance_check",
})  # fmt: skip
# Columns that flag catch trials.
_FLAGS = frozenset({*_CATCH_WORDS, *(f"is_{word}" for word in _CATCH_WORDS)})
# Flags that may also mark test answers: used only if people are known and a minority of the rows is marked.
_VAGUE_FLAGS = frozenset({"validation", "is_validation", "validation_trial", "is_validation_trial"})
YES = frozenset({"1", "true", "yes", "t", "y"})
NO = frozenset({"", "0", "false", "no", "f", "n", "na", "nan", "null"})

FEWEST_CHECKS = 5  # unmarked trials with a known correct answer; fewer of them may be mistakes in the file


class Catch(NamedTuple):
    """A mask of the catch trials, the column that marks them, and a description of the marks."""

    rows: NDArray[np.bool_]
    column: int
    words: str


class CatchColumn(NamedTuple):
    """The column that the user chose to mark catch trials, and the condition for a mark (None to detect the marks)."""

    position: int
    marking: Conditions | None


def catch_column(table: Table, column: str | int | None) -> CatchColumn | None:
    """Find the column that a user chose: "is_catch", or "kind=attention" if this word marks catch trials."""
    if column is None:
        return None
    name, sign, words = column, "", ""
    if isinstance(column, str) and column not in table.names:
        name, sign, words = column.partition("=")
    position = find_column(table, int(name) if isinstance(name, str) and sign and name.isdecimal() else name, "catch")
    return CatchColumn(position, Conditions.of(words.split(",")) if sign else None)


def catch_columns(table: Table, used: Collection[int]) -> list[int]:
    """Return the columns whose names suggest that they mark catch trials."""
    usual = {*KIND_COLUMNS, *_FLAGS, *_VAGUE_FLAGS}
    return [place for place, name in enumerate(table.names) if name and place not in used and plain(name) in usual]


def catch_trials(
    table: Table, columns: Sequence[int], explicit: CatchColumn | None = None, *, with_people: bool = False
) -> Catch | None:
    """Return the rows that a column marks as catch trials; None if no row or every row is marked.

    Parameters
    ----------
    table, columns
        A table, and the columns that may mark catch trials.
    explicit
        The column that the user chose; the others are then ignored.
    with_people
        Whether the table has a column of participants.
    """
    if explicit is not None:
        return _trials_by_column(table, explicit)
    for position in columns:
        name, labels = plain(table.names[position] or ""), table.column(position).labels
        is_flag = all(cell.strip().lower() in YES | NO for cell in labels)
        vague = name in _VAGUE_FLAGS
        if vague and not (is_flag and with_people):
            continue
        marked = (
            [cell.strip().lower() in YES for cell in labels]
            if is_flag and name in _FLAGS | _VAGUE_FLAGS
            else [plain(cell) in _CATCH_WORDS for cell in labels]
        )
        catch = _marked(table, position, marked)
        if catch.rows.any() and not catch.rows.all() and not (vague and catch.rows.mean() >= 0.5):
            return catch
    return None


def _trials_by_column(table: Table, column: CatchColumn) -> Catch | None:
    position = column.position
    labels = table.column(position).labels
    if column.marking is not None:
        rows = column.marking.mask(table, position)
        marked = np.zeros(len(labels), dtype=bool)
        marked[table.column(position).codes[rows]] = True
    elif all(cell.strip().lower() in YES | NO for cell in labels):
        marked = np.array([cell.strip().lower() in YES for cell in labels])
    else:
        marked = np.array([plain(cell) in _CATCH_WORDS for cell in labels])
        if not marked.any():
            content = abbreviated([repr(cell) for cell in labels[:11]])
            name = table.names[position] or position
            raise value_error(
                f"{table.path}: {table.title(position)} holds {content}",
                "specify which of these mark catch trials, as in {columns}",
                columns={"catch": f"{name}={labels[0]}"},
            )
    catch = _marked(table, position, marked.tolist())
    if catch.rows.all():
        raise ValueError(f"{table.path}: all rows are catch trials ({catch.words}), so no answer is left")
    return catch if catch.rows.any() else None


def _marked(table: Table, position: int, marked: Sequence[bool]) -> Catch:
    column = table.column(position)
    words = " or ".join(cell for cell, is_catch in zip(column.labels, marked, strict=True) if is_catch)
    return Catch(np.array(marked)[column.codes], position, f"{table.title(position)} is {words}")


class CheckCount(NamedTuple):
    """Number of catch trials that a person saw, and number of those answered correctly."""

    n_trials: int
    n_passed: int


def count_checks(table: Table, layouts: Sequence[Layout], rows: NDArray[np.bool_]) -> Mapping[str, CheckCount]:
    """Count each person's catch trials with a known correct answer; the person is "" if people are unknown."""
    trials = SelectedRows(table, np.flatnonzero(rows))
    try:
        passed, failed = _outcomes(interpret(trials, layouts))
    except ValueError:  # these rows cannot be read as answers about objects
        return {}
    return _by_person(trials, layouts[0], passed, failed)


def unmarked_checks(
    interpretation: Interpretation, checks: Mapping[str, CheckCount]
) -> tuple[NDArray[np.bool_], Mapping[str, CheckCount]] | None:
    """Return the rows that are evidently catch trials although no column marks them, with counts by person, or None.

    Rows that compare an object with itself are catch trials if people are known, there are several such rows, and the
    object itself was mostly chosen; otherwise they are errors in the file. The ``checks`` that a column
    marks are included in this assessment.
    """
    is_possible = any(problem.option == "self_pairs" for problem in interpretation.problems)
    if not is_possible or "participant" not in interpretation.layout.columns:
        return None
    passed, failed = _outcomes(interpretation)
    marked = total_checks(checks)
    n_unmarked, n_passed = int(passed.sum() + failed.sum()), int(passed.sum())
    total = marked.n_trials + n_unmarked
    if not n_unmarked or total < FEWEST_CHECKS or marked.n_passed + n_passed < total / 2:
        return None
    return passed | failed, _by_person(interpretation.table, interpretation.layout, passed, failed)


def total_checks(checks: Mapping[str, CheckCount]) -> CheckCount:
    """Return the sums over all people."""
    return CheckCount(
        sum(count.n_trials for count in checks.values()), sum(count.n_passed for count in checks.values())
    )


def _outcomes(interpretation: Interpretation) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return masks of the rows in which an object was judged nearest to itself, and of those in which it was not."""
    n_rows = interpretation.table.n_rows
    keep = np.ones(n_rows, dtype=bool)
    for problem in interpretation.problems:
        if problem.option != "self_pairs":  # a missing answer is neither correct nor wrong
            keep &= ~problem.rows
    comparisons = interpretation.comparisons(keep)
    (i, j), (l, k) = pairs_of(comparisons.rows)  # noqa: E741
    passed, failed = np.zeros((2, n_rows), dtype=bool)
    passed[comparisons.source[(i == j) & (l != k)]] = True
    failed[comparisons.source[(l == k) & (i != j)]] = True
    return passed & ~failed, failed


def _by_person(
    table: Table, layout: Layout, passed: NDArray[np.bool_], failed: NDArray[np.bool_]
) -> Mapping[str, CheckCount]:
    names, person = [""], np.zeros(len(passed), dtype=np.int32)
    if "participant" in layout.columns:
        column = table.column(layout.columns["participant"][0])
        names, person = ["" if name in MISSING else name for name in column.labels], column.codes
    trials = np.bincount(person[passed | failed], minlength=len(names))
    correct = np.bincount(person[passed], minlength=len(names))
    checks: dict[str, CheckCount] = {}
    for name, n_trials, n_passed in zip(names, trials.tolist(), correct.tolist(), strict=True):
        if n_trials:  # several labels may stand for an empty name
            before = checks.get(name, CheckCount(0, 0))
            checks[name] = CheckCount(before.n_trials + n_trials, before.n_passed + n_passed)
    return checks
