"""Centrality of objects, directly from answers: the medoid, its rivals, and outliers.

There are two measures, both for answers to randomly chosen questions:

- *lens depth* (Kleindessner and von Luxburg 2017): the fraction of the questions "which of these three is the most
  central?" that an object wins. Of three objects, the most central one is opposite the longest side; two comparisons
  identify it, ``d(a, c) < d(a, b)`` and ``d(b, c) < d(b, a)``. Lens depth ranks objects but does not measure how far
  out they are: the depth of every object at the margin is near 0.
- *nearness*: the fraction of its comparisons in which an object is the nearer one, minus that in which it is the
  farther one. Every comparison contributes. Nearness is ``P(most central) - P(odd one)`` of three random objects, and
  -1 for an object that is far from all others.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array
from closerthan.checks import ParameterError, checked
from closerthan.comparisons import Comparisons, pairs_of
from closerthan.comparisons.questions import consecutive_numbers, object_set_keys
from closerthan.metrics import NORMAL_95, proportion_standard_error
from closerthan.wording import html_table

__all__ = ["MEASURES", "Centrality", "centrality"]

MEASURES = ("lens depth", "nearness")
MOST_ROWS = 20  # objects in the table of a notebook
OUTLYING = -0.85  # largest nearness of outliers; in 7 of 8 samples of 50 normal points, all points exceed it


@dataclass(frozen=True, repr=False, eq=False)
class Centrality:
    """Centrality of each object.

    Attributes
    ----------
    scores
        Lens depth (0 to 1) or nearness (-1 to 1) of each object; NaN for an object without answers.
    standard_errors
        Standard errors of the scores.
    counts
        Number of answers (lens depth) or comparisons (nearness) from which each score is computed.
    measure
        "lens depth" or "nearness".
    names
        The objects' names, or None.
    """

    scores: Array
    standard_errors: Array
    counts: NDArray[np.intp]
    measure: str
    names: tuple[str, ...] | None = None

    @property
    def ranking(self) -> NDArray[np.intp]:
        """Numbers of the objects, the most central first, without those that have no score."""
        order: NDArray[np.intp] = np.argsort(-self.scores, kind="stable")
        return order[~np.isnan(self.scores[order])]

    @property
    def medoid(self) -> int:
        """The most central object: an estimate of the one with the smallest total distance to all others."""
        return int(self.ranking[0])

    @property
    def rivals(self) -> NDArray[np.intp]:
        """Objects that may be the true medoid instead, since their scores are not significantly lower."""
        others = self.ranking[1:]
        apart = np.hypot(self.standard_errors[self.medoid], self.standard_errors[others])
        close: NDArray[np.intp] = others[self.scores[self.medoid] - self.scores[others] < NORMAL_95 * apart]
        return close

    @property
    def outliers(self) -> NDArray[np.intp] | None:
        """Objects that are nearly always the farther one, the farthest first; None for lens depth, which only ranks.

        Their 95 % interval must lie below 0, which excludes objects with very few comparisons.
        """
        if self.measure == "lens depth":
            return None
        last = self.ranking[::-1]
        is_significant = self.scores[last] + NORMAL_95 * self.standard_errors[last] < 0
        return last[(self.scores[last] <= OUTLYING) & is_significant]

    @checked
    def name_of(self, number: int) -> str:
        """Return the name of an object, or its number if it has none."""
        return str(number) if self.names is None else self.names[number]

    def __repr__(self) -> str:
        return f"Centrality({len(self.scores):,} objects by {self.measure}, {self.in_words})"

    def _repr_html_(self) -> str:
        ranking = self.ranking.tolist()
        rows = [
            (self.name_of(one), f"{self.scores[one]:.3f}", f"{self.standard_errors[one]:.3f}")
            for one in ranking[:MOST_ROWS]
        ]
        return html_table(repr(self), ("object", self.measure, "standard error"), rows, len(ranking))

    @property
    def in_words(self) -> str:
        """The medoid and its rivals, in words."""
        rivals = self.rivals
        if not len(rivals):
            return f"medoid {self.name_of(self.medoid)}"
        first = ", ".join(self.name_of(int(one)) for one in rivals[:3])
        more = f" and {len(rivals) - 3} more" if len(rivals) > 3 else ""
        return f"medoid {self.name_of(self.medoid)}, or {first}{more}"


@checked
def centrality(answers: Comparisons | ArrayLike, measure: str | None = None) -> Centrality:
    """Measure the centrality of each object without a map, in time proportional to the number of answers.

    Parameters
    ----------
    answers
        Triplets or quadruplets about objects that were chosen at random, at least approximately.
    measure
        "lens depth" (for triplets) or "nearness". By default, lens depth if most comparisons are from answers to "which
        of these three is the most central?", otherwise nearness.

    Examples
    --------
    >>> import closerthan as ct
    >>> points = [[0.0], [1.0], [2.1], [3.3], [4.6], [20.0]]
    >>> result = ct.centrality(ct.datasets.simulated(points, 2000, seed=0))
    >>> result
    Centrality(6 objects by nearness, medoid 2)
    >>> result.outliers.tolist()
    [5]
    """
    if measure is not None and measure not in MEASURES:
        raise ParameterError("measure", measure, f"it can be {' or '.join(MEASURES)}")
    comparisons = Comparisons.of(answers)
    triplets = comparisons.rows.shape[1] == 3
    if measure == "lens depth" and not triplets:
        raise ValueError('measure is "lens depth", which needs triplets; for quadruplets choose "nearness"')
    if measure == "nearness" or not triplets:
        return _nearness(comparisons)
    if measure is None and comparisons.n_answers == len(comparisons):
        return _nearness(comparisons)  # a single comparison does not determine the most central of three objects
    decided = _most_central(comparisons)
    if measure is None and 2 * decided.n_explicit < len(comparisons):
        return _nearness(comparisons)
    if not len(decided.centre):
        raise ValueError(
            'no answers say which of three objects is the most central, which "lens depth" counts; choose "nearness"'
        )
    return _lens_depth(comparisons, decided)


@dataclass(frozen=True)
class _DecidedSets:
    """Sets of three objects whose most central object is determined by the answers.

    Attributes
    ----------
    centre, others
        The most central object of each set, and the two others.
    weights
        Weight of each set.
    n_explicit
        Number of comparisons from answers that determine the most central object by themselves.
    """

    centre: NDArray[np.int32]
    others: NDArray[np.int32]
    weights: Array
    n_explicit: int


def _most_central(answers: Comparisons) -> _DecidedSets:
    """Return the sets of three objects for which two comparisons determine the most central object.

    If the comparisons of one answer determine it, they count as one vote; otherwise the majority of all comparisons
    about the same three objects decides.
    """
    rows = answers.rows
    three = consecutive_numbers(object_set_keys(rows, answers.n_objects, None)).astype(np.int64)
    unit, several = three, np.zeros(len(rows), dtype=bool)
    if answers.answers is not None:
        own = consecutive_numbers((answers.answers.astype(np.int64) * (int(three.max()) + 1) + three).astype(np.uint64))
        several = np.bincount(own)[own] > 1
        unit = consecutive_numbers(np.where(several, own + int(three.max()) + 1, three).astype(np.uint64))
    n_units = int(unit.max()) + 1
    members = np.empty((n_units, 3), dtype=np.int32)
    members[unit] = np.sort(rows, axis=1)
    own_members = members[unit]
    anchor = np.argmax(own_members == rows[:, :1], axis=1)
    first = np.where(anchor == 0, own_members[:, 1], own_members[:, 0])  # the first of the two other objects
    weights = np.ones(len(rows)) if answers.weights is None else answers.weights
    votes = np.bincount(unit * 3 + anchor, np.where(rows[:, 1] == first, weights, -weights), 3 * n_units)
    v0, v1, v2 = votes.reshape(n_units, 3).T  # positive: the first of the other two is nearer
    wins = np.stack([(v1 > 0) & (v2 > 0), (v0 > 0) & (v2 < 0), (v0 < 0) & (v1 < 0)], axis=1)
    sizes = np.abs(np.stack([v1, v2, v0, v2, v0, v1], axis=1)).reshape(n_units, 3, 2).mean(axis=2)
    which = np.flatnonzero(wins.any(axis=1))
    place = wins[which].argmax(axis=1)
    rest = np.array([[1, 2], [0, 2], [0, 1]])[place]
    return _DecidedSets(
        members[which, place],
        np.take_along_axis(members[which], rest, axis=1),
        sizes[which, place],
        int(np.isin(unit[several], which).sum()),
    )


def _lens_depth(answers: Comparisons, decided: _DecidedSets) -> Centrality:
    n_objects = answers.n_objects
    objects = np.concatenate([decided.centre, *decided.others.T])
    total, squared = (np.bincount(objects, np.tile(w, 3), n_objects) for w in (decided.weights, decided.weights**2))
    won = np.bincount(decided.centre, decided.weights, n_objects)
    with np.errstate(invalid="ignore", divide="ignore"):
        number = total**2 / squared  # effective number of answers
        depth = won / total
        shrunk = (depth * number + 0.5) / (number + 1)  # a fraction of 0 or 1 must not have a standard error of 0
        errors = proportion_standard_error(shrunk, number)
    return Centrality(depth, errors, np.bincount(objects, minlength=n_objects), "lens depth", answers.names)


def _nearness(answers: Comparisons) -> Centrality:
    n_objects, parts = answers.n_objects, list(_appearances(answers))
    numbers = [np.bincount(objects, minlength=n_objects) for objects, _, _ in parts]
    counts = np.sum(numbers, axis=0)
    if answers.weights is None:
        total = squared = counts.astype(np.float64)
        sums = np.sum([sign * number for number, (*_, sign) in zip(numbers, parts, strict=True)], axis=0)
    else:
        objects = np.concatenate([one for one, _, _ in parts])
        weight = np.concatenate([answers.weights[rows] for _, rows, _ in parts])
        signs = np.repeat([sign for *_, sign in parts], [len(one) for one, _, _ in parts])
        total, squared, sums = (np.bincount(objects, w, n_objects) for w in (weight, weight**2, signs * weight))
    with np.errstate(invalid="ignore", divide="ignore"):
        effective = total**2 / squared
        score = sums / total
        shrunk = score * effective / (effective + 1)
        errors = np.sqrt((1 - shrunk**2) / effective)
    return Centrality(score, errors, counts, "nearness", answers.names)


def _appearances(answers: Comparisons) -> Iterator[tuple[NDArray[np.int32], Any, int]]:
    """Yield objects, the selection of their rows, and 1 if they are the nearer ones or -1 if they are the farther.

    An object of both pairs, such as a triplet's anchor, is neither nearer nor farther.
    """
    near, far = pairs_of(answers.rows)
    for pair, against, sign in ((near, far, 1), (far, near, -1)):
        for one in pair[1:] if answers.rows.shape[1] == 3 else pair:
            apart = slice(None) if answers.rows.shape[1] == 3 else (one != against[0]) & (one != against[1])
            yield one[apart], apart, sign
