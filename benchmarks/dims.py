"""The choice of the number of dimensions: how often it is right, and how often it is too large.

    python -m benchmarks.dims            five minutes on one core; writes docs/measured/dims.md
    python -m benchmarks.dims --quick    two sets of each kind; writes nothing

The answers come from random maps with a known number of dimensions. A second table measures how often the 95 % interval
of a gain contains the true gain of the same maps, if a third dimension is so weak that it hardly helps.
"""

import argparse
from typing import NamedTuple

import numpy as np

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.tables import table
from closerthan.evaluate.cross_validation import Folds, Scores, gain, held_out_fits
from closerthan.evaluate.dims import REPEATS
from closerthan.fit.plan import FitPlan
from closerthan.wording import counted, percent, percentage_points

SEED = 31_415
SETS = 15
GAIN_SETS = 30


class Kind(NamedTuple):
    """A kind of simulated data set."""

    name: str
    n_objects: int
    n_dims: int
    n_answers: int
    noise: str = "ste"
    level: float | None = None
    n_people: int = 0
    differences: float = 0.0  # standard deviation between people of the logarithms of their dimension weights
    repeats: int = 1  # number of answers to each question


KINDS = (
    Kind("one dimension", 20, 1, 1_000),
    Kind("one, a fifth of the answers flipped", 20, 1, 1_000, "flip", 0.2),
    Kind("two dimensions", 25, 2, 2_000),
    Kind("two, a fifth flipped", 25, 2, 2_500, "flip", 0.2),
    Kind("two, distances seen with an error", 25, 2, 2_000, "distance", 0.3),
    Kind("two, heavy-tailed noise", 25, 2, 2_000, "tste"),
    Kind("two, each question asked ten times", 25, 2, 5_000, repeats=10),
    Kind("two, 20 people who differ", 25, 2, 2_500, n_people=20, differences=0.3),
    Kind("five dimensions", 30, 5, 6_000),
    Kind("five, few answers", 30, 5, 3_000),
    Kind("five, a tenth flipped", 30, 5, 6_000, "flip", 0.1),
    Kind("five, distances seen with an error", 30, 5, 6_000, "distance", 0.15),
    Kind("five, 30 people who differ", 30, 5, 6_000, n_people=30, differences=0.3),
)


def answers_of(kind: Kind, rng: np.random.Generator) -> ct.Comparisons:
    points = rng.standard_normal((kind.n_objects, kind.n_dims))
    return answers_about(points, kind, rng)


def answers_about(points: np.ndarray, kind: Kind, rng: np.random.Generator) -> ct.Comparisons:
    def simulated_rows(positions: np.ndarray, number: int) -> np.ndarray:
        return ct.datasets.simulated(positions, number, noise=kind.noise, level=kind.level, seed=rng).rows

    if kind.n_people:
        each = kind.n_answers // kind.n_people
        weights = np.exp(kind.differences * rng.standard_normal((kind.n_people, 1, kind.n_dims)))
        rows = np.concatenate([simulated_rows(points * weight, each) for weight in weights])
        people = np.repeat(np.arange(kind.n_people), each)
        return ct.Comparisons.from_triplets(rows, n_objects=kind.n_objects, people=people)
    if kind.repeats == 1:
        return ct.Comparisons.from_triplets(simulated_rows(points, kind.n_answers), n_objects=kind.n_objects)
    questions = ct.datasets.simulated(points, kind.n_answers // kind.repeats, seed=rng).rows
    rows = np.repeat(questions, kind.repeats, axis=0)
    near, far = (np.sum((points[rows[:, 0]] - points[rows[:, other]]) ** 2, axis=1) for other in (1, 2))
    flipped = rng.random(len(rows)) < 1 / (1 + np.exp(far - near))
    rows[flipped] = rows[flipped][:, [0, 2, 1]]
    return ct.Comparisons.from_triplets(rows, n_objects=kind.n_objects)


class Measured(NamedTuple):
    """A gain estimated by cross-validation, and the true gain of the same maps."""

    covered: bool
    is_significant: bool
    true: float


def measured_gain(n_people: int, third: float, rng: np.random.Generator) -> Measured:
    """Cross-validate in two and three dimensions; ``third`` is the standard deviation of the third one."""
    kind = Kind("", 25, 3, 2_000, n_people=n_people, differences=0.4)
    points = rng.standard_normal((kind.n_objects, kind.n_dims)) * [1.0, 1.0, third]
    answers = answers_about(points, kind, rng)
    new_people = 400 if n_people else 0
    new = answers_about(points, kind._replace(n_answers=20_000, n_people=new_people), rng)
    by = "people" if n_people else "answers"
    group, scores, true = answers.groups(by), [], []
    for n_dims in (2, 3):
        wrong, errors = np.zeros(len(answers)), []
        plan = FitPlan.of(None, n_dims, {"loss": "ste", "n_starts": 2, "n_threads": 1})
        for held_out, result in held_out_fits(answers, plan, Folds(by, n_repeats=REPEATS)):
            part = answers.take(held_out)
            wrong[held_out] += ~(ct.metrics.margins(part, result.embedding) > 0) / REPEATS
            errors.append(ct.triplet_error(new, result.embedding))
        none = np.zeros(1)
        scores.append(Scores(none, none, 0.0, np.bincount(group, wrong), np.bincount(group).astype(float)))
        true.append(float(np.mean(errors)))
    estimate = gain(*scores)
    real = true[0] - true[1]
    return Measured(estimate.low <= real <= estimate.high, estimate.is_significant, real)


def choices(n_sets: int, rng: np.random.Generator) -> list[str]:
    """Return the table of choices, and the sentence that sums it up."""
    rows, too_many, many, five, of_five = [], 0, 0, 0, 0
    for kind in KINDS:
        chosen = np.array([
            ct.choose_dims(answers_of(kind, rng), most=kind.n_dims + 2, loss="ste", n_threads=1).chosen
            for _ in range(n_sets)
        ])  # fmt: skip
        right, over = int(np.sum(chosen == kind.n_dims)), int(np.sum(chosen > kind.n_dims))
        too_many, many = too_many + over, many + n_sets
        if kind.n_dims == 5:
            five, of_five = five + right, of_five + n_sets
        people = f"{kind.n_people}" if kind.n_people else ""
        answers = f"{kind.n_answers:,}"
        rows.append([kind.name, f"{kind.n_objects}", answers, people, f"{right} of {n_sets}", f"{over} of {n_sets}"])
        print(*rows[-1], chosen.tolist(), sep="  ", flush=True)
    summary = (
        f"Five true dimensions are found in **{five} of {of_five}** sets ({percent(five / of_five, 0)}); too many are "
        f"chosen in **{too_many} of {many}** ({percent(too_many / many)}):"
    )
    titles = ["true dimensions and noise", "objects", "answers", "people", "found", "too many"]
    return [summary, "", table(titles, rows)]


def intervals(n_sets: int, rng: np.random.Generator) -> list[str]:
    """Return the table of intervals for gains of about zero."""
    rows = []
    for n_people, third in ((0, 0.3), (0, 0.4), (20, 0.4)):
        gains = [measured_gain(n_people, third, rng) for _ in range(n_sets)]
        true = np.array([each.true for each in gains])
        rows.append([
            f"{third}",
            f"{n_people}" if n_people else "questions",
            f"{percentage_points(true.mean(), 2)} ± {percentage_points(true.std(), 2)}",
            f"{sum(each.covered for each in gains)} of {n_sets}",
            f"{sum(each.is_significant for each in gains)} of {n_sets}",
        ])  # fmt: skip
        print(*rows[-1], sep="  ", flush=True)
    titles = ["size of the third dimension", "people", "true gain, points", "interval contains it", "called better"]
    return [
        f"Intervals for the gain of a weak third dimension ({counted(n_sets, 'set')} of 2,000 answers about 25 "
        "objects each):",
        "",
        table(titles, rows),
    ]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true")
    quick = options.parse_args().quick
    rng = np.random.default_rng(0 if quick else SEED)
    lines = choices(2 if quick else SETS, rng)
    text = "\n".join(
        [*lines, "", *intervals(2 if quick else GAIN_SETS, rng), "", measured_on("python -m benchmarks.dims")]
    )
    print(text)
    if not quick:
        write_measured("dims", text)


if __name__ == "__main__":
    main()
