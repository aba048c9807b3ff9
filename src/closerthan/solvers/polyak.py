"""Stochastic Polyak steps, averaged: the default."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from closerthan.arrays import Array
from closerthan.checks import positive, whole
from closerthan.objective.protocol import Capability, M, StepSchedule, WithPolyakWalk
from closerthan.objective.visits import MOST_RUNS
from closerthan.solvers import extra_dimensions
from closerthan.solvers.base import Monitor, Solver, State, StateKind
from closerthan.solvers.visiting_order import visits

__all__ = ["Polyak"]

SCALES = 2.0 ** (np.arange(-4, 9) / 4)  # by which a map may shrink or grow after a pass
SMALLER = SCALES[SCALES <= 1.0] ** 4  # by which it may shrink when extra dimensions go


@dataclass(frozen=True)
class Polyak(Solver):
    """Stochastic gradient descent whose steps need no tuning.

    One comparison after another, ``x <- x - eta * grad f_q(x)`` with Polyak's step ``eta = f_q(x) / |grad f_q(x)|^2``
    (Loizou et al. 2021), which would bring the loss of this comparison to 0 were it linear. Answers contradict each
    other, so steps are also bounded, and after ``t`` comparisons shortened by ``sqrt(reach * n_objects / t)``. What is
    reported after each epoch is a weighted average of the maps along the walk (Shamir and Zhang 2013), in which the
    noise of single steps cancels out. Such noise is far larger than what single precision rounds off: the map that
    moves has that, its average has double. After each pass the map is scaled to the size at which it fits best, which
    single steps are slow to find. After an epoch that gains little ``t`` is made four times as large, so that steps are
    half as long; one that does not lower the objective is also taken back.

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
    worthwhile
        An epoch gains little if it is less than this share of all that the map has gained over a collapsed one (over
        the start, if a collapsed one has no finite objective); the shorter steps are, the less is wanted, in
        proportion.

    Examples
    --------
    >>> Polyak(passes=1).share
    0.1
    """

    needs: ClassVar[frozenset[Capability]] = frozenset({"Polyak walk"})
    state_kinds: ClassVar[Mapping[str, StateKind]] = {
        "x": "map", "mean": "map", "age": "number", "distance": "number", "n_maps": "count"
    }  # fmt: skip

    share: float = 0.1
    reach: float = 10.0
    passes: int = 2
    lateness: float = 4.0
    enough: float = 11.0
    extra_dimensions: float | None = 12.0
    small_start: float = 0.1
    snapshots: int = 8
    worthwhile: float = 0.03

    def __post_init__(self) -> None:
        positive(share=self.share, reach=self.reach, lateness=self.lateness, enough=self.enough)
        positive(extra_dimensions=self.extra_dimensions, small_start=self.small_start, worthwhile=self.worthwhile)
        whole("passes", self.passes)
        whole("snapshots", self.snapshots)

    def run(  # type: ignore[override]  # it needs more than a plain objective
        self,
        objective: WithPolyakWalk[M],
        start: Array,
        rng: np.random.Generator,
        monitor: Monitor,
        state: State | None = None,
    ) -> None:
        n_terms, (n_objects, n_dims) = objective.n_terms, start.shape
        length = self._length(objective, start.size)
        chunk = length * max(MOST_RUNS // length, 1)
        schedule = StepSchedule(self.share, self.reach * n_objects, self.lateness)
        trust = max(0.0, 1.0 - self.enough * start.size / n_terms)
        n_wide = objective.padded_width(n_dims + 1)
        wide_until = (self.extra_dimensions or 0.0) * n_objects * n_wide  # comparisons

        collapsed = objective.collapsed_objective
        if not math.isfinite(collapsed):
            collapsed = objective.value(start).value
        now = objective.value(start if state is None else state["mean"])
        wide = state is None and wide_until > 0.0 and extra_dimensions.is_wanted(now)
        first = start
        if wide:
            few_answers = wide_until > self.passes * n_terms and n_wide > 2 * n_dims
            first = extra_dimensions.widened((self.small_start if few_answers else 1.0) * start, n_wide, rng)
        walk = objective.polyak_walk(first, schedule, length, state)
        stop = monitor(now)
        while not stop:
            passes = max(self.passes, math.ceil(wide_until / n_terms)) if wide else self.passes
            visited, cut = 0, False
            while visited < passes * n_terms and not cut:
                for part in visits("shuffled", rng, objective, n_terms, 1, chunk):
                    walk.take(part)
                    visited += len(part)
                    cut = monitor.must_end()
                    if wide and (walk.age >= wide_until or cut):
                        wide = False
                        walk.project(n_dims)
                        # What fitted in more dimensions may be far too large in these, and worse than no map at all.
                        walk.rescale(objective.best_scale(walk.mean, SMALLER, trust))
                    if cut:
                        break
                walk.rescale(objective.best_scale(walk.mean, SCALES, trust))
            after = objective.value(walk.mean.copy())
            wanted = self.worthwhile * schedule.length(walk.age) * max(collapsed - after.value, 0.0)
            if not now.value - after.value > wanted:
                walk.slow_down(4.0)  # steps shorten with the root of that
            if after.value < now.value:
                now = after
            else:
                walk.restart(now.x)
            stop = monitor(now, step=walk.step, gradients=visited + n_terms, state=walk.state)

    def _length(self, objective: WithPolyakWalk[M], map_size: int) -> int:
        """How many comparisons to walk between two maps: all stretches of a pass are alike, as all weigh as much."""
        n_terms = objective.n_terms
        # To average a map of so many numbers takes as long as to walk along an eighth as many comparisons.
        n_stretches = -(-n_terms // max(min(n_terms // self.snapshots, objective.longest_stretch), map_size // 8, 1))
        return -(-n_terms // n_stretches)
