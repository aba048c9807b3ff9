"""Whether a learning curve predicts the error with twice as many answers: simulated people, asked twice as much.

    python -m benchmarks.enough            ten minutes on two cores; writes docs/measured/enough.md
    python -m benchmarks.enough --quick    a rehearsal, in which everything is small; writes nothing

Half of the answers make the curve; then maps of twice as many are judged by 100,000 new answers, so that the true error
is known to .002. A curve speaks of new questions, so each fifth of all questions is judged by a map of answers to the
others; how near it is with any question, asked before or not, is measured too. Constants of the rule were chosen on
other seeds.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

import closerthan as ct
from benchmarks.measured_on import measured_on
from benchmarks.tables import table

MEASURED = Path(__file__).resolve().parent.parent / "docs" / "measured"
NOISES = (("none", None, 1.0), ("flip", 0.1, 1.0), ("flip", 0.25, 1.0), ("ste", None, 1.0), ("ste", None, 2.0),
          ("tste", None, 2.0), ("distance", 0.2, 1.0))  # fmt: skip
SIZES = ((2_000, 4_000), (4_000, 8_000), (8_000, 16_000))  # answers
SETS = 16  # of each size
FEWEST_PER_COORDINATE = 15  # answers per object and dimension: with fewer, maps are hardly better than chance
PARTS = 5  # of the questions, each judged by a map of answers to the others
STARTS = 3  # maps that are judged by any question
NEW = 100_000  # answers that errors are measured by
WITHIN = 0.01
SEED = 31_415


class Prediction(NamedTuple):
    """What a curve said of the error with twice as many answers, and what it was."""

    said: float
    was: float
    now: float  # the error without further answers
    held: bool  # whether the interval did
    possible: float  # probability that the noise of the answers alone moves the error by no more than .01
    any_question: float  # what it was on any question


def one(rng: np.random.Generator, n_answers: int) -> Prediction:
    while True:
        n_objects, n_dims = int(rng.choice([20, 30, 50, 100])), int(rng.choice([1, 2, 3, 5]))
        if n_answers >= FEWEST_PER_COORDINATE * n_objects * n_dims:
            break
    noise, level, size = NOISES[rng.integers(len(NOISES))]
    seed = int(rng.integers(2**31))
    points = size * rng.standard_normal((n_objects, n_dims))
    answers = ct.datasets.simulated(points, 3 * n_answers, noise=noise, level=level, seed=rng)
    test = ct.datasets.simulated(points, NEW, noise=noise, level=level, seed=rng)
    part_of_question = rng.integers(PARTS, size=3 * [n_objects])
    part, part_of_test = (part_of_question[tuple(np.sort(some.rows, axis=1).T)] for some in (answers, test))
    # On a line single starts often end badly.
    settings = {"loss": "auto", "n_starts": 4 if n_dims == 1 else None}
    curve = ct.learning_curve(answers.take(slice(n_answers)), n_dims, seed=seed, **settings)
    settings["loss"] = curve.loss

    def error(rows: np.ndarray, judged: ct.Comparisons, start: int) -> float:
        result = ct.embed(answers.take(rows), n_dims, seed=seed + start, **settings)
        return float(ct.triplet_error(judged, result.embedding))

    def new_questions(number: int) -> float:
        errors = [
            error(np.flatnonzero(part != left)[:number], test.take(part_of_test == left), left) for left in range(PARTS)
        ]
        return float(np.mean(errors))

    said, now, was = curve.twice, new_questions(n_answers), new_questions(2 * n_answers)
    found = Prediction(
        said.error,
        was,
        now,
        said.low <= was <= said.high,
        float(2 * ndtr(WITHIN / np.sqrt(now * (1 - now) / n_answers)) - 1),
        float(np.mean([error(np.arange(2 * n_answers), test, start) for start in range(STARTS)])),
    )
    off = f"{said.error - was:+.4f}"
    print(n_answers, n_objects, n_dims, noise, level, curve.loss, f"{now:.4f}", f"{was:.4f}", off, sep="  ", flush=True)
    return found


def measured(found: np.ndarray) -> list[str]:
    """A row of the table: means over predictions."""
    said, was, now, held, possible, any_question = found.T
    off, off_any = np.abs(said - was), np.abs(said - any_question)
    return [
        f"{len(found)}",
        f"{now.mean():.3f}",
        f"{was.mean():.3f}",
        f"{off.mean():.4f}",
        f"{(off <= WITHIN).sum()} ({np.mean(off <= WITHIN):.0%})",
        f"{possible.mean():.0%}",
        f"{held.mean():.0%}",
        f"{np.mean(off_any <= WITHIN):.0%}",
    ]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true")
    quick = options.parse_args().quick
    rng = np.random.default_rng(0 if quick else SEED)
    rows, everything = [], []
    for low, high in SIZES[:1] if quick else SIZES:
        numbers = np.exp(rng.uniform(np.log(low), np.log(high), 3 if quick else SETS)).astype(int)
        found = np.array([one(rng, int(number)) for number in numbers])
        everything.append(found)
        rows.append([f"{low:,} – {high:,}", *measured(found)])
    rows.append(["all", *measured(np.concatenate(everything))])
    titles = ["answers", "sets", "error now", "with twice as many", "mean miss", f"within {WITHIN:g}", "possible",
              "in the interval", "any question"]  # fmt: skip
    lines = [
        f"How often the error with twice as many answers is predicted to {WITHIN:g}:",
        "",
        table(titles, rows),
        "",
        "20 to 100 objects in 1 to 5 dimensions, seven kinds of noise, at least "
        f"{FEWEST_PER_COORDINATE} answers per object and dimension, loss auto. {NEW:,} new answers tell the true "
        "error; each is to a question that its map was not fitted to. "
        "*Possible*: how often a curve would be that near which knew everything but what the noise of so many answers "
        f"hides; with 3,000 answers and an error of .2, the standard error is .007. *Any question*: within {WITHIN:g} "
        "of the error on any questions. Where most have been asked, as with 20 objects, those are easier than new ones.",
        "",
        measured_on("python -m benchmarks.enough"),
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if not quick:
        (MEASURED / "enough.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
