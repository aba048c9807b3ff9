"""New objects on a map: how much worse their places are than those of a fit to all answers.

    python -m benchmarks.place

Random points, noisy answers. Some objects are left out of the fit and then placed with a few answers each; the full fit
is given all answers of both. Errors are measured on other answers about the objects that were left out.
"""

from pathlib import Path

import numpy as np

import closerthan as ct
from benchmarks.measured_on import measured_on
from closerthan.losses import LOSSES

PAGE = Path(__file__).parents[1] / "docs" / "measured" / "place.md"

N_OBJECTS, N_NEW, N_DIMS = 100, 10, 2
N_ANSWERS = 20_000
PER_OBJECT = (10, 20, 50, 100)
TRIALS = 3
SAID = 50  # answers per object that the page speaks of


def errors(loss: str, per_object: int, seed: int) -> tuple[float, float]:
    """Of placed objects, and of the full fit."""
    points = 1.5 * np.random.default_rng(seed).normal(size=(N_OBJECTS + N_NEW, N_DIMS))
    known = ct.datasets.simulated(points[:N_OBJECTS], N_ANSWERS, noise="ste", seed=seed)
    others = ct.datasets.simulated(points, 60 * N_NEW * max(PER_OBJECT), noise="ste", seed=seed + 1_000)
    train, test = [], []
    for one in range(N_OBJECTS, N_OBJECTS + N_NEW):
        about = np.flatnonzero((others.rows == one).any(axis=1) & ((others.rows >= N_OBJECTS).sum(axis=1) == 1))
        train.append(about[:per_object])
        test.append(about[max(PER_OBJECT) :])
    new, held_out = others.take(np.concatenate(train)), others.take(np.concatenate(test))
    result = ct.embed(known, N_DIMS, loss=loss, seed=seed)
    placed = ct.place(new, result)
    full = ct.embed(np.concatenate([known.rows, new.rows]), N_DIMS, loss=loss, seed=seed)
    return ct.triplet_error(held_out, placed.embedding), ct.triplet_error(held_out, full.embedding)


def main() -> None:
    lines = [
        f"{N_NEW} new objects on a map of {N_OBJECTS}, errors on other answers about them; means of {TRIALS} trials.",
        "",
        "| loss | answers per object | placed | full fit | difference |",
        "| --- | --- | --- | --- | --- |",
    ]
    worst = 0.0
    for loss in LOSSES:
        for per_object in PER_OBJECT:
            placed, full = np.mean([errors(loss, per_object, seed) for seed in range(TRIALS)], axis=0)
            lines.append(f"| {loss} | {per_object} | {placed:.3f} | {full:.3f} | {placed - full:+.3f} |")
            print(lines[-1], flush=True)
            if per_object == SAID:
                worst = max(worst, float(placed - full))
    lines += ["", f"With {SAID} answers per object the largest difference is {worst:+.3f}.", ""]
    PAGE.write_text("\n".join([*lines, measured_on("python -m benchmarks.place"), ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
