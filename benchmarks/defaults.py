# ruff: noqa: E501 - prose
"""Do the defaults need tuning? Held-out errors over shapes of data, for the defaults and for their neighbours.

    python -m benchmarks.defaults            writes docs/defaults.md (a few minutes)

Errors, not seconds: the page is the same on any machine.
"""

import argparse
import datetime
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import closerthan as ct
from closerthan.steps import EPSILON, FIRST_STEP, LONGEST

EPOCHS = 20


class Shape(NamedTuple):
    """A kind of data set."""

    n_objects: int
    n_dims: int
    n_triplets: int
    flipped: float

    @property
    def name(self) -> str:
        return f"{self.n_objects:,} | {self.n_dims} | {self.n_triplets:,} | {self.flipped:.0%}"


SHAPES = [
    Shape(20, 2, 2_000, 0.0),
    Shape(20, 2, 400, 0.1),
    Shape(50, 3, 500, 0.1),
    Shape(100, 10, 10_000, 0.0),
    Shape(100, 2, 20_000, 0.1),
    Shape(200, 5, 2_000, 0.1),
    Shape(200, 50, 200_000, 0.0),
    Shape(300, 5, 20_000, 0.3),
    Shape(1_000, 1, 50_000, 0.0),
    Shape(1_000, 2, 100_000, 0.2),
    Shape(1_000, 10, 200_000, 0.0),
    Shape(10_000, 10, 2_000_000, 0.0),
    Shape(100_000, 5, 1_000_000, 0.0),
    Shape(100_000, 2, 3_000_000, 0.1),
]


class Setting(NamedTuple):
    """Epsilon over n, longest step along one comparison, first step over n / draws, scale of the start."""

    name: str
    epsilon: float = EPSILON
    longest: float = LONGEST
    first: float = FIRST_STEP
    scale: float = 0.1

    def fit(self, shape: Shape, data: ct.datasets.Synthetic, loss: str, seed: int) -> tuple[list[float], float, bool]:
        """Held-out error after each epoch, final objective, and whether the fit diverged."""
        n, m = shape.n_objects, shape.n_triplets
        epsilon = max(self.epsilon / n, 1 / (self.longest * m))
        solver = ct.SVRG(step=ct.StabilizedBB(epsilon=epsilon, first=self.first * n / m))
        start = self.scale * np.random.default_rng(seed).standard_normal((n, shape.n_dims))
        errors: list[float] = []

        def watch(_: ct.Record, x: np.ndarray) -> None:
            errors.append(ct.triplet_error(data.test, x) if np.isfinite(x).all() else 1.0)

        result = ct.embed(
            data.train, shape.n_dims, loss=loss, solver=solver, start=start, seed=seed, epochs=EPOCHS, tolerance=None,
            callback=watch,
        )  # fmt: skip
        return errors, result.record.objective, result.stopped_by == "diverged"


DEFAULT = Setting("the default")
NEIGHBOURS = [
    DEFAULT,
    Setting("epsilon / 5", epsilon=EPSILON / 5),
    Setting("epsilon * 5", epsilon=EPSILON * 5),
    Setting("no bound along single comparisons", longest=np.inf),
    Setting("a bound of 1/16", longest=1 / 16),
    Setting("first step * 4", first=4 * FIRST_STEP),
    Setting("first step / 4", first=FIRST_STEP / 4),
    Setting("start ten times smaller", scale=0.01),
    Setting("start five times larger", scale=0.5),
]


def shapes_table() -> Iterator[str]:
    yield "| objects | dimensions | triplets | flipped | " + " | ".join(ct.LOSSES) + " |"
    yield "| --- " * (4 + len(ct.LOSSES)) + "|"
    for number, shape in enumerate(SHAPES):
        data = data_of(shape, number)
        cells = []
        for loss in ct.LOSSES:
            errors, _, diverged = DEFAULT.fit(shape, data, loss, seed=0)
            cells.append(" / ".join(f"{errors[min(epoch, len(errors) - 1)]:.3f}" for epoch in (5, 10, 20)))
            cells[-1] += " (diverged)" * diverged
        yield f"| {shape.name} | " + " | ".join(cells) + " |"
        print(shape, cells, flush=True)


def neighbours_table(seeds: int) -> Iterator[str]:
    small = [(number, shape) for number, shape in enumerate(SHAPES) if shape.n_triplets <= 200_000]
    fits = {}
    for number, shape in small:
        data = data_of(shape, number)
        for setting in NEIGHBOURS:
            for loss in ct.LOSSES:
                for seed in range(seeds if shape.n_triplets <= 20_000 else 1):
                    fits[setting.name, number, loss, seed] = setting.fit(shape, data, loss, seed)
        print(shape, flush=True)
    cases = [key[1:] for key in fits if key[0] == DEFAULT.name]
    yield "| setting | fits | diverged | held-out error after 5 epochs | after 20 epochs | objective against the default's |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for setting in NEIGHBOURS:
        rows = [fits[(setting.name, *case)] for case in cases]
        base = [fits[(DEFAULT.name, *case)] for case in cases]
        after = [np.mean([row[0][min(epoch, len(row[0]) - 1)] for row in rows]) for epoch in (5, 20)]
        ratio = np.exp(np.mean([np.log(row[1] / other[1]) for row, other in zip(rows, base, strict=True)]))
        yield (
            f"| {setting.name} | {len(rows)} | {sum(row[2] for row in rows)} | {after[0]:.4f} | {after[1]:.4f} "
            f"| {ratio:.2f} |"
        )


def data_of(shape: Shape, number: int) -> ct.datasets.Synthetic:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # objects that no triplet mentions: expected where triplets are few
        return ct.datasets.synthetic(
            shape.n_objects, shape.n_dims, shape.n_triplets, 10_000, flipped=shape.flipped, seed=number
        )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "docs" / "defaults.md")
    options.add_argument("--seeds", type=int, default=5, help="seeds for shapes of at most 20,000 triplets")
    given = options.parse_args()
    page = [
        "# Defaults that need no tuning",
        "",
        f"Made by `python -m benchmarks.defaults` on {datetime.date.today()}, closerthan {ct.__version__}. Errors are the share of "
        "noise-free test triplets that the map gets wrong.",
        "",
        "The objective is a *mean* over comparisons, so the gradient and the curvature of one object's row shrink like "
        "1/n. A step that suits 100 objects stalls at 10,000. The defaults therefore scale:",
        "",
        f"- epsilon, below which curvature is not believed, is the larger of {EPSILON:g} / n and {1 / LONGEST:g} / |Q|. The second "
        f"bounds the step along any single comparison by {LONGEST:g}; it takes over below {1 / LONGEST / EPSILON:g} comparisons an "
        "object, where without it fits diverge (second table).",
        f"- the first epoch goes {FIRST_STEP:g} n (that is eta_0 = {FIRST_STEP:g} n / |Q|), and starts are drawn from N(0, 0.1^2).",
        "",
        "## Held-out error after 5 / 10 / 20 epochs, one start",
        "",
        *shapes_table(),
        "",
        "Few noisy answers are overfitted, whatever the step: use `validation=0.1`, or `loss=\"auto\"`, which looks for it.",
        "",
        "## The neighbours",
        "",
        "Each setting changed alone; means over all losses and over the shapes above with at most 200,000 triplets. The last "
        "column is the geometric mean of the final objective relative to the default's: above 1 is worse.",
        "",
        *neighbours_table(given.seeds),
        "",
    ]  # fmt: skip
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text("\n".join(page), encoding="utf-8")
    print(f"wrote {given.out}")


if __name__ == "__main__":
    main()
