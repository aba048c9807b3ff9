"""Mixture: answers as several maps and guesses make them, and the likelihood of that."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons, pairs_of
from closerthan.comparisons.grouping import numbered
from closerthan.metrics import margins

__all__ = ["Mixture"]

LEAST = 1e-300  # probability, so that there is a logarithm


@dataclass(frozen=True)
class Mixture:
    """Answers as a mixture of maps and guesses sees them: all comparisons of an answer are of one view."""

    comparisons: Comparisons
    answer: NDArray[Any]  # of each comparison, the number of its answer
    weights: Array  # of the answers

    @classmethod
    def of(cls, comparisons: Comparisons) -> Self:
        given = comparisons.answers
        answer = np.arange(len(comparisons)) if given is None else numbered(given)
        return cls(comparisons, answer, np.bincount(answer, comparisons.weights) / np.bincount(answer))

    @property
    def guessed(self) -> Array:
        """How probable an answer is as a guess."""
        found: Array = np.exp2(-np.bincount(self.answer).astype(np.float64))
        return found

    def log_joint(self, maps: Any, shares: Array) -> Array:
        """For each answer, the log probability that it is of a view, and as it is; in the last column, of a guess."""
        logs = [np.bincount(self.answer, -np.logaddexp(0.0, -margins(self.comparisons, one))) for one in maps]
        found: Array = np.column_stack([*logs, np.log(self.guessed)]) + np.log(np.maximum(shares, LEAST))
        return found

    def log_likelihoods(self, maps: Any, shares: Array) -> Array:
        """Of each answer."""
        found: Array = np.logaddexp.reduce(self.log_joint(maps, shares), axis=1)
        return found

    def responsibilities(self, maps: Any, shares: Array) -> Array:
        """For each answer, how probable it is that each view made it, and that it is a guess."""
        from scipy.special import softmax

        found: Array = softmax(self.log_joint(maps, shares), axis=1)
        return found

    def objective(self, n_views: int, n_dims: int) -> Callable[[Array], tuple[float, Array]]:
        """The negative mean log likelihood, and its gradient.

        A function of one vector: shares of views and guesses (their logarithms, up to a constant), then maps side by
        side, (n_objects, n_views, n_dims).
        """
        from scipy.sparse import csr_array
        from scipy.special import expit, softmax

        number, n_objects = len(self.comparisons), self.comparisons.n_objects
        (i, j), (l, k) = pairs_of(self.comparisons.rows)  # noqa: E741
        signs = np.repeat([1.0, -1.0], 2 * number)
        lines = np.tile(np.arange(2 * number), 2)
        to_pairs = csr_array((signs, (lines, np.concatenate([i, l, j, k]))), shape=(2 * number, n_objects))
        to_objects = to_pairs.T.tocsr()
        to_answers = csr_array((np.ones(number), (self.answer, np.arange(number))))
        weights, guessed = self.weights / self.weights.sum(), self.guessed

        def evaluate(flat: Array) -> tuple[float, Array]:
            scores, maps = np.split(flat, [n_views + 1])
            shares = softmax(scores)
            # Comparisons are the last axis, which is the long one.
            apart = np.ascontiguousarray((to_pairs @ maps.reshape(n_objects, -1)).T)
            apart = apart.reshape(n_views, n_dims, 2, number)
            near, far = np.square(apart).sum(axis=1).swapaxes(0, 1)
            chance = expit(far - near)
            joint = np.exp((to_answers @ np.log(np.maximum(chance, LEAST)).T).T) * shares[:-1, None]
            total = np.maximum(joint.sum(axis=0) + shares[-1] * guessed, LEAST)
            held = weights * joint / total
            slopes = 2 * held[:, self.answer] * (1 - chance)
            pull = apart * np.stack([slopes, -slopes], axis=1)[:, None]
            made = held.sum(axis=1)
            gradient = np.concatenate([
                shares - np.append(made, 1 - made.sum()),
                (to_objects @ pull.reshape(n_views * n_dims, -1).T).ravel(),
            ])  # fmt: skip
            return -float(weights @ np.log(total)), gradient

        return evaluate
