"""Track the held-out error of a run after every |Q| term gradients, without counting the time for it.

Solvers report one map per epoch. An epoch of SVRG costs 3 |Q| gradients, and the paper's curves have three points per
epoch. The tracked objective therefore wraps the solver's objective and evaluates the error in the middle and at the
end of each walk. It does not change what the solver computes.
"""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.fit.monitor import Monitor
from closerthan.fit.stopping import Limits
from closerthan.history import Record
from closerthan.objective.agreement import wrong_fraction
from closerthan.objective.cpu.objective import CPUObjective
from closerthan.objective.protocol import Objective, Point, PolyakWalk, State, StepSchedule, VarianceReducedWalk
from closerthan.objective.visits import Visits
from closerthan.solvers import SVRG, Solver


class Plan(NamedTuple):
    """The length of a run: ``curve_passes`` passes for the curve, then up to ``max_passes`` to reach the target."""

    curve_passes: int
    max_passes: int
    target: float = -math.inf


class TrackedRun(NamedTuple):
    """The outcome of a run. A pass is |Q| term gradients; ``errors[k]`` is the held-out error after k passes."""

    errors: list[float]
    steps: list[float]  # the step size of each epoch
    passes_to_target: float  # infinite if the target was not reached
    seconds_to_target: float
    inner_steps_to_target: float  # number of stochastic steps; 0 for a deterministic solver
    seconds: float
    best_error: float
    last_error: float
    stopped_by: str
    x: Array
    best_x: Array  # the map with the lowest held-out error, as early stopping would return


def track(
    solver: Solver, objective: CPUObjective, start: Array, rng: np.random.Generator, test: Comparisons, plan: Plan
) -> TrackedRun:
    """Run a solver in one thread and evaluate its error on ``test`` after each pass.

    Examples
    --------
    >>> import closerthan as ct
    >>> data = ct.datasets.synthetic(20, 2, 500, 500, seed=0)
    >>> rng = np.random.default_rng(1)
    >>> objective = CPUObjective(data.train, ct.losses.STE())
    >>> run = track(ct.solvers.SVRG(), objective, 0.1 * rng.standard_normal((20, 2)), rng, data.test, Plan(9, 9))
    >>> len(run.errors), bool(run.errors[-1] < run.errors[0])
    (10, True)
    """
    from threadpoolctl import threadpool_limits

    objective.prepare(solver.needs, start.shape[1])
    tracked = _TrackedObjective(objective, test, plan, variance_reduced=isinstance(solver, SVRG))
    if isinstance(solver, SVRG):
        tracked.time_first_gradient(start)
    # All methods use one thread, including the eigendecompositions of the convex one.
    with threadpool_limits(1), np.errstate(over="ignore", invalid="ignore"):
        solver.run(tracked, start, rng, tracked.monitor)
    return tracked.outcome()


class _TrackedObjective(Objective):
    """An objective that forwards every call and evaluates the held-out error along the way."""

    def __init__(self, objective: CPUObjective, test: Comparisons, plan: Plan, *, variance_reduced: bool) -> None:
        self._objective = objective
        self._test = test
        self._plan = plan
        self._variance_reduced = variance_reduced
        self.capabilities, self.collapsed_objective = objective.capabilities, objective.collapsed_objective
        self.device, self.weighted = objective.device, objective.weighted
        limits = Limits(epochs=10**9)
        self.monitor = Monitor(self, limits, listeners=(self._listen,))
        self._evaluations: list[tuple[float, float, float, int]] = []
        self._inner_steps = 0
        self._head_seconds = 0.0
        self._latest: Array | None = None
        self._best: Array | None = None
        self._best_error = math.inf

    def time_first_gradient(self, start: Array) -> None:
        """Time one full gradient: SVRG's first one is computed before the monitor starts its clock and its count."""
        self._objective.at(start)
        began = time.perf_counter()
        self._objective.at(start)
        self._head_seconds = time.perf_counter() - began

    # ---- the objective, as the solver sees it ----------------------------------------------------------------------

    @property
    def n_terms(self) -> int:
        return self._objective.n_terms

    def at(self, x: Array) -> Point:
        return self._objective.at(x)

    def value(self, x: Array) -> Point:
        return self._objective.value(x)

    def held_out_error(self, x: Array) -> float:
        return self._objective.held_out_error(x)

    def walk(self, snapshot: Point, batch_size: int) -> VarianceReducedWalk:
        return _TrackedWalk(self._objective.walk(snapshot, batch_size), batch_size, self.n_terms, self._evaluate_within)

    def descend(self, visits: Visits, x: Array, batch_size: int, step: float) -> None:
        self._objective.descend(visits, x, batch_size, step)

    def polyak_walk(self, x: Array, schedule: StepSchedule, length: int, state: State | None = None) -> PolyakWalk:
        return self._objective.polyak_walk(x, schedule, length, state)

    def lock_free_walk(self, x: Array, schedule: StepSchedule, length: int, state: State | None = None) -> PolyakWalk:
        return self._objective.lock_free_walk(x, schedule, length, state)

    def best_scale(self, x: Array, scales: Array, trust: float) -> float:
        return self._objective.best_scale(x, scales, trust)

    def padded_width(self, n_dims: int) -> int:
        return self._objective.padded_width(n_dims)

    def at_gram(self, gram: Array) -> tuple[float, Array]:
        return self._objective.at_gram(gram)

    # ---- evaluations -------------------------------------------------------------------------------------------------

    def _listen(self, record: Record, x: Array) -> bool:
        self._latest = x
        if record.epoch == 0:
            self._evaluate(x, 0.0, 0.0)
            if self._variance_reduced:
                self._repeat(1.0)
        elif self._variance_reduced:
            self._repeat(record.gradients / self.n_terms + 1)
        else:
            self._evaluate(x, record.gradients / self.n_terms, record.seconds)
        passes = self._evaluations[-1][0]
        reached = any(evaluation[2] < self._plan.target for evaluation in self._evaluations)
        return passes >= self._plan.max_passes or (
            passes >= self._plan.curve_passes and (reached or not math.isfinite(self._plan.target))
        )

    def _evaluate_within(self, x: Array, n_draws: int, inner_steps: int) -> None:
        if not len(self.monitor.history):
            return  # the solver is compiling its kernels, before the clock starts
        with self.monitor.paused() as seconds:
            self._inner_steps += inner_steps
            passes = 1 + (self.monitor.history[-1].gradients + 2 * n_draws) / self.n_terms
            self._evaluate(x, passes, seconds + self._head_seconds)

    def _evaluate(self, x: Array, passes: float, seconds: float) -> None:
        error = wrong_fraction(self._test, np.ascontiguousarray(x))
        self._evaluations.append((passes, seconds, error, self._inner_steps))
        if self._best is None or error <= self._best_error:
            self._best, self._best_error = x.copy(), error

    def _repeat(self, passes: float) -> None:
        """Record a full gradient, which adds a pass but does not move the map."""
        _, seconds, error, inner_steps = self._evaluations[-1]
        self._evaluations.append((passes, seconds, error, inner_steps))

    def outcome(self) -> TrackedRun:
        """Summarise the run."""
        passes, seconds, errors, inner_steps = (np.array(column) for column in zip(*self._evaluations, strict=True))
        hits = np.flatnonzero(errors < self._plan.target)
        first = hits[0] if len(hits) else None
        grid = np.searchsorted(passes, np.arange(self._plan.curve_passes + 1) + 1e-9, side="right") - 1
        history = self.monitor.history
        assert self._latest is not None
        assert self._best is not None
        return TrackedRun(
            errors=[round(float(errors[place]), 6) for place in grid],
            steps=[float(step) for step in history.step[1:]],
            passes_to_target=math.inf if first is None else float(passes[first]),
            seconds_to_target=math.inf if first is None else float(seconds[first]),
            inner_steps_to_target=math.inf if first is None else float(inner_steps[first]),
            seconds=history[-1].seconds,
            best_error=float(errors.min()),
            last_error=float(errors[-1]),
            stopped_by=self.monitor.stopped_by,
            x=self._latest,
            best_x=self._best,
        )


class _TrackedWalk:
    """A walk that is evaluated in its middle and at its end."""

    def __init__(
        self, walk: VarianceReducedWalk, batch_size: int, n_terms: int, evaluate: Callable[[Array, int, int], None]
    ) -> None:
        self._walk = walk
        self._batch_size = batch_size
        n_steps = n_terms // batch_size
        self._stations = sorted({max(n_steps // 2, 1) * batch_size, n_steps * batch_size})
        self._n_draws = 0
        self._n_steps = 0  # at the last evaluation
        self._evaluate = evaluate

    def take(self, visits: Visits, step: float) -> None:
        if not len(visits):
            self._walk.take(visits, step)
            return
        begin = 0
        for station in self._stations:
            if self._n_draws < station <= self._n_draws + len(visits) - begin:
                here = begin + station - self._n_draws
                self._walk.take(visits[begin:here], step)
                self._n_draws = station
                begin = here
                n_steps = station // self._batch_size
                self._evaluate(self._walk.x, self._n_draws, n_steps - self._n_steps)
                self._n_steps = n_steps
        if begin < len(visits):
            self._walk.take(visits[begin:], step)
            self._n_draws += len(visits) - begin

    @property
    def x(self) -> Array:
        return self._walk.x
