"""Calibration of the most confident predictions, for simulated people who lapse and for answers of real people.

    python -m benchmarks.lapses            three minutes on two cores; writes docs/measured/trust-lapses.md
    python -m benchmarks.lapses --quick    a small version; writes nothing

Simulated people answer some questions at random, and the others as ste assumes or without error. Answers of real
people are read from the folder CLOSERTHAN_DATA, a quarter of them held out; missing sets are skipped. The same scores
are converted to probabilities with and without a lapse rate.
"""

import argparse
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.real_answers import cars, data_file, faces, music
from benchmarks.tables import table
from closerthan.calibration import Calibration
from closerthan.comparisons import reversed_rows
from closerthan.fit.plan import FitPlan
from closerthan.uncertainty import resampling
from closerthan.wording import percent, percentage_points

RATES = (0.0, 0.05, 0.1, 0.2)
SETS = 3  # for each kind of simulated people
N_NEW = 20_000
SUREST = 0.1  # fraction of the predictions

Parts = tuple[ct.Comparisons, ct.Comparisons]


class Surest(NamedTuple):
    """The most confident tenth of the predictions: mean probability and accuracy; and the log loss of all of them."""

    probability: float
    right: float
    log_loss: float


def people(noise: str, n_answers: int, rate: float, seed: int) -> Parts:
    """Return answers of simulated people about 30 objects in 2 dimensions: answers to fit, and new ones."""
    rng = np.random.default_rng([n_answers, seed])
    points = 2.0 * rng.standard_normal((30, 2))

    def answers(number: int, seed: int) -> ct.Comparisons:
        rows = ct.datasets.simulated(points, number, noise=noise, seed=seed).rows.copy()
        lapses = rng.random(number) < rate / 2  # half of the random answers are right by luck
        rows[lapses] = reversed_rows(rows[lapses])
        return ct.Comparisons.from_triplets(rows, n_objects=len(points))

    return answers(n_answers, seed), answers(N_NEW, 1_000 + seed)


def people_of_file(read: Callable[[], ct.Comparisons]) -> Parts:
    return read().split(0.25, np.random.default_rng(0))


REAL: dict[str, tuple[Callable[[], ct.Comparisons], int]] = {
    "cars, 3 dimensions": (cars, 3),
    "music, 3 dimensions": (music, 3),
    "faces, 3 dimensions": (faces, 3),
    "things, 5 dimensions": (lambda: ct.read_comparisons(data_file("things_odd.txt"), kind="odd-one-out"), 5),
}


def judged(parts: Parts, n_dims: int, loss: str) -> tuple[Surest, Surest]:
    """Return the most confident tenth without and with a lapse rate, for one committee and its held-out scores."""
    train, new = parts
    result = ct.embed(train, n_dims, loss=loss, seed=0)
    refitter = resampling.replicate_refitter(train, FitPlan(result.settings), result)
    folds = resampling.CommitteeFolds.draw(result, train, "answers", np.random.default_rng(0))
    maps = refitter.run(folds.fits()).results
    committees, *columns = zip(*refitter.run(folds.scores(maps)).results, strict=True)
    scores, weights, units = (np.concatenate(column) for column in columns)
    committee = ct.uncertainty.committee.Committee.merged(committees, scores, weights, units)
    odds = committee.mean_log_odds(new, result.loss)
    both = (Calibration.fitted(scores, weights, fit_lapses=False), committee.calibration)
    return surest(both[0].probability(odds)), surest(both[1].probability(odds))


def surest(probability: np.ndarray) -> Surest:
    confidence = np.maximum(probability, 1 - probability)
    most = np.argsort(-confidence, kind="stable")[: round(SUREST * len(confidence))]
    log_loss = float(-np.log(np.maximum(probability, 1e-12)).mean())
    return Surest(float(confidence[most].mean()), float((probability[most] > 0.5).mean()), log_loss)


def row(name: str, pairs: list[tuple[Surest, Surest]]) -> list[str]:
    """Return a row of the table: means over sets, without and with a lapse rate."""
    cells, losses = [], []
    for probability, right, log_loss in np.mean(pairs, axis=0):
        cells += [percent(probability), percent(right), f"{float(percentage_points(probability - right)):+.1f}"]
        losses.append(f"{log_loss:.4f}")
    print(name, *cells, *losses, sep="  ", flush=True)
    return [name, *cells, *losses]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true")
    quick = options.parse_args().quick
    warnings.filterwarnings("ignore", ".*occur in no comparison")
    rows = []
    for noise, loss, others in (
        ("ste", "ste", "others as in ste"),
        ("none", "soe", "others without error"),
    ):
        for n_answers in (1_500,) if quick else (1_500, 6_000):
            for rate in RATES[-1:] if quick else RATES:
                sets = range(1 if quick else SETS)
                pairs = [judged(people(noise, n_answers, rate, seed), 2, loss) for seed in sets]
                rows.append(row(f"{n_answers:,} answers, {percent(rate, 0)} lapses, {others}", pairs))
    for name, (read, n_dims) in {} if quick else REAL.items():
        try:
            rows.append(row(name, [judged(people_of_file(read), n_dims, "auto")]))
        except OSError as error:
            print(f"{name}: left out ({error})", flush=True)
    titles = [
        "answers",
        "predicted",
        "right",
        "off",
        "with lapses: predicted",
        "right",
        "off",
        "log loss",
        "with lapses",
    ]
    text = "\n\n".join(
        [
            "The most confident tenth of the predictions: mean probability and observed frequency, without and with a "
            "lapse rate in the calibration:",
            table(titles, rows),
            f"Simulated people compare 30 objects in 2 dimensions ({SETS} sets each, {N_NEW:,} new answers); a quarter "
            "of the real answers is held out. *Off* is in percentage points; the log loss is that of all predictions.",
            measured_on("python -m benchmarks.lapses"),
        ]
    )
    print(text)
    if not quick:
        write_measured("trust-lapses", text)


if __name__ == "__main__":
    main()
