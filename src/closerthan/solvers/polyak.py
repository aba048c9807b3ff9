"""Stochastic Polyak steps, averaged: the fast way down."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from closerthan import kernels
from closerthan.objective import Array
from closerthan.sampling import compile_visits, in_parts, visits
from closerthan.solvers.base import Monitor, Solver, State, whole
from closerthan.steps import positive

__all__ = ["Polyak"]

SNAPSHOTS = 8  # maps that a pass contributes to the mean: fewer where there are few answers or many objects
MOST_AT_ONCE = 2**17  # comparisons between two of them, so that an order takes little memory
DRAWN_AT_ONCE = 2**14  # comparisons whose order is drawn together; where there are more between two maps, those
SCALES = 2.0 ** (np.arange(-4, 9) / 4)  # by which a map may shrink or grow after a pass
AS_IT_IS = 4  # which of them is 1
INERTIA = 0.02 * np.log(SCALES) ** 2  # what a change of size must gain, as a share of the objective


@dataclass(frozen=True)
class Polyak(Solver):
    """Stochastic gradient descent whose steps need no tuning.

    One comparison after another, ``x <- x - eta * grad f_q(x)`` with Polyak's step ``eta = f_q(x) / |grad f_q(x)|^2``,
    which would bring the loss of this comparison to 0 were it linear. Answers contradict each other, so steps are also
    bounded, and after ``t`` comparisons shortened by ``sqrt(reach * n_objects / t)``. What is reported after each epoch
    is a mean of the maps along the way, the later ones weighing more, in which the noise of single steps cancels out.
    After each pass the map is scaled to the size at which it fits best, which single steps are slow to find. An epoch
    that does not lower the objective is taken back, and ``t`` made four times as large.

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
        Over the comparisons in an epoch.
    lateness
        The weight of the k-th map in the mean grows like ``k ** lateness``.
    enough
        Comparisons a coordinate below which a map is never enlarged (answers that it has learned by heart would have it
        larger than new ones do). With twice as many it takes half of what the best size would gain, with ten times as
        many nine tenths.

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

    def __post_init__(self) -> None:
        positive(share=self.share, longest=self.longest, reach=self.reach, lateness=self.lateness, enough=self.enough)
        whole("passes", self.passes)

    def prepare(self, objective: Any, start: Array) -> None:
        objective.descend_by_polyak(np.empty(0, np.int64), start.copy(), self._bound(objective, 1.0))
        objective.at_scales(start, SCALES[:1])
        nothing = np.empty((0, start.shape[1]))
        kernels.draw_near(nothing, nothing, 0.0)
        kernels.add_moves(nothing, nothing, nothing)
        compile_visits()

    def run(
        self, objective: Any, start: Array, rng: np.random.Generator, monitor: Monitor, state: State | None = None
    ) -> None:
        n_terms = objective.n_terms
        draws = self.passes * n_terms
        few = max(512, min(n_terms // 4, 2048))  # comparisons that are hardly worth a stretch of their own
        stretches = -(-n_terms // max(few, min(n_terms // SNAPSHOTS, MOST_AT_ONCE), start.size // 8))  # of a pass
        chunk = -(-n_terms // stretches)  # all alike: a short one at the end would weigh as much as the others
        drawn = chunk * max(DRAWN_AT_ONCE // chunk, 1)
        self.prepare(objective, start)
        if state is None:
            with np.errstate(over="ignore"):
                distance = 2.0 * start.var(axis=0).sum()  # the mean squared distance of two objects
            state = {"x": start, "mean": start, "age": np.array(0), "n_maps": np.array(0), "distance": distance}
        x, now = state["x"].copy(), objective.glance(state["mean"])
        age, n_maps, distance = int(state["age"]), int(state["n_maps"]), float(state["distance"])
        stop = monitor(now)
        while not stop:
            mean, before, walked = now.x.copy(), distance, 0
            for order in in_parts(visits("shuffled", rng, objective, draws, 1, drawn), chunk):
                age += len(order)
                passed, walked = walked // n_terms, walked + len(order)
                step = self._bound(objective, distance) * min(1.0, self.reach * len(x) / age) ** 0.5
                distance = objective.descend_by_polyak(order, x, step)
                n_maps += 1
                kernels.draw_near(mean, x, (self.lateness + 1.0) / (self.lateness + n_maps))
                if walked // n_terms > passed:
                    scale = self._scale(objective, mean)
                    x *= scale
                    mean *= scale
                    distance *= scale * scale
            after = objective.glance(mean)
            if after.value < now.value:
                now = after
            else:
                x, distance, age = now.x.copy(), before, min(4 * age, 2**60)
            numbers = {"age": np.array(age), "n_maps": np.array(n_maps), "distance": np.array(distance)}
            stop = monitor(now, step=step, gradients=draws + n_terms, state={"x": x.copy(), "mean": now.x, **numbers})

    def _scale(self, objective: Any, x: Array) -> float:
        """By how much to enlarge the map, or to shrink it."""
        heights = objective.at_scales(x, SCALES)
        now = heights[AS_IT_IS]
        costs = heights + INERTIA * abs(now)
        best = int(np.argmin(np.where(costs < np.inf, costs, np.inf)))  # NaN would be the least
        # A map that is worse than none at all has other troubles than its size.
        if not heights[best] < now < np.inf or now >= objective.ignorance:
            return 1.0
        if best < AS_IT_IS:
            return float(SCALES[best])
        trust = max(0.0, 1.0 - self.enough * x.size / objective.n_terms)
        gains = np.fmax.accumulate(now - heights[AS_IT_IS : best + 1])
        return float(np.interp(trust * gains[-1], gains, SCALES[AS_IT_IS : best + 1]))

    def _bound(self, objective: Any, distance: float) -> float:
        slope = objective.tie_slope(distance)
        return min(self.longest, self.share / slope) if slope > 0 else self.longest
