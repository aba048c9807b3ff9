"""Points at random, and answers about them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons import Comparisons


class Synthetic(NamedTuple):
    """Points, answers about them, and answers to test with (never flipped)."""

    points: NDArray[np.float64]
    train: Comparisons
    test: Comparisons


def synthetic(
    n_objects: int = 100,
    n_dims: int = 10,
    n_train: int = 10_000,
    n_test: int = 10_000,
    *,
    flipped: float = 0.0,
    quadruplets: bool = False,
    seed: int | np.random.Generator | None = None,
) -> Synthetic:
    """Points from N(0, I / 20) and random comparisons of them; the defaults are the paper's Table 1.

    ``flipped`` is the share of training answers that are turned round.

    Examples
    --------
    >>> synthetic(n_objects=5, n_dims=2, n_train=10, n_test=4, seed=0).train
    Comparisons(10 triplets of 5 objects)
    """
    rng = np.random.default_rng(seed)
    points = rng.normal(scale=np.sqrt(1 / 20), size=(n_objects, n_dims))
    train = questions(points, n_train, quadruplets, rng)
    turned = np.flatnonzero(rng.random(n_train) < flipped)
    train[turned] = turned_round(train[turned])
    test = questions(points, n_test, quadruplets, rng)
    both = Comparisons.of(np.concatenate([train, test]), n_objects=n_objects)
    return Synthetic(points, both.take(slice(n_train)), both.take(slice(n_train, None)))


def questions(
    points: NDArray[np.float64], n_rows: int, quadruplets: bool, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Questions about different objects, drawn at random and answered rightly."""
    n_objects = len(points)
    rows = np.empty((n_rows, 4 if quadruplets else 3), dtype=np.int32)
    for start in range(0, n_rows, 1 << 18):
        part = rows[start : start + (1 << 18)]
        # Distinct objects: draw from ever smaller ranges, and step over those already taken.
        taken = np.empty((len(part), 0), dtype=np.int64)
        for column in range(part.shape[1]):
            drawn = rng.integers(n_objects - column, size=len(part))
            for other in np.sort(taken, axis=1).T:
                drawn += drawn >= other
            taken = np.column_stack([taken, drawn])
        part[:] = taken
        far_head = part[:, 2] if quadruplets else part[:, 0]
        near = np.sum((points[part[:, 0]] - points[part[:, 1]]) ** 2, axis=1)
        far = np.sum((points[far_head] - points[part[:, -1]]) ** 2, axis=1)
        part[:] = np.where((near > far)[:, None], turned_round(part), part)
    return rows


def turned_round(rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """The opposite answers."""
    turned: NDArray[np.int32] = rows[:, [0, 2, 1]] if rows.shape[1] == 3 else rows[:, [2, 3, 0, 1]]
    return turned
