"""Mixture: the likelihood of answers under a mixture of several maps and guessing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons, pairs_of
from closerthan.comparisons.questions import consecutive_numbers
from closerthan.metrics import margins

__all__ = ["Mixture"]

LEAST = 1e-300  # lower bound of probabilities before their logarithm is taken


@dataclass(frozen=True)
class Mixture:
    """Likelihood of answers under a mixture of maps and guessing; all comparisons of an answer are from one view.

    Attributes
    ----------
    comparisons
        The comparisons.
    answer
        The number of the answer of each comparison.
    weights
        Weights of the answers.
    """

    comparisons: Comparisons
    answer: NDArray[Any]
    weights: Array

    @classmethod
    def of(cls, comparisons: Comparisons) -> Self:
        """Return the likelihood model for these comparisons."""
        numbers = comparisons.answers
        answer = np.arange(len(comparisons)) if numbers is None else consecutive_numbers(numbers)
        return cls(comparisons, answer, np.bincount(answer, comparisons.weights) / np.bincount(answer))

    @property
    def guess_probability(self) -> Array:
        """The probability of each answer under guessing."""
        probability: Array = np.exp2(-np.bincount(self.answer).astype(np.float64))
        return probability

    def log_joint(self, maps: Any, shares: Array) -> Array:
        """Return, for each answer, its joint log probability with each view and, in the last column, with guessing."""
        logs = [np.bincount(self.answer, -np.logaddexp(0.0, -margins(self.comparisons, one))) for one in maps]
        log_guess = np.log(self.guess_probability)
        joint: Array = np.column_stack([*logs, log_guess]) + np.log(np.maximum(shares, LEAST))
        return joint

    def log_likelihoods(self, maps: Any, shares: Array) -> Array:
        """Return the log likelihood of each answer."""
        log_likelihoods: Array = np.logaddexp.reduce(self.log_joint(maps, shares), axis=1)
        return log_likelihoods

    def responsibilities(self, maps: Any, shares: Array) -> Array:
        """Return, for each answer, the posterior probability of each view and, in the last column, of guessing."""
        responsibilities: Array = softmax(self.log_joint(maps, shares), axis=1)
        return responsibilities

    def objective(self, n_views: int, n_dims: int) -> Callable[[Array], tuple[float, Array]]:
        """Return a function that computes the negative mean log likelihood and its gradient.

        Its argument is one vector: the logarithms (up to a constant) of the shares of views and guessing, followed by
        the maps, (n_objects, n_views, n_dims).
        """
        from scipy.sparse import csr_array

        number, n_objects = len(self.comparisons), self.comparisons.n_objects
        (i, j), (l, k) = pairs_of(self.comparisons.rows)  # noqa: E741
        signs = np.repeat([1.0, -1.0], 2 * number)
        lines = np.tile(np.arange(2 * number), 2)
        to_pairs = csr_array((signs, (lines, np.concatenate([i, l, j, k]))), shape=(2 * number, n_objects))
        to_objects = to_pairs.T.tocsr()
        to_answers = csr_array((np.ones(number), (self.answer, np.arange(number))))
        weights, guess_probability = self.weights / self.weights.sum(), self.guess_probability

        def evaluate(flat: Array) -> tuple[float, Array]:
            scores, maps = np.split(flat, [n_views + 1])
            shares = softmax(scores)
            # Comparisons are the last axis, since it is the longest.
            apart = np.ascontiguousarray((to_pairs @ maps.reshape(n_objects, -1)).T)
            apart = apart.reshape(n_views, n_dims, 2, number)
            near, far = np.square(apart).sum(axis=1).swapaxes(0, 1)
            chance = expit(far - near)
            joint = np.exp((to_answers @ np.log(np.maximum(chance, LEAST)).T).T) * shares[:-1, None]
            total = np.maximum(joint.sum(axis=0) + shares[-1] * guess_probability, LEAST)
            responsibilities = weights * joint / total  # multiplied by the weights of the answers
            slopes = 2 * responsibilities[:, self.answer] * (1 - chance)
            pull = apart * np.stack([slopes, -slopes], axis=1)[:, None]
            view_shares = responsibilities.sum(axis=1)
            gradient = np.concatenate([
                shares - np.append(view_shares, 1 - view_shares.sum()),
                (to_objects @ pull.reshape(n_views * n_dims, -1).T).ravel(),
            ])  # fmt: skip
            return -float(weights @ np.log(total)), gradient

        return evaluate
