"""Mixture: the likelihood of whole answers under a mixture of several maps and guessing.

An answer is one choice, or several successive ones, among pairs of objects (:class:`~closerthan.comparisons.Choices`),
with ste's similarity and Luce's choice rule: the probability of a pair is proportional to the exponential of minus its
squared distance, or of its squared distance if the least similar pair was to be chosen. Comparisons of one answer are
not independent. If they were treated so, a second map would explain doubtful answers, all of whose comparisons seem to
be wrong together. For the same reason, the log probability of a set, or of the odd one of more than three objects,
whose choices are not successive, is multiplied by a factor with which guessing has the probability of chance.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from closerthan.accuracy import chance_levels
from closerthan.arrays import Array
from closerthan.comparisons import Choices, Comparisons
from closerthan.comparisons.questions import consecutive_numbers
from closerthan.comparisons.rows import pair_numbers

__all__ = ["Mixture"]

LEAST = 1e-300  # lower bound of probabilities before their logarithm is taken


@dataclass(frozen=True)
class Mixture:
    """Likelihood of answers under a mixture of maps and guessing; all choices of an answer are from one view.

    Attributes
    ----------
    comparisons
        The comparisons.
    answer
        The number of the answer of each comparison.
    choices
        The answers.
    weights
        Weights of the answers.
    parts
        The factor of the log probability of each choice.
    """

    comparisons: Comparisons
    answer: NDArray[Any]
    choices: Choices
    weights: Array
    parts: Array

    @classmethod
    def of(cls, comparisons: Comparisons) -> Self:
        """Return the likelihood model for these comparisons."""
        numbers = comparisons.answers
        answer = np.arange(len(comparisons)) if numbers is None else consecutive_numbers(numbers)
        choices = Choices.of(comparisons)
        weights = np.ones(len(choices)) if choices.weights is None else choices.weights
        independent = np.add.reduceat(-np.log(choices.sizes), choices.first_choices)
        parts = np.log(chance_levels(choices)) / independent
        return cls(comparisons, answer, choices, weights, parts[choices.answers])

    @property
    def log_guess(self) -> Array:
        """The log probability of each answer under guessing."""
        log_guess: Array = np.asarray(
            np.bincount(self.choices.answers, self.parts * -np.log(self.choices.sizes)), dtype=np.float64
        )
        return log_guess

    @property
    def weights_of_comparisons(self) -> Array:
        """The weight of each comparison in a fit of one map to whole answers that maximises this likelihood."""
        return np.asarray((self.weights * self.parts[self.choices.first_choices])[self.answer])

    def log_joint(self, maps: Any, shares: Array) -> Array:
        """Return, for each answer, its joint log probability with each view and, in the last column, with guessing."""
        one, other = self.choices.pairs.T
        logs, _ = self._of_distances(np.stack([np.square(x[one] - x[other]).sum(axis=1) for x in maps], axis=1))
        joint: Array = np.column_stack([logs, self.log_guess]) + np.log(np.maximum(shares, LEAST))
        return joint

    def _of_distances(self, squared: Array) -> tuple[Array, Array]:
        """Return log probabilities of answers, and of each pair the probability that it is chosen.

        ``squared`` are the squared distances of the pairs; each view has a column.
        """
        choices, first = self.choices, self.choices.starts[:-1]
        scores = squared * -np.repeat(choices.signs, choices.sizes)[:, None]
        largest = np.maximum.reduceat(scores, first)
        odds = np.exp(scores - np.repeat(largest, choices.sizes, axis=0))
        sums = np.add.reduceat(odds, first)
        logs = (scores[first] - largest - np.log(sums)) * self.parts[:, None]
        return np.add.reduceat(logs, choices.first_choices), odds / np.repeat(sums, choices.sizes, axis=0)

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

        choices, n_objects = self.choices, self.choices.n_objects
        pairs = pair_numbers(choices.pairs[:, 0], choices.pairs[:, 1], n_objects)
        keys, place = np.unique(pairs, return_inverse=True)
        number = len(keys)  # distances are computed once for each distinct pair
        entries = (
            np.repeat([1.0, -1.0], number),
            (np.tile(np.arange(number), 2), np.concatenate(np.divmod(keys, n_objects))),
        )
        to_pairs = csr_array(entries, shape=(number, n_objects))
        to_objects = to_pairs.T.tocsr()
        factors = np.repeat(choices.signs * self.parts, choices.sizes)
        add_up = csr_array((factors, (place, np.arange(len(place)))), shape=(number, len(place)))
        answer_of_pair = choices.answers[choices.choice_of_pair]
        weights, log_guess = self.weights / self.weights.sum(), self.log_guess

        def evaluate(flat: Array) -> tuple[float, Array]:
            scores, maps = np.split(flat, [n_views + 1])
            shares = softmax(scores)
            apart = (to_pairs @ maps.reshape(n_objects, -1)).reshape(number, n_views, n_dims)
            logs, chance = self._of_distances(np.square(apart).sum(axis=2)[place])
            joint = np.column_stack([logs, log_guess]) + np.log(np.maximum(shares, LEAST))
            total = np.logaddexp.reduce(joint, axis=1)
            responsibilities = weights[:, None] * np.exp(joint - total[:, None])
            chance[choices.starts[:-1]] -= 1.0
            slopes = add_up @ (responsibilities[answer_of_pair, :n_views] * chance)
            pull = -2 * slopes[:, :, None] * apart
            gradient = np.concatenate(
                [shares - responsibilities.sum(axis=0), (to_objects @ pull.reshape(number, -1)).ravel()]
            )
            return -float(weights @ total), gradient

        return evaluate
