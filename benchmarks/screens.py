"""Questions with several picks: how much more accurate maps of chosen questions are than those of random ones.

    python -m benchmarks.screens [--runs 10]      writes docs/measured/screens.md (some minutes)

Simulated people, who lapse in a tenth of their answers, take part in a study as in ``closerthan collect plan``: once
with 15 % random questions, the others being chosen, and once with random questions only.
"""

import argparse
from pathlib import Path

import numpy as np

from benchmarks.measured import measured_on, write_measured
from benchmarks.tables import table
from closerthan.collect.choosing.belief import FEWEST
from closerthan.collect.study.description import Shares, Study
from closerthan.collect.study.plan import SimulatedPeople, simulate
from closerthan.collect.study.stimuli import Stimulus
from closerthan.wording import percentage_points

COMMAND = "python -m benchmarks.screens"
# Kind, options, picks, objects, dimensions.
WORLDS = (
    ("nearest", 8, 2, 40, 1),
    ("nearest", 8, 2, 40, 2),
    ("nearest", 8, 2, 90, 2),
    ("nearest", 8, 2, 40, 3),
    ("nearest", 4, 1, 40, 2),
    ("nearest", 12, 3, 40, 2),
    ("rank", 8, 2, 40, 2),
    ("rank", 5, 4, 40, 2),
)
ROUNDS = 3  # answers per object and dimension, in units of the number before which questions are random
SHARES = {"random": Shares(1.0, 0.0, 0.0, 0.0), "chosen": Shares(0.15, 0.0, 0.0, 0.0)}


def accuracies(world: tuple[str, int, int, int, int], seed: int) -> list[float]:
    """Return the accuracies with random and with chosen questions, about the same objects."""
    kind, n_options, picks, n_objects, n_dims = world
    objects = tuple(Stimulus(str(number), "", None, str(number)) for number in range(n_objects))
    settings = {"kind": kind, "shown": n_options, "picks": picks, "dimensions": n_dims, "number": n_objects}
    last = []
    for shares in SHARES.values():
        study = Study(Path(), "", "", "", "", objects, shares=shares, **settings)
        *_, step = simulate(study, SimulatedPeople(0.2, 0.1), ROUNDS * FEWEST * n_dims, np.random.default_rng(seed))
        last.append(step.accuracy)
    return last


def row_of(world: tuple[str, int, int, int, int], results: np.ndarray) -> list[str]:
    kind, n_options, picks, n_objects, n_dims = world
    difference = 100 * (results[:, 1] - results[:, 0])
    error = difference.std(ddof=1) / len(difference) ** 0.5 if len(difference) > 1 else np.nan
    means = map(percentage_points, results.mean(axis=0))
    remaining = (1 - results[:, 1].mean()) / (1 - results[:, 0].mean())
    title = f"{kind} {picks} of {n_options}, {n_objects} objects in {n_dims}-D"
    return [title, f"{ROUNDS * FEWEST * n_dims}", *means, f"{difference.mean():+.1f} ± {error:.1f}", f"{remaining:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10, help="number of runs per row of the table")
    runs = parser.parse_args().runs
    rows = []
    for world in WORLDS:
        rows.append(row_of(world, np.array([accuracies(world, seed) for seed in range(runs)])))
        print(*rows[-1], sep=" | ", flush=True)
    header = ["question", "answers per object", "random, % right", "chosen, % right", "difference", "error / error"]
    note = (
        f"Means of {runs} runs with different objects; differences in percentage points, ± one standard error. Maps "
        "are tested on random comparisons without noise; the last column is the error with chosen questions divided by "
        "that with random ones."
    )
    write_measured("screens", "\n\n".join([table(header, rows), note, measured_on(COMMAND)]))


if __name__ == "__main__":
    main()
