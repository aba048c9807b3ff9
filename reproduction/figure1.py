"""Figure 1: step sizes along epochs; and what becomes of Barzilai-Borwein steps on diag(1, 0, -1)."""

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
from reproduction.trials import Job, Row
from reproduction.watch import Plan, watched

N_DIMS = 10
DATA_SEED = 2019
JUMP = 10.0  # a step this many times larger or smaller than the one before is a jump
SETTLED = 5  # epochs after which the paper says that steps are stable
WORSE = 0.05  # a fit that ends this far above the best held-out error has failed

STRONGEST = "eps = 0.025"  # what the authors' code has for the synthetic set (ste)

RULES: dict[str, StepRule] = {
    "BB": BarzilaiBorwein(),
    "SBB_0": StabilizedBB(epsilon=0.0),
    "eps = 0.0001": StabilizedBB(epsilon=1e-4),
    "default eps": StabilizedBB(),
    "eps = 0.005": StabilizedBB(epsilon=0.005),
    STRONGEST: StabilizedBB(epsilon=0.025),
}


def run(bench: Bench) -> Section:
    """Run every rule with every loss, and the example."""
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
    rows = bench.trials.run("figure1", jobs)
    bench.trials.write_csv(rows)
    return _section(bench, rows, n_trials, n_answers)


def _trial(data: Synthetic, loss: str, rule: StepRule, epochs: int, trial: int) -> Mapping[str, Any]:
    rng = np.random.default_rng([DATA_SEED, 3, trial])
    start = DEFAULTS.start((data.train.n_objects, N_DIMS), rng)
    with CPUObjective(data.train, LOSSES[loss]().in_dims(N_DIMS)) as objective:
        passes = 3 * epochs + 1
        solver = SVRG(step=rule, batch_size=1)
        seen = watched(solver, objective, start, rng, data.test, Plan(passes, passes))
    steps = np.array(seen.steps[1:])  # the first is no secant step
    ratios = np.abs(steps[SETTLED:] / steps[SETTLED - 1 : -1])
    # A map that exploded can give 0/0; that is a jump as well.
    return {
        "steps": seen.steps,
        "largest_step": float(np.max(np.abs(steps), initial=0.0)),
        "negative_steps": int(np.sum(steps < 0)),
        "jumps": int(np.sum(~((ratios < JUMP) & (ratios > 1 / JUMP)))),
        "best_error": seen.best_error,
        "last_error": seen.last_error,
        "stopped_by": seen.stopped_by,
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
    draw_lines(bench.trials.folder, "figure1", panels, Axes("epoch", "m |eta|", y_log=True))
    lines = []
    failures: dict[tuple[str, str], int] = {}
    for loss in LOSS_NAMES:
        for name in RULES:
            mine = [row for row in rows if (row["loss"], row["rule"]) == (loss, name)]
            failures[loss, name] = sum(map(_failed, mine))
            lines.append(
                [
                    loss,
                    name,
                    f"{np.median([row['largest_step'] for row in mine]) * n_answers:.3g}",
                    f"{max(row['largest_step'] for row in mine) * n_answers:.3g}",
                    percent(float(np.mean([row["negative_steps"] > 0 for row in mine])), digits=0),
                    f"{np.mean([row['jumps'] for row in mine]):.1f}",
                    f"{failures[loss, name]} of {n_trials}",
                    f"{np.median([row['last_error'] for row in mine]):.3f}",
                ]
            )
    default = StabilizedBB().epsilon_for(rows[0]["n_objects"], n_answers)
    blocks: list[Block] = [
        Text(
            f"The synthetic set of Table 1, b = 1, m = |Q| = {n_answers:,}, this package's start and first step, "
            f"shuffled passes. The default eps is {default:g} here. "
            "The figure shows the first trial; a line that ends early diverged there."
        ),
        Picture("figure1", "Figure 1: m |eta| by epoch for several rules (first trial). BB's steps may be negative."),
        Table(
            f"Over {n_trials} trials. A jump: from one epoch to the next, after the first {SETTLED}, the step grows "
            f"or shrinks by {JUMP:g} times or more. Failed: diverged, or ended more than {WORSE} above its own best "
            "error.",
            [
                "loss",
                "rule",
                "median of max m eta",
                "largest m eta",
                "trials with negative steps",
                "jumps a trial",
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
        f"Counted as holding where SBB_0 fails at least once and {STRONGEST} never",
        cases,
    )
    return Section("figure1", "Figure 1: step sizes", blocks, [claim])


def _example() -> list[Block]:
    """The paper's example, with the step rules themselves and with one step of gradient descent as it says."""
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
        # From (0, 1, 0) the gradient is 0, so that no step would move: a nudge along it shows the zero curvature.
        move = before.gradient if before.gradient.any() else before.x
        now = problem.at(before.x - 0.5 * move)
        lines.append(
            [f"({', '.join(f'{c:g}' for c in start)})", *(f"{rule(1, 1, now, before):g}" for rule in rules.values())]
        )
    return [
        Table(
            "f(x) = x' diag(1, 0, -1) x / 2: the step after one move from each start (along the gradient; from (0, "
            "1, 0), where that is 0, along x itself). BB walks uphill from the first and is infinite from the "
            "second.",
            ["start", *rules],
            lines,
        )
    ]
