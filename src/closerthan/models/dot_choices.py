"""The loss of whole answers by Luce's choice rule, where the similarity of two objects is the exponential of the dot
product of their positions.
"""

import numpy as np
from scipy.sparse import csr_array

from closerthan.accuracy import similarities_of_pairs
from closerthan.arrays import Array
from closerthan.comparisons import Choices

__all__ = ["DotProductChoices"]


class DotProductChoices:
    """Mean of ``-log P`` over the answers, and its gradient, as a function of the positions.

    A ranking or a set is the product of its choices.

    Examples
    --------
    >>> from closerthan import Comparisons
    >>> odd_one_out = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], answers=[0, 0])
    >>> value, gradient = DotProductChoices(Choices.of(odd_one_out))(np.zeros((3, 1)))
    >>> round(value, 4)  # log 3
    1.0986
    """

    def __init__(self, choices: Choices) -> None:
        n = choices.n_objects
        low, high = choices.pairs.min(axis=1).astype(np.int64), choices.pairs.max(axis=1)
        keys, self._pair = np.unique(low * n + high, return_inverse=True)
        self._pairs = np.stack(np.divmod(keys, n), axis=1)
        self._signs = np.repeat(choices.signs, choices.sizes).astype(np.float64)
        self._first, self._sizes = choices.starts[:-1], choices.sizes
        weights = np.ones(choices.n_answers) if choices.weights is None else choices.weights
        self._weights = (weights / weights.sum())[choices.answers]
        # Slopes of pairs as a symmetric sparse matrix, whose product with the positions is the gradient.
        ends = self._pairs.T
        numbers = np.arange(1.0, len(keys) + 1)
        self._matrix = csr_array(
            (np.tile(numbers, 2), (np.concatenate([ends[0], ends[1]]), np.concatenate([ends[1], ends[0]]))),
            shape=(n, n),
        )
        self._pair_of_entry = self._matrix.data.astype(np.int64) - 1

    def __call__(self, x: Array) -> tuple[float, Array]:
        scores = self._signs * similarities_of_pairs(self._pairs, x, "dot")[self._pair]
        largest = np.maximum.reduceat(scores, self._first)
        odds = np.exp(scores - np.repeat(largest, self._sizes))
        sums = np.add.reduceat(odds, self._first)
        value = float(np.sum(self._weights * (largest + np.log(sums) - scores[self._first])))
        slopes = odds / np.repeat(sums, self._sizes)
        slopes[self._first] -= 1.0
        slopes *= self._signs * np.repeat(self._weights, self._sizes)
        self._matrix.data = np.bincount(self._pair, slopes, minlength=len(self._pairs))[self._pair_of_entry]
        return value, np.asarray(self._matrix @ x)
