"""How to fit answers to chosen questions: by the default alone, and finished by L-BFGS.

    python -m benchmarks.chosen_answers [--runs 10]      writes docs/measured/chosen-answers.md (a few minutes)

Asks simulated people as ``python -m benchmarks.questions`` does, fits their answers, and measures how often the map is
right about other questions, answered without noise.
"""

import argparse
import dataclasses
from pathlib import Path

import numpy as np

import closerthan as ct
from benchmarks.measured_on import measured_on
from benchmarks.questions import WORLDS, curve_of
from benchmarks.samplers import SAMPLERS
from benchmarks.tables import table
from closerthan.collect.choosing.belief import FINISH, SOLVER
from closerthan.wording import percentage_points

PAGE = Path(__file__).resolve().parent.parent / "docs" / "measured" / "chosen-answers.md"
COMMAND = "python -m benchmarks.chosen_answers"
NAMES = ("eggs", "90-1-10", "90-2-10", "30-2-0", "30-2-30", "30-5-0")
FIRST_SEED = 1_000  # others than those of the questions' page


def accuracies(name: str, seed: int) -> list[float]:
    """Of the default, of the default finished, and of tste finished, after answers to chosen questions."""
    people = WORLDS[name].people(seed)
    asked = dataclasses.replace(WORLDS[name], people=lambda _: people, per_object=WORLDS[name].per_object[-2:-1])
    curve_of(asked, SAMPLERS["chosen"], seed)
    answers = people.answers
    assert answers is not None
    found = []
    for loss in ("auto", "tste"):
        first = ct.embed(answers, asked.n_dims, loss=loss, seed=seed)
        finished = ct.embed(
            answers, asked.n_dims, loss=first.loss_name, solver=SOLVER, start=first.embedding, seed=seed, **FINISH
        )
        found += [1 - ct.triplet_error(people.test, one.embedding) for one in (first, finished)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10, help="of each line")
    runs = parser.parse_args().runs
    rows = []
    for name in NAMES:
        found = np.array([accuracies(name, FIRST_SEED + run) for run in range(runs)])
        rows.append([WORLDS[name].title, *map(percentage_points, found.mean(axis=0))])
        print(*rows[-1], sep=" | ", flush=True)
    header = ["right about other questions, %", "auto", "auto, finished", "tste", "tste, finished"]
    said = f"Means of {runs} runs."
    PAGE.write_text("\n\n".join([table(header, rows), said, measured_on(COMMAND)]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
