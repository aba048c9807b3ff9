"""Answers to chosen questions: the default fit, and the map of a running study.

    python -m benchmarks.chosen_answers [--runs 10]      writes docs/measured/chosen-answers.md (a few minutes)

Simulated people answer questions as in ``python -m benchmarks.questions``. Their answers are fitted, and the accuracy
of the map is measured on other questions, answered without noise.
"""

import argparse
import dataclasses
import itertools
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.questions import WORLDS, curve_of
from benchmarks.samplers import SAMPLERS
from benchmarks.tables import table
from closerthan.wording import percentage_points

COMMAND = "python -m benchmarks.chosen_answers"
NAMES = ("eggs", "90-1-10", "90-2-10", "30-2-0", "30-2-30", "30-5-0")
FIRST_SEED = 1_000  # seeds that the page about questions does not use


def accuracies(name: str, seed: int) -> tuple[float, float]:
    """Return the accuracies of the default fit and of the live map, after answers to chosen questions."""
    people = WORLDS[name].people(seed)
    world = dataclasses.replace(WORLDS[name], people=lambda _: people, per_object=WORLDS[name].per_object[-2:-1])
    live = curve_of(world, SAMPLERS["chosen"], seed, chooses_criterion=True)[-1]
    answers = people.answers
    assert answers is not None
    default = ct.embed(answers, world.n_dims, seed=seed)
    return 1 - ct.triplet_error(people.test, default.embedding), live


def row_of(name: str, results: np.ndarray) -> list[str]:
    """Return a row of the table: both means in percent, and the mean difference with its standard error."""
    difference = 100 * (results[:, 0] - results[:, 1])
    error = difference.std(ddof=1) / len(difference) ** 0.5 if len(difference) > 1 else np.nan
    means = map(percentage_points, results.mean(axis=0))
    return [WORLDS[name].title, *means, f"{difference.mean():+.1f} ± {error:.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10, help="number of runs per row of the table")
    runs = parser.parse_args().runs
    rows = []
    for name in NAMES:
        seeds = range(FIRST_SEED, FIRST_SEED + runs)
        with ProcessPoolExecutor() as pool:
            rows.append(row_of(name, np.array(list(pool.map(accuracies, itertools.repeat(name), seeds)))))
        print(*rows[-1], sep=" | ", flush=True)
    header = ["accuracy on other questions, %", "`ct.embed(answers)`", "live map of a study", "difference"]
    note = f"Means of {runs} runs; differences in percentage points, ± one standard error."
    write_measured("chosen-answers", "\n\n".join([table(header, rows), note, measured_on(COMMAND)]))


if __name__ == "__main__":
    main()
