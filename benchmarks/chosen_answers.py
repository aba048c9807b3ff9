"""Two ways to fit answers to chosen questions: the default solver alone, and refined by L-BFGS.

    python -m benchmarks.chosen_answers [--runs 10]      writes docs/measured/chosen-answers.md (a few minutes)

Simulated people answer questions as in ``python -m benchmarks.questions``. Their answers are fitted, and the accuracy
of the map is measured on other questions, answered without noise.
"""

import argparse
import dataclasses

import numpy as np

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.questions import WORLDS, curve_of
from benchmarks.samplers import SAMPLERS
from benchmarks.tables import table
from closerthan.collect.choosing.belief import FINISH, SOLVER
from closerthan.wording import percentage_points

COMMAND = "python -m benchmarks.chosen_answers"
NAMES = ("eggs", "90-1-10", "90-2-10", "30-2-0", "30-2-30", "30-5-0")
FIRST_SEED = 1_000  # seeds that the page about questions does not use


def accuracies(name: str, seed: int) -> list[float]:
    """Return the accuracies of "auto" and tste, each alone and refined, after answers to chosen questions."""
    people = WORLDS[name].people(seed)
    world = dataclasses.replace(WORLDS[name], people=lambda _: people, per_object=WORLDS[name].per_object[-2:-1])
    curve_of(world, SAMPLERS["chosen"], seed)
    answers = people.answers
    assert answers is not None
    results = []
    for loss in ("auto", "tste"):
        first = ct.embed(answers, world.n_dims, loss=loss, seed=seed)
        finished = ct.embed(
            answers, world.n_dims, loss=first.loss_name, solver=SOLVER, start=first.embedding, seed=seed, **FINISH
        )
        results += [1 - ct.triplet_error(people.test, one.embedding) for one in (first, finished)]
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10, help="number of runs per row of the table")
    runs = parser.parse_args().runs
    rows = []
    for name in NAMES:
        results = np.array([accuracies(name, FIRST_SEED + run) for run in range(runs)])
        rows.append([WORLDS[name].title, *map(percentage_points, results.mean(axis=0))])
        print(*rows[-1], sep=" | ", flush=True)
    header = ["accuracy on other questions, %", "auto", "auto, refined", "tste", "tste, refined"]
    note = f"Means of {runs} runs."
    write_measured("chosen-answers", "\n\n".join([table(header, rows), note, measured_on(COMMAND)]))


if __name__ == "__main__":
    main()
