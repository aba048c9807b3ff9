"""Random points, and answers to random questions about them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.checks import checked, number, whole
from closerthan.comparisons import Comparisons, pairs_of, reversed_rows
from closerthan.representation import shows_fields


@shows_fields
class Synthetic(NamedTuple):
    """Points, training answers and test answers, which are never flipped."""

    points: NDArray[np.float64]
    train: Comparisons
    test: Comparisons


@checked
def synthetic(
    n_objects: int = 100,
    n_dims: int = 10,
    n_train: int = 10_000,
    n_test: int = 10_000,
    *,
    flipped: float = 0.0,
    quadruplets: bool = False,
    seed: int | np.random.Generator | None = 0,
) -> Synthetic:
    """Draw points from N(0, I / 20) and random comparisons of them; the defaults are those of the paper's Table 1.

    ``flipped`` is the probability that a training answer is reversed.

    Examples
    --------
    >>> synthetic(n_objects=5, n_dims=2, n_train=10, n_test=4, seed=0).train
    Comparisons(10 triplets of 5 objects)
    """
    whole("n_objects", n_objects, least=4 if quadruplets else 3)
    whole("n_dims", n_dims)
    whole("n_train", n_train, least=0)
    whole("n_test", n_test, least=0)
    number("flipped", flipped, lambda share: 0 <= share <= 1, "lie between 0 and 1")
    rng = np.random.default_rng(seed)
    points = rng.normal(scale=np.sqrt(1 / 20), size=(n_objects, n_dims))
    train = draw_answers(points, n_train, quadruplets, rng)
    wrong = np.flatnonzero(rng.random(n_train) < flipped)
    train[wrong] = reversed_rows(train[wrong])
    test = draw_answers(points, n_test, quadruplets, rng)
    both = Comparisons.of(np.concatenate([train, test]), n_objects=n_objects)
    return Synthetic(points, both.take(slice(n_train)), both.take(slice(n_train, None)))


def draw_answers(
    points: NDArray[np.float64], n_rows: int, quadruplets: bool, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Draw random questions about distinct objects and return the correct answers to them."""
    n_objects = len(points)
    rows = np.empty((n_rows, 4 if quadruplets else 3), dtype=np.int32)
    for start in range(0, n_rows, 1 << 18):
        part = rows[start : start + (1 << 18)]
        # To draw distinct objects, draw from a range shortened by the objects of earlier columns and skip over these.
        objects = np.empty((len(part), 0), dtype=np.int64)
        for column in range(part.shape[1]):
            another = rng.integers(n_objects - column, size=len(part))
            for earlier in np.sort(objects, axis=1).T:
                another += another >= earlier
            objects = np.column_stack([objects, another])
        part[:] = objects
        near, far = squared_distances(points, part)
        part[:] = np.where((near > far)[:, None], reversed_rows(part), part)
    return rows


def squared_distances(points: NDArray[np.float64], rows: NDArray[np.int32]) -> list[NDArray[np.float64]]:
    """Return the squared distances of the near pair and of the far pair of each row.

    Examples
    --------
    >>> squared_distances(np.array([[0.0], [1.0], [3.0]]), np.array([[0, 1, 2]], dtype=np.int32))
    [array([1.]), array([9.])]
    """
    return [np.sum((points[one] - points[other]) ** 2, axis=1) for one, other in pairs_of(rows)]
