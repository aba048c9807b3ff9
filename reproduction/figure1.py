"""Figure 1: step sizes by epoch, and Barzilai-Borwein steps for the quadratic form diag(1, 0, -1)."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from closerthan.datasets import Synthetic, synthetic
from closerthan.losses import LOSSES
from closerthan.objective.cpu.objective import CPUObjective
from closerthan.solvers import SVRG
from closerthan.solvers.steps import BarzilaiBorwein, StabilizedBB, StepRule
from closerthan.wording import percent
from reproduction.bench import Bench
from reproduction.drawing import Axes, Line, draw_lines
from reproduction.finite_sums import Quadratic
from reproduction.methods import DEFAULTS, LOSS_NAMES
from reproduction.page import Block, Claim, Picture, Section, Table, Text
from reproduction.tracking import Plan, track
from reproduction.trial_log import Job, Row

N_DIMS = 10
DATA_SEED = 2019
JUMP = 10.0  # a step that differs from the previous one by this factor counts as a jump
SETTLED = 5  # epochs after which steps are stable according to the paper
WORSE = 0.05  # a fit that ends this far above its best held-out error has failed

STRONGEST = "eps = 0.025"  # the value in the authors' code for the synthetic set (ste)

RULES: dict[str, StepRule] = {
    "BB": BarzilaiBorwein(),
    "SBB_0": StabilizedBB(epsilon=0.0),
    "eps = 0.0001": StabilizedBB(epsilon=1e-4),
    "default eps": StabilizedBB(),
    "eps = 0.005": StabilizedBB(epsilon=0.005),
    STRONGEST: StabilizedBB(epsilon=0.025),
}


def run(bench: Bench) -> Section:
    """Run every rule with every loss, and the paper's example."""
    n_objects, n_answers, epochs = (40, 3_000, 12) if bench.quick else (100, 10_000, 40)
    n_trials = bench.count(50, quick=3)
    data = synthetic(n_objects, N_DIMS, n_answers, n_answers, seed=DATA_SEED)
    jobs = [
        Job(
            {
                "loss": loss,
                "rule": name,
                "solver": rule,
                "n_objects": n_objects,
                "n_answers": n_answers,
                "epochs": epochs,
                "trial": trial,
            },
            functools.partial(_trial, data, loss, rule, epochs, trial),
        )
        for trial in range(n_trials)
        for loss in LOSS_NAMES
        for name, rule in RULES.items()
    ]
    rows = bench.log.run("figure1", jobs)
    bench.log.write_csv(rows)
    return _section(bench, rows, n_trials, n_answers)


def _trial(data: Synthetic, loss: str, rule: StepRule, epochs: int, trial: int) -> Mapping[str, Any]:
    rng = np.random.default_rng([DATA_SEED, 3, trial])
    start = DEFAULTS.start((data.train.n_objects, N_DIMS), rng)
    with CPUObjective(data.train, LOSSES[loss]().in_dims(N_DIMS)) as objective:
        passes = 3 * epochs + 1
        solver = SVRG(step=rule, batch_size=1)
        tracked = track(solver, objective, start, rng, data.test, Plan(passes, passes))
    steps = np.array(tracked.steps[1:])  # the first step size does not come from the rule
    ratios = np.abs(steps[SETTLED:] / steps[SETTLED - 1 : -1])
    # A map that has diverged can give 0/0, which also counts as a jump.
    return {
        "steps": tracked.steps,
        "largest_step": float(np.max(np.abs(steps), initial=0.0)),
        "negative_steps": int(np.sum(steps < 0)),
        "jumps": int(np.sum(~((ratios < JUMP) & (ratios > 1 / JUMP)))),
        "best_error": tracked.best_error,
        "last_error": tracked.last_error,
        "stopped_by": tracked.stopped_by,
    }


def _failed(row: Row) -> bool:
    return bool(row["stopped_by"] == "diverged" or row["last_error"] > row["best_error"] + WORSE)


def _section(bench: Bench, rows: list[Row], n_trials: int, n_answers: int) -> Section:
    panels: dict[str, dict[str, Line]] = {}
    for loss in LOSS_NAMES:
        first = {row["rule"]: row["steps"] for row in rows if row["loss"] == loss and row["trial"] == 0}
        panels[loss] = {
            name: Line(list(range(len(steps))), [n_answers * abs(step) for step in steps])
            for name, steps in first.items()
        }
    draw_lines(bench.log.folder, "figure1", panels, Axes("epoch", "m |eta|", y_log=True))
    lines = []
    failures: dict[tuple[str, str], int] = {}
    for loss in LOSS_NAMES:
        for name in RULES:
            matching = [row for row in rows if (row["loss"], row["rule"]) == (loss, name)]
            failures[loss, name] = sum(map(_failed, matching))
            lines.append(
                [
                    loss,
                    name,
                    f"{np.median([row['largest_step'] for row in matching]) * n_answers:.3g}",
                    f"{max(row['largest_step'] for row in matching) * n_answers:.3g}",
                    percent(float(np.mean([row["negative_steps"] > 0 for row in matching])), digits=0),
                    f"{np.mean([row['jumps'] for row in matching]):.1f}",
                    f"{failures[loss, name]} of {n_trials}",
                    f"{np.median([row['last_error'] for row in matching]):.3f}",
                ]
            )
    default = StabilizedBB().epsilon_for(rows[0]["n_objects"], n_answers)
    blocks: list[Block] = [
        Text(
            f"The synthetic set of Table 1 with b = 1, m = |Q| = {n_answers:,}, this package's start and first step, "
            f"and shuffled passes. The default eps is {default:g} here. "
            "The figure shows the first trial; a run whose line ends early has diverged."
        ),
        Picture("figure1", "Figure 1: m |eta| by epoch for several rules (first trial). BB's steps may be negative."),
        Table(
            f"Summary of {n_trials} trials. Jump: after the first {SETTLED} epochs, the step grows or shrinks by a "
            f"factor of {JUMP:g} or more from one epoch to the next. Failed: the run diverged, or ended more than "
            f"{WORSE} above its own best error.",
            [
                "loss",
                "rule",
                "median of max m eta",
                "largest m eta",
                "trials with negative steps",
                "jumps per trial",
                "failed",
                "median last error",
            ],
            lines,
        ),
        *_example(),
    ]
    stable = [name for name in RULES if "eps" in name]
    measured = "; ".join(
        f"{loss}: BB {failures[loss, 'BB']}, SBB_0 {failures[loss, 'SBB_0']}, "
        + ", ".join(f"{name} {failures[loss, name]}" for name in stable)
        for loss in LOSS_NAMES
    )
    cases = {loss: failures[loss, "SBB_0"] > 0 and failures[loss, STRONGEST] == 0 for loss in LOSS_NAMES}
    claim = Claim(
        "SBB_0 is unstable, SBB_eps is not",
        f"failed runs of {n_trials} (diverged, or ended more than {WORSE} above their best error). {measured}. "
        f"The claim holds for a loss if SBB_0 fails at least once and {STRONGEST} never",
        cases,
    )
    return Section("figure1", "Figure 1: step sizes", blocks, [claim])


def _example() -> list[Block]:
    """Apply the step rules to the paper's example, after one step of gradient descent."""
    problem = Quadratic((1.0, 0.0, -1.0))
    rules: dict[str, StepRule] = {
        "BB": BarzilaiBorwein(),
        "SBB_0": StabilizedBB(epsilon=0.0),
        "eps = 0.1": StabilizedBB(epsilon=0.1),
        "eps = 1": StabilizedBB(epsilon=1.0),
    }
    lines = []
    for start in ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0)):
        before = problem.at(np.array([start]))
        # At (0, 1, 0) the gradient is 0 and no step would move, so a move along x shows the zero curvature.
        move = before.gradient if before.gradient.any() else before.x
        now = problem.at(before.x - 0.5 * move)
        lines.append(
            [f"({', '.join(f'{c:g}' for c in start)})", *(f"{rule(1, 1, now, before):g}" for rule in rules.values())]
        )
    return [
        Table(
            "f(x) = x' diag(1, 0, -1) x / 2: the step size after one move from each start (along the gradient, or, at "
            "(0, 1, 0), where it is 0, along x itself). The BB step goes uphill from the first start and is infinite "
            "from the second.",
            ["start", *rules],
            lines,
        )
    ]
