"""Possible positions of new objects on an existing map, used to choose questions about these objects."""

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
    """Return the answers without the new objects, with the others renumbered from 0, and the original numbers.

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
    """Return maps with the other objects as in ``embedding`` and the new objects at possible positions.

    Positions are drawn from a prior over the whole map or, for objects with answers, from the posterior that
    :func:`closerthan.place` returns.
    """
    numbers = np.setdiff1d(np.arange(answers.n_objects), new)
    maps = np.empty((N_MAPS, answers.n_objects, embedding.shape[1]))
    maps[:, numbers] = embedding
    prior = Prior.of_map(embedding, 1)
    order = np.empty(answers.n_objects, np.int64)
    has_one = np.isin(answers.rows, new).sum(axis=1) == 1
    for newcomer in new:
        about = answers.take((answers.rows == newcomer).any(axis=1) & has_one)
        mean, covariance = prior.means[0], prior.covariance
        if len(about):
            order[numbers], order[newcomer] = np.arange(len(numbers)), len(numbers)
            rows = frozen(order[about.rows].astype(np.int32))
            renumbered = about.replace(rows=rows, n_objects=len(numbers) + 1, names=None)
            posterior = place(renumbered, embedding, loss=loss)
            mean, covariance = posterior.places[0], posterior.covariances[0]
        maps[:, newcomer] = mean + rng.standard_normal((N_MAPS, len(mean))) @ np.linalg.cholesky(covariance).T
    return maps
