"""Where new objects may be on a map of others: what questions about them are chosen by."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array, frozen
from closerthan.comparisons import Comparisons
from closerthan.losses import Loss
from closerthan.objects.placing import place
from closerthan.objects.prior import Prior

__all__ = ["others_of", "possible_maps"]

N_MAPS = 32


def others_of(answers: Comparisons, new: Sequence[int]) -> tuple[Comparisons, NDArray[np.int64]]:
    """The answers that are about other objects alone, these numbered from 0 on; and their own numbers.

    Examples
    --------
    >>> answers = Comparisons.from_triplets([[0, 2, 3], [0, 1, 2]], n_objects=4)
    >>> others, numbers = others_of(answers, [1])
    >>> others.rows.tolist(), numbers.tolist()
    ([[0, 1, 2]], [0, 2, 3])
    """
    numbers = np.setdiff1d(np.arange(answers.n_objects), new)
    others = answers.take(np.flatnonzero(~np.isin(answers.rows, new).any(axis=1)))
    rows = np.searchsorted(numbers, others.rows).astype(np.int32)
    return others.replace(rows=frozen(rows), n_objects=len(numbers), names=None), numbers


def possible_maps(
    answers: Comparisons, new: Sequence[int], embedding: Array, loss: Loss, rng: np.random.Generator
) -> Array:
    """Maps on which the others are where ``embedding`` has them, and the new ones where they may be.

    That is anywhere on the map before anybody was asked, and then around the place that :func:`closerthan.place` finds.
    """
    numbers = np.setdiff1d(np.arange(answers.n_objects), new)
    maps = np.empty((N_MAPS, answers.n_objects, embedding.shape[1]))
    maps[:, numbers] = embedding
    anywhere = Prior.of_map(embedding, 1)
    order = np.empty(answers.n_objects, np.int64)
    for one in new:
        about = answers.take((answers.rows == one).any(axis=1) & (np.isin(answers.rows, new).sum(axis=1) == 1))
        mean, covariance = anywhere.means[0], anywhere.covariance
        if len(about):
            order[numbers], order[one] = np.arange(len(numbers)), len(numbers)
            rows = frozen(order[about.rows].astype(np.int32))
            alone = about.replace(rows=rows, n_objects=len(numbers) + 1, names=None)
            found = place(alone, embedding, loss=loss)
            mean, covariance = found.places[0], found.covariances[0]
        maps[:, one] = mean + rng.standard_normal((N_MAPS, len(mean))) @ np.linalg.cholesky(covariance).T
    return maps
