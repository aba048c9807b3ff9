"""Which loss and which solver: held-out errors side by side, and what each solver costs to get there.

    python -m benchmarks.which_loss

Writes docs/measured/which-loss.md and docs/measured/which-solver.md. Answers of people (music, cars) are used if the
folder that the environment variable CLOSERTHAN_DATA names has them.
"""

import math
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import closerthan as ct
from benchmarks.measured_on import measured_on
from closerthan.wording import percentage_points

DOCS = Path(__file__).resolve().parent.parent / "docs"
COMMAND = "python -m benchmarks.which_loss"
TRIALS = 10

Problem = Callable[[int], tuple[ct.Comparisons, ct.Comparisons, int]]


def made(n_objects: int, n_dims: int, n_train: int, flipped: float) -> Problem:
    def problem(seed: int) -> tuple[ct.Comparisons, ct.Comparisons, int]:
        data = ct.datasets.synthetic(n_objects, n_dims, n_train, 5_000, flipped=flipped, seed=seed)
        return data.train, data.test, n_dims

    return problem


def split(answers: ct.Comparisons, n_dims: int) -> Problem:
    def problem(seed: int) -> tuple[ct.Comparisons, ct.Comparisons, int]:
        return *answers.split(0.2, np.random.default_rng(seed)), n_dims

    return problem


def problems() -> dict[str, Problem]:
    found = {
        "100 points in 10-D, 10,000 clean answers": made(100, 10, 10_000, 0.0),
        "100 points in 10-D, 10,000 answers, 20 % reversed": made(100, 10, 10_000, 0.2),
        "60 points in 2-D, 6,000 answers, 20 % reversed": made(60, 2, 6_000, 0.2),
        "60 points in 2-D, 1,200 answers, 10 % reversed": made(60, 2, 1_200, 0.1),
        "21 cities in 2-D, road distances": split(ct.datasets.eurodist().comparisons(), 2),
    }
    folder = os.environ.get("CLOSERTHAN_DATA")
    for file, title, n_dims in (
        ("music_triplets.mat", "music: 400 artists in 9-D, answers of people", 9),
        ("cars_most_central.csv", "cars: 60 cars in 2-D, answers of people", 2),
    ):
        if folder and (Path(folder) / file).exists():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a dozen artists are in no answer
                found[title] = split(ct.read_comparisons(Path(folder) / file, self_pairs="drop"), n_dims)
    return found


def held_out(problem: Problem, **options: object) -> list[float]:
    errors = []
    for seed in range(TRIALS):
        train, test, n_dims = problem(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # by chance a rare object may be in the test part alone
            result = ct.embed(train, n_dims, seed=seed, n_starts=4, **options)
        errors.append(ct.triplet_error(test, result.embedding))
    return errors


def error(test: ct.Comparisons, x: np.ndarray) -> float:
    return ct.triplet_error(test, x) if np.isfinite(x).all() else math.nan  # some solvers do diverge


def losses() -> str:
    tried = [*ct.losses.LOSSES, "auto"]
    lines: list[str] = []
    for title, validation in (("All answers fitted", None), ("Early stopping, `validation=0.1`", 0.1)):
        lines += [f"**{title}**", "", "| problem | " + " | ".join(tried) + " |", "| --- |" + " --- |" * len(tried)]
        for name, problem in problems().items():
            means, spreads = [], []
            for loss in tried:
                errors = held_out(problem, loss=loss, validation=validation)
                means.append(float(np.mean(errors)))
                spreads.append(float(np.std(errors, ddof=1) / math.sqrt(TRIALS)))
            cells = [
                f"{percentage_points(mean)}\u00a0±\u00a0{percentage_points(spread)}"
                for mean, spread in zip(means, spreads, strict=True)
            ]
            best = int(np.argmin(means))
            cells[best] = f"**{cells[best]}**"
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        lines.append("")
    lines += [
        f"Held-out error in percent, mean of {TRIALS} trials ± its standard error; four starts, all else by default; "
        "bold: the lowest of the row. Early stopping keeps a tenth of the answers out of the fit. Simulated problems "
        "are tested on answers without errors, real ones on a random fifth of the comparisons.",
        "",
        measured_on(COMMAND),
    ]
    return "\n".join(lines) + "\n"


def solvers() -> str:
    header = "| solver | passes to the goal | seconds to the goal | held-out error at the end | passes | seconds |"
    lines = []
    for title, problem, goal, trials, names in (
        ("100 points in 10-D, 10,000 answers", made(100, 10, 10_000, 0.0), 0.15, TRIALS, list(ct.solvers.SOLVERS)),
        (
            "1,000 points in 10-D, 200,000 answers", made(1_000, 10, 200_000, 0.0), 0.05, 3,
            [name for name in ct.solvers.SOLVERS if name != "gram"],
        ),
    ):  # fmt: skip
        lines += [f"**{title}**, goal: held-out error below {goal}, medians of {trials} trials", "", header]
        lines += ["| --- |" + " --- |" * 5]
        lines += [f"| `{name}` | {speed(problem, name, goal, trials)} |" for name in names]
        lines += [""]
    lines += [
        "Loss `ste`, answers without noise, one start, one thread, at most 100 epochs, all else by default. A pass is "
        "as many component gradients as there are answers; seconds are the solver's own, without compilation and "
        "evaluation. `gram` costs the cube of the number of objects, and is left out of the larger problem.",
        "",
        measured_on(COMMAND),
    ]
    return "\n".join(lines) + "\n"


def speed(problem: Problem, solver: str, goal: float, trials: int) -> str:
    ends, passes, seconds, passes_to_goal, seconds_to_goal = [], [], [], [], []
    for seed in range(trials):
        train, test, n_dims = problem(seed)
        curve: list[float] = []
        result = ct.embed(
            train, n_dims, loss="ste", solver=solver, seed=seed, n_threads=1,
            callback=lambda _, x, curve=curve, test=test: curve.append(error(test, x)),
        )  # fmt: skip
        history = result.history
        ends.append(ct.triplet_error(test, result.embedding))
        passes.append(history[-1].gradients / len(train))
        seconds.append(history[-1].seconds)
        reached = next((epoch for epoch, wrong in enumerate(curve) if wrong < goal), None)
        if reached is not None:
            passes_to_goal.append(history[reached].gradients / len(train))
            seconds_to_goal.append(history[reached].seconds)
    missed = trials - len(passes_to_goal)
    note = f" ({missed} of {trials} never)" if missed else ""
    first = "never | "
    if passes_to_goal:
        first = f"{np.median(passes_to_goal):.0f}{note} | {np.median(seconds_to_goal):.3f}"
    return f"{first} | {np.median(ends):.3f} | {np.median(passes):.0f} | {np.median(seconds):.3f}"


if __name__ == "__main__":
    (DOCS / "measured" / "which-solver.md").write_text(solvers(), encoding="utf-8")
    (DOCS / "measured" / "which-loss.md").write_text(losses(), encoding="utf-8")
