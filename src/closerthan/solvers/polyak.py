"""Stochastic Polyak steps, averaged: the default."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from closerthan.arrays import Array, Singles, inner
from closerthan.checks import positive, whole
from closerthan.compiled import kernels, simd
from closerthan.solvers import extra_dimensions
from closerthan.solvers.base import Monitor, Solver, State
from closerthan.solvers.visiting_order import MOST_RUNS, compile_visits, visits

__all__ = ["Polyak"]

MOST_AT_ONCE = 2**17  # comparisons between two of them: then their order, a megabyte, stays in the cache
MOST_FEW = 2**11  # comparisons below which four maps of a pass do: with more, the race of losses becomes noisier
SCALES = 2.0 ** (np.arange(-4, 9) / 4)  # by which a map may shrink or grow after a pass
AS_IT_IS = 4  # which of them is 1
SMALLER = 2.0 ** np.arange(-4.0, 1.0)  # by which it may shrink when extra dimensions go; the last is 1

_PREPARED: set[Any] = set()  # kinds of objectives for which everything is compiled: to ask again takes 0.1 ms


@dataclass(frozen=True)
class Polyak(Solver):
    """Stochastic gradient descent whose steps need no tuning.

    One comparison after another, ``x <- x - eta * grad f_q(x)`` with Polyak's step ``eta = f_q(x) / |grad f_q(x)|^2``
    (Loizou et al. 2021), which would bring the loss of this comparison to 0 were it linear. Answers contradict each
    other, so steps are also bounded, and after ``t`` comparisons shortened by ``sqrt(reach * n_objects / t)``. What is
    reported after each epoch is a weighted average of the maps along the walk (Shamir and Zhang 2013), in which the
    noise of single steps cancels out. Such noise is far larger than what single precision rounds off: the map that
    moves has that, its average has double. After each pass the map is scaled to the size at which it fits best, which
    single steps are slow to find. An epoch that does not lower the objective is taken back, and ``t`` made four times
    as large.

    Parameters
    ----------
    share
        The longest step is this share of ``1 / slope``, the loss's slope where two pairs are equally far apart. So it
        does not matter in which units a loss takes its distances.
    reach
        Comparisons per object after which steps become shorter.
    passes
        Over the comparisons in an epoch; the first one may have more (``extra_dimensions``).
    lateness
        The weight of the k-th map in the average grows like ``k ** lateness``.
    enough
        Comparisons per coordinate below which a map is never enlarged (fitted to few answers, it would become too large
        for new ones). With twice as many it takes half of what the best size would gain, with ten times as many nine
        tenths.
    extra_dimensions
        A start that is no better than chance has extra dimensions at first (Burer and Monteiro 2003), for so many
        comparisons per coordinate of that wider map. Then it is projected on its principal axes. Where this takes more
        passes than an epoch has, the first epoch has as many, and a map of one to three dimensions begins ten times
        smaller (``small_start``). None: no extra dimensions.
    small_start
        By this factor.
    snapshots
        Maps of a pass in the average; fewer where there are many objects.
    inertia
        What a change of size must gain, times the square of its logarithm, as a share of the objective or of its fall.

    Examples
    --------
    >>> Polyak(passes=1).share
    0.1
    """

    share: float = 0.1
    reach: float = 10.0
    passes: int = 2
    lateness: float = 4.0
    enough: float = 11.0
    extra_dimensions: float | None = 12.0
    small_start: float = 0.1
    snapshots: int = 8
    inertia: float = 0.02

    def __post_init__(self) -> None:
        positive(share=self.share, reach=self.reach, lateness=self.lateness, enough=self.enough)
        positive(extra_dimensions=self.extra_dimensions, small_start=self.small_start)
        if not (isinstance(self.inertia, Real) and 0.0 <= self.inertia < math.inf):
            raise ValueError(f"inertia is {self.inertia}; it must be finite and not negative")
        whole("passes", self.passes)
        whole("snapshots", self.snapshots)

    def prepare(self, objective: Any, start: Array) -> None:
        length = self._length(objective, start)
        kind = objective.kind, objective.shares(length)
        if kind in _PREPARED:
            return
        one, nowhere = np.zeros(1, np.int64), kernels.Progress(0.0, 0, 1.0, 0.0)
        objective.descend_by_polyak(one, length, self._schedule(start), nowhere, simd.padded(start), start.copy())
        objective.best_scale(start, SCALES, AS_IT_IS, 0.0 * SCALES, 0.0)
        extra_dimensions.narrowed(simd.padded(start[:1]), start[:1], 1)
        compile_visits()
        _PREPARED.add(kind)

    def run(
        self, objective: Any, start: Array, rng: np.random.Generator, monitor: Monitor, state: State | None = None
    ) -> None:
        self.prepare(objective, start)
        n_terms, length = objective.n_terms, self._length(objective, start)
        drawn = length * max(MOST_RUNS // length, 1)
        schedule, trust = self._schedule(start), max(0.0, 1.0 - self.enough * start.size / n_terms)
        inertia = self.inertia * np.log(SCALES) ** 2
        n_objects, n_dims = start.shape
        n_wide = extra_dimensions.width(n_dims)
        wide_until = (self.extra_dimensions or 0.0) * n_objects * n_wide  # comparisons
        wide = False
        if state is None:
            now = objective.value(start)
            wide = wide_until > 0.0 and extra_dimensions.is_wanted(now)
            few = wide_until > self.passes * n_terms and n_wide > 2 * n_dims  # answers
            size = self.small_start if few else 1.0
            x = simd.padded(extra_dimensions.widened(size * start, rng)) if wide else _centred(start)
            progress = kernels.Progress(0.0, 0, _distance(x), 0.0)
        else:
            x, now = simd.padded(state["x"]), objective.value(state["mean"])
            progress = kernels.Progress(float(state["age"]), int(state["n_maps"]), float(state["distance"]), 0.0)
        stop = monitor(now)
        while not stop:
            mean = x[:, :n_wide].astype(np.float64) if wide else now.x.copy()
            passes = max(self.passes, math.ceil(wide_until / n_terms)) if wide else self.passes
            for _ in range(passes):
                for order in visits("shuffled", rng, objective, n_terms, 1, drawn):
                    progress = objective.descend_by_polyak(order, length, schedule, progress, x, mean)
                    if wide and progress.age >= wide_until:
                        wide, (x, mean) = False, extra_dimensions.narrowed(x, mean, n_dims)
                        # What fitted in more dimensions may be far too large in these, and worse than no map at all.
                        scale = objective.best_scale(mean, SMALLER, len(SMALLER) - 1, 0.0 * SMALLER, trust)
                        x *= scale
                        mean *= scale
                        progress = progress._replace(distance=_distance(x))
                scale = objective.best_scale(mean, SCALES, AS_IT_IS, inertia, trust)
                x *= scale
                mean *= scale
                progress = progress._replace(distance=progress.distance * scale * scale)
            after = objective.value(mean)
            if after.value < now.value:
                now = after
            else:
                x = _centred(now.x)
                progress = progress._replace(distance=_distance(x), age=4.0 * progress.age)
            kept = {"x": x[:, :n_dims].astype(np.float64), "mean": now.x}
            kept |= {name: np.array(getattr(progress, name)) for name in ("age", "n_maps", "distance")}
            stop = monitor(now, step=progress.step, gradients=(passes + 1) * n_terms, state=kept)

    def _schedule(self, start: Array) -> kernels.StepSchedule:
        return kernels.StepSchedule(float(self.share), float(self.reach * len(start)), float(self.lateness))

    def _length(self, objective: Any, start: Array) -> int:
        """How many comparisons to walk between two maps: all stretches of a pass are alike, as all weigh as much."""
        n_terms: int = objective.n_terms
        few = min(n_terms // 4, MOST_FEW)
        # To average a map of x.size numbers takes as long as to walk along some x.size / 8 comparisons.
        n_stretches = -(-n_terms // max(min(n_terms // self.snapshots, MOST_AT_ONCE), few, start.size // 8, 1))
        return -(-n_terms // n_stretches)


def _distance(x: Singles) -> float:
    """The mean squared distance of two objects of a map around 0."""
    return 2.0 * inner(x, x) / len(x)


def _centred(x: Array) -> Singles:
    """Where a map lies does not matter, but far from 0 single precision could not tell its objects apart."""
    with np.errstate(over="ignore", invalid="ignore"):
        return simd.padded(x - x.mean(axis=0))
