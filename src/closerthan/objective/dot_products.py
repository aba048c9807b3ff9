"""The likelihood of whole answers under a choice rule with dot products, as in SPoSE and VICE.

Each choice among k pairs of objects has the loss ``log(sum_m exp(u_m)) - u_0`` with ``u_m = s x_i . x_j``, where pair 0
was chosen and s is -1 if the least similar pair was to be chosen. The gradient needs a coefficient for each pair shown,
``s (p_m - [m = 0])``. Different answers show the same pairs, and there are fewer pairs of objects than answers in large
studies, so dot products are computed once for each *distinct* pair, and coefficients are added up over the answers
that show it. If G is the symmetric matrix of these sums, the gradient is ``G x``. With a million answers about 1,854
objects and 60 dimensions this takes half the time of the kernels that visit the rows of x for each answer
(docs/development/what-did-not-help-in-analyses.md), and it is written in the same way for a GPU. For this
reason sparse dimensions do not use :class:`~closerthan.objective.cpu.choices.ChoiceSums`, which has the same losses.

If there are not too many objects, dot products and gradient are products of dense matrices; otherwise only the pairs
shown are computed.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array, Singles, one_blas_thread
from closerthan.comparisons import Choices
from closerthan.comparisons.rows import pair_numbers
from closerthan.compiled.threads import WorkerPool

__all__ = ["ChoicesOfSize", "DotProducts", "PairLikelihood", "ShownPairs"]

BLOCK = 1 << 16  # choices per piece of work; sums are formed piece by piece, whatever the number of threads
ROWS = 256  # rows per piece of a matrix product
MOST_DENSE = 1 << 25  # entries of a dense matrix of all pairs
DENSE_PER_PAIR = 16  # a dense matrix is used if it has at most this many entries per distinct pair

Numbers = NDArray[np.int64]


class ChoicesOfSize(NamedTuple):
    """The choices among a certain number of pairs.

    Attributes
    ----------
    places
        (n_pairs, n_choices) positions of the pairs in :class:`ShownPairs`; those that were chosen are in the first row.
    signs
        1 if the most similar pair was to be chosen, -1 if the least similar one; None if all are 1.
    choices
        The number of each choice.
    """

    places: Numbers
    signs: Singles | None
    choices: Numbers


class ShownPairs(NamedTuple):
    """The distinct pairs of objects that were shown, and the choices among them.

    Attributes
    ----------
    one, other
        The objects of each pair, in ascending order; ``one < other``.
    groups
        The choices by their number of pairs.
    n_objects
        Number of objects.
    answers
        The answer that each choice belongs to.
    """

    one: Numbers
    other: Numbers
    groups: tuple[ChoicesOfSize, ...]
    n_objects: int
    answers: NDArray[np.int32]

    @classmethod
    def of(cls, choices: Choices) -> Self:
        """Return the distinct pairs that were shown in these choices.

        Examples
        --------
        >>> from closerthan.comparisons import Comparisons
        >>> pairs = ShownPairs.of(Choices.of(Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], answers=[0, 0])))
        >>> pairs.one.tolist(), pairs.other.tolist(), pairs.groups[0].places.T.tolist()
        ([0, 0, 1], [1, 2, 2], [[0, 1, 2]])
        """
        keys = pair_numbers(choices.pairs[:, 0], choices.pairs[:, 1], choices.n_objects)
        distinct, place = np.unique(keys, return_inverse=True)
        one, other = np.divmod(distinct, choices.n_objects)
        sizes, groups = choices.sizes, []
        for size in np.unique(sizes):
            numbers = np.flatnonzero(sizes == size)
            places = place[choices.starts[:-1][numbers] + np.arange(size)[:, None]]
            order = np.argsort(places.min(axis=0), kind="stable")  # neighbouring choices then read neighbouring pairs
            signs = choices.signs[numbers[order]].astype(np.float32)
            groups.append(
                ChoicesOfSize(
                    np.ascontiguousarray(places[:, order]), None if (signs > 0).all() else signs, numbers[order]
                )
            )
        return cls(one, other, tuple(groups), choices.n_objects, choices.answers)

    @property
    def is_dense(self) -> bool:
        """True if a matrix of all pairs of objects is worth its memory."""
        entries = self.n_objects**2
        return entries <= min(MOST_DENSE, DENSE_PER_PAIR * len(self.one))

    @property
    def n_answers(self) -> int:
        """Number of answers."""
        return int(self.answers[-1]) + 1

    def weights_of_choices(self, weights: Array | None) -> Array:
        """Return the weight of each choice, given that of each answer; the weights sum to 1."""
        by_choice = np.ones(len(self.answers)) if weights is None else weights[self.answers].astype(np.float64)
        return np.asarray(by_choice / by_choice.sum())


class PairLikelihood(Protocol):
    """The mean loss of the choices as a function of non-negative rows, on some device."""

    @property
    def pairs(self) -> ShownPairs: ...

    def weighted(self, weights: Array | None) -> "PairLikelihood":
        """Return the likelihood with another weight for each answer; None means that all are equal."""
        ...

    def at(self, x: Array) -> tuple[float, Array]:
        """Return the mean loss and its gradient."""
        ...

    def by_pair(self, dot_products: Singles) -> tuple[float, Singles]:
        """Return the mean loss and its derivative with respect to the dot product of each distinct pair."""
        ...


class DotProducts:
    """The mean loss of choices by dot products and its gradient, on the CPU, in single precision.

    Results do not depend on the number of threads.

    Parameters
    ----------
    pairs
        The choices.
    pool
        The threads to use.
    weights
        Weight of each answer; None means that all are equal.

    Examples
    --------
    >>> from closerthan.comparisons import Comparisons
    >>> odd_one_out = Choices.of(Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], answers=[0, 0]))
    >>> with WorkerPool(0) as pool:
    ...     value, gradient = DotProducts(ShownPairs.of(odd_one_out), pool).at(np.zeros((3, 1)))
    >>> round(value, 4), gradient.tolist()
    (1.0986, [[0.0], [0.0], [0.0]])
    """

    def __init__(self, pairs: ShownPairs, pool: WorkerPool, weights: Array | None = None) -> None:
        self.pairs = pairs
        self._pool = pool
        self._matrix = np.zeros((pairs.n_objects, pairs.n_objects), np.float32) if pairs.is_dense else None
        self._set_weights(weights)

    def _set_weights(self, weights: Array | None) -> None:
        by_choice = self.pairs.weights_of_choices(weights)
        self._weights = [by_choice[group.choices].astype(np.float32) for group in self.pairs.groups]

    def weighted(self, weights: Array | None) -> "DotProducts":
        """Return the likelihood with another weight for each answer; None means that all are equal."""
        other = DotProducts.__new__(DotProducts)
        other.pairs, other._pool, other._matrix = self.pairs, self._pool, self._matrix
        other._set_weights(weights)
        return other

    def at(self, x: Array) -> tuple[float, Array]:
        """Return the mean loss and its gradient."""
        rows = x.astype(np.float32)
        with one_blas_thread():
            value, coefficients = self.by_pair(self._dot_products(rows))
            return value, self._times(coefficients, rows).astype(np.float64)

    def by_pair(self, dot_products: Singles) -> tuple[float, Singles]:
        """Return the mean loss and its derivative with respect to the dot product of each distinct pair."""
        n_pairs = len(self.pairs.one)
        value, sums = 0.0, np.zeros(n_pairs)
        for group, weights in zip(self.pairs.groups, self._weights, strict=True):
            out = np.empty(group.places.shape, np.float32)
            pieces = [slice(first, first + BLOCK) for first in range(0, len(weights), BLOCK)]
            part = self._pool.map(lambda piece: _losses(dot_products, group, weights, out, piece), pieces)  # noqa: B023
            value += sum(part)
            added = self._pool.map(
                lambda place, one: np.bincount(place, one, minlength=n_pairs), list(group.places), list(out)
            )
            for one in added:
                sums += one
        return value, sums.astype(np.float32)

    def _dot_products(self, x: Singles) -> Singles:
        one, other = self.pairs.one, self.pairs.other
        if self._matrix is None:
            out = np.empty(len(one), np.float32)
            self._pool.map(
                lambda piece: np.einsum("pk,pk->p", x[one[piece]], x[other[piece]], out=out[piece]),
                _pieces(len(one), BLOCK),
            )
            return out
        matrix = self._matrix
        self._pool.map(lambda piece: np.matmul(x[piece], x.T, out=matrix[piece]), _pieces(len(x), ROWS))
        return matrix[one, other]

    def _times(self, coefficients: Singles, x: Singles) -> Singles:
        """Return the product of the symmetric matrix of the coefficients and x."""
        pairs = self.pairs
        if self._matrix is None:
            from scipy.sparse import csr_array

            half = csr_array((coefficients, (pairs.one, pairs.other)), shape=(pairs.n_objects, pairs.n_objects))
            return np.asarray(half @ x + half.T @ x)
        matrix, product = self._matrix, np.empty_like(x)
        matrix[:] = 0.0
        matrix[pairs.one, pairs.other] = coefficients
        matrix[pairs.other, pairs.one] = coefficients
        self._pool.map(lambda piece: np.matmul(matrix[piece], x, out=product[piece]), _pieces(len(x), ROWS))
        return product


def _pieces(number: int, size: int) -> Sequence[slice]:
    return [slice(first, min(first + size, number)) for first in range(0, number, size)]


def _losses(dot_products: Singles, group: ChoicesOfSize, weights: Singles, out: Singles, piece: slice) -> float:
    """Store the derivatives of the losses of some choices in ``out``; return the sum of the losses."""
    scores = dot_products[group.places[:, piece]]
    signs = None if group.signs is None else group.signs[piece]
    if signs is not None:
        scores *= signs
    scores -= scores.max(axis=0)
    chosen = scores[0].copy()
    np.exp(scores, out=scores)
    total = scores.sum(axis=0)
    own = weights[piece]
    value = float(np.dot((np.log(total) - chosen).astype(np.float64), own))
    scores *= own / total
    scores[0] -= own
    if signs is not None:
        scores *= signs
    out[:, piece] = scores
    return value
