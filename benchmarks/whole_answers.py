"""Is it better to fit whole answers or the comparisons that follow from them? On real answers, held out several times.

Run with ``python -m benchmarks.whole_answers FOLDER``, where FOLDER holds the real data; the tables are printed as
Markdown, for docs/measured/whole-answers.md.
"""

import dataclasses
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import closerthan as ct
from closerthan.accuracy import choice_accuracy, pair_scores
from closerthan.calibration import ChoiceCalibration
from closerthan.comparisons import Choices, Comparisons
from closerthan.metrics import log_odds

THINGS: dict[str, Any] = {"kind": "odd-one-out", "columns": {"participant": 3}, "numbering": "0-based"}
FILES = {
    "THINGS, 264 people, odd one out of three": ("things_people.txt", THINGS, 20, (0.3, 1.0, 1.5, 2.0, 3.0), 3),
    "cars, most central of three": ("cars_most_central.csv", {}, 2, (0.01, 0.1, 1.0), 10),
}
LIKELIHOODS = ("comparisons", "answers")
HELD_OUT = 0.1


@dataclasses.dataclass
class Scores:
    """How well a map predicts held-out answers, and the CPU seconds of its fit."""

    accuracy: float
    bits: float  # of the loss's own probabilities
    calibrated: float  # bits after a slope and a lapse rate were fitted to other held-out answers
    slope: float  # of this calibration: 1 if the probabilities are right as they are
    error: float  # of comparisons
    seconds: float


def measured(train: Comparisons, test: Comparisons, n_dims: int, likelihood: str, **options: Any) -> Scores:
    """Fit the training answers and score the test answers, half of which calibrate the other half and vice versa."""
    began = time.process_time()
    result = ct.embed(train, n_dims, likelihood=likelihood, seed=0, n_threads=2, **options)
    seconds = time.process_time() - began
    choices = Choices.of(test)
    halves = [choices.take(np.arange(first, len(choices), 2)) for first in (0, 1)]
    scores = [pair_scores(half, lambda rows: log_odds(rows, result.embedding, result.loss)) for half in halves]
    calibrations = [ChoiceCalibration.fitted(*pair) for pair in zip(halves, scores, strict=True)]
    raw, calibrated = (
        np.concatenate([c.log_probability(*pair) for c, *pair in zip(used, halves, scores, strict=True)])
        for used in ([ChoiceCalibration()] * 2, calibrations[::-1])
    )
    return Scores(
        choice_accuracy(choices, result.embedding),
        -float(raw.mean()) / np.log(2),
        -float(calibrated.mean()) / np.log(2),
        float(np.mean([calibration.slope for calibration in calibrations])),
        ct.triplet_error(test, result.embedding),
        seconds,
    )


def table(folder: Path, name: str, loss: str = "tste") -> None:
    """Print one table: rows are penalties and likelihoods, then the mean difference with its standard error."""
    file, reading, n_dims, penalties, n_splits = FILES[name]
    answers = ct.read_comparisons(folder / file, self_pairs="drop", **reading)
    splits = [answers.split(HELD_OUT, np.random.default_rng(seed), by="answers") for seed in range(n_splits)]
    print(f"\n### {name}: {answers.n_answers:,} answers, {n_dims} dimensions, {loss}, {n_splits} splits\n")
    print("| penalty | likelihood | accuracy of answers | bits | calibrated | slope | error of comparisons | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    for penalty in penalties:
        by_likelihood = {}
        for likelihood in LIKELIHOODS:
            measured(splits[0][0].take(slice(2000)), splits[0][1], n_dims, likelihood, loss=loss, epochs=1)  # compile
            rows = [measured(train, test, n_dims, likelihood, loss=loss, penalty=penalty) for train, test in splits]
            numbers = by_likelihood[likelihood] = np.array([dataclasses.astuple(row) for row in rows])
            a, bits, calibrated, slope, error, seconds = numbers.mean(axis=0)
            print(
                f"| {penalty:g} | {likelihood} | {a:.2%} | {bits:.3f} | {calibrated:.3f} | {slope:.2f} | {error:.2%} | "
                f"{seconds:.2f} |",
                flush=True,
            )
        gain = by_likelihood["answers"] - by_likelihood["comparisons"]
        mean, deviation = gain.mean(axis=0), gain.std(axis=0, ddof=1) / np.sqrt(len(gain))
        print(
            f"| | *difference* | {mean[0]:+.2%} ± {deviation[0]:.2%} | {mean[1]:+.3f} | {mean[2]:+.4f} ± "
            f"{deviation[2]:.4f} | | {mean[4]:+.2%} ± {deviation[4]:.2%} | |",
            flush=True,
        )


if __name__ == "__main__":
    for title in FILES:
        table(Path(sys.argv[1]), title)
