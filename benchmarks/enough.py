"""Whether a learning curve predicts the error with twice as many answers: simulated people, and halves of real studies.

    python -m benchmarks.enough            five minutes on two cores; writes enough*.md in docs/measured
    python -m benchmarks.enough halves | simulated
    python -m benchmarks.enough --quick    a rehearsal, in which everything is small; writes nothing

Simulated people: half of the answers make the curve; then maps of all of them are judged by 100,000 new answers, so
that the error with twice as many is known to .002. Constants of the rule were chosen on other seeds.
Real studies: half of the answers (or people) make the curve; the truth is the cross-validated error of all of them,
which is known to .004 to .01. Files are read from the folder CLOSERTHAN_DATA; those that are missing are left out.
"""

import argparse
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
from scipy.special import ndtr

import closerthan as ct
from benchmarks.lapses import data
from benchmarks.measured_on import measured_on
from benchmarks.tables import table
from benchmarks.trust import faces
from closerthan.metrics import share_standard_error
from closerthan.uncertainty import learning_curve, power_law
from closerthan.wording import percent

MEASURED = Path(__file__).resolve().parent.parent / "docs" / "measured"
NOISES = (("none", None, 1.0), ("flip", 0.1, 1.0), ("flip", 0.25, 1.0), ("ste", None, 1.0), ("ste", None, 2.0),
          ("tste", None, 2.0), ("distance", 0.2, 1.0))  # fmt: skip
SIZES = ((2_000, 4_000), (4_000, 8_000), (8_000, 16_000))  # answers
SETS = 8  # of each size
FEWEST_PER_COORDINATE = 15  # answers per object and dimension: with fewer, maps are hardly better than chance
STARTS = 3
NEW = 100_000  # answers that errors are measured by
WITHIN = 0.01
SEED = 27_182
OTHERWISE = (  # a constant with another value
    (learning_curve, "FIT_SPREAD", (0.0, 0.6)),
    (learning_curve, "STEEP_SPREAD", (0.0, 0.3)),
    (power_law, "USUAL_POWER", (0.8, 1.4)),
    (power_law, "POWER_SPREAD", (0.05, 0.45)),
    (learning_curve, "BEYOND", (0.0, 0.5)),
)


class Prediction(NamedTuple):
    """The error with twice as many answers: what a curve said of it, and what it was."""

    curve: learning_curve.LearningCurve
    was: float
    now: float  # the error without further answers
    said: learning_curve.Expected | None = None  # None: what the curve says with the constants of now

    @property
    def off(self) -> float:
        return self.curve.twice.error - self.was

    @property
    def held(self) -> bool:
        said = self.said or self.curve.twice
        return said.low <= self.was <= said.high

    @property
    def possible(self) -> float:
        """Probability that the noise of the answers alone moves the error by no more than .01."""
        return float(2 * ndtr(WITHIN / share_standard_error(self.now, self.curve.total)) - 1)

    def again(self) -> "Prediction":
        """By the same errors of parts, with the constants of now."""
        return self._replace(curve=dataclasses.replace(self.curve))


def one(rng: np.random.Generator, n_answers: int) -> Prediction:
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
    # On a line single starts often end badly.
    settings = {"loss": "auto", "n_starts": 4 if n_dims == 1 else None}
    curve = ct.learning_curve(half, n_dims, seed=seed, **settings)
    settings["loss"] = curve.loss

    def error(part: ct.Comparisons) -> float:
        maps = [ct.embed(part, n_dims, seed=seed + start, **settings) for start in range(STARTS)]
        return float(np.mean([ct.triplet_error(test, result.embedding) for result in maps]))

    found = Prediction(curve, error(answers), error(half))
    about = (n_answers, n_objects, n_dims, noise, level, curve.loss)
    print(*about, f"{found.now:.4f}", f"{found.was:.4f}", f"{found.off:+.4f}", sep="  ", flush=True)
    return found


def within(found: list[Prediction]) -> str:
    good = sum(abs(one.off) <= WITHIN for one in found)
    return f"{good} ({percent(good / len(found), 0)})"


def measured(found: list[Prediction]) -> list[str]:
    """A row of the table."""
    now, was, miss, possible, held = np.mean(
        [(one.now, one.was, abs(one.off), one.possible, one.held) for one in found], axis=0
    )
    shares = (percent(possible, 0), percent(held, 0))
    return [f"{len(found)}", f"{now:.3f}", f"{was:.3f}", f"{miss:.4f}", within(found), *shares]


def otherwise(found: list[Prediction]) -> list[list[str]]:
    """A row of the table for each constant that is changed."""

    def row(changed: str, found: list[Prediction]) -> list[str]:
        *_, miss, near, _, held = measured(found)
        return [changed, miss, near, held]

    rows = [row("the default", found)]
    for module, name, values in OTHERWISE:
        for value in values:
            with mock.patch.object(module, name, value):
                rows.append(row(f"`{name}` = {value:g}", [one.again() for one in found]))
    return rows


# ---- halves of real studies ------------------------------------------------------------------------------------------

SPLITS = 2  # ways to halve each study
BEFORE = 0.5  # BEYOND, before intervals were widened


class Study(NamedTuple):
    """A study to halve."""

    name: str
    read: Callable[[], ct.Comparisons]
    n_answers: int | None  # of which a sample is used; None: all
    n_dims: int
    by: str  # what the curve counts
    halved_by: str


def cars() -> ct.Comparisons:
    return ct.read_comparisons(data("cars_most_central.csv"), self_pairs="drop")


def music() -> ct.Comparisons:
    return ct.read_comparisons(data("music_triplets.mat"), self_pairs="drop")


STUDIES = (
    Study("cars, 2-D", cars, None, 2, "answers", "answers"),
    Study("cars, half as many, 2-D", cars, 3_500, 2, "answers", "answers"),
    Study("music, 2-D", music, None, 2, "answers", "answers"),
    Study("music, 5-D", music, None, 5, "answers", "answers"),
    Study("faces, 8,000 answers, 2-D", faces, 8_000, 2, "answers", "answers"),
    Study("faces, 3,000 answers, 3-D", faces, 3_000, 3, "answers", "answers"),
    Study("faces, curve over people, 2-D", faces, None, 2, "people", "people"),
)


def some(answers: ct.Comparisons, share: float, by: str, rng: np.random.Generator) -> ct.Comparisons:
    """Return a random share of whole questions, or people."""
    group = answers.groups(by)
    kept = np.zeros(int(group.max()) + 1, dtype=bool)
    kept[rng.permutation(len(kept))[: round(share * len(kept))]] = True
    return answers.take(np.flatnonzero(kept[group]))


def half(study: Study, seed: int) -> Prediction:
    """Predict the error of the whole study from half of it."""
    rng = np.random.default_rng(seed)
    answers = study.read()
    if study.n_answers is not None:
        answers = some(answers, study.n_answers / answers.n_answers, "answers", rng)
    settings = {"by": study.by, "seed": seed}
    curve = ct.learning_curve(some(answers, 0.5, study.halved_by, rng), study.n_dims, **settings)
    truth = ct.learning_curve(answers, study.n_dims, loss=curve.loss, **settings)
    return Prediction(curve, truth.now.error, curve.now.error)


def halves() -> str | None:
    """The table of real studies; None if there are no files."""
    rows, found = [], []
    for study in STUDIES:
        try:
            mine = [half(study, seed) for seed in range(SPLITS)]
        except OSError as error:
            print(f"{study.name}: left out ({error})", flush=True)
            continue
        found += mine
        each = np.mean([one.curve.n_answers / np.prod(one.curve.shape) for one in mine])
        off = ", ".join(f"{one.off:+.3f}" for one in mine)
        held = [sum(one.held for one in some) for some in (before(mine), mine)]
        cells = [f"{np.mean([value(one) for one in mine]):.3f}" for value in (lambda o: o.now, lambda o: o.was)]
        rows.append([study.name, f"{each:.0f}", *cells, off, *(f"{number} of {len(mine)}" for number in held)])
        print(*rows[-1], sep="  ", flush=True)
    if not found:
        return None
    n_before, n_held = (sum(one.held for one in some) for some in (before(found), found))
    titles = ["study", "answers per coordinate", "error of a half", "of all", "said minus true", "held before", "held"]
    return "\n\n".join(
        [
            f"On halves of real studies the interval held the error of the whole study in **{n_held} of {len(found)}** "
            f"cases ({n_before} before it was widened), and the prediction was within {WITHIN:g} in {within(found)}:",
            table(titles, rows),
            f"{SPLITS} ways to halve each study; the error of the whole is cross-validated. Where answers are few for "
            "the number of objects and dimensions (music), errors fall faster than a curve through smaller parts "
            "predicts.",
            measured_on("python -m benchmarks.enough"),
        ]
    )


def before(found: list[Prediction]) -> list[Prediction]:
    """The same predictions with the narrower intervals."""
    with mock.patch.object(learning_curve, "BEYOND", BEFORE):
        return [one._replace(said=one.curve.twice) for one in found]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("part", nargs="?", choices=["halves", "simulated"], help="this part alone")
    options.add_argument("--quick", action="store_true")
    options.add_argument("--seed", type=int, default=SEED, help="another seed is printed, not written")
    asked = options.parse_args()
    if not asked.quick and asked.part != "simulated" and (text := halves()) is not None:
        print(text)
        (MEASURED / "enough-halves.md").write_text(text + "\n", encoding="utf-8")
    if asked.part == "halves":
        return
    rng = np.random.default_rng(asked.seed)
    rows, found = [], []
    for low, high in SIZES[:1] if asked.quick else SIZES:
        numbers = np.exp(rng.uniform(np.log(low), np.log(high), 3 if asked.quick else SETS)).astype(int)
        mine = [one(rng, int(number)) for number in numbers]
        rows.append([f"{low:,} – {high:,}", *measured(mine)])
        found += mine
    good = sum(abs(one.off) <= WITHIN for one in found)
    titles = ["answers", "sets", "error now", "with twice as many", "mean miss", f"within {WITHIN:g}", "possible",
              "in the interval"]  # fmt: skip
    lines = [
        f"The error with twice as many answers is predicted to {WITHIN:g} in **{good} of {len(found)}** sets:",
        "",
        table(titles, rows),
        "",
        "20 to 100 objects in 1 to 5 dimensions, seven kinds of noise, at least "
        f"{FEWEST_PER_COORDINATE} answers per object and dimension, loss auto; judged by {NEW:,} new answers. "
        "*Possible*: if right and wrong answers were counted and only their noise were unknown.",
        "",
        measured_on("python -m benchmarks.enough"),
    ]
    page = "\n".join(lines) + "\n"
    titles = ["changed", "mean miss", f"within {WITHIN:g}", "in the interval"]
    constants = "\n".join([table(titles, otherwise(found)), "", lines[-1]]) + "\n"
    print(page, constants, sep="\n")
    if not asked.quick and asked.seed == SEED:
        (MEASURED / "enough.md").write_text(page, encoding="utf-8")
        (MEASURED / "enough-constants.md").write_text(constants, encoding="utf-8")


if __name__ == "__main__":
    main()
