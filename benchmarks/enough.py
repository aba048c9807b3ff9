"""Whether a learning curve predicts the error with twice as many answers: simulated people, asked twice as much.

    python -m benchmarks.enough            some minutes on two cores; writes docs/measured/enough.md
    python -m benchmarks.enough --quick    a rehearsal, in which everything is small; writes nothing

Half of the answers make the curve; then maps of all of them are judged by 40,000 new answers.
"""

import argparse
from pathlib import Path

import numpy as np

import closerthan as ct
from benchmarks.measured_on import measured_on
from benchmarks.tables import table

MEASURED = Path(__file__).resolve().parent.parent / "docs" / "measured"
NOISES = (("none", None, 1.0), ("flip", 0.1, 1.0), ("flip", 0.25, 1.0), ("ste", None, 1.0), ("ste", None, 2.0),
          ("tste", None, 2.0), ("distance", 0.2, 1.0))  # fmt: skip
SIZES = ((1_000, 2_000), (2_000, 4_000), (4_000, 8_000), (8_000, 20_000))  # answers
SETS = 20  # of each size
FEWEST_PER_COORDINATE = 15  # answers per object and dimension: with fewer, maps are hardly better than chance
STARTS = 3
WITHIN = 0.01


def one(rng: np.random.Generator, n_answers: int) -> tuple[float, float, float, bool]:
    """The error predicted with twice as many, the one measured then, the one now, and whether the interval held."""
    while True:
        n_objects, n_dims = int(rng.choice([20, 30, 50, 100])), int(rng.choice([1, 2, 3, 5]))
        if n_answers >= FEWEST_PER_COORDINATE * n_objects * n_dims:
            break
    noise, level, size = NOISES[rng.integers(len(NOISES))]
    seed = int(rng.integers(2**31))
    points = size * rng.standard_normal((n_objects, n_dims))
    answers = ct.datasets.simulated(points, 2 * n_answers, noise=noise, level=level, seed=rng)
    test = ct.datasets.simulated(points, 40_000, noise=noise, level=level, seed=rng)
    half = answers.take(slice(n_answers))
    # On a line single starts often end badly.
    settings = {"loss": "auto", "n_starts": 4 if n_dims == 1 else None}
    curve = ct.learning_curve(half, n_dims, seed=seed, **settings)
    settings["loss"] = curve.loss

    def error(part: ct.Comparisons) -> float:
        maps = [ct.embed(part, n_dims, seed=seed + start, **settings) for start in range(STARTS)]
        return float(np.mean([ct.triplet_error(test, result.embedding) for result in maps]))

    measured = error(answers)
    return curve.twice.error, measured, error(half), curve.twice.low <= measured <= curve.twice.high


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true")
    quick = options.parse_args().quick
    rng = np.random.default_rng(0)
    rows = []
    for low, high in SIZES[-2:-1] if quick else SIZES:
        numbers = np.exp(rng.uniform(np.log(low), np.log(high), 3 if quick else SETS)).astype(int)
        found = np.array([one(rng, int(number)) for number in numbers])
        off = np.abs(found[:, 0] - found[:, 1])
        rows.append([
            f"{low:,} – {high:,}",
            f"{len(found)}",
            f"{found[:, 2].mean():.3f}",
            f"{found[:, 1].mean():.3f}",
            f"{off.mean():.4f}",
            f"{np.mean(off <= WITHIN):.0%}",
            f"{found[:, 3].mean():.0%}",
        ])  # fmt: skip
        print(*rows[-1], sep="  ", flush=True)
    titles = [
        "answers",
        "sets",
        "error now",
        "with twice as many",
        "mean miss",
        f"within {WITHIN:g}",
        "in the interval",
    ]
    lines = [
        table(titles, rows),
        "",
        "20 to 100 objects in 1 to 5 dimensions, seven kinds of noise, at least "
        f"{FEWEST_PER_COORDINATE} answers per object and dimension, loss auto. The error on so few held-out answers is "
        "itself known to ± .01 only: with 2,000 answers and an error of .2 its standard error is .009.",
        "",
        measured_on("python -m benchmarks.enough"),
    ]
    text = "\n".join(lines) + "\n"
    if quick:
        print(text)
    else:
        (MEASURED / "enough.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
