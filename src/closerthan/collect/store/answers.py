"""Stored questions and answers: the objects shown, what was picked, and the comparisons that follow."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.collect.store.database import Store
from closerthan.collect.store.participants import COUNTED
from closerthan.comparisons import Comparisons, Trials
from closerthan.comparisons.screen import Screen
from closerthan.files.formats.study import ANSWERED, numbers_in, objects_of, picks_of

__all__ = [
    "ANSWERED", "INFORMATIVE_KINDS", "chosen_answers", "columns_of", "comparisons_of", "joined", "objects_of",
    "picks_of",
]  # fmt: skip

INFORMATIVE_KINDS = ("chosen", "random", "shared", "repeat", "own")
"""Kinds of questions whose answers carry information about the objects."""


def columns_of(objects: Sequence[int]) -> dict[str, int | str]:
    """Return the columns in which the objects of a question are stored.

    Examples
    --------
    >>> columns_of((4, 7, 9, 2, 5))
    {'first': 4, 'second': 7, 'third': 9, 'more': '2:5'}
    """
    first, second, third, *more = objects
    return {"first": first, "second": second, "third": third, "more": joined(more)}


def joined(values: Sequence[int]) -> str:
    """Return numbers as a text, separated by colons."""
    return ":".join(map(str, values))


def comparisons_of(
    store: Store, screen: Screen, kinds: Collection[str] = INFORMATIVE_KINDS, condition: str | None = None
) -> Comparisons | None:
    """Return all answers that count, with their participants as comparisons, or None if there are no answers.

    With ``condition``, the answers are those of the participants of that condition.
    """
    n_objects = store.value("SELECT count(*) FROM objects")
    columns = "first, second, third, questions.more, choice, answers.more, participant, rt_ms, kind = 'random'"
    answered = list(_answered(store, columns, kinds, condition))
    if not answered:
        return None
    *objects, more, choice, later_choices, people, times, random = map(list, zip(*answered, strict=True))
    if any(more):
        objects += map(list, zip(*map(numbers_in, more), strict=True))
    rows, numbers = _comparisons(screen, np.column_stack(objects), [*zip(choice, later_choices, strict=True)])
    seconds = np.array(times, np.float64) / 1000  # None becomes NaN
    return Comparisons.from_triplets(
        rows,
        n_objects=n_objects,
        answers=numbers,
        people=np.array(people)[numbers],
        trials=Trials(
            times=seconds[numbers],
            sides=np.array(choice)[numbers] if screen.kind == "closer" else None,
            random=np.array(random, bool)[numbers],
        ),
        unmentioned="ignore",
    )


def _comparisons(
    screen: Screen, objects: NDArray[np.int64], picked: Sequence[tuple[int, str]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the comparisons that follow from answers, and the number of the answer that each belongs to.

    The positions that are compared depend only on the picks, so that answers with the same picks are taken together.
    """
    of_picks: dict[tuple[int, str], list[int]] = {}
    for number, picks in enumerate(picked):
        of_picks.setdefault(picks, []).append(number)
    rows, numbers = [], []
    for (choice, later), those in of_picks.items():
        places = np.array(list(screen.comparisons(range(objects.shape[1]), (choice, *numbers_in(later)))))
        rows.append(objects[those][:, places].reshape(-1, 3))
        numbers.append(np.repeat(those, len(places)))
    order = np.argsort(np.concatenate(numbers), kind="stable")
    return np.concatenate(rows)[order], np.concatenate(numbers)[order]


def chosen_answers(
    store: Store, kinds: Collection[str] = INFORMATIVE_KINDS, condition: str | None = None
) -> Iterator[Any]:
    """Yield the questions that were answered with a choice by people who count, in the order of the answers."""
    return _answered(store, ANSWERED, kinds, condition)


def _answered(store: Store, columns: str, kinds: Collection[str], condition: str | None) -> Iterator[Any]:
    placeholders = ", ".join("?" * len(kinds))
    among = "" if condition is None else "AND participant IN (SELECT number FROM participants WHERE condition = ?)"
    return store.stream(
        f"""SELECT {columns} FROM questions JOIN answers ON question = id
        WHERE said = 'choice' AND kind IN ({placeholders}) AND {COUNTED} {among} ORDER BY at, id""",
        *kinds,
        *(() if condition is None else (condition,)),
    )
