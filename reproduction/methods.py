"""The methods that the paper compares, under its own names; and how the competitors' steps are tuned."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from closerthan.arrays import Array
from closerthan.fit.fixed_loss import START_SCALE
from closerthan.solvers import SGD, SVRG, Batch, Gram, Solver
from closerthan.solvers.steps import EPSILON, FIRST_STEP, LONGEST, Constant, Decay, StabilizedBB
from reproduction.page import Table
from reproduction.trials import Job, Trials
from reproduction.watch import Watched

Sampling = Literal["uniform", "shuffled"]

LOSS_NAMES = ("gnmds", "ckl", "ste", "tste")

UNTUNED = "SVRG, untuned"  # with the first step of SVRG-SBB as a constant step, which was not tuned either

# How far an epoch goes (draws times eta), in multiples of the number of objects.
GRID = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
QUICK_GRID = (0.1, 0.5, 2.0)


def _batch(reach: float, n_terms: int, sampling: Sampling) -> Solver:  # noqa: ARG001 - called like its neighbours
    return Batch(step=Constant(reach))


def _sgd(reach: float, n_terms: int, sampling: Sampling) -> Solver:
    return SGD(step=Decay(first=reach / n_terms), sampling=sampling)


def _svrg(reach: float, n_terms: int, sampling: Sampling) -> Solver:
    return SVRG(step=Constant(reach / n_terms), batch_size=1, sampling=sampling)


TUNED: dict[str, Callable[[float, int, Sampling], Solver]] = {"batch": _batch, "SGD": _sgd, "SVRG": _svrg}


@dataclass(frozen=True)
class Setting:
    """How SVRG-SBB is started and stabilised: as in the authors' code, or by this package's defaults."""

    name: str
    title: str
    authors: bool

    @property
    def sampling(self) -> Sampling:
        """Independent draws as in the paper, or shuffled passes."""
        return "uniform" if self.authors else "shuffled"

    def start(self, shape: tuple[int, int], rng: np.random.Generator) -> Array:
        """A random first map."""
        return rng.random(shape) if self.authors else START_SCALE * rng.standard_normal(shape)

    def step(self, loss: str, stabilised: bool) -> StabilizedBB:
        """SBB_eps, or SBB_0."""
        epsilon, first = AUTHORS_STEPS[loss] if self.authors else (None, None)
        return StabilizedBB(epsilon=epsilon if stabilised else 0.0, first=first)


# (epsilon, first eta) of the authors' code, synthetic set. We know none for gnmds and ckl; they get those of ste.
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
    """All methods of the paper's tables, in their order.

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


def tuned(
    trials: Trials,
    label: str,
    setting: Setting,
    common: Mapping[str, Any],
    n_objects: int,
    n_terms: int,
    grid: Sequence[float],
    run: Callable[[Solver, int], Watched],
    n_trials: int,
    *,
    by: Literal["mean_error", "last_error"] = "mean_error",
) -> dict[str, float]:
    """The best reach of each competitor, on trials of their own.

    Best is what reaches the target in the fewest passes (median over the trials); among equals, and where nothing
    reaches it, what has the lowest held-out error: its mean along the curve, or the last one.
    """
    jobs = []
    for trial in range(n_trials):
        for name, make in TUNED.items():
            for reach in grid:
                solver = make(reach * n_objects, n_terms, setting.sampling)
                settings = {"stage": "tuning", **common, "method": name, "reach": reach, "trial": trial}
                jobs.append(Job(settings, _scored(run, solver, trial)))
    rows = trials.run(label, jobs)
    best = {}
    for name in TUNED:
        scores = {}
        for reach in grid:
            mine = [row for row in rows if row["method"] == name and row["reach"] == reach]
            passes = float(np.median([row["passes_to_target"] for row in mine]))
            scores[reach] = (passes, float(np.median([row[by] for row in mine])))
        best[name] = min(scores, key=lambda reach: scores[reach])
    return best


def _scored(run: Callable[[Solver, int], Watched], solver: Solver, trial: int) -> Callable[[], dict[str, Any]]:
    def work() -> dict[str, Any]:
        seen = run(solver, trial)
        return {
            "passes_to_target": seen.passes_to_target,
            "mean_error": float(np.mean(seen.errors)),
            "last_error": seen.errors[-1],
        }

    return work


def tuning_table(caption: str, reaches: Mapping[str, Mapping[str, float]], grid: Sequence[float]) -> Table:
    """Which reach won for each competitor."""
    rows = []
    for label, chosen in reaches.items():
        edges = {name: " (edge)" if reach in (grid[0], grid[-1]) else "" for name, reach in chosen.items()}
        rows.append([label, *(f"{chosen[name]:g} n{edges[name]}" for name in TUNED)])
    stated = ", ".join(f"{reach:g}" for reach in grid)
    return Table(
        f"{caption} Grid for m eta (batch: eta), in multiples of n: {stated}. SGD decays as eta_0/(1 + 0.01 passes). "
        "The convex method is not tuned: it searches its step itself.",
        ["", *TUNED],
        rows,
    )
