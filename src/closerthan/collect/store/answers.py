"""Conversion of stored answers into comparisons."""

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from closerthan.collect.store.database import Store
from closerthan.comparisons import Comparisons, Trials

__all__ = ["INFORMATIVE_KINDS", "comparisons_of"]

INFORMATIVE_KINDS = ("chosen", "random", "shared", "repeat")
"""Kinds of questions whose answers carry information about the objects."""


def comparisons_of(store: Store, kind: str, kinds: Collection[str] = INFORMATIVE_KINDS) -> Comparisons | None:
    """Return all answers with their participants as comparisons, or None if there are no answers.

    Choosing the odd one out gives two triplets: each of the other two is closer to its partner than to the odd one.
    """
    n_objects = store.value("SELECT count(*) FROM objects")
    rows, answers, people, times, sides = [], [], [], [], []
    for number, answer in enumerate(chosen_answers(store, kinds)):
        for row in triplets(kind, (answer["first"], answer["second"], answer["third"]), answer["choice"]):
            rows.append(row)
            answers.append(number)
            people.append(answer["participant"])
            times.append(np.nan if answer["rt_ms"] is None else answer["rt_ms"] / 1000)
            sides.append(answer["choice"])
    if not rows:
        return None
    return Comparisons.from_triplets(
        np.array(rows),
        n_objects=n_objects,
        answers=np.array(answers),
        people=np.array(people),
        trials=Trials(times=times, sides=sides if kind == "closer" else None),
        unmentioned="ignore",
    )


def chosen_answers(store: Store, kinds: Collection[str] = INFORMATIVE_KINDS) -> Iterator[Any]:
    """Yield the questions that were answered with a choice, in the order of the answers."""
    placeholders = ", ".join("?" * len(kinds))
    yield from store.rows(
        f"""SELECT questions.*, choice, rt_ms, at FROM questions JOIN answers ON question = id
        WHERE said = 'choice' AND kind IN ({placeholders}) ORDER BY at, id""",
        *kinds,
    )


def triplets(kind: str, objects: tuple[int, int, int], choice: int) -> list[tuple[int, int, int]]:
    """Return the triplets (anchor, near, far) that an answer implies.

    Examples
    --------
    >>> triplets("closer", (4, 7, 9), 1), triplets("odd", (4, 7, 9), 1)
    ([(4, 9, 7)], [(4, 9, 7), (9, 4, 7)])
    """
    if kind == "closer":
        return [(objects[0], objects[1 + choice], objects[2 - choice])]
    odd = objects[choice]
    first, second = (objects[place] for place in range(3) if place != choice)
    return [(first, second, odd), (second, first, odd)]
