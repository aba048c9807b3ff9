"""Agreement of choices of ``loss="auto"`` on different parts of the answers, and distances between maps of two starts.

    python -m benchmarks.auto_choice            a minute on two cores; writes docs/measured/auto-*.md
    python -m benchmarks.auto_choice --quick    a small version; writes nothing

Answers of people are read from the folder CLOSERTHAN_DATA; missing sets are skipped.
"""

import argparse
import itertools
import warnings
from collections.abc import Callable

import numpy as np

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.real_answers import cars, faces, music
from benchmarks.tables import table
from closerthan.fit.loss_race import EPOCHS
from closerthan.metrics import procrustes
from closerthan.result import DIFFERENT, TIED
from closerthan.settings import FitOptions
from closerthan.wording import listed, percent

COMMAND = "python -m benchmarks.auto_choice"
SEEDS = 8  # divisions of the answers, and starts

# Number of objects and dimensions, answers per coordinate, kind and level of noise.
SIMULATED = (
    (20, 2, 20, "ste", None),
    (20, 2, 5, "ste", None),
    (20, 2, 80, "flip", 0.3),
    (50, 2, 20, "flip", 0.1),
    (50, 3, 10, "tste", None),
    (50, 3, 10, "flip", 0.3),
    (100, 2, 20, "flip", 0.2),
    (30, 3, 40, "none", None),
    (60, 5, 10, "ste", None),
)


def simulation(n_objects: int, n_dims: int, per: int, noise: str, level: float | None) -> Callable[[], ct.Comparisons]:
    """Return a function that simulates answers about random points."""
    points = np.random.default_rng(n_objects).standard_normal((n_objects, n_dims))
    return lambda: ct.datasets.simulated(points, per * n_objects * n_dims, noise=noise, level=level, seed=1)


def problems(quick: bool) -> list[tuple[str, Callable[[], ct.Comparisons], int]]:
    simulated = [
        (
            f"{n_objects} objects, {n_dims}-D, {per} per coordinate, {noise}{f' {percent(level, 0)}' if level else ''}",
            simulation(n_objects, n_dims, per, noise, level),
            n_dims,
        )
        for n_objects, n_dims, per, noise, level in SIMULATED
    ]
    real = [
        ("cars, 2-D", cars, 2),
        ("music, 2-D", music, 2),
        ("music, 9-D", music, 9),
        ("faces, 8,000 answers, 2-D", lambda: faces().take(slice(8_000)), 2),
    ]
    return simulated[:1] if quick else simulated + real


def divided_anew(answers: ct.Comparisons, seed: int) -> ct.Comparisons:
    """Return the same answers with other numbers for the objects, so that other questions are held out."""
    number = np.random.default_rng(seed).permutation(answers.n_objects).astype(np.int32)
    return answers.replace(rows=number[answers.rows])


def ties(name: str, answers: ct.Comparisons, n_dims: int) -> tuple[list[str], np.ndarray]:
    """Return a row of the table, and three counts of pairs of choices: all, different winners, contradictions."""
    races = [ct.embed(divided_anew(answers, seed), n_dims, loss="auto", seed=0, epochs=1) for seed in range(SEEDS)]
    winners = [race.candidates[0].loss for race in races]
    as_good = [{race.candidates[0].loss, *race.tied_losses} for race in races]
    worse = [{one.loss for one in race.candidates} - good for race, good in zip(races, as_good, strict=True)]
    counts = np.zeros(3)
    for one, other in itertools.combinations(range(SEEDS), 2):
        differ = winners[one] != winners[other]
        contradict = winners[other] in worse[one] and winners[one] in worse[other]
        counts += 1, differ, differ and contradict
    pairs, differ, contradict = counts
    row = [name, listed(sorted(set(winners))), percent(differ / pairs, 0), percent(contradict / pairs, 0)]
    return [*row, f"{np.mean([len(losses) for losses in as_good]):.1f}"], counts


def starts(name: str, answers: ct.Comparisons, n_dims: int) -> list[str]:
    """Return a row of the table: distances between the final maps of several starts, and after a few epochs."""
    race = ct.embed(answers, n_dims, loss="auto", seed=0, epochs=1)
    cells = []
    for epochs in (100, EPOCHS):
        options: FitOptions = {"loss": race.loss, "penalty": race.penalty, "epochs": epochs}
        maps = [ct.embed(answers, n_dims, seed=seed, **options).embedding for seed in range(SEEDS)]
        distances = [procrustes(one, other).distance for one, other in itertools.combinations(maps, 2)]
        cells += [f"{np.median(distances):.3f}", f"{max(distances):.3f}"]
    return [name, *cells]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true")
    quick = options.parse_args().quick
    warnings.filterwarnings("ignore", ".*occur in no comparison")
    tie_rows, start_rows, counts = [], [], np.zeros(3)
    for name, read, n_dims in problems(quick):
        try:
            answers = read()
        except OSError as error:
            print(f"{name}: left out ({error})", flush=True)
            continue
        row, pair_counts = ties(name, answers, n_dims)
        counts += pair_counts
        tie_rows.append(row)
        start_rows.append(starts(name, answers, n_dims))
        print(*row, *start_rows[-1][1:], sep="  ", flush=True)
    pairs, differ, contradict = counts
    titles = ["answers", "winners", "different winners", "contradictions", "losses called as good"]
    texts = {
        "ties": [
            "If other parts of the same answers are held out, a different loss is chosen in "
            f"**{percent(differ / pairs, 0)}** of the cases. Two choices contradict each other, each calling the "
            f"other's winner worse, in **{percent(contradict / pairs, 1)}**:",
            table(titles, tie_rows),
            f"{SEEDS} divisions of each. A loss is called as good as the winner if its error on the same held-out "
            f"answers is at most {TIED:g} standard errors higher.",
        ],
        "starts": [
            f"Procrustes distance between the final maps of {SEEDS} starts with the loss and the penalty that `auto` "
            f"chooses, and between their maps after {EPOCHS} epochs, when `auto` compares its starts; above "
            f"{DIFFERENT:g} they are called different:",
            table(["answers", "median", "largest", f"after {EPOCHS} epochs: median", "largest"], start_rows),
        ],
    }
    for part, paragraphs in texts.items():
        text = "\n\n".join([*paragraphs, measured_on(COMMAND)])
        print(text, end="\n\n")
        if not quick:
            write_measured(f"auto-{part}", text)


if __name__ == "__main__":
    main()
