"""A start for sparse dimensions: the matrix of choices, factorised into few non-negative dimensions.

At x = 0 every pair shown is equally likely. The excess of a pair's choices over this expectation, divided by their
variance, estimates how far its similarity exceeds the mean similarity of the pairs that it was shown with. The variance
is the one *expected* from how often both objects were shown, not that of the pair itself, which shrinks pairs that were
shown rarely towards the mean. The leading eigenvectors, whose signs are mixed, are replaced by
their positive or negative parts, whichever is longer (NNDSVD).

References
----------
C. Boutsidis and E. Gallopoulos: SVD based initialization: a head start for nonnegative matrix factorization. Pattern
Recognition 2008.
"""

import numpy as np

from closerthan.arrays import Array, one_blas_thread
from closerthan.objective.dot_products import PairLikelihood

__all__ = ["choice_matrix_start"]

FILL = 0.1  # value of entries that would be zero, relative to the mean entry, so that they can grow
SPREAD = 0.5  # standard deviation of the logarithm of random factors


def choice_matrix_start(
    likelihood: PairLikelihood, n_dims: int, rng: np.random.Generator, *, weights: Array | None, is_random: bool
) -> Array:
    """Return non-negative rows for all objects to start from.

    Parameters
    ----------
    likelihood
        The likelihood of the answers.
    n_dims
        Number of dimensions.
    rng
        For the eigenvectors' start and for a random start.
    weights
        Weight of each answer, as in the likelihood.
    is_random
        Whether to multiply the entries by random numbers, which leads refits to other local minima.
    """
    pairs = likelihood.pairs
    n_objects = pairs.n_objects
    values, vectors = _leading_eigenvectors(likelihood, min(n_dims, n_objects - 1), rng, weights)
    x = np.zeros((n_objects, n_dims))
    for k, (value, vector) in enumerate(zip(values, vectors.T, strict=True)):
        positive, negative = np.maximum(vector, 0.0), np.maximum(-vector, 0.0)
        part = positive if (positive**2).sum() >= (negative**2).sum() else negative
        x[:, k] = np.sqrt(max(value, 0.0)) * part
    mean = float(x.mean()) or 1.0
    x += FILL * mean
    if is_random or n_dims > n_objects - 1:
        x *= np.exp(SPREAD * rng.normal(size=x.shape))
    return x


def _leading_eigenvectors(
    likelihood: PairLikelihood, number: int, rng: np.random.Generator, weights: Array | None
) -> tuple[Array, Array]:
    """Return the leading eigenvalues and eigenvectors of the estimated similarities."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import LinearOperator, eigsh

    pairs = likelihood.pairs
    n_objects = pairs.n_objects
    excess, variance = _excess_and_variance(likelihood, weights)
    by_object = np.bincount(pairs.one, variance, n_objects) + np.bincount(pairs.other, variance, n_objects)
    scale = np.sqrt(by_object.sum()) / np.maximum(by_object, by_object.mean() * 1e-3)
    half = csr_array((excess, (pairs.one, pairs.other)), shape=(n_objects, n_objects))
    matrix = (half + half.T).multiply(scale[:, None]).multiply(scale[None, :]).tocsr()
    row_mean = np.asarray(matrix.sum(axis=1)).ravel() / (n_objects - 1)

    def times(vector: Array) -> Array:
        v = vector.ravel()
        return np.asarray(matrix @ v + row_mean * v.sum() + float(row_mean @ v) - 2 * row_mean * v)

    with one_blas_thread():
        if number >= n_objects // 2:
            dense = matrix.toarray() + row_mean[:, None] + row_mean - 2 * np.diag(row_mean)
            values, vectors = np.linalg.eigh(dense)
            values, vectors = values[-number:], vectors[:, -number:]
        else:
            operator = LinearOperator((n_objects, n_objects), matvec=times, dtype=np.float64)
            values, vectors = eigsh(operator, k=number, which="LA", tol=1e-3, v0=rng.normal(size=n_objects))
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]


def _excess_and_variance(likelihood: PairLikelihood, weights: Array | None) -> tuple[Array, Array]:
    """Return how much more often than by chance each pair was chosen, and its variance by chance."""
    pairs = likelihood.pairs
    _, slopes = likelihood.by_pair(np.zeros(len(pairs.one), np.float32))
    by_choice = pairs.weights_of_choices(weights)
    variance = np.zeros(len(pairs.one))
    for group in pairs.groups:
        size = len(group.places)
        own = by_choice[group.choices] * (1.0 / size) * (1.0 - 1.0 / size)
        for place in group.places:
            variance += np.bincount(place, own, minlength=len(variance))
    return -slopes.astype(np.float64), variance
