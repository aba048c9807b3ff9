"""Stored questions and answers: the objects shown, what was picked, and the comparisons that follow."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from closerthan.collect.store.database import Store
from closerthan.collect.store.participants import COUNTED
from closerthan.comparisons import Comparisons, Trials
from closerthan.comparisons.screen import Screen
from closerthan.files.formats.study import ANSWERED, objects_of, picks_of

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
    rows, answers, people, times, sides, random = [], [], [], [], [], []
    for number, answer in enumerate(chosen_answers(store, kinds, condition)):
        for row in screen.comparisons(objects_of(answer), picks_of(answer)):
            rows.append(row)
            answers.append(number)
            people.append(answer["participant"])
            times.append(np.nan if answer["rt_ms"] is None else answer["rt_ms"] / 1000)
            sides.append(answer["choice"])
            random.append(answer["kind"] == "random")
    if not rows:
        return None
    return Comparisons.from_triplets(
        np.array(rows),
        n_objects=n_objects,
        answers=np.array(answers),
        people=np.array(people),
        trials=Trials(times=times, sides=sides if screen.kind == "closer" else None, random=random),
        unmentioned="ignore",
    )


def chosen_answers(
    store: Store, kinds: Collection[str] = INFORMATIVE_KINDS, condition: str | None = None
) -> Iterator[Any]:
    """Yield the questions that were answered with a choice by people who count, in the order of the answers."""
    placeholders = ", ".join("?" * len(kinds))
    among = "" if condition is None else "AND participant IN (SELECT number FROM participants WHERE condition = ?)"
    yield from store.stream(
        f"""SELECT {ANSWERED} FROM questions JOIN answers ON question = id
        WHERE said = 'choice' AND kind IN ({placeholders}) AND {COUNTED} {among} ORDER BY at, id""",
        *kinds,
        *(() if condition is None else (condition,)),
    )
