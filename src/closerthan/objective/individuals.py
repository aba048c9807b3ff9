"""Objective of a map with individual weights: whole answers, given the map and the weights of each person.

Person w answers by the distances ``d_w(i, j)^2 = sum_k u_wk (x_ik - x_jk)^2`` (INDSCAL, Carroll and Chang 1970), which
are those of a personal map Y_w with the rows ``sqrt(u_w) * x_i``. All personal maps together are one long map, whose
gradient G is that of any choice rule; with it,

    dX = sum_w G_w diag(sqrt(u_w)),        d log u_wk = sum_i (G_w)_ik (Y_w)_ik / 2.

A personal map has rows only for the objects that the person was asked about, so that time and memory are proportional
to the number of answers. The logarithms of the weights have a Gaussian prior (:class:`Spread`).

A penalty applies to the map of a typical person, whose weights are the geometric means over people. If it applied to
the distances of each person, it would shrink those of consistent people most, and people would seem to differ less.

References
----------
J. D. Carroll and J.-J. Chang, Analysis of individual differences in multidimensional scaling via an N-way
generalization of "Eckart-Young" decomposition, Psychometrika 1970.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array, frozen
from closerthan.comparisons import Choices
from closerthan.compiled.kernels.choices import ChoiceRows, gradient, rule_argument
from closerthan.losses import Loss, penalty_weight, without_penalty
from closerthan.objective.protocol import MeanLoss, Point

__all__ = ["IndividualObjective", "Individuals", "PersonalAnswers", "Spread"]

BLOCK_ROWS = 2**13  # rows of personal maps that are evaluated together; with 20 dimensions they fit in the cache


class Spread(NamedTuple):
    """Prior standard deviations of log weights between people.

    The logarithm of a weight is the sum of a term for the person, who may answer more or less consistently than others,
    and a term for the person and the dimension. The latter sums to 0 over the dimensions: otherwise a larger spread of
    the weights would also let people differ more in consistency, which careless people need, and weights would seem to
    differ.

    Examples
    --------
    >>> spread = Spread(consistency=0.5, weights=0.3)
    >>> (spread.factor(2) @ spread.factor(2)).round(3).tolist()  # the covariance matrix
    [[0.295, 0.205], [0.205, 0.295]]
    """

    consistency: float = 0.0
    weights: float = 0.0

    def factor(self, n_dims: int) -> Array:
        """Return the symmetric square root of the covariance matrix of a person's log weights."""
        mean = np.full((n_dims, n_dims), 1.0 / n_dims)
        return np.asarray(self.weights * (np.eye(n_dims) - mean) + np.sqrt(n_dims) * self.consistency * mean)


class Individuals(NamedTuple):
    """A map, and the log weights of each person: (n_objects, n_dims) and (n_people, n_dims)."""

    x: Array
    log_weights: Array

    def normalized(self, is_present: NDArray[np.bool_]) -> Self:
        """Return the same distances, with a centred map and mean weights of 1 over the people who are present."""
        mean = np.exp(self.log_weights[is_present]).mean(axis=0)
        log_weights = np.where(is_present[:, None], self.log_weights - np.log(mean), 0.0)
        return type(self)((self.x - self.x.mean(axis=0)) * np.sqrt(mean), log_weights)


@dataclasses.dataclass(frozen=True, eq=False)
class PersonalAnswers:
    """Whole answers about the objects of personal maps, person by person.

    Attributes
    ----------
    choices
        The answers, in the order of the people who gave them; their objects are rows of the personal maps.
    objects, people
        The object and the person that each of these rows belongs to.
    n_objects, n_people
        Number of objects and people.

    Examples
    --------
    >>> from closerthan import Comparisons
    >>> choices = Choices.of(Comparisons.from_triplets([[0, 1, 2], [0, 1, 2], [0, 2, 1]]))
    >>> answers = PersonalAnswers.of(choices, np.array([0, 1, 1]), 2)
    >>> answers.objects.tolist(), answers.people.tolist()
    ([0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1])
    """

    choices: Choices
    objects: NDArray[np.int64]
    people: NDArray[np.int64]
    n_objects: int
    n_people: int

    @classmethod
    def of(cls, choices: Choices, person: NDArray[Any], n_people: int) -> Self:
        """Return the answers of each person; ``person`` is that of each answer, in ascending order."""
        of_pair = np.repeat(person[choices.answers], choices.sizes).astype(np.int64)
        keys = of_pair[:, None] * choices.n_objects + choices.pairs
        rows, pairs = np.unique(keys, return_inverse=True)
        people, objects = np.divmod(rows, choices.n_objects)
        personal = dataclasses.replace(choices, pairs=pairs.reshape(-1, 2).astype(np.int32), n_objects=len(rows))
        return cls(personal, objects, people, choices.n_objects, n_people)

    def maps(self, individuals: Individuals) -> Array:
        """Return the personal maps, one row per person and object."""
        return np.asarray(individuals.x[self.objects] * np.exp(individuals.log_weights / 2)[self.people])

    @functools.cached_property
    def weights_of_choices(self) -> NDArray[np.float64] | None:
        """The weight of each choice, None if each is 1; unlike ``choices.choice_weights``, not divided by their mean.

        The odd one of more than three objects is named once, although it is the odd one of several trios: together,
        these choices count as one.
        """
        choices = self.choices
        weights = None if choices.weights is None else choices.weights[choices.answers]
        if choices.is_odd_of_many.any():
            parts = np.where(choices.is_odd_of_many, 1 / choices.n_choices_of_answers, 1.0)[choices.answers]
            weights = parts if weights is None else weights * parts
        return weights

    @property
    def is_present(self) -> NDArray[np.bool_]:
        """A mask of the people who gave at least one answer."""
        return np.bincount(self.people, minlength=self.n_people) > 0

    def blocks(self, n_rows: int) -> "Iterator[_Block]":
        """Yield the answers of consecutive people together, as the kernels read them; ``n_rows`` is a typical size."""
        choices = self.choices
        ends = np.flatnonzero(np.append(np.diff(self.people) > 0, True)) + 1  # end of each person's rows
        first_pair = choices.pairs[choices.starts[:-1], 0]  # rows ascend with people, and so do choices
        begin = 0
        for end in _every(ends, n_rows):
            inside = slice(*np.searchsorted(self.people[first_pair], self.people[[begin, end - 1]] + [0, 1]))
            yield _Block.of(self, slice(begin, end), inside)
            begin = end


def _every(ends: NDArray[Any], size: int) -> Iterator[int]:
    """Yield those ends that divide the rows into parts of about this size."""
    last = 0
    for end in ends.tolist():
        if end - last >= size or end == ends[-1]:
            yield end
            last = end


@dataclasses.dataclass(frozen=True, eq=False)
class _Block:
    """The answers of some of the people.

    Attributes
    ----------
    rows, weights
        The answers and their weights, None for equal weights; objects are numbered from 0.
    objects, people
        The object and the person of each row of the personal maps.
    first
        The first of these rows for each person.
    present
        The people.
    mentioned, sums
        The distinct objects, and the matrix that adds up the rows of each of them.
    """

    rows: ChoiceRows
    weights: NDArray[np.float64] | None
    objects: NDArray[np.int64]
    people: NDArray[np.int64]
    first: NDArray[np.intp]
    present: NDArray[np.int64]
    mentioned: NDArray[np.int64]
    sums: Any

    @classmethod
    def of(cls, answers: PersonalAnswers, rows: slice, inside: slice) -> Self:
        from scipy.sparse import csr_array

        choices, objects, people = answers.choices, answers.objects[rows], answers.people[rows]
        starts = choices.starts[inside.start : inside.stop + 1]
        pairs = choices.pairs[starts[0] : starts[-1]] - np.int32(rows.start)
        weights = None if answers.weights_of_choices is None else answers.weights_of_choices[inside]
        mentioned, place = np.unique(objects, return_inverse=True)
        shape = (len(mentioned), len(objects))
        sums = csr_array((np.ones(len(objects)), (place, np.arange(len(objects)))), shape=shape)
        first = np.flatnonzero(np.diff(people, prepend=-1))
        chosen = ChoiceRows(frozen(pairs), frozen(starts - starts[0]), frozen(choices.signs[inside]))
        return cls(chosen, frozen(weights), objects, people, first, people[first], mentioned, sums)

    def gradient(self, rule: Any, x: Array, scales: Array) -> tuple[float, Array, Array]:
        """Return the sum of the losses, and its gradients by the log weights of each person and by object."""
        scale = scales[self.people]
        y = x[self.objects] * scale
        by_row = np.zeros_like(y)
        loss, _ = gradient(rule, self.rows, None, self.weights, y, by_row)
        by_weight = np.add.reduceat(by_row * y, self.first, axis=0) / 2
        by_row *= scale
        return loss, by_weight, self.sums @ by_row


class IndividualObjective(MeanLoss):
    """Minus the log posterior density of a map and individual weights, per answer.

    Its points are arrays of the map followed by one row per person; :meth:`individuals` separates them. The rows of the
    people are independent standard normal variables a priori, which :meth:`Spread.factor` turns into log weights.

    Parameters
    ----------
    answers
        The answers.
    rule
        A loss with a similarity; its penalty applies to the distances of a typical person.
    spread
        The prior of the log weights.
    fixed
        A map that stays as it is while the weights are fitted; None means that it is fitted as well.
    n_threads
        Number of threads; the results do not depend on it.
    block_rows
        Number of rows of personal maps that are evaluated together.
    """

    def __init__(
        self,
        answers: PersonalAnswers,
        rule: Loss,
        spread: Spread,
        *,
        n_dims: int,
        fixed: Array | None = None,
        n_threads: int = 1,
        block_rows: int = BLOCK_ROWS,
    ) -> None:
        self.answers, self.spread, self._fixed = answers, spread, fixed
        self._factor = spread.factor(n_dims)
        self._rule, self._penalty = rule_argument(without_penalty(rule)), penalty_weight(rule)
        self.blocks = list(answers.blocks(block_rows))
        self._n_threads = min(n_threads, len(self.blocks))
        weights = answers.choices.weights
        self._total = float(answers.choices.n_answers if weights is None else weights.sum())

    def with_spread(self, spread: Spread) -> Self:
        """Return the same objective with another prior."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, spread=spread, _factor=spread.factor(len(self._factor)))
        return other

    def start(self, individuals: Individuals) -> Point:
        """Return the point of a map and log weights; parts of the weights whose prior spread is 0 are dropped."""
        latent = individuals.log_weights @ np.linalg.pinv(self._factor)
        return self.at(latent if self._fixed is not None else np.vstack([individuals.x, latent]))

    def individuals(self, x: Array) -> Individuals:
        """Return the map and the log weights of a point."""
        shared, latent = self._separated(x)
        return Individuals(shared, latent @ self._factor)

    def _separated(self, x: Array) -> tuple[Array, Array]:
        if self._fixed is not None:
            return self._fixed, x
        return x[: self.answers.n_objects], x[self.answers.n_objects :]

    def at(self, x: Array) -> Point:
        shared, latent = self._separated(x)
        individuals = Individuals(shared, latent @ self._factor)
        loss, by_object, by_weight = self._gradient(individuals)
        loss += 0.5 * float(np.sum(latent**2))
        if self._penalty:
            loss += self._add_penalty(individuals, by_object, by_weight)
        by_latent = by_weight @ self._factor + latent
        slopes = by_latent if self._fixed is not None else np.vstack([by_object, by_latent])
        return Point(x, loss / self._total, slopes / self._total)

    def _add_penalty(self, individuals: Individuals, by_object: Array, by_weight: Array) -> float:
        """Return the penalty on the map of a typical person, and add its gradients to those of the losses."""
        x, people = individuals.x, self._present
        typical = np.exp(individuals.log_weights[people].mean(axis=0))
        slopes = self._stiffness @ x * typical
        of_dims = np.einsum("ik,ik->k", x, slopes)
        by_object += 2 * slopes
        by_weight[people] += of_dims / len(people)
        return float(of_dims.sum())

    @functools.cached_property
    def _present(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.answers.is_present)

    @functools.cached_property
    def _stiffness(self) -> Any:
        """The matrix L for which the penalty on a map x is the trace of ``x' L x``."""
        from scipy.sparse import coo_array

        answers, choices = self.answers, self.answers.choices
        of_choice = 2 * self._penalty / choices.sizes
        if answers.weights_of_choices is not None:
            of_choice = of_choice * answers.weights_of_choices
        weight = np.repeat(of_choice, choices.sizes)
        i, j = answers.objects[choices.pairs].T
        values = np.concatenate([weight, weight, -weight, -weight])
        places = np.concatenate([i, j, i, j]), np.concatenate([i, j, j, i])
        return coo_array((values, places), shape=(answers.n_objects,) * 2).tocsr()

    def _gradient(self, individuals: Individuals) -> tuple[float, Array, Array]:
        """Return the sum of the losses and its gradients with respect to the map and the log weights."""
        x, scales = np.ascontiguousarray(individuals.x), np.exp(individuals.log_weights / 2)
        one = functools.partial(_Block.gradient, rule=self._rule, x=x, scales=scales)
        by_object, by_weight = np.zeros_like(x), np.zeros_like(individuals.log_weights)
        total = 0.0
        for block, (loss, weights, objects) in zip(self.blocks, self._mapped(one), strict=True):
            total += loss
            by_weight[block.present] = weights
            by_object[block.mentioned] += objects
        return total, by_object, by_weight

    def _mapped(self, function: Callable[..., Any]) -> Any:
        if self._n_threads == 1:
            return map(function, self.blocks)
        with ThreadPoolExecutor(self._n_threads) as pool:
            return pool.map(function, self.blocks)

    def standard_deviations(self, individuals: Individuals, step: float = 1e-4) -> Array:
        """Return the posterior standard deviation of each log weight, given the map.

        The weights of different people are independent given the map, so central differences of the gradient along one
        dimension for all people at once give a column of every person's Hessian H. With the factor A of the prior's
        covariance, the posterior covariance is ``A (A H A + I)^-1 A`` (Laplace's approximation).
        """
        n_people, n_dims = individuals.log_weights.shape
        hessian = np.empty((n_people, n_dims, n_dims))
        for dim in range(n_dims):
            move = np.zeros(n_dims)
            move[dim] = step
            ahead, behind = (
                self._gradient(individuals._replace(log_weights=individuals.log_weights + sign * move))[2]
                for sign in (1, -1)
            )
            hessian[:, :, dim] = (ahead - behind) / (2 * step)
        factor = self._factor
        hessian = (hessian + hessian.transpose(0, 2, 1)) / 2
        precision = factor @ hessian @ factor + np.eye(n_dims)
        covariance = factor @ np.linalg.inv(precision) @ factor
        return np.asarray(np.sqrt(np.maximum(np.einsum("wkk->wk", covariance), 0.0)))
