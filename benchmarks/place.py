"""New objects on a map: the error of their positions compared with a fit to all answers.

    python -m benchmarks.place

Random points, noisy answers. Some objects are excluded from the fit and then placed with a few answers each; the full
fit uses the answers about all objects. Errors are measured on other answers about the excluded objects.
"""

import numpy as np

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.tables import table
from closerthan.losses import LOSSES

N_OBJECTS, N_NEW, N_DIMS = 100, 10, 2
N_ANSWERS = 20_000
PER_OBJECT = (10, 20, 50, 100)
TRIALS = 3
SUMMARISED = 50  # answers per object in the summary of the page


def errors(loss: str, per_object: int, seed: int) -> tuple[float, float]:
    """Return the error of placed objects and that of the full fit."""
    points = 1.5 * np.random.default_rng(seed).normal(size=(N_OBJECTS + N_NEW, N_DIMS))
    base = ct.datasets.simulated(points[:N_OBJECTS], N_ANSWERS, noise="ste", seed=seed)
    others = ct.datasets.simulated(points, 60 * N_NEW * max(PER_OBJECT), noise="ste", seed=seed + 1_000)
    train, test = [], []
    for one in range(N_OBJECTS, N_OBJECTS + N_NEW):
        about = np.flatnonzero((others.rows == one).any(axis=1) & ((others.rows >= N_OBJECTS).sum(axis=1) == 1))
        train.append(about[:per_object])
        test.append(about[max(PER_OBJECT) :])
    new, held_out = others.take(np.concatenate(train)), others.take(np.concatenate(test))
    result = ct.embed(base, N_DIMS, loss=loss, seed=seed)
    placed = ct.place(new, result)
    full = ct.embed(np.concatenate([base.rows, new.rows]), N_DIMS, loss=loss, seed=seed)
    return ct.triplet_error(held_out, placed.embedding), ct.triplet_error(held_out, full.embedding)


def main() -> None:
    rows, worst = [], 0.0
    for loss in LOSSES:
        for per_object in PER_OBJECT:
            placed, full = np.mean([errors(loss, per_object, seed) for seed in range(TRIALS)], axis=0)
            rows.append([loss, f"{per_object}", f"{placed:.3f}", f"{full:.3f}", f"{placed - full:+.3f}"])
            print(*rows[-1], sep="  ", flush=True)
            if per_object == SUMMARISED:
                worst = max(worst, float(placed - full))
    paragraphs = [
        f"{N_NEW} new objects on a map of {N_OBJECTS}, errors on other answers about them; means of {TRIALS} trials.",
        table(["loss", "answers per object", "placed", "full fit", "difference"], rows),
        f"With {SUMMARISED} answers per object the largest difference is {worst:+.3f}.",
        measured_on("python -m benchmarks.place"),
    ]
    write_measured("place", "\n\n".join(paragraphs))


if __name__ == "__main__":
    main()
