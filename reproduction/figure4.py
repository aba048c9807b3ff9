"""Figure 4: similarity of musicians; held-out error against the number of gradients for all methods."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from closerthan.comparisons import Comparisons
from closerthan.datasets import music
from closerthan.losses import LOSSES
from closerthan.objective.cpu.objective import CPUObjective
from closerthan.solvers import Solver
from closerthan.wording import percent
from reproduction.bench import Bench
from reproduction.drawing import Axes, Line, draw_lines, quartiles
from reproduction.methods import DEFAULTS, GRID, LOSS_NAMES, QUICK_GRID, UNTUNED, Tuning, methods, tuned, tuning_table
from reproduction.page import Block, Claim, Picture, Section, Table, Text
from reproduction.tracking import Plan, TrackedRun, track
from reproduction.trial_log import Job, Row

N_DIMS = 9
TEST_SHARE = 0.2
TUNING_SEED, TRIAL_SEED = 41, 42
EARLY = 10  # passes: the paper's "initial epochs"
WORSE = 0.05


def run(bench: Bench) -> Section:
    """Run all methods and losses on random splits."""
    answers = music()
    plan, n_tuning = (Plan(12, 12), 1) if bench.quick else (Plan(60, 60), 2)
    grid: Sequence[float] = QUICK_GRID if bench.quick else GRID
    batch_sizes: Sequence[int] = (1, 20) if bench.quick else (1, 5, 10, 20)
    n_trials = bench.count(50, quick=1)
    n_terms = len(answers) - round(TEST_SHARE * len(answers))
    jobs, reaches = [], {}
    length = {"curve_passes": plan.curve_passes}
    tuning = Tuning(DEFAULTS, answers.n_objects, n_terms, grid, n_tuning)
    for loss in LOSS_NAMES:
        common = {"loss": loss, **length}
        tune = functools.partial(_tracked_run, answers, loss, plan, TUNING_SEED)
        label = f"figure4, {loss}: tuning"
        reaches[loss] = tuned(bench.log, label, common, tuning, tune)
    for trial in range(n_trials):
        for loss in LOSS_NAMES:
            solvers = methods(DEFAULTS, loss, answers.n_objects, n_terms, reaches[loss], batch_sizes)
            for method, solver in solvers.items():
                settings = {"loss": loss, **length, "method": method, "solver": solver, "trial": trial}
                jobs.append(
                    Job({"stage": "trial", **settings}, functools.partial(_trial, answers, loss, plan, solver, trial))
                )
    rows = bench.log.run("figure4", jobs)
    bench.log.write_csv(rows)
    return _section(bench, answers, rows, reaches, grid, n_tuning, n_trials)


def _tracked_run(answers: Comparisons, loss: str, plan: Plan, seed: int, solver: Solver, trial: int) -> TrackedRun:
    rng = np.random.default_rng([seed, trial])
    train, test = answers.split(TEST_SHARE, rng, by="comparisons")
    start = DEFAULTS.start((answers.n_objects, N_DIMS), rng)
    with CPUObjective(train, LOSSES[loss]().in_dims(N_DIMS)) as objective:
        return track(solver, objective, start, rng, test, plan)


def _trial(answers: Comparisons, loss: str, plan: Plan, solver: Solver, trial: int) -> Mapping[str, Any]:
    tracked = _tracked_run(answers, loss, plan, TRIAL_SEED, solver, trial)
    steps = np.abs([step for step in tracked.steps if np.isfinite(step)])
    return {
        "errors": tracked.errors,
        "best_error": tracked.best_error,
        "last_error": tracked.errors[-1],
        "early_error": tracked.errors[min(EARLY, len(tracked.errors) - 1)],
        "largest_step": float(np.max(steps, initial=0.0)),
        "stopped_by": tracked.stopped_by,
    }


def _section(
    bench: Bench,
    answers: Comparisons,
    rows: Sequence[Row],
    reaches: Mapping[str, Mapping[str, float]],
    grid: Sequence[float],
    n_tuning: int,
    n_trials: int,
) -> Section:
    names = list(dict.fromkeys(row["method"] for row in rows))
    panels: dict[str, dict[str, Line]] = {}
    lines = []
    early: dict[tuple[str, str], float] = {}
    failures: dict[tuple[str, str], int] = {}
    steps: dict[tuple[str, str], float] = {}
    ends: dict[tuple[str, str], float] = {}
    for loss in LOSS_NAMES:
        panels[loss] = {}
        for method in names:
            matching = [row for row in rows if (row["loss"], row["method"]) == (loss, method)]
            key = loss, method
            panels[loss][method] = quartiles([row["errors"] for row in matching])
            early[key] = float(np.median([row["early_error"] for row in matching]))
            ends[key] = float(np.median([row["last_error"] for row in matching]))
            steps[key] = max(row["largest_step"] for row in matching)
            failures[key] = sum(
                row["stopped_by"] == "diverged" or row["last_error"] > row["best_error"] + WORSE for row in matching
            )
            lines.append(
                [
                    loss,
                    method,
                    f"{early[key]:.3f}",
                    f"{np.median([row['best_error'] for row in matching]):.3f}",
                    f"{ends[key]:.3f}",
                    f"{steps[key]:.2g}",
                    f"{failures[key]} of {n_trials}",
                ]
            )
    axes = Axes("gradients / |Q|", "held-out error", y_limits=(0.1, 0.55))
    draw_lines(bench.log.folder, "figure4", panels, axes)
    dropped = answers.dropped.get("self_pairs", 0)
    blocks: list[Block] = [
        Text(
            f"{answers.n_objects} artists, {len(answers) + dropped:,} triplets in the file, of which {dropped} "
            f"compare an artist with itself and are dropped; {percent(1 - TEST_SHARE, digits=0)} random triplets for "
            f"training and the rest for testing, with a new split in each of {n_trials} trials; p = {N_DIMS}; "
            "this package's start and step sizes for SVRG-SBB. "
            f'"{UNTUNED}" keeps the first step size of SVRG-SBB.'
        ),
        Picture(
            "figure4",
            f"Figure 4: held-out error against gradients/|Q|; median and quartiles of {n_trials} trials. A run that "
            "diverged keeps its last error.",
        ),
        Table(
            f"Medians of {n_trials} trials. Early: after {EARLY} passes. Best: the lowest error along the curve, as "
            f"early stopping would return. Failed: the run diverged, or ended more than {WORSE} above its own best.",
            ["loss", "method", "early error", "best error", "last error", "largest eta", "failed"],
            lines,
        ),
        tuning_table(
            f"Step sizes of the competitors, tuned by the mean error along the curve on {n_tuning} separate splits.",
            reaches,
            grid,
        ),
    ]
    ours = "SVRG-SBB_eps-1"
    cases = {loss: all(early[loss, ours] < early[loss, m] for m in ("SGD", "SVRG", "batch")) for loss in LOSS_NAMES}
    plain = {loss: early[loss, ours] < early[loss, UNTUNED] for loss in LOSS_NAMES}
    unstable = {loss: failures[loss, "SVRG-SBB_0"] > failures[loss, ours] for loss in LOSS_NAMES}
    falls = "music: the error of SVRG-SBB_eps falls much faster than those of SGD, SVRG and batch descent"
    claims = [
        Claim(
            falls,
            f"median held-out error after {EARLY} passes, {ours} against SGD / SVRG / batch. "
            + "; ".join(
                f"{loss}: {early[loss, ours]:.3f} against {early[loss, 'SGD']:.3f} / {early[loss, 'SVRG']:.3f} / "
                f"{early[loss, 'batch']:.3f}"
                for loss in LOSS_NAMES
            ),
            cases,
            "against tuned steps",
        ),
        Claim(
            falls,
            "; ".join(f"{loss}: {early[loss, ours]:.3f} against {early[loss, UNTUNED]:.3f}" for loss in LOSS_NAMES),
            plain,
            "against untuned SVRG",
        ),
        Claim(
            "music: SVRG-SBB_0 tends to fail as its step gets extremely large (about 10^35)",
            "failed runs of SBB_0 / eps (largest eta of SBB_0): "
            + "; ".join(
                f"{loss}: {failures[loss, 'SVRG-SBB_0']} / {failures[loss, ours]} of {n_trials} "
                f"({steps[loss, 'SVRG-SBB_0']:.2g})"
                for loss in LOSS_NAMES
            ),
            unstable,
        ),
        Claim(
            "music: the non-convex formulation beats the convex one",
            "median held-out error at the end, cvx against SVRG-SBB_eps-1: "
            + "; ".join(f"{loss}: {ends[loss, 'cvx']:.3f} against {ends[loss, ours]:.3f}" for loss in LOSS_NAMES),
            {loss: ends[loss, ours] < ends[loss, "cvx"] for loss in LOSS_NAMES},
        ),
    ]
    return Section("figure4", "Figure 4: musicians", blocks, claims)
