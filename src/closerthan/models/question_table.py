"""Tables of questions without answers, as ``closerthan questions`` writes them."""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.checks import ParameterError
from closerthan.comparisons.column_names import fits, plain
from closerthan.files.features import lines_of_cells
from closerthan.models.question_sets import QuestionSet, chosen_and_shown, triangle

__all__ = ["EXPECTED_COLUMNS", "QuestionTable", "read_question_table"]

EXPECTED_COLUMNS = "anchor, left, right; item_1, item_2, item_3; or anchor, shown_1, shown_2, ..."
"""The columns of a table of questions, for messages."""

_ANSWERS = ("winner", "odd", "central", "selected", "near", "far", "label")
_SHOWN = re.compile(r"shown_\d+")


class QuestionTable(NamedTuple):
    """Questions, and the names of the objects that they mention."""

    questions: QuestionSet
    names: tuple[str, ...]


def read_question_table(path: Path, question: str | None = None) -> QuestionTable | None:
    """Read a table with the columns anchor, left, right; item_1, item_2, item_3; or anchor, shown_1, shown_2, ...

    Columns for answers may exist if they are empty.

    Parameters
    ----------
    path
        A text file with a header line; cells are separated by commas, semicolons or tabs.
    question
        The kind of question, where the columns leave it open: "odd-one-out" (the default) or "most-central" about
        items; "nearest 2 of 8" or "rank 2 of 8" about objects shown (by default the nearest one).

    Returns
    -------
    QuestionTable or None
        None if the file is not such a table, for instance because it has answers.
    """
    if path.suffix.lower() not in (".csv", ".tsv", ".txt") or not path.is_file():
        return None
    try:
        lines, _ = lines_of_cells(path, "a table of questions")
    except ValueError:
        return None
    if not lines:
        return None
    titles = [plain(title) for title in lines[0][1]]
    places = _question_columns(titles)
    if places is None or _has_answers(titles, [cells for _, cells in lines[1:]]):
        return None
    rows = []
    for number, cells in lines[1:]:
        names = [cells[place].strip() if place < len(cells) else "" for place in places]
        if "" in names or len(set(names)) < len(names):
            raise ValueError(f"{path}, line {number}: expected {len(places)} different objects, but found {names}")
        rows.append(names)
    if not rows:
        raise ValueError(f"{path} has no questions")
    all_names = sorted({name for row in rows for name in row})
    number_of = {name: number for number, name in enumerate(all_names)}
    objects = np.array([[number_of[name] for name in row] for row in rows])
    return QuestionTable(_questions(objects, "anchor" in titles, question), tuple(all_names))


def _has_answers(titles: list[str], rows: list[list[str]]) -> bool:
    """Return whether a column for answers has any."""
    places = [place for place, title in enumerate(titles) if any(fits(role, title) for role in _ANSWERS)]
    return any(cells[place].strip() for cells in rows for place in places if place < len(cells))


def _question_columns(titles: list[str]) -> list[int] | None:
    """Return the positions of the objects of a question; None if the table has other columns."""
    for columns in (("anchor", "left", "right"), ("item_1", "item_2", "item_3")):
        if set(columns) <= set(titles):
            return [titles.index(column) for column in columns]
    places_shown = [place for place, title in enumerate(titles) if _SHOWN.fullmatch(title)]
    return [titles.index("anchor"), *places_shown] if "anchor" in titles and len(places_shown) > 1 else None


def _questions(objects: NDArray[np.int64], anchored: bool, question: str | None) -> QuestionSet:
    numbers = np.arange(len(objects))
    if not anchored:
        if question not in (None, "odd-one-out", "most-central"):
            raise ParameterError("question", question, "three items are for odd-one-out or most-central")
        return QuestionSet(triangle(objects), 1, False, question == "most-central", numbers)
    n_shown = objects.shape[1] - 1
    n_chosen, ordered = 1, False
    if question is not None and not (question == "triplet" and n_shown == 2):
        n_to_choose, n_to_show, ordered = chosen_and_shown(question)
        if n_to_show != n_shown:
            raise ParameterError("question", question, f"{n_shown} objects are shown with each anchor")
        n_chosen = n_to_choose
    pairs = np.stack([np.repeat(objects[:, :1], n_shown, axis=1), objects[:, 1:]], axis=2)
    return QuestionSet(pairs, n_chosen, ordered, False, numbers)
