"""Runs on the synthetic set: all methods of the paper, with several losses, in both settings."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from closerthan.datasets import Synthetic, synthetic
from closerthan.losses import LOSSES
from closerthan.objective.cpu.objective import CPUObjective
from closerthan.solvers import Solver
from reproduction.bench import Bench
from reproduction.methods import DEFAULTS, GRID, PAPER, QUICK_GRID, Setting, Tuning, methods, tuned
from reproduction.target import TARGET
from reproduction.tracking import Plan, TrackedRun, track
from reproduction.trial_log import Job, Row

N_DIMS = 10
DATA_SEED, TUNING_SEED, TRIAL_SEED = 2019, 1, 2


class Size(NamedTuple):
    """The size of the experiment."""

    n_objects: int
    n_answers: int
    batch_sizes: tuple[int, ...]
    grid: tuple[float, ...]
    n_tuning: int
    plan: Plan


FULL = Size(100, 10_000, (1, 5, 10, 20, 50, 100, 200), GRID, 3, Plan(60, 300, TARGET))
QUICK = Size(40, 3_000, (1, 10, 100), QUICK_GRID, 1, Plan(24, 36, TARGET))


class Runs(NamedTuple):
    """The outcome of all runs."""

    size: Size
    n_trials: int
    rows: list[Row]
    reaches: dict[str, dict[str, float]]  # the tuned step sizes of the competitors


def synthetic_runs(bench: Bench, name: str, losses: Sequence[str]) -> Runs:
    """Run all trials of all methods with the given losses in both settings."""
    size = QUICK if bench.quick else FULL
    n_trials = bench.count(50, quick=2)
    data = synthetic(size.n_objects, N_DIMS, size.n_answers, size.n_answers, seed=DATA_SEED)
    rows: list[Row] = []
    reaches: dict[str, dict[str, float]] = {}
    for setting in (PAPER, DEFAULTS):
        solvers: dict[str, dict[str, Solver]] = {}
        for loss in losses:
            common = _common(setting, loss, size)
            tune = functools.partial(_tracked_run, data, setting, loss, size.plan, TUNING_SEED)
            label = f"{name}, {setting.name}, {loss}: tuning"
            tuning = Tuning(setting, size.n_objects, size.n_answers, size.grid, size.n_tuning)
            best = tuned(bench.log, label, common, tuning, tune)
            reaches[f"{loss}, {setting.name}"] = best
            solvers[loss] = methods(setting, loss, size.n_objects, size.n_answers, best, size.batch_sizes)
        jobs = [
            Job(
                {
                    "stage": "trial",
                    **_common(setting, loss, size),
                    "method": method,
                    "solver": solver,
                    "trial": trial,
                },
                functools.partial(_trial, data, setting, loss, size.plan, solver, trial),
            )
            for trial in range(n_trials)
            for loss in losses
            for method, solver in solvers[loss].items()
        ]
        rows += bench.log.run(f"{name}, {setting.name}", jobs)
    return Runs(size, n_trials, rows, reaches)


def _common(setting: Setting, loss: str, size: Size) -> dict[str, Any]:
    return {
        "setting": setting.name,
        "loss": loss,
        "n_objects": size.n_objects,
        "n_answers": size.n_answers,
        "curve_passes": size.plan.curve_passes,
        "max_passes": size.plan.max_passes,
    }


def _tracked_run(
    data: Synthetic, setting: Setting, loss: str, plan: Plan, seed: int, solver: Solver, trial: int
) -> TrackedRun:
    rng = np.random.default_rng([DATA_SEED, seed, trial])
    start = setting.start((data.train.n_objects, N_DIMS), rng)
    with CPUObjective(data.train, LOSSES[loss]().in_dims(N_DIMS)) as objective:
        return track(solver, objective, start, rng, data.test, plan)


def _trial(data: Synthetic, setting: Setting, loss: str, plan: Plan, solver: Solver, trial: int) -> Mapping[str, Any]:
    outcome = _tracked_run(data, setting, loss, plan, TRIAL_SEED, solver, trial)._asdict()
    del outcome["x"], outcome["best_x"]
    return outcome
