"""Stochastic Polyak steps, averaged: the fast way down."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from closerthan.compiled import kernels, simd
from closerthan.objective.cpu import Array, Point, Singles, inner
from closerthan.solvers import extra_dimensions
from closerthan.solvers.base import Monitor, Solver, State, whole
from closerthan.solvers.steps import positive
from closerthan.solvers.visiting_order import compile_visits, visits

__all__ = ["Polyak"]

SNAPSHOTS = 8  # maps that a pass contributes to the mean: fewer where there are few answers or many objects
MOST_AT_ONCE = 2**17  # comparisons between two of them, so that an order takes little memory
DRAWN_AT_ONCE = 2**14  # comparisons whose order is drawn together; where there are more between two maps, those
SCALES = 2.0 ** (np.arange(-4, 9) / 4)  # by which a map may shrink or grow after a pass
AS_IT_IS = 4  # which of them is 1
SMALLER = 2.0 ** (np.arange(-12, 1) / 2)  # by which it may shrink when it leaves its further dimensions; the last is 1
LEARNED = 4.0  # comparisons a coordinate, those that a map has learned, below which steps stay as long as they are
INERTIA = 0.02 * np.log(SCALES) ** 2  # what a change of size must gain, as a share of the objective or of its fall
OLDEST = 2**60  # comparisons: that number must not overflow

_PREPARED: set[Any] = set()  # kinds of objectives for which everything is compiled: to ask again takes 0.1 ms


@dataclass(frozen=True)
class Polyak(Solver):
    """Stochastic gradient descent whose steps need no tuning.

    One comparison after another, ``x <- x - eta * grad f_q(x)`` with Polyak's step ``eta = f_q(x) / |grad f_q(x)|^2``,
    which would bring the loss of this comparison to 0 were it linear. Answers contradict each other, so steps are also
    bounded, and after ``t`` comparisons shortened by ``sqrt(reach * n_objects / t)``. What is reported after each epoch
    is a mean of the maps along the way, the later ones weighing more, in which the noise of single steps cancels out.
    Such noise is far larger than what single precision rounds off: the map that moves has that, its mean has double.
    After each pass the map is scaled to the size at which it fits best, which single steps are slow to find. An epoch
    that does not lower the objective (of a sample, where there are many comparisons) is taken back, and ``t`` made four
    times as large.

    Parameters
    ----------
    share
        The longest step is this share of ``1 / slope``, the loss's slope where two pairs are equally far apart. So it
        does not matter in which units a loss takes its distances.
    longest
        The longest step of all: some losses have no slope left where the map is large.
    reach
        Comparisons an object after which steps become shorter.
    passes
        Over the comparisons in an epoch; the first one may have more (``roomy``).
    lateness
        The weight of the k-th map in the mean grows like ``k ** lateness``.
    enough
        Comparisons a coordinate below which a map is never enlarged (answers that it has learned by heart would have it
        larger than new ones do). With twice as many it takes half of what the best size would gain, with ten times as
        many nine tenths.
    roomy
        A start that is no better than chance has more dimensions at first, for so many comparisons a coordinate of that
        wider map and at most eight passes. Then its widest dimensions are kept. Where this takes more passes than an
        epoch has, the first epoch has as many, and a map of one to three dimensions begins ten times smaller. None: no
        more dimensions.
    caution
        Where answers are plenty and contradict each other, what is left to learn is soon below the noise of long steps.
        So after the first epoch ``t`` is made larger: by this, times the objective (as a share of that of a map that
        knows nothing), times the share of answers beyond those that are ``enough``.

    Examples
    --------
    >>> Polyak(passes=1).share
    0.1
    """

    share: float = 0.1
    longest: float = 20.0
    reach: float = 10.0
    passes: int = 2
    lateness: float = 4.0
    enough: float = 11.0
    roomy: float | None = 12.0
    caution: float = 12.0

    def __post_init__(self) -> None:
        positive(share=self.share, longest=self.longest, reach=self.reach, lateness=self.lateness)
        positive(enough=self.enough, roomy=self.roomy)
        if not (isinstance(self.caution, Real) and 0.0 <= self.caution < math.inf):
            raise ValueError(f"caution is {self.caution}; it must be finite and not negative")
        whole("passes", self.passes)

    def prepare(self, objective: Any, start: Array) -> None:
        length = _length(objective, start)
        kind = objective.kind, objective.shares(length)
        if kind in _PREPARED:
            return
        one, nowhere = np.zeros(1, np.int64), kernels.Way(0, 0, 1.0, 0.0)
        objective.descend_by_polyak(one, length, self._pace(start), nowhere, simd.padded(start), start.copy())
        objective.best_scale(start, SCALES, AS_IT_IS, INERTIA, 0.0)
        extra_dimensions.narrowed(simd.padded(start[:1]), start[:1], 1)
        compile_visits()
        _PREPARED.add(kind)

    def run(
        self, objective: Any, start: Array, rng: np.random.Generator, monitor: Monitor, state: State | None = None
    ) -> None:
        self.prepare(objective, start)
        n_terms, length = objective.n_terms, _length(objective, start)
        drawn = length * max(DRAWN_AT_ONCE // length, 1)
        pace, trust = self._pace(start), max(0.0, 1.0 - self.enough * start.size / n_terms)
        n_objects, n_dims = start.shape
        n_wide = extra_dimensions.width(n_dims)
        wide, roomy = (
            False,
            min((self.roomy or 0.0) * n_objects * n_wide, extra_dimensions.MOST_PASSES * n_terms),
        )  # comparisons
        if state is None:
            now = objective.estimate(start)
            wide = roomy > 0.0 and extra_dimensions.is_wanted(now)
            few = roomy > self.passes * n_terms  # answers
            x = simd.padded(extra_dimensions.widened(start, rng, few=few)) if wide else _centred(start)
            way = kernels.Way(0, 0, _distance(x), 0.0)
        else:
            x, now = simd.padded(state["x"]), objective.estimate(state["mean"])
            way = kernels.Way(int(state["age"]), int(state["n_maps"]), float(state["distance"]), 0.0)
        stop = monitor(now)
        while not stop:
            first_epoch = way.age == 0
            mean = x[:, :n_wide].astype(np.float64) if wide else now.x.copy()
            passes = max(self.passes, math.ceil(roomy / n_terms)) if wide else self.passes
            for _ in range(passes):
                for order in visits("shuffled", rng, objective, n_terms, 1, drawn):
                    way = objective.descend_by_polyak(order, length, pace, way, x, mean)
                    if wide and way.age >= roomy:
                        wide, (x, mean) = False, extra_dimensions.narrowed(x, mean, n_dims)
                        # What fitted in more dimensions may be far too large in these, and worse than no map at all.
                        scale = objective.best_scale(mean, SMALLER, len(SMALLER) - 1, 0.0 * SMALLER, trust)
                        x *= scale
                        mean *= scale
                        way = way._replace(distance=_distance(x))
                scale = objective.best_scale(mean, SCALES, AS_IT_IS, INERTIA, trust)
                x *= scale
                mean *= scale
                way = way._replace(distance=way.distance * scale * scale)
            after = objective.estimate(mean)
            if after.value < now.value:
                now = after
                if first_epoch:
                    way = way._replace(age=int(min(way.age * self._slower(objective, now), OLDEST)))
            else:
                x = _centred(now.x)
                way = way._replace(distance=_distance(x), age=min(4 * way.age, OLDEST))
            kept = {"x": x[:, :n_dims].astype(np.float64), "mean": now.x}
            kept |= {"age": np.array(way.age), "n_maps": np.array(way.n_maps), "distance": np.array(way.distance)}
            looked_at = passes * n_terms + (after.sample or n_terms)
            stop = monitor(now, step=way.step, gradients=looked_at, state=kept)

    def _slower(self, objective: Any, now: Point) -> float:
        """By what factor to make ``t`` larger after the first epoch."""
        learned = 1.0 - now.value / objective.ignorance if objective.ignorance > 0.0 else 0.0
        if not 0.0 < learned < 1.0:  # a loss of another kind
            return 1.0
        asked = max(self.enough, LEARNED / learned)
        beyond: float = 1.0 - asked * now.x.size / objective.n_terms
        return 1.0 + self.caution * (1.0 - learned) * max(0.0, beyond)

    def _pace(self, start: Array) -> kernels.Pace:
        return kernels.Pace(
            float(self.share), float(self.longest), float(self.reach * len(start)), float(self.lateness)
        )


def _length(objective: Any, start: Array) -> int:
    """How many comparisons to walk between two maps: all stretches of a pass are alike, as all weigh as much."""
    n_terms: int = objective.n_terms
    few = max(512, min(n_terms // 4, 2048))  # comparisons that are hardly worth a stretch of their own
    n_stretches = -(-n_terms // max(few, min(n_terms // SNAPSHOTS, MOST_AT_ONCE), start.size // 8))
    return -(-n_terms // n_stretches)


def _distance(x: Singles) -> float:
    """The mean squared distance of two objects of a map around 0."""
    return 2.0 * inner(x, x) / len(x)


def _centred(x: Array) -> Singles:
    """Where a map lies does not matter, but far from 0 single precision could not tell its objects apart."""
    with np.errstate(over="ignore", invalid="ignore"):
        return simd.padded(x - x.mean(axis=0))
