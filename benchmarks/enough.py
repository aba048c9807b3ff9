"""Whether a learning curve predicts the error with twice as many answers: simulated people, asked twice as much.

    python -m benchmarks.enough            ten minutes on two cores; writes enough*.md in docs/measured
    python -m benchmarks.enough --quick    a rehearsal, in which everything is small; writes nothing

Half of the answers make the curve; then maps of all of them are judged by 100,000 new answers, so that the error with
twice as many is known to .002. Constants of the rule were chosen on other seeds.
"""

import argparse
import dataclasses
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
from scipy.special import ndtr

import closerthan as ct
from benchmarks.measured_on import measured_on
from benchmarks.tables import table
from closerthan.metrics import share_standard_error
from closerthan.uncertainty import learning_curve, power_law
from closerthan.wording import percent

MEASURED = Path(__file__).resolve().parent.parent / "docs" / "measured"
NOISES = (("none", None, 1.0), ("flip", 0.1, 1.0), ("flip", 0.25, 1.0), ("ste", None, 1.0), ("ste", None, 2.0),
          ("tste", None, 2.0), ("distance", 0.2, 1.0))  # fmt: skip
SIZES = ((2_000, 4_000), (4_000, 8_000), (8_000, 16_000))  # answers
SETS = 16  # of each size
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
    (learning_curve, "BEYOND", (0.0, 1.0)),
)


class Prediction(NamedTuple):
    """The error with twice as many answers: what a curve said of it, and what it was."""

    curve: learning_curve.LearningCurve
    was: float
    now: float  # the error without further answers

    @property
    def off(self) -> float:
        return self.curve.twice.error - self.was

    @property
    def held(self) -> bool:
        said = self.curve.twice
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


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--seed", type=int, default=SEED, help="another seed is printed, not written")
    asked = options.parse_args()
    rng = np.random.default_rng(asked.seed)
    rows, found = [], []
    for low, high in SIZES[:1] if asked.quick else SIZES:
        numbers = np.exp(rng.uniform(np.log(low), np.log(high), 3 if asked.quick else SETS)).astype(int)
        some = [one(rng, int(number)) for number in numbers]
        rows.append([f"{low:,} – {high:,}", *measured(some)])
        found += some
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
