"""Stochastic gradient descent with Polyak steps and averaging: the default solver.

Polyak (1987) chooses the step size of gradient descent as eta = (f(x) - f*) / |grad f(x)|^2: for a convex f this
minimises a bound on the distance to a minimiser, and for a linear f it reaches the minimum f* in one step. Loizou
et al. (2021) carry the rule over to stochastic gradients, where it needs the minimum of a single term only. The terms
f_q(x) = loss(near, far) of an ordinal embedding are bounded below by 0, which makes the rule

    x <- x - eta_q grad f_q(x),        eta_q = min( f_q(x) / |grad f_q(x)|^2,  c_t ),

where, with u = x_i - x_j, v = x_l - x_k and the slopes s_near and s_far of the loss,

    |grad f_q|^2 = 8 (s_near^2 |u|^2 + s_far^2 |v|^2)        if the two pairs have no object in common,

and the inner product of u and v enters as well if they do. The rule is free of tuning parameters as long as every
answer can be satisfied. Real answers contradict each other, so the steps are bounded by

    c_t = share / s * min(1, sqrt(reach n / t)),

where t counts the comparisons visited, n is the number of objects and s is the slope of the loss for two pairs at the
same, typical distance; dividing by s makes the bound independent of the unit in which a loss measures distance. A
second bound, 1 / (8 max(|s_near|, |s_far|)), prevents a step from changing a pair's difference by more than half.

Every iterate carries the noise of its last steps. The reported map is therefore not the last iterate but a
polynomially weighted average of the iterates (Shamir & Zhang 2013), in which that noise cancels:

    mean <- mean + (a + 1) / (a + k) (x_k - mean),        a = lateness.

Because the noise far exceeds the rounding error of single precision, the iterate is stored in single precision and
the average in double precision. Three safeguards complete the method. After each pass the map is rescaled towards the
size with the lowest loss, which single steps approach slowly; with few answers it is enlarged less (``enough``). After
an epoch with little progress, t is multiplied by four, which halves the steps; if the objective did not decrease at
all, the epoch is also undone. A start that is no better than chance is embedded in extra dimensions at first
(:mod:`closerthan.solvers.extra_dimensions`). If the loss has a penalty and comparisons are few, or if the objective is
the likelihood of whole answers, to which steps along comparisons lead only approximately, L-BFGS finishes the fit
(:mod:`closerthan.solvers.finishing`).

References
----------
- B. T. Polyak: Introduction to Optimization. Optimization Software, 1987.
- N. Loizou, S. Vaswani, I. Laradji, S. Lacoste-Julien: Stochastic Polyak step-size for SGD: an adaptive learning rate
  for fast convergence. AISTATS 2021.
- O. Shamir, T. Zhang: Stochastic gradient descent for non-smooth optimization: convergence results and optimal
  averaging schemes. ICML 2013.
- S. Burer, R. D. C. Monteiro: A nonlinear programming algorithm for solving semidefinite programs via low-rank
  factorization. Mathematical Programming 95, 2003.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from closerthan.arrays import Array
from closerthan.checks import positive, whole
from closerthan.objective.protocol import Capability, M, PolyakWalk, StepSchedule, WithPolyakWalk
from closerthan.objective.visits import MOST_RUNS
from closerthan.signatures import readable
from closerthan.solvers import extra_dimensions
from closerthan.solvers.base import Solver, SolverMonitor, State, StateKind
from closerthan.solvers.finishing import finish
from closerthan.solvers.visiting_order import legs

__all__ = ["Polyak"]

SCALES = 2.0 ** (np.arange(-4, 9) / 4)  # factors tried for the size of the map after a pass
MOST_FINISHED = 2**16  # with more comparisons, gradients take long and Polyak steps come close enough to a minimum
SMALLER = SCALES[SCALES <= 1.0] ** 4  # factors tried after the extra dimensions have been dropped


@readable
@dataclass(frozen=True)
class Polyak(Solver):
    """Stochastic gradient descent whose step sizes need no tuning.

    Each step follows one comparison, ``x <- x - eta * grad f_q(x)``, with Polyak's step size
    ``eta = f_q(x) / |grad f_q(x)|^2`` (Loizou et al. 2021), which would bring the loss of that comparison to 0 if it
    were linear. Because answers contradict each other, the step size is bounded, and after ``t`` comparisons the bound
    decreases like ``sqrt(reach * n_objects / t)``. The map reported after each epoch is a weighted average of the maps
    along the walk (Shamir and Zhang 2013), in which the noise of single steps cancels. After each pass the map is
    rescaled to the size that fits best. After an epoch with little progress, ``t`` is multiplied by four, which halves
    the steps; an epoch that does not lower the objective is also undone.

    Parameters
    ----------
    share
        The largest step size, as a fraction of ``1 / slope``, where ``slope`` is the slope of the loss for two equally
        distant pairs. This makes the value independent of the unit of distance.
    reach
        Number of comparisons per object after which steps become shorter.
    passes
        Number of passes over the comparisons per epoch; the first epoch may have more (see ``extra_dimensions``).
    lateness
        The weight of the k-th map in the average grows like ``k ** lateness``.
    enough
        Number of comparisons per coordinate below which a map is never enlarged, because a map fitted to few answers
        would become too large to predict new ones. With twice that number, a map is enlarged until it reaches half of
        the gain of the best size; with ten times that number, nine tenths.
    extra_dimensions
        A start that is no better than chance is given extra dimensions (Burer and Monteiro 2003) for this number of
        comparisons per coordinate of the wider map, and is then projected onto its principal axes. If this takes more
        passes than an epoch has, the first epoch is extended accordingly and a map of one to three dimensions starts
        smaller, by the factor ``small_start``. None means no extra dimensions.
    small_start
        The factor for such a smaller start.
    snapshots
        Number of maps per pass that enter the average; fewer if there are many objects.
    worthwhile
        An epoch makes little progress if it lowers the objective by less than this fraction of the total gain since a
        collapsed map (since the start, if a collapsed map has no finite objective). The fraction decreases in
        proportion to the length of the steps.
    finish
        Number of comparisons per coordinate below which L-BFGS finishes a fit with a penalty, after the first epoch
        with little progress. With more comparisons, Polyak steps come close enough to a minimum.

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
    finish: float = 20.0

    def __post_init__(self) -> None:
        positive(share=self.share, reach=self.reach, lateness=self.lateness, enough=self.enough)
        positive(
            extra_dimensions=self.extra_dimensions,
            small_start=self.small_start,
            worthwhile=self.worthwhile,
            finish=self.finish,
        )
        whole("passes", self.passes)
        whole("snapshots", self.snapshots)

    def run(  # type: ignore[override]  # requires a capability, see needs
        self,
        objective: WithPolyakWalk[M],
        start: Array,
        rng: np.random.Generator,
        monitor: SolverMonitor,
        state: State | None = None,
    ) -> None:
        n_terms, (n_objects, n_dims) = objective.n_terms, start.shape
        length = self._length(objective, start.size)
        chunk = length * max(MOST_RUNS // length, 1)
        schedule = StepSchedule(self.share, self.reach * n_objects, self.lateness)
        trust = max(0.0, 1.0 - self.enough * start.size / n_terms)
        n_wide = objective.padded_width(n_dims + 1)
        wide_until = (self.extra_dimensions or 0.0) * n_objects * n_wide  # number of comparisons

        collapsed = objective.collapsed_objective
        if not math.isfinite(collapsed):
            collapsed = objective.value(start).value
        now = objective.value(start if state is None else state["mean"])
        wide = state is None and wide_until > 0.0 and extra_dimensions.is_at_chance(now)
        first = start
        if wide:
            few_answers = wide_until > self.passes * n_terms and n_wide > 2 * n_dims
            first = extra_dimensions.widen((self.small_start if few_answers else 1.0) * start, n_wide, rng)
        walk = self._walk(objective, first, schedule, length, state)
        stop = monitor(now)
        few = objective.penalized and n_terms < min(self.finish * start.size, MOST_FINISHED)
        finishes = few or objective.has_surrogate_walk
        while not stop:
            passes = max(self.passes, math.ceil(wide_until / n_terms)) if wide else self.passes
            visited, cut = 0, False
            while visited < passes * n_terms and not cut:
                for leg in legs(rng, objective, chunk, wide_until - walk.age if wide else math.inf):
                    walk.take(leg)
                    visited += len(leg)
                    cut = monitor.must_end()
                    if wide and (walk.age >= wide_until or cut):
                        wide = False
                        walk.project(n_dims)
                        # A map that fitted in more dimensions may now be far too large, and worse than a collapsed one.
                        walk.rescale(objective.best_scale(walk.mean, SMALLER, trust))
                    if cut:
                        break
                walk.rescale(objective.best_scale(walk.mean, SCALES, trust))
            after = objective.value(walk.mean.copy())
            least_gain = self.worthwhile * schedule.length(walk.age) * max(collapsed - after.value, 0.0)
            slow = not now.value - after.value > least_gain
            if slow:
                walk.slow_down(4.0)  # the step size is proportional to 1 / sqrt(age), so this halves it
            if after.value < now.value:
                now = after
            else:
                walk.restart(now.x)
            is_last = finishes and slow
            # L-BFGS has no state, so a fit that is resumed during it repeats this epoch and descends from the same map.
            stop = monitor(now, step=walk.step, gradients=visited + n_terms, state=None if is_last else walk.state)
            if is_last and not stop:
                finish(objective, n_terms, np.asarray(now.x), monitor)
                return

    def _length(self, objective: WithPolyakWalk[M], map_size: int) -> int:
        """Return the number of comparisons between two maps that enter the average.

        All stretches of a pass have the same length, because their maps count equally.
        """
        n_terms, longest = objective.n_terms, self._longest_stretch(objective)
        # Adding a map to the average takes about as long as walking along map_size / 8 comparisons.
        n_stretches = -(-n_terms // max(min(n_terms // self.snapshots, longest), map_size // 8, 1))
        return -(-n_terms // n_stretches)

    # ---- what a solver with another walk replaces --------------------------------------------------------------------

    def _walk(
        self, objective: WithPolyakWalk[M], x: Array, schedule: StepSchedule, length: int, state: State | None
    ) -> PolyakWalk[M]:
        return objective.polyak_walk(x, schedule, length, state)

    def _longest_stretch(self, objective: WithPolyakWalk[M]) -> int:
        return objective.longest_stretch
