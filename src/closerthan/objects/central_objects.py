"""How central each object is, straight from answers: the medoid, those near it, and outliers.

Two measures, both between objects that are compared at random:

- *lens depth* (Kleindessner and von Luxburg 2017): the share of the questions "which of these three is the most
  central?" that an object wins. Of three objects the most central is the one opposite the longest side; two comparisons
  say which one that is, ``d(a, c) < d(a, b)`` and ``d(b, c) < d(b, a)``. It ranks, but it does not know how far out an
  object is: the depth of whatever lies at the rim is near 0.
- *nearness*: how often an object was called the nearer one, minus how often the farther one, as a share. Each
  comparison tells it. It is ``P(most central) - P(odd one)`` of three random objects, and -1 for an object that is far
  from all others.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array
from closerthan.checks import checked
from closerthan.comparisons import Comparisons, pairs_of
from closerthan.comparisons.grouping import numbered, questions
from closerthan.metrics import NORMAL_95, share_standard_error

__all__ = ["MEASURES", "Centrality", "centrality"]

MEASURES = ("lens depth", "nearness")
OUTLYING = -0.85  # nearness of outliers; the last of 50 normal points is above it in seven of eight clouds


@dataclass(frozen=True, repr=False, eq=False)
class Centrality:
    """How central each object is.

    Attributes
    ----------
    scores
        Lens depth (0 to 1) or nearness (-1 to 1) of each object; NaN where nothing is known about it.
    standard_errors
        Of the scores, for as many answers.
    counts
        Answers (lens depth) or comparisons (nearness) that a score is made of.
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
        """The objects' numbers, the most central first; those that nothing is known about are left out."""
        order: NDArray[np.intp] = np.argsort(-self.scores, kind="stable")
        return order[~np.isnan(self.scores[order])]

    @property
    def medoid(self) -> int:
        """The most central object: an estimate of the one with the least distance to all others."""
        return int(self.ranking[0])

    @property
    def rivals(self) -> NDArray[np.intp]:
        """Objects that may be the medoid as well: their scores differ from its by less than chance does."""
        others = self.ranking[1:]
        apart = np.hypot(self.standard_errors[self.medoid], self.standard_errors[others])
        close: NDArray[np.intp] = others[self.scores[self.medoid] - self.scores[others] < NORMAL_95 * apart]
        return close

    @property
    def outliers(self) -> NDArray[np.intp] | None:
        """Objects that are nearly always the farther one, the farthest first; None for lens depth, which only ranks.

        Their 95 % interval must lie below 0: an object that was the farther one in its only comparison is not listed.
        """
        if self.measure == "lens depth":
            return None
        last = self.ranking[::-1]
        is_sure = self.scores[last] + NORMAL_95 * self.standard_errors[last] < 0
        return last[(self.scores[last] <= OUTLYING) & is_sure]

    @checked
    def called(self, number: int) -> str:
        """The name of an object, or its number."""
        return str(number) if self.names is None else self.names[number]

    def __repr__(self) -> str:
        return f"Centrality({len(self.scores):,} objects by {self.measure}, {self.in_words})"

    @property
    def in_words(self) -> str:
        """Which object is the medoid, and how sure that is."""
        rivals = self.rivals
        if not len(rivals):
            return f"medoid {self.called(self.medoid)}"
        first = ", ".join(self.called(int(one)) for one in rivals[:3])
        more = f" and {len(rivals) - 3} more" if len(rivals) > 3 else ""
        return f"medoid {self.called(self.medoid)}, or {first}{more}"


@checked
def centrality(answers: Comparisons | ArrayLike, measure: str | None = None) -> Centrality:
    """How central each object is, without a map, in a time that grows with the number of answers.

    Parameters
    ----------
    answers
        Triplets or quadruplets about objects that were chosen at random, or nearly so.
    measure
        "lens depth" (of triplets), or "nearness". None: lens depth if most comparisons are from answers to "which of
        these three is the most central?", otherwise nearness.

    Examples
    --------
    >>> import closerthan as ct
    >>> points = [[0.0], [1.0], [2.1], [3.3], [4.6], [20.0]]
    >>> found = ct.centrality(ct.datasets.simulated(points, 2000, seed=0))
    >>> found
    Centrality(6 objects by nearness, medoid 2)
    >>> found.outliers.tolist()
    [5]
    """
    if measure is not None and measure not in MEASURES:
        raise ValueError(f"measure is {measure!r}; it can be {' or '.join(MEASURES)}")
    given = Comparisons.of(answers)
    triplets = given.rows.shape[1] == 3
    if measure == "lens depth" and not triplets:
        raise ValueError('measure is "lens depth", which needs triplets; quadruplets have "nearness" alone')
    if measure == "nearness" or not triplets:
        return _nearness(given)
    decided = _most_central(given)
    if measure is None and 2 * decided.n_asked < len(given):
        return _nearness(given)
    if not len(decided.centre):
        raise ValueError(
            'no answers say which of three objects is the most central, which "lens depth" counts; choose "nearness"'
        )
    return _lens_depth(given, decided)


@dataclass(frozen=True)
class _Decided:
    """Questions whose most central object is known."""

    centre: NDArray[np.int32]
    others: NDArray[np.int32]  # two each
    weights: Array
    n_asked: int  # comparisons from answers that said it themselves


def _most_central(answers: Comparisons) -> _Decided:
    """For three objects at a time, what two comparisons say about the most central one.

    Comparisons of one answer decide about it. Otherwise all those about the same three objects do, by majority.
    """
    rows = answers.rows
    three = numbered(questions(rows, answers.n_objects, None)).astype(np.int64)
    unit, several = three, np.zeros(len(rows), dtype=bool)
    if answers.answers is not None:
        own = numbered((answers.answers.astype(np.int64) * (int(three.max()) + 1) + three).astype(np.uint64))
        several = np.bincount(own)[own] > 1
        unit = numbered(np.where(several, own + int(three.max()) + 1, three).astype(np.uint64))
    n_units = int(unit.max()) + 1
    members = np.empty((n_units, 3), dtype=np.int32)
    members[unit] = np.sort(rows, axis=1)
    own_members = members[unit]
    anchor = np.argmax(own_members == rows[:, :1], axis=1)
    first = np.where(anchor == 0, own_members[:, 1], own_members[:, 0])  # of the two that are not the anchor
    weights = np.ones(len(rows)) if answers.weights is None else answers.weights
    votes = np.bincount(unit * 3 + anchor, np.where(rows[:, 1] == first, weights, -weights), 3 * n_units)
    v0, v1, v2 = votes.reshape(n_units, 3).T  # positive: the first of the other two is nearer
    said = np.stack([(v1 > 0) & (v2 > 0), (v0 > 0) & (v2 < 0), (v0 < 0) & (v1 < 0)], axis=1)
    sizes = np.abs(np.stack([v1, v2, v0, v2, v0, v1], axis=1)).reshape(n_units, 3, 2).mean(axis=2)
    which = np.flatnonzero(said.any(axis=1))
    place = said[which].argmax(axis=1)
    rest = np.array([[1, 2], [0, 2], [0, 1]])[place]
    return _Decided(
        members[which, place],
        np.take_along_axis(members[which], rest, axis=1),
        sizes[which, place],
        int(np.isin(unit[several], which).sum()),
    )


def _lens_depth(answers: Comparisons, decided: _Decided) -> Centrality:
    n_objects = answers.n_objects
    shown = np.concatenate([decided.centre, *decided.others.T])
    total, squared = (np.bincount(shown, np.tile(w, 3), n_objects) for w in (decided.weights, decided.weights**2))
    won = np.bincount(decided.centre, decided.weights, n_objects)
    with np.errstate(invalid="ignore", divide="ignore"):
        number = total**2 / squared  # of answers of equal weight
        depth = won / total
        held_back = (depth * number + 0.5) / (number + 1)  # a share of 0 is not known for certain
        errors = share_standard_error(held_back, number)
    return Centrality(depth, errors, np.bincount(shown, minlength=n_objects), "lens depth", answers.names)


def _nearness(answers: Comparisons) -> Centrality:
    n_objects = answers.n_objects
    weights = np.ones(len(answers)) if answers.weights is None else answers.weights
    objects, weight, sign = _parts(answers.rows, weights)
    total, squared, sums = (np.bincount(objects, w, n_objects) for w in (weight, weight**2, sign * weight))
    with np.errstate(invalid="ignore", divide="ignore"):
        number = total**2 / squared
        score = sums / total
        held_back = score * number / (number + 1)
        errors = np.sqrt((1 - held_back**2) / number)
    return Centrality(score, errors, np.bincount(objects, minlength=n_objects), "nearness", answers.names)


def _parts(rows: NDArray[np.int32], weights: Array) -> tuple[NDArray[np.int32], Array, Array]:
    """The nearer and the farther objects of all rows: their numbers, the weights of their rows, and 1 or -1.

    An object of both pairs, such as a triplet's anchor, is neither nearer nor farther.
    """
    near, far = pairs_of(rows)
    found = []
    for pair, against, sign in ((near, far, 1.0), (far, near, -1.0)):
        for one in pair[1:] if rows.shape[1] == 3 else pair:
            apart = slice(None) if rows.shape[1] == 3 else (one != against[0]) & (one != against[1])
            found.append((one[apart], weights[apart], np.full(len(one[apart]), sign)))
    objects, weight, signs = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return objects, weight, signs
