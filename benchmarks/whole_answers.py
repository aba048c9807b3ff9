"""Is it better to fit whole answers or the comparisons that follow from them? On real answers, held out several times.

    python -m benchmarks.whole_answers FOLDER                twenty CPU minutes
    python -m benchmarks.whole_answers FOLDER fits | probabilities | ellipses | picks

FOLDER holds the real data; the tables are printed as Markdown, for docs/measured/whole-answers.md.

Fits: accuracy and bits of maps that were fitted in either way.
Probabilities: calibrated probabilities of whole answers, compared with held-out answers of people, and with simulated
ones that have a known lapse rate.
Ellipses: how often 95 % ellipses contain the true position in simulated studies with the question "odd one out".
Picks: maps of simulated answers that pick one or two of several options, from which many comparisons follow.
"""

import argparse
import dataclasses
import itertools
import time
from pathlib import Path
from typing import Any

import numpy as np

import closerthan as ct
from benchmarks.tables import table
from closerthan.accuracy import pair_scores
from closerthan.arrays import Array
from closerthan.calibration import ChoiceCalibration
from closerthan.comparisons import Choices, Comparisons
from closerthan.metrics import log_odds, procrustes
from closerthan.uncertainty.drawn_answers import AnswersToDraw
from closerthan.wording import percent

THINGS: dict[str, Any] = {"kind": "odd-one-out", "columns": {"participant": 3}, "numbering": "0-based"}
THINGS_ODD: dict[str, Any] = {"kind": "odd-one-out", "numbering": "0-based"}
FILES = {  # file, how it is read, dimensions, penalties (None: loss and penalty are chosen), number of splits
    "THINGS, 264 people, odd one out of three": ("things_people.txt", THINGS, 20, (0.3, 1.0, 1.5, 2.0, 3.0, None), 4),
    "THINGS, other answers": ("things_odd.txt", THINGS_ODD, 10, (None,), 4),
    "cars, most central of three": ("cars_most_central.csv", {}, 2, (0.01, 0.1, 1.0, None), 10),
    "cars in four dimensions": ("cars_most_central.csv", {}, 4, (None,), 6),
}
LIKELIHOODS = ("comparisons", "answers")
HELD_OUT = 0.1


@dataclasses.dataclass
class Scores:
    """Scores of a map on held-out answers, and the CPU seconds of its fit."""

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
    seconds = time.process_time() - began  # without the trials of a choice, which are made by other processes
    halves, scores, calibrations = cross_calibrated(test, result)
    raw, calibrated = (
        np.concatenate([c.log_probability(*pair) for c, *pair in zip(used, halves, scores, strict=True)])
        for used in ([ChoiceCalibration()] * 2, calibrations[::-1])
    )
    return Scores(
        ct.answer_accuracy(test, result.embedding).accuracy,
        -float(raw.mean()) / np.log(2),
        -float(calibrated.mean()) / np.log(2),
        float(np.mean([calibration.slope for calibration in calibrations])),
        ct.triplet_error(test, result.embedding),
        seconds,
    )


def cross_calibrated(
    test: Comparisons, result: ct.Result
) -> tuple[list[Choices], list[Array], list[ChoiceCalibration]]:
    """Return two halves of the answers, the log similarities of their pairs, and the calibration by each half."""
    choices = Choices.of(test)
    halves = [choices.take(np.arange(first, len(choices), 2)) for first in (0, 1)]
    scores = [pair_scores(half, lambda rows: log_odds(rows, result.embedding, result.loss)) for half in halves]
    return halves, scores, [ChoiceCalibration.fitted(*pair) for pair in zip(halves, scores, strict=True)]


def fits_table(folder: Path, name: str, loss: str = "tste") -> None:
    """Print one table: rows are penalties and likelihoods, then the mean difference with its standard error."""
    file, reading, n_dims, penalties, n_splits = FILES[name]
    answers = ct.read_comparisons(folder / file, self_pairs="drop", **reading)
    splits = [answers.split(HELD_OUT, np.random.default_rng(seed), by="answers") for seed in range(n_splits)]
    fixed = f"{loss}, " * any(penalties)
    print(f"\n### {name}: {answers.n_answers:,} answers, {n_dims} dimensions, {fixed}{n_splits} splits\n")
    print("| penalty | likelihood | accuracy of answers | bits | calibrated | slope | error of comparisons | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    for penalty in penalties:
        by_likelihood = {}
        for likelihood in LIKELIHOODS:
            options = {"loss": "auto" if penalty is None else loss, "penalty": penalty}
            measured(splits[0][0].take(slice(2000)), splits[0][1], n_dims, likelihood, epochs=1, **options)  # compile
            rows = [measured(train, test, n_dims, likelihood, **options) for train, test in splits]
            numbers = by_likelihood[likelihood] = np.array([dataclasses.astuple(row) for row in rows])
            a, bits, calibrated, slope, error, seconds = numbers.mean(axis=0)
            strength = "chosen, with the loss" if penalty is None else f"{penalty:g}"
            print(
                f"| {strength} | {likelihood} | {a:.2%} | {bits:.3f} | {calibrated:.3f} | {slope:.2f} | {error:.2%} | "
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


# ---- probabilities ---------------------------------------------------------------------------------------------------

CLASSES = ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0))
LAPSES = (0.0, 0.1, 0.3)  # of simulated people


def pair_probabilities(choices: Choices, scores: Array, calibration: ChoiceCalibration) -> Array:
    """Return the calibrated probability of each pair to be chosen; each answer is a single choice."""
    assert choices.n_choices == choices.n_answers
    logs = calibration.slope * scores * np.repeat(choices.signs, choices.sizes)
    odds = np.exp(logs - np.repeat(np.maximum.reduceat(logs, choices.starts[:-1]), choices.sizes))
    by_map = odds / np.repeat(np.add.reduceat(odds, choices.starts[:-1]), choices.sizes)
    chance = 1.0 / np.repeat(choices.sizes, choices.sizes)
    return np.asarray(calibration.lapse * chance + (1.0 - calibration.lapse) * by_map)


def reliability_row(train: Comparisons, test: Comparisons, n_dims: int, **options: Any) -> list[str]:
    """Return calibrations, and by class of probability the mean prediction and how often pairs were chosen."""
    result = ct.embed(train, n_dims, seed=0, n_threads=1, **options)
    halves, scores, calibrations = cross_calibrated(test, result)
    by_half = zip(halves, scores, calibrations[::-1], strict=True)
    probability = np.concatenate([pair_probabilities(*half) for half in by_half])
    was_chosen = np.concatenate([np.isin(np.arange(len(half.pairs)), half.starts[:-1]) for half in halves])
    cells = [f"{np.mean([getattr(one, name) for one in calibrations]):.2f}" for name in ("slope", "lapse")]
    for low, high in CLASSES:
        inside = (probability >= low) & (probability < high)
        predicted, observed = probability[inside].mean(), was_chosen[inside].mean()
        cells.append(f"{percent(predicted, 0)}: {percent(observed, 0)} ({inside.sum():,})" if inside.any() else "")
    return cells


def probabilities(folder: Path) -> None:
    """Print how often pairs were chosen, by their calibrated probability."""
    people = {
        "THINGS": (ct.read_comparisons(folder / "things_people.txt", self_pairs="drop", **THINGS), 20, 1.0),
        "cars": (ct.read_comparisons(folder / "cars_most_central.csv"), 2, 0.1),
        "faces (two alternatives)": (ct.read_comparisons(folder / "cfd36_people.csv"), 3, 0.1),
    }
    rows = []
    for name, (answers, n_dims, penalty) in people.items():
        parts = answers.split(HELD_OUT, np.random.default_rng(0), by="answers")
        single = Choices.of(answers).sizes.max() == 2
        for likelihood in LIKELIHOODS[:1] if single else LIKELIHOODS:
            cells = reliability_row(*parts, n_dims, loss="tste", penalty=penalty, likelihood=likelihood)
            rows.append((name, "either" if single else likelihood, *cells))
            print(*rows[-1], sep=" | ", flush=True)
    for lapse in LAPSES:
        answers = odd_one_out(np.random.default_rng(0).standard_normal((40, 2)), 8_000, seed=0, lapse=lapse)
        parts = answers.split(0.5, np.random.default_rng(0), by="answers")
        for likelihood in LIKELIHOODS:
            cells = reliability_row(*parts, 2, loss="ste", penalty=0.1, likelihood=likelihood)
            rows.append((f"simulated, lapse rate {lapse:g}", likelihood, *cells))
            print(*rows[-1], sep=" | ", flush=True)
    classes = [f"{percent(low, 0)} to {percent(high, 0)}" for low, high in CLASSES]
    print("\n" + table(("answers", "likelihood", "slope", "lapse rate", *classes), rows), flush=True)


# ---- ellipses --------------------------------------------------------------------------------------------------------

STUDIES = ((20, 10), (20, 40), (40, 10), (40, 40))  # objects, and answers per coordinate
SETS = 6
N_REPLICATES = 60


def odd_one_out(x: Array, number: int, seed: int, lapse: float = 0.0) -> Comparisons:
    """Return answers by Luce's rule with the similarity of ste; some of them are guesses."""
    model = {"similarity": "euclidean", "question": "odd-one-out"}
    answers = ct.answers_from(x, number, temperature=1.0, seed=seed, **model)
    guesses = ct.answers_from(1e-6 * x, number, temperature=1.0, seed=1000 + seed, **model)
    guessed = np.random.default_rng(seed).random(number) < lapse
    assert answers.answers is not None
    assert guesses.answers is not None
    parts = answers.take(~guessed[answers.answers]), guesses.take(guessed[guesses.answers])
    rows, numbers = (np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "answers"))
    return Comparisons.from_triplets(rows, answers=numbers, n_objects=len(x))


def ellipses() -> None:
    """Print the coverage of ellipses, their mean half axis, and the distance of maps from the true points."""
    rows = []
    for (n_objects, per), penalty, likelihood in itertools.product(STUDIES, (None, 0.1), LIKELIHOODS):
        inside, sizes, errors, penalties = [], [], [], []
        for seed in range(SETS):
            truth = np.random.default_rng(seed).standard_normal((n_objects, 2))
            answers = odd_one_out(truth, per * truth.size, seed)
            options = {"loss": "ste", "penalty": penalty, "likelihood": likelihood, "n_starts": 2, "n_threads": 1}
            replicates = ct.replicate(answers, 2, n_replicates=N_REPLICATES, seed=seed, **options)
            regions = replicates.ellipses(0.95)
            aligned = procrustes(truth, replicates.result.embedding, scaling=False).aligned
            inside.append(regions.contain(aligned))
            sizes.append(regions.half_axes().mean())
            errors.append(np.sqrt(np.mean(np.sum((aligned - replicates.result.embedding) ** 2, axis=1))))
            penalties.append(replicates.result.penalty)
        share, size, error = percent(np.mean(inside), 0), f"{np.mean(sizes):.2f}", f"{np.mean(errors):.3f}"
        chosen = f"{np.median(penalties):g}, {'fixed' if penalty else 'chosen (median)'}"
        rows.append((f"{n_objects}", f"{per}", chosen, likelihood, share, size, error))
        print(*rows[-1], sep=" | ", flush=True)
    header = (
        "objects",
        "answers per object and dimension",
        "penalty",
        "likelihood",
        "true positions inside the 95 % ellipse",
        "mean half axis",
        "distance of the map from the true points",
    )
    print("\n" + table(header, rows), flush=True)


# ---- picks of many options -------------------------------------------------------------------------------------------

PICKS = {  # kind of answer, and the comparisons (near option, far option) of one that picks the first options
    "nearest of 4": [(0, far) for far in range(1, 4)],
    "nearest of 8": [(0, far) for far in range(1, 8)],
    "ranking of 2 of 8": [(near, far) for near in (0, 1) for far in range(near + 1, 8)],
}
WORLDS = ((20, 2, 200), (20, 2, 800), (40, 3, 400))  # objects, dimensions, answers
GUESSED = 0.05  # fraction of comparisons that are guessed
NOISE = 0.35  # standard deviation of the logarithm of a perceived distance
SEEDS, NEW_ANSWERS = 10, 2_000


def luce_picks(x: Array, kind: str, number: int, rng: np.random.Generator) -> Comparisons:
    """Return answers by Luce's rule with the similarity of ste, about random screens; some comparisons are guessed."""
    questions = answers_in_order(x, kind, screens_of(x, kind, number, rng))
    truth = ct.Result(x, ct.History(()), "solver", 0, settings=ct.Settings(loss="ste"))
    return AnswersToDraw.on_map(truth, questions, slope=1.0, lapse=GUESSED).drawn(rng)


def thurstonian_picks(x: Array, kind: str, number: int, rng: np.random.Generator) -> Comparisons:
    """Return answers of people who order the options by distances with noise; some answers are guesses."""
    screens = screens_of(x, kind, number, rng)
    options = screens[:, 1:]
    distances = np.linalg.norm(x[options] - x[screens[:, :1]], axis=2)
    perceived = distances * np.exp(NOISE * rng.standard_normal(distances.shape))
    perceived[rng.random(number) < GUESSED] = 1.0  # the options of a random screen are in random order
    ordered = np.take_along_axis(options, np.argsort(perceived, axis=1, kind="stable"), axis=1)
    return answers_in_order(x, kind, np.hstack([screens[:, :1], ordered]))


def screens_of(x: Array, kind: str, number: int, rng: np.random.Generator) -> Array:
    """Return random screens: the reference object and the options."""
    size = 2 + np.array(PICKS[kind]).max()
    return np.array([rng.permutation(len(x))[:size] for _ in range(number)])


def answers_in_order(x: Array, kind: str, screens: Array) -> Comparisons:
    """Return the answers that pick the first options of the screens."""
    pairs = np.array(PICKS[kind])
    rows = np.stack([np.repeat(screens[:, :1], len(pairs), axis=1), *(screens[:, 1 + of] for of in pairs.T)], axis=2)
    return Comparisons.from_triplets(
        rows.reshape(-1, 3),
        answers=np.repeat(np.arange(len(screens)), len(pairs)),
        n_objects=len(x),
        unmentioned="ignore",
    )


PEOPLE = {"Luce's rule": luce_picks, "noisy distances": thurstonian_picks}


def picks() -> None:
    """Print the scores of maps on new answers, with loss and penalty chosen as by default."""
    rows = []
    for people, kind, (n_objects, n_dims, number) in itertools.product(PEOPLE, PICKS, WORLDS):
        scores = np.zeros((SEEDS, 2, 4))
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            x = rng.standard_normal((n_objects, n_dims))
            train, test = (PEOPLE[people](x, kind, size, rng) for size in (number, NEW_ANSWERS))
            for which, likelihood in enumerate(LIKELIHOODS):
                one = measured(train, test, n_dims, likelihood)
                scores[seed, which] = one.accuracy, one.calibrated, one.error, one.seconds
        gain = scores[:, 1] - scores[:, 0]
        mean, deviation = gain.mean(axis=0), gain.std(axis=0, ddof=1) / np.sqrt(SEEDS)
        before, after = scores.mean(axis=0)
        rows.append(
            (
                people,
                kind,
                f"{n_objects}",
                f"{n_dims}",
                f"{number}",
                f"{before[0]:.2%}, {before[1]:.3f}, {before[2]:.2%}",
                f"{mean[0]:+.2%} ± {deviation[0]:.2%}",
                f"{mean[1]:+.3f} ± {deviation[1]:.3f}",
                f"{mean[2]:+.2%} ± {deviation[2]:.2%}",
                f"{after[3] / before[3]:.1f}",
            )
        )
        print(*rows[-1], sep=" | ", flush=True)
    header = (
        "people",
        "answers",
        "objects",
        "dimensions",
        "number",
        "comparisons: accuracy, calibrated bits, error of comparisons",
        "whole answers: accuracy",
        "bits",
        "error",
        "CPU time of a fit, times as long",
    )
    print("\n" + table(header, rows), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("part", nargs="?", choices=("fits", "probabilities", "ellipses", "picks"))
    arguments = parser.parse_args()
    parts = (arguments.part,) if arguments.part else ("fits", "probabilities", "ellipses", "picks")
    if "fits" in parts:
        for title in FILES:
            fits_table(arguments.folder, title)
    if "probabilities" in parts:
        probabilities(arguments.folder)
    if "ellipses" in parts:
        ellipses()
    if "picks" in parts:
        picks()


if __name__ == "__main__":
    main()
