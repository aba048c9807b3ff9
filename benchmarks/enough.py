"""Learning curves: how well they predict the error with twice the number of answers, simulated and in real studies.

    python -m benchmarks.enough            five minutes on two cores; writes enough*.md in docs/measured
    python -m benchmarks.enough halves | simulated
    python -m benchmarks.enough --quick    a small version; writes nothing

Simulated people: the curve is computed from half of the answers; maps of all answers are then tested on 100,000 new
answers, which gives the error with twice the answers to within .002. The constants of the rule were chosen on other
seeds. Real studies: the curve is computed from half of the answers (or people); the truth is the cross-validated error
of all of them, which is accurate to .004 to .01. Files are read from the folder CLOSERTHAN_DATA; missing ones are
skipped.
"""

import argparse
import dataclasses
from collections.abc import Callable
from typing import NamedTuple
from unittest import mock

import numpy as np
from scipy.special import ndtr

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.real_answers import cars, faces, music
from benchmarks.tables import table
from closerthan.metrics import proportion_standard_error
from closerthan.uncertainty import learning_curve, power_law
from closerthan.wording import percent

NOISES = (("none", None, 1.0), ("flip", 0.1, 1.0), ("flip", 0.25, 1.0), ("ste", None, 1.0), ("ste", None, 2.0),
          ("tste", None, 2.0), ("distance", 0.2, 1.0))  # fmt: skip
SIZES = ((2_000, 4_000), (4_000, 8_000), (8_000, 16_000))  # answers
SETS = 8  # per size
FEWEST_PER_COORDINATE = 15  # answers per object and dimension: with fewer, maps are hardly better than chance
STARTS = 3
NEW = 100_000  # answers that errors are measured on
WITHIN = 0.01
SEED = 27_182
CHANGES = (  # constants with other values
    (learning_curve, "FIT_SPREAD", (0.0, 0.6)),
    (learning_curve, "STEEP_SPREAD", (0.0, 0.3)),
    (power_law, "USUAL_POWER", (0.8, 1.4)),
    (power_law, "POWER_SPREAD", (0.05, 0.45)),
    (learning_curve, "BEYOND", (0.0, 0.5)),
)


class Prediction(NamedTuple):
    """The error with twice the number of answers: the prediction of a curve, and the true value."""

    curve: learning_curve.LearningCurve
    true: float
    now: float  # the error without further answers
    expected: learning_curve.Expected | None = None  # None: the curve's own, with the current constants

    @property
    def miss(self) -> float:
        return self.curve.twice.error - self.true

    @property
    def covered(self) -> bool:
        expected = self.expected or self.curve.twice
        return expected.low <= self.true <= expected.high

    @property
    def possible(self) -> float:
        """Probability that the noise of the answers alone changes the error by at most .01."""
        return float(2 * ndtr(WITHIN / proportion_standard_error(self.now, self.curve.total)) - 1)

    def again(self) -> "Prediction":
        """Predict again from the same errors of parts, with the current constants."""
        return self._replace(curve=dataclasses.replace(self.curve))


def simulate(rng: np.random.Generator, n_answers: int) -> Prediction:
    """Predict the error of a random problem from half of its answers."""
    while True:
        n_objects, n_dims = int(rng.choice([20, 30, 50, 100])), int(rng.choice([1, 2, 3, 5]))
        if n_answers >= FEWEST_PER_COORDINATE * n_objects * n_dims:
            break
    noise, level, size = NOISES[rng.integers(len(NOISES))]
    seed = int(rng.integers(2**31))
    points = size * rng.standard_normal((n_objects, n_dims))
    answers = ct.datasets.simulated(points, 2 * n_answers, noise=noise, level=level, seed=rng)
    test = ct.datasets.simulated(points, NEW, noise=noise, level=level, seed=rng)
    half = answers.take(slice(n_answers))
    # In one dimension, single starts often fail.
    settings = {"loss": "auto", "n_starts": 4 if n_dims == 1 else None}
    curve = ct.learning_curve(half, n_dims, seed=seed, **settings)
    settings["loss"] = curve.loss

    def error(part: ct.Comparisons) -> float:
        maps = [ct.embed(part, n_dims, seed=seed + start, **settings) for start in range(STARTS)]
        return float(np.mean([ct.triplet_error(test, result.embedding) for result in maps]))

    prediction = Prediction(curve, error(answers), error(half))
    about = (n_answers, n_objects, n_dims, noise, level, curve.loss)
    print(*about, *(f"{x:.4f}" for x in (prediction.now, prediction.true, prediction.miss)), sep="  ", flush=True)
    return prediction


def within(predictions: list[Prediction]) -> str:
    good = sum(abs(one.miss) <= WITHIN for one in predictions)
    return f"{good} ({percent(good / len(predictions), 0)})"


def measured(predictions: list[Prediction]) -> list[str]:
    """Return a row of the table."""
    now, true, miss, possible, covered = np.mean(
        [(one.now, one.true, abs(one.miss), one.possible, one.covered) for one in predictions], axis=0
    )
    fractions = (percent(possible, 0), percent(covered, 0))
    return [f"{len(predictions)}", f"{now:.3f}", f"{true:.3f}", f"{miss:.4f}", within(predictions), *fractions]


def with_changes(predictions: list[Prediction]) -> list[list[str]]:
    """Return a row of the table for each constant that is changed."""

    def row(changed: str, predictions: list[Prediction]) -> list[str]:
        *_, miss, near, _, covered = measured(predictions)
        return [changed, miss, near, covered]

    rows = [row("the default", predictions)]
    for module, name, values in CHANGES:
        for value in values:
            with mock.patch.object(module, name, value):
                rows.append(row(f"`{name}` = {value:g}", [one.again() for one in predictions]))
    return rows


# ---- halves of real studies ------------------------------------------------------------------------------------------

SPLITS = 2  # ways to halve each study
BEFORE = 0.5  # BEYOND, before intervals were widened


class Study(NamedTuple):
    """A study to halve."""

    name: str
    read: Callable[[], ct.Comparisons]
    n_answers: int | None  # the size of the sample; None: all answers
    n_dims: int
    by: str  # the unit of the curve
    halved_by: str


STUDIES = (
    Study("cars, 2-D", cars, None, 2, "answers", "answers"),
    Study("cars, half as many, 2-D", cars, 3_500, 2, "answers", "answers"),
    Study("music, 2-D", music, None, 2, "answers", "answers"),
    Study("music, 5-D", music, None, 5, "answers", "answers"),
    Study("faces, 8,000 answers, 2-D", faces, 8_000, 2, "answers", "answers"),
    Study("faces, 3,000 answers, 3-D", faces, 3_000, 3, "answers", "answers"),
    Study("faces, curve over people, 2-D", faces, None, 2, "people", "people"),
)


def sample(answers: ct.Comparisons, fraction: float, by: str, rng: np.random.Generator) -> ct.Comparisons:
    """Return a random fraction of the questions, or of the people, with all their answers."""
    group = answers.groups(by)
    selected = np.zeros(int(group.max()) + 1, dtype=bool)
    selected[rng.permutation(len(selected))[: round(fraction * len(selected))]] = True
    return answers.take(np.flatnonzero(selected[group]))


def half(study: Study, seed: int) -> Prediction:
    """Predict the error of the whole study from half of it."""
    rng = np.random.default_rng(seed)
    answers = study.read()
    if study.n_answers is not None:
        answers = sample(answers, study.n_answers / answers.n_answers, "answers", rng)
    settings = {"by": study.by, "seed": seed}
    curve = ct.learning_curve(sample(answers, 0.5, study.halved_by, rng), study.n_dims, **settings)
    truth = ct.learning_curve(answers, study.n_dims, loss=curve.loss, **settings)
    return Prediction(curve, truth.now.error, curve.now.error)


def halves() -> str | None:
    """Return the table of real studies, or None if there are no files."""
    rows, predictions = [], []
    for study in STUDIES:
        try:
            own = [half(study, seed) for seed in range(SPLITS)]
        except OSError as error:
            print(f"{study.name}: left out ({error})", flush=True)
            continue
        predictions += own
        each = np.mean([one.curve.n_answers / np.prod(one.curve.shape) for one in own])
        misses = ", ".join(f"{one.miss:+.3f}" for one in own)
        covered = [sum(one.covered for one in some) for some in (before(own), own)]
        cells = [f"{np.mean([value(one) for one in own]):.3f}" for value in (lambda o: o.now, lambda o: o.true)]
        rows.append([study.name, f"{each:.0f}", *cells, misses, *(f"{number} of {len(own)}" for number in covered)])
        print(*rows[-1], sep="  ", flush=True)
    if not predictions:
        return None
    n_before, n_covered = (sum(one.covered for one in some) for some in (before(predictions), predictions))
    titles = [
        "study",
        "answers per coordinate",
        "error of a half",
        "of all",
        "predicted minus true",
        "covered before",
        "covered",
    ]
    return "\n\n".join(
        [
            "On halves of real studies, the interval contained the error of the whole study in "
            f"**{n_covered} of {len(predictions)}** cases ({n_before} before it was widened), and the prediction was "
            f"within {WITHIN:g} in {within(predictions)}:",
            table(titles, rows),
            f"{SPLITS} ways to halve each study; the error of the whole is cross-validated. If there are few answers "
            "for the number of objects and dimensions (music), errors fall faster than a curve through smaller parts "
            "predicts.",
            measured_on("python -m benchmarks.enough"),
        ]
    )


def before(predictions: list[Prediction]) -> list[Prediction]:
    """Return the same predictions with the narrower intervals."""
    with mock.patch.object(learning_curve, "BEYOND", BEFORE):
        return [one._replace(expected=one.curve.twice) for one in predictions]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("part", nargs="?", choices=["halves", "simulated"], help="measure only this part")
    options.add_argument("--quick", action="store_true")
    options.add_argument("--seed", type=int, default=SEED, help="results of other seeds are printed, not written")
    arguments = options.parse_args()
    if not arguments.quick and arguments.part != "simulated" and (text := halves()) is not None:
        print(text)
        write_measured("enough-halves", text)
    if arguments.part == "halves":
        return
    rng = np.random.default_rng(arguments.seed)
    rows, predictions = [], []
    for low, high in SIZES[:1] if arguments.quick else SIZES:
        numbers = np.exp(rng.uniform(np.log(low), np.log(high), 3 if arguments.quick else SETS)).astype(int)
        own = [simulate(rng, int(number)) for number in numbers]
        rows.append([f"{low:,} – {high:,}", *measured(own)])
        predictions += own
    good = sum(abs(one.miss) <= WITHIN for one in predictions)
    titles = ["answers", "sets", "error now", "with twice the answers", "mean miss", f"within {WITHIN:g}", "possible",
              "in the interval"]  # fmt: skip
    lines = [
        f"The error with twice the number of answers is predicted to within {WITHIN:g} in "
        f"**{good} of {len(predictions)}** sets:",
        "",
        table(titles, rows),
        "",
        "20 to 100 objects in 1 to 5 dimensions, seven kinds of noise, at least "
        f"{FEWEST_PER_COORDINATE} answers per object and dimension, loss auto; tested on {NEW:,} new answers. "
        "*Possible*: the best that can be expected, given the sampling error of the current answers.",
        "",
        measured_on("python -m benchmarks.enough"),
    ]
    page = "\n".join(lines) + "\n"
    titles = ["changed", "mean miss", f"within {WITHIN:g}", "in the interval"]
    constants = "\n".join([table(titles, with_changes(predictions)), "", lines[-1]]) + "\n"
    print(page, constants, sep="\n")
    if not arguments.quick and arguments.seed == SEED:
        write_measured("enough", page)
        write_measured("enough-constants", constants)


if __name__ == "__main__":
    main()
