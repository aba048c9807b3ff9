"""The methods that the paper compares, under the paper's names, and the tuning of the competitors' step sizes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from closerthan.arrays import Array
from closerthan.fit.fixed_loss import START_SCALE
from closerthan.solvers import SGD, SVRG, Batch, Gram, Solver
from closerthan.solvers.steps import EPSILON, FIRST_STEP, LONGEST, Constant, Decay, StabilizedBB
from reproduction.page import Table
from reproduction.tracking import TrackedRun
from reproduction.trial_log import Job, TrialLog

Sampling = Literal["uniform", "shuffled"]

LOSS_NAMES = ("gnmds", "ckl", "ste", "tste")

UNTUNED = "SVRG, untuned"  # the constant step is the first step of SVRG-SBB, which was not tuned either

# The reach of a method is its total step size per epoch (draws times eta), in multiples of the number of objects.
GRID = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
QUICK_GRID = (0.1, 0.5, 2.0)


def _batch(reach: float, n_terms: int, sampling: Sampling) -> Solver:  # noqa: ARG001 - same signature as the others
    return Batch(step=Constant(reach))


def _sgd(reach: float, n_terms: int, sampling: Sampling) -> Solver:
    return SGD(step=Decay(first=reach / n_terms), sampling=sampling)


def _svrg(reach: float, n_terms: int, sampling: Sampling) -> Solver:
    return SVRG(step=Constant(reach / n_terms), batch_size=1, sampling=sampling)


TUNED: dict[str, Callable[[float, int, Sampling], Solver]] = {"batch": _batch, "SGD": _sgd, "SVRG": _svrg}


@dataclass(frozen=True)
class Setting:
    """Start and step sizes of SVRG-SBB: those of the authors' code, or the defaults of this package."""

    name: str
    title: str
    authors: bool

    @property
    def sampling(self) -> Sampling:
        """The sampling: independent draws as in the paper, or shuffled passes."""
        return "uniform" if self.authors else "shuffled"

    def start(self, shape: tuple[int, int], rng: np.random.Generator) -> Array:
        """Draw a random start."""
        return rng.random(shape) if self.authors else START_SCALE * rng.standard_normal(shape)

    def step(self, loss: str, stabilised: bool) -> StabilizedBB:
        """Return the step rule SBB_eps, or SBB_0 if not ``stabilised``."""
        epsilon, first = AUTHORS_STEPS[loss] if self.authors else (None, None)
        return StabilizedBB(epsilon=epsilon if stabilised else 0.0, first=first)


# (epsilon, first eta) in the authors' code for the synthetic set. It has none for gnmds and ckl; we use those of ste.
AUTHORS_STEPS = {"gnmds": (0.025, 5e-4), "ckl": (0.025, 5e-4), "ste": (0.025, 5e-4), "tste": (0.005, 0.05)}

PAPER = Setting("paper", "the paper's setting: absolute eps and first step, start in [0, 1)^p, independent draws", True)
DEFAULTS = Setting(
    "defaults",
    f"this package's defaults: eps = max({EPSILON:g}/n, {1 / LONGEST:g}/m), m eta_0 = {FIRST_STEP:g} n, start from "
    f"N(0, {START_SCALE:g}^2), shuffled passes",
    False,
)


def methods(
    setting: Setting, loss: str, n_objects: int, n_terms: int, reaches: Mapping[str, float], batch_sizes: Sequence[int]
) -> dict[str, Solver]:
    """Return all methods of the paper's tables, in their order.

    Examples
    --------
    >>> list(methods(DEFAULTS, "ste", 10, 100, {"batch": 0.5, "SGD": 0.5, "SVRG": 0.5}, (1, 20)))
    ['cvx', 'batch', 'SGD', 'SVRG', 'SVRG, untuned', 'SVRG-SBB_0', 'SVRG-SBB_eps-1', 'SVRG-SBB_eps-20']
    """
    sampling = setting.sampling
    solvers: dict[str, Solver] = {"cvx": Gram()}
    for name, make in TUNED.items():
        solvers[name] = make(reaches[name] * n_objects, n_terms, sampling)
    untuned = Constant(AUTHORS_STEPS[loss][1] if setting.authors else None)
    solvers[UNTUNED] = SVRG(step=untuned, batch_size=1, sampling=sampling)
    solvers["SVRG-SBB_0"] = SVRG(step=setting.step(loss, stabilised=False), batch_size=1, sampling=sampling)
    for size in batch_sizes:
        step = setting.step(loss, stabilised=True)
        solvers[f"SVRG-SBB_eps-{size}"] = SVRG(step=step, batch_size=size, sampling=sampling)
    return solvers


class Tuning(NamedTuple):
    """The size of the problem to tune on, the reaches to try, and the error that breaks ties between them."""

    setting: Setting
    n_objects: int
    n_terms: int
    grid: Sequence[float]
    n_trials: int
    by: Literal["mean_error", "last_error"] = "mean_error"


def tuned(
    log: TrialLog,
    label: str,
    common: Mapping[str, Any],
    tuning: Tuning,
    run: Callable[[Solver, int], TrackedRun],
) -> dict[str, float]:
    """Return the best reach of each competitor, determined on separate trials.

    The best reach attains the target error in the fewest passes (median over the trials). Ties, including the case in
    which no reach attains it, are broken by the lowest held-out error: the mean along the curve, or the last one.
    """
    jobs = []
    for trial in range(tuning.n_trials):
        for name, make in TUNED.items():
            for reach in tuning.grid:
                solver = make(reach * tuning.n_objects, tuning.n_terms, tuning.setting.sampling)
                settings = {"stage": "tuning", **common, "method": name, "reach": reach, "trial": trial}
                jobs.append(Job(settings, _scored(run, solver, trial)))
    rows = log.run(label, jobs)
    best = {}
    for name in TUNED:
        scores = {}
        for reach in tuning.grid:
            matching = [row for row in rows if row["method"] == name and row["reach"] == reach]
            passes = float(np.median([row["passes_to_target"] for row in matching]))
            scores[reach] = (passes, float(np.median([row[tuning.by] for row in matching])))
        best[name] = min(scores, key=lambda reach: scores[reach])
    return best


def _scored(run: Callable[[Solver, int], TrackedRun], solver: Solver, trial: int) -> Callable[[], dict[str, Any]]:
    def work() -> dict[str, Any]:
        tracked = run(solver, trial)
        return {
            "passes_to_target": tracked.passes_to_target,
            "mean_error": float(np.mean(tracked.errors)),
            "last_error": tracked.errors[-1],
        }

    return work


def tuning_table(caption: str, reaches: Mapping[str, Mapping[str, float]], grid: Sequence[float]) -> Table:
    """Return a table of the best reach of each competitor."""
    rows = []
    for label, best in reaches.items():
        edges = {name: " (edge)" if reach in (grid[0], grid[-1]) else "" for name, reach in best.items()}
        rows.append([label, *(f"{best[name]:g} n{edges[name]}" for name in TUNED)])
    grid_text = ", ".join(f"{reach:g}" for reach in grid)
    return Table(
        f"{caption} Grid for m eta (batch: eta), in multiples of n: {grid_text}. SGD decays as "
        "eta_0/(1 + 0.01 passes). The convex method is not tuned, because it has a line search.",
        ["", *TUNED],
        rows,
    )
