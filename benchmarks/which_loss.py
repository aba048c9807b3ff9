"""Comparison of losses and of solvers: held-out errors, and the cost of each solver.

    python -m benchmarks.which_loss

Writes docs/measured/which-loss.md and docs/measured/which-solver.md. Answers of real people (music, cars) are included
if they are in the folder CLOSERTHAN_DATA.
"""

import contextlib
import math
import warnings
from collections.abc import Callable

import numpy as np

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.real_answers import cars, music
from benchmarks.tables import table
from closerthan.wording import percentage_points

COMMAND = "python -m benchmarks.which_loss"
TRIALS = 10

Problem = Callable[[int], tuple[ct.Comparisons, ct.Comparisons, int]]


def simulation(n_objects: int, n_dims: int, n_train: int, flipped: float) -> Problem:
    def problem(seed: int) -> tuple[ct.Comparisons, ct.Comparisons, int]:
        data = ct.datasets.synthetic(n_objects, n_dims, n_train, 5_000, flipped=flipped, seed=seed)
        return data.train, data.test, n_dims

    return problem


def split(answers: ct.Comparisons, n_dims: int) -> Problem:
    def problem(seed: int) -> tuple[ct.Comparisons, ct.Comparisons, int]:
        return *answers.split(0.2, np.random.default_rng(seed)), n_dims

    return problem


def problems() -> dict[str, Problem]:
    by_name = {
        "100 points in 10-D, 10,000 clean answers": simulation(100, 10, 10_000, 0.0),
        "100 points in 10-D, 10,000 answers, 20 % reversed": simulation(100, 10, 10_000, 0.2),
        "60 points in 2-D, 6,000 answers, 20 % reversed": simulation(60, 2, 6_000, 0.2),
        "60 points in 2-D, 1,200 answers, 10 % reversed": simulation(60, 2, 1_200, 0.1),
        "21 cities in 2-D, road distances": split(ct.datasets.eurodist().comparisons(), 2),
    }
    for read, title, n_dims in (
        (music, "music: 400 artists in 9-D, answers of people", 9),
        (cars, "cars: 60 cars in 2-D, answers of people", 2),
    ):
        with contextlib.suppress(OSError), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a dozen artists are in no answer
            by_name[title] = split(read(), n_dims)
    return by_name


def held_out(problem: Problem, **options: object) -> list[float]:
    errors = []
    for seed in range(TRIALS):
        train, test, n_dims = problem(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # by chance, a rare object may occur only in the test part
            result = ct.embed(train, n_dims, seed=seed, n_starts=4, **options)
        errors.append(ct.triplet_error(test, result.embedding))
    return errors


def error(test: ct.Comparisons, x: np.ndarray) -> float:
    return ct.triplet_error(test, x) if np.isfinite(x).all() else math.nan  # some solvers diverge


def losses() -> str:
    names = [*ct.losses.LOSSES, "auto"]
    paragraphs: list[str] = []
    for title, validation in (("All answers fitted", None), ("Early stopping, `validation=0.1`", 0.1)):
        rows = []
        for name, problem in problems().items():
            means, spreads = [], []
            for loss in names:
                errors = held_out(problem, loss=loss, validation=validation)
                means.append(float(np.mean(errors)))
                spreads.append(float(np.std(errors, ddof=1) / math.sqrt(TRIALS)))
            cells = [
                f"{percentage_points(mean)}\u00a0±\u00a0{percentage_points(spread)}"
                for mean, spread in zip(means, spreads, strict=True)
            ]
            best = int(np.argmin(means))
            cells[best] = f"**{cells[best]}**"
            rows.append([name, *cells])
        paragraphs += [f"**{title}**", table(["problem", *names], rows)]
    paragraphs += [
        f"Held-out error in percent, mean of {TRIALS} trials ± its standard error; four starts, otherwise default "
        "settings; the lowest error of a row is bold. Early stopping withholds a tenth of the answers from the fit. "
        "Simulated problems are tested on answers without errors, real ones on a random fifth of the comparisons.",
        measured_on(COMMAND),
    ]
    return "\n\n".join(paragraphs)


def solvers() -> str:
    header = ["solver", "passes to the goal", "seconds to the goal", "held-out error at the end", "passes", "seconds"]
    # On one thread, hogwild hardly differs from polyak.
    everything = [name for name in ct.solvers.SOLVERS if name != "hogwild"]
    without_gram = [name for name in everything if name != "gram"]
    paragraphs = []
    for title, problem, goal, trials, names in (
        ("100 points in 10-D, 10,000 answers", simulation(100, 10, 10_000, 0.0), 0.15, TRIALS, everything),
        ("1,000 points in 10-D, 200,000 answers", simulation(1_000, 10, 200_000, 0.0), 0.05, 3, without_gram),
    ):
        rows = [[f"`{name}`", *speed(problem, name, goal, trials)] for name in names]
        paragraphs.append(f"**{title}**, goal: held-out error below {goal}, medians of {trials} trials")
        paragraphs.append(table(header, rows))
    paragraphs += [
        "Loss `ste`, answers without noise, one start, one thread, at most 100 epochs, otherwise default settings. "
        "A pass is one term gradient per answer; seconds are those of the solver, without compilation and evaluation. "
        "The cost of `gram` grows with the cube of the number of objects, so it is omitted from the larger problem.",
        measured_on(COMMAND),
    ]
    return "\n\n".join(paragraphs)


def speed(problem: Problem, solver: str, goal: float, trials: int) -> list[str]:
    """Return the cells of a row: passes and seconds to the goal, final error, and passes and seconds in total."""
    ends, passes, seconds, passes_to_goal, seconds_to_goal = [], [], [], [], []
    for seed in range(trials):
        train, test, n_dims = problem(seed)
        curve: list[float] = []
        result = ct.embed(
            train, n_dims, loss="ste", penalty=0, solver=solver, seed=seed, n_threads=1,
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
    to_goal = ["never", ""]
    if passes_to_goal:
        to_goal = [f"{np.median(passes_to_goal):.0f}{note}", f"{np.median(seconds_to_goal):.3f}"]
    return [*to_goal, f"{np.median(ends):.3f}", f"{np.median(passes):.0f}", f"{np.median(seconds):.3f}"]


if __name__ == "__main__":
    write_measured("which-solver", solvers())
    write_measured("which-loss", losses())
