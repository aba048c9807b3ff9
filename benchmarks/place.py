"""New objects on a map: how much worse their places are than those of a fit to all answers.

    python -m benchmarks.place

Random points, noisy answers. Some objects are left out of the fit and then placed with a few answers each; the full fit
is given all answers of both. Errors are measured on other answers about the objects that were left out.
"""

import time

import numpy as np

import closerthan as ct
from closerthan.losses import LOSSES

N_OBJECTS, N_NEW, N_DIMS = 100, 10, 2
N_ANSWERS = 20_000
PER_OBJECT = (10, 20, 50, 100)
TRIALS = 3


def errors(loss: str, per_object: int, seed: int) -> tuple[float, float, float]:
    """Of placed objects, of the full fit, and the seconds that placing took."""
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
    began = time.perf_counter()
    placed = ct.place(result, new)
    seconds = time.perf_counter() - began
    full = ct.embed(np.concatenate([known.rows, new.rows]), N_DIMS, loss=loss, seed=seed)
    return ct.triplet_error(held_out, placed.embedding), ct.triplet_error(held_out, full.embedding), seconds


def main() -> None:
    print(f"{N_NEW} new objects on a map of {N_OBJECTS}; means of {TRIALS} trials")
    print("loss    answers an object   placed   full fit   difference   seconds")
    for loss in LOSSES:
        for per_object in PER_OBJECT:
            placed, full, seconds = np.mean([errors(loss, per_object, seed) for seed in range(TRIALS)], axis=0)
            print(
                f"{loss:<8}{per_object:>17}{placed:>9.3f}{full:>11.3f}{placed - full:>13.3f}{seconds:>10.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
