"""Answers about objects that are not on a map."""

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
    n_on_map
        Number of objects of the map.
    names
        The new objects' names, or None.
    """

    comparisons: Comparisons
    n_on_map: int
    names: tuple[str, ...] | None

    @property
    def n_new(self) -> int:
        """Number of new objects."""
        return self.comparisons.n_objects - self.n_on_map

    @property
    def mentions(self) -> NDArray[np.bool_]:
        """For each row and each new object, True if the row is about it."""
        mentions = np.zeros((len(self.comparisons), self.n_new), dtype=bool)
        for column in self.comparisons.rows.T:
            rows = np.flatnonzero(column >= self.n_on_map)
            mentions[rows, column[rows] - self.n_on_map] = True
        return mentions


def about_new_objects(answers: Any, n_on_map: int, names: Sequence[str] | None) -> NewAnswers:
    """Return the answers about new objects: those whose names the map lacks, or whose numbers exceed its last one.

    Examples
    --------
    >>> new = about_new_objects([["dog", "cat", "fly"], ["cat", "ant", "fly"]], 3, ["ant", "cat", "fly"])
    >>> new.names, new.comparisons.rows.tolist()
    (('dog',), [[3, 1, 2]])
    """
    comparisons = Comparisons.of(answers, unmentioned="ignore")
    if comparisons.names is not None and names is None:
        raise ValueError(
            "the answers name their objects, the map does not; use the map's numbers, "
            f"from 0 to {n_on_map - 1}, and larger ones for new objects"
        )
    if comparisons.names is not None and names is not None:
        number = {name: place for place, name in enumerate(names)}
        mentioned = zip(comparisons.names, comparisons.mentioned, strict=True)
        added = [name for name, is_mentioned in mentioned if is_mentioned and name not in number]
        number |= {name: n_on_map + place for place, name in enumerate(added)}
        new_names: tuple[str, ...] | None = tuple(added)
        new_numbers = np.array([number.get(name, 0) for name in comparisons.names], dtype=np.int32)
        rows, n_objects = new_numbers[comparisons.rows], n_on_map + len(added)
    else:
        rows, n_objects = comparisons.rows, max(comparisons.n_objects, n_on_map)
        new_names = None if names is None else tuple(str(place) for place in range(n_on_map, n_objects))
    keep = np.flatnonzero((rows >= n_on_map).any(axis=1))
    if not len(keep):
        raise ValueError(f"all answers are about the {n_on_map:,} objects of the map, so there is nothing to place")
    about_new = comparisons.take(keep).replace(rows=frozen(rows[keep]), n_objects=n_objects, names=None)
    return NewAnswers(about_new, n_on_map, new_names)
