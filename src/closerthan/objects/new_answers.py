"""Answers about objects that a map does not have: which objects are new, and which answers speak of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import frozen
from closerthan.comparisons import Comparisons

__all__ = ["NewAnswers", "about_new_objects"]


@dataclass(frozen=True)
class NewAnswers:
    """Answers that mention a new object, numbered so that the map's objects come first and new ones follow.

    Attributes
    ----------
    comparisons
        The answers.
    n_known
        How many objects the map has.
    names
        The new objects' names, or None.
    """

    comparisons: Comparisons
    n_known: int
    names: tuple[str, ...] | None

    @property
    def n_new(self) -> int:
        """How many objects are new."""
        return self.comparisons.n_objects - self.n_known

    @property
    def mentions(self) -> NDArray[np.bool_]:
        """For each row and each new object, whether the row is about it."""
        found = np.zeros((len(self.comparisons), self.n_new), dtype=bool)
        for column in self.comparisons.rows.T:
            rows = np.flatnonzero(column >= self.n_known)
            found[rows, column[rows] - self.n_known] = True
        return found


def about_new_objects(answers: Any, n_known: int, names: Sequence[str] | None) -> NewAnswers:
    """Find the new objects: those whose names the map does not have, or whose numbers are beyond its last.

    Examples
    --------
    >>> new = about_new_objects([["dog", "cat", "fly"], ["cat", "ant", "fly"]], 3, ["ant", "cat", "fly"])
    >>> new.names, new.comparisons.rows.tolist()
    (('dog',), [[3, 1, 2]])
    """
    given = Comparisons.of(answers, unmentioned="ignore")
    if given.names is not None and names is None:
        raise ValueError(
            "the answers name their objects, the map does not; use the map's numbers, "
            f"from 0 to {n_known - 1}, and larger ones for new objects"
        )
    if given.names is not None and names is not None:
        number = {name: place for place, name in enumerate(names)}
        mentioned = given.mentioned
        fresh = [name for name, there in zip(given.names, mentioned, strict=True) if there and name not in number]
        number |= {name: n_known + place for place, name in enumerate(fresh)}
        called: tuple[str, ...] | None = tuple(fresh)
        new_numbers = np.array([number.get(name, 0) for name in given.names], dtype=np.int32)
        rows, n_objects = new_numbers[given.rows], n_known + len(fresh)
    else:
        rows, n_objects = given.rows, max(given.n_objects, n_known)
        called = None if names is None else tuple(str(place) for place in range(n_known, n_objects))
    keep = np.flatnonzero((rows >= n_known).any(axis=1))
    if not len(keep):
        raise ValueError(
            f"no answer is about an object that the map of {n_known:,} objects does not have; there is nothing to place"
        )
    kept = given.take(keep)
    return NewAnswers(kept.replace(rows=frozen(rows[keep]), n_objects=n_objects, names=None), n_known, called)
