"""The model of an answer with terms besides the map: positions, repetition, ties and lapses.

In a choice among K pairs, person w gives pair k the score

    u_k = s log g(pair k) + b_w[position of k] + r_w [k is at the position that this person chose last],

where s = 1 or -1 says whether the most or the least similar pair was to be chosen. The answer is that of Luce's choice
rule, or, in a lapse, any of the K alternatives:

    P(k) = (1 - l_w) exp(u_k) / Z + l_w / K,        Z = sum_k exp(u_k).

Where people may say that both pairs are equal, K = 3 and Z has the term of the tie, ``nu_w exp((u_0 + u_1) / 2)``
(Davidson 1970). Without that term in the model, ties have a fixed probability for each person, which says
nothing about the map.

The parameters of a person (b, r, log nu, and the logit of l) are those of the population plus deviations with a normal
prior, whose standard deviation is estimated (:meth:`AnswerModel.next_spreads`). The preferences for positions are
contrasts: their sum is 0.

References
----------
R. R. Davidson, On extending the Bradley-Terry model to accommodate ties in paired comparison experiments, Journal of
the American Statistical Association 1970.
"""

import dataclasses
import functools
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from closerthan.arrays import Array
from closerthan.comparisons import Choices, Comparisons, pair_numbers
from closerthan.comparisons.positions import chosen_positions, positions_of_pairs
from closerthan.compiled.kernels.choices import log_similarities, rule_argument
from closerthan.losses import Loss, penalty_weight, without_penalty
from closerthan.objective.protocol import MeanLoss, Point

__all__ = ["AnswerModel", "Design", "Outcomes", "PlacedAnswers", "Terms", "outcomes"]

MEAN_SPREAD = 3.0  # prior standard deviation of the population's parameters: allows any plausible preference
PSEUDO_ANSWERS = 10.0  # pseudo-answers with the rate of all people, towards which a person's rate of ties is shrunk

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, eq=False)
class PlacedAnswers:
    """Whole answers with what the terms of the model depend on.

    Attributes
    ----------
    choices
        The answers. A tie is a choice between two pairs, of which neither was chosen.
    people, n_people
        The person who gave each answer, and the number of people.
    n_options
        Number of options of each answer.
    positions
        The position of each pair of the choices; -1 if unknown.
    repeats
        Whether each pair is at the position that the person chose in the answer before.
    follows
        Whether each answer follows one of the same person with a known position and as many options.
    is_tie
        Whether each answer is a tie.
    allows_tie
        Whether a tie was possible.

    Examples
    --------
    >>> from closerthan.comparisons import Trials
    >>> trials = Trials(sides=["left", "left", "right"])
    >>> answers = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [0, 2, 1]], people=[0, 0, 0], trials=trials)
    >>> placed = PlacedAnswers.of(answers)
    >>> placed.repeats.reshape(3, 2).tolist()
    [[False, False], [True, False], [False, True]]
    """

    choices: Choices
    people: NDArray[np.int32]
    n_people: int
    n_options: Numbers
    positions: NDArray[np.int8]
    repeats: Mask
    follows: Mask
    is_tie: Mask
    allows_tie: Mask

    @classmethod
    def of(cls, answers: Comparisons, is_tie: Mask | None = None) -> Self:
        """Return the answers of comparisons in the order of the trials; ``is_tie`` marks rows that are ties."""
        choices = Choices.of(answers)
        tie = np.zeros(len(answers), dtype=bool) if is_tie is None else is_tie
        tie = tie[choices.rows]
        people = np.zeros(len(answers), np.int32) if answers.people is None else answers.people
        person = people[choices.rows]
        sizes = np.maximum.reduceat(choices.sizes, choices.first_choices)
        n_options = sizes + np.where(choices.is_set, choices.n_choices_of_answers - 1, 0)
        positions = positions_of_pairs(answers, choices)
        last = np.full(len(choices), -1)
        if answers.people is not None:
            chosen = np.where(tie, -1, chosen_positions(choices, positions))
            order = choices.rows if answers.lines is None else answers.lines[choices.rows]
            last = _last_positions(chosen, n_options, person, np.lexsort((choices.rows, order, person)))
        last = np.where(choices.n_choices_of_answers == 1, last, -1)
        repeats = positions == last[choices.answers[choices.choice_of_pair]]
        single = (n_options == 2) & (choices.n_choices_of_answers == 1)
        return cls(
            choices,
            person,
            int(people.max(initial=0)) + 1,
            n_options,
            positions,
            repeats & (positions >= 0),
            last >= 0,
            tie,
            single & bool(tie.any()),
        )

    def take(self, answers: Numbers) -> Self:
        """Return some of the answers by their numbers, which are in ascending order."""
        pairs = self.choices.pairs_of_answers(answers)
        return dataclasses.replace(
            self,
            choices=self.choices.take(answers),
            people=self.people[answers],
            n_options=self.n_options[answers],
            positions=self.positions[pairs],
            repeats=self.repeats[pairs],
            follows=self.follows[answers],
            is_tie=self.is_tie[answers],
            allows_tie=self.allows_tie[answers],
        )

    @functools.cached_property
    def answer_of_pair(self) -> Numbers:
        """The answer that each pair belongs to."""
        return self.choices.answers[self.choices.choice_of_pair].astype(np.int64)

    @functools.cached_property
    def first_choices(self) -> Numbers | None:
        """Position of the first choice of each answer; None if each answer is one choice."""
        return None if self.choices.n_choices == len(self.choices) else self.choices.first_choices

    def sums(self, of_choices: Array) -> Array:
        """Return the sum over the choices of each answer."""
        return of_choices if self.first_choices is None else np.add.reduceat(of_choices, self.first_choices)

    @functools.cached_property
    def is_present(self) -> Mask:
        """A mask of the people who gave at least one answer."""
        return np.bincount(self.people, minlength=self.n_people) > 0

    @functools.cached_property
    def tie_rates(self) -> Array:
        """Return the rate of ties of each person, shrunk to that of all people."""
        allowed, tie = (
            np.bincount(self.people[mask], minlength=self.n_people).astype(np.float64)
            for mask in (self.allows_tie, self.is_tie)
        )
        rate = (tie.sum() + 0.5) / (allowed.sum() + 1.0)
        return np.asarray((tie + PSEUDO_ANSWERS * rate) / (allowed + PSEUDO_ANSWERS))


def _last_positions(chosen: NDArray[Any], n_options: Numbers, person: NDArray[Any], order: Numbers) -> NDArray[Any]:
    """Return the position of the same person's last answer before each one, -1 if unknown; ``order`` is that of time.

    Answers without a position, such as ties, are passed over; an answer with another number of options is not.
    """
    is_known = chosen[order] >= 0
    place = np.arange(len(order))
    latest = np.maximum.accumulate(np.where(is_known, place, -1))
    before = np.concatenate([[-1], latest[:-1]]) if len(order) else latest
    at = order[before]
    same = (before >= 0) & (person[at] == person[order]) & (n_options[at] == n_options[order])
    last = np.full(len(order), -1)
    last[order] = np.where(same, chosen[at], -1)
    return last


class Terms(NamedTuple):
    """One value for each possible term of a model besides the map: whether the model has it, or its spread."""

    positions: Any = False
    repetition: Any = False
    ties: Any = False
    lapses: Any = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the terms that the model has."""
        return tuple(name for name, value in self._asdict().items() if value)


@dataclasses.dataclass(frozen=True, eq=False)
class Design:
    """The parameters of a person, and the effects on the answers that follow from them.

    Attributes
    ----------
    terms
        The terms of the model.
    places
        The positions that occur: the number of options, and the position among them.
    basis
        The effects, in columns, as linear functions of a person's parameters: a preference for each of the places,
        repetition, the logarithm of nu, and the logit of the lapse rate; the last column is 0.
    term_of_parameter
        The index of the term that each parameter belongs to.

    Examples
    --------
    >>> Design.of(Terms(positions=True, lapses=True), ((2, 0), (2, 1))).basis.round(2).tolist()
    [[0.71, -0.71, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]]
    """

    terms: Terms
    places: tuple[tuple[int, int], ...]
    basis: Array
    term_of_parameter: Numbers

    @classmethod
    def of(cls, terms: Terms, places: tuple[tuple[int, int], ...]) -> Self:
        """Return the design of a model with these terms."""
        n_places = len(places)
        rows, term = [], []
        if terms.positions:
            for size in sorted({size for size, _ in places}):
                own = np.flatnonzero([place[0] == size for place in places])
                for contrast in _contrasts(len(own)):
                    row = np.zeros(n_places + 4)
                    row[own] = contrast
                    rows.append(row)
                    term.append(0)
        for index in (1, 2, 3):
            if terms[index]:
                rows.append(np.eye(n_places + 4)[n_places + index - 1])
                term.append(index)
        return cls(terms, places, np.array(rows).reshape(-1, n_places + 4), np.array(term, dtype=np.int64))

    @property
    def n_parameters(self) -> int:
        """Number of parameters of a person."""
        return len(self.basis)

    def place_of_pair(self, answers: PlacedAnswers) -> Numbers:
        """Return the column of ``basis`` with the effect of the position of each pair; the last one if unknown."""
        column = np.full((max((size for size, _ in self.places), default=0) + 1, 129), self.basis.shape[1] - 1)
        for number, place in enumerate(self.places):
            column[place] = number
        size = answers.n_options[answers.answer_of_pair]
        return column[np.where(size < len(column), size, 0), answers.positions]


def _contrasts(number: int) -> Array:
    """Return orthonormal contrasts of some positions (Helmert's)."""
    rows = [[1.0] * place + [-float(place)] + [0.0] * (number - place - 1) for place in range(1, number)]
    contrasts = np.array(rows).reshape(-1, number)
    return np.asarray(contrasts / np.linalg.norm(contrasts, axis=1, keepdims=True))


class Outcomes(NamedTuple):
    """The log probability of each answer, and its derivatives.

    Attributes
    ----------
    logs
        Log probability of each answer.
    by_score
        Derivative with respect to the score u of each pair.
    by_tie
        Derivative with respect to the logarithm of nu of each answer.
    by_lapse
        Derivative with respect to the logit of the lapse rate of each answer.
    """

    logs: Array
    by_score: Array
    by_tie: Array
    by_lapse: Array


def outcomes(answers: PlacedAnswers, scores: Array, effects: Array, terms: Terms, tie_rates: Array) -> Outcomes:
    """Return the log probability of each answer.

    Parameters
    ----------
    answers
        The answers.
    scores
        The score u of each pair.
    effects
        The effects on each person's answers, as in :attr:`Design.basis`.
    terms
        The terms of the model.
    tie_rates
        The probability that each person calls two pairs equal, for a model in which ties are not a term.
    """
    choices = answers.choices
    first, sizes = choices.starts[:-1], choices.sizes
    log_nu, logit = effects[answers.people, -3], effects[answers.people, -2]
    largest = np.maximum.reduceat(scores, first)
    score = scores[first]
    tie_of_choice = np.zeros(len(first))  # exp(score of the tie - largest)
    is_tie, allows_tie = answers.is_tie[choices.answers], answers.allows_tie[choices.answers]
    if terms.ties:
        second = np.minimum(first + 1, len(scores) - 1)
        tie_score = log_nu[choices.answers] + (score + scores[second]) / 2
        largest = np.where(allows_tie, np.maximum(largest, tie_score), largest)
        tie_of_choice = np.where(allows_tie, np.exp(np.minimum(tie_score - largest, 0.0)), 0.0)
        score = np.where(is_tie, tie_score, score)
    weights = np.exp(scores - np.repeat(largest, sizes))
    total = np.add.reduceat(weights, first) + tie_of_choice
    logs = answers.sums(score - largest - np.log(total))

    of_tie = tie_of_choice / total
    by_score = -weights / np.repeat(total, sizes)
    by_score[first] += ~is_tie
    by_tie = np.zeros(len(logs))
    if terms.ties:
        of_pairs = is_tie - of_tie
        by_score += np.repeat(of_pairs / 2, sizes)
        by_tie = answers.sums(np.where(allows_tie, of_pairs, 0.0))
    by_lapse = np.zeros(len(logs))
    if terms.lapses:
        rate = expit(logit)
        n_alternatives = sizes + (allows_tie if terms.ties else 0)
        chance = answers.sums(-np.log(n_alternatives))
        careful = np.logaddexp(0.0, logit)  # minus the logarithm of 1 - rate
        mixed = np.logaddexp(logs - careful, chance + logit - careful)
        attentive = np.exp(logs - careful - mixed)  # probability that the answer was not a lapse
        by_lapse = (1 - attentive) * (1 - rate) - attentive * rate
        by_score *= attentive[answers.answer_of_pair]
        by_tie *= attentive
        logs = mixed
    if not terms.ties and answers.allows_tie.any():
        rate = tie_rates[answers.people]
        logs = np.where(answers.is_tie, np.log(rate), logs + np.where(answers.allows_tie, np.log1p(-rate), 0.0))
        by_score[answers.is_tie[answers.answer_of_pair]] = 0.0
        by_lapse[answers.is_tie] = 0.0
    return Outcomes(logs, by_score, by_tie, by_lapse)


class AnswerModel(MeanLoss):
    """Minus the log posterior density of a map and the terms, per answer.

    Its points are columns: the map, the population means of the parameters, and one standard normal variable per person
    and parameter, which is multiplied by the spread of the parameter's term.

    Parameters
    ----------
    answers
        The answers.
    design
        The terms.
    spreads
        For each term, the prior standard deviation of the deviations of people.
    loss
        A loss with a similarity, which may carry a penalty (:class:`~closerthan.losses.Penalized`).
    n_dims
        Number of dimensions of the map.
    fixed
        A map that stays as it is; None means that it is fitted as well.
    lapse_prior
        Exponents of the rate and of its complement in the prior density of the population's lapse rate.
    """

    def __init__(
        self,
        answers: PlacedAnswers,
        design: Design,
        spreads: Terms,
        loss: Loss,
        *,
        n_dims: int,
        fixed: Array | None = None,
        lapse_prior: tuple[float, float] = (1.0, 9.0),
    ) -> None:
        from scipy.sparse import csr_array

        self.answers, self.design, self.spreads = answers, design, spreads
        self._rule, self._fixed, self._lapse_prior = rule_argument(without_penalty(loss)), fixed, lapse_prior
        penalty = penalty_weight(loss)
        choices = answers.choices
        self._shape = (choices.n_objects, n_dims)
        self._weights = np.ones(len(choices)) if choices.weights is None else choices.weights
        self._total = float(self._weights.sum())
        keys, self._pair = np.unique(
            pair_numbers(choices.pairs[:, 0], choices.pairs[:, 1], choices.n_objects), return_inverse=True
        )
        ends = np.stack(np.divmod(keys, choices.n_objects), axis=1)
        data, place = np.tile([1.0, -1.0], len(keys)), 2 * np.arange(len(keys) + 1)
        self._differences = csr_array((data, ends.ravel(), place), shape=(len(keys), choices.n_objects))
        self._sums = self._differences.T.tocsr()
        self._signs = np.repeat(choices.signs, choices.sizes).astype(np.float64)
        self._weight_of_pair = self._weights[answers.answer_of_pair]
        of_pair = self._weight_of_pair * 2 * penalty / np.repeat(choices.sizes, choices.sizes)
        self._penalty = np.bincount(self._pair, of_pair, minlength=len(keys)) if penalty else None
        self._person_of_pair = answers.people[answers.answer_of_pair].astype(np.int64)
        n_effects = design.basis.shape[1]
        self._place = self._person_of_pair * n_effects + design.place_of_pair(answers)
        self._n_map = 0 if fixed is not None else self._shape[0] * n_dims
        if fixed is not None:
            self._of_fixed = self._geometry(fixed)

    def with_spreads(self, spreads: Terms) -> Self:
        """Return the same model with other spreads."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, spreads=spreads)
        return other

    @property
    def _spread_of_parameter(self) -> Array:
        return np.array([float(self.spreads[term]) for term in self.design.term_of_parameter]).reshape(-1)

    def vector(self, x: Array, means: Array, latent: Array) -> Array:
        """Return the point with these parts."""
        return np.concatenate([x.ravel() if self._n_map else x.ravel()[:0], means, latent.ravel()])[:, None]

    def parts(self, point: Array) -> tuple[Array, Array, Array]:
        """Return the map, the means of the parameters, and the standard normal variables of each person."""
        n_parameters, point = self.design.n_parameters, point.ravel()
        x = self._fixed if self._fixed is not None else point[: self._n_map].reshape(self._shape)
        means = point[self._n_map : self._n_map + n_parameters]
        return x, means, point[self._n_map + n_parameters :].reshape(self.answers.n_people, n_parameters)

    def parameters(self, means: Array, latent: Array) -> Array:
        """Return the parameters of each person."""
        return np.asarray(means + latent * self._spread_of_parameter)

    def _geometry(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """Return the differences, squared distances, log similarities and slopes of the distinct pairs of objects."""
        difference = self._differences @ x
        squared = np.einsum("pc,pc->p", difference, difference)
        logs, slopes = np.empty_like(squared), np.empty_like(squared)
        log_similarities(self._rule, squared, logs, slopes)
        return difference, squared, logs, slopes

    def map_scores(self, x: Array) -> Array:
        """Return ``s log g`` of each pair."""
        return np.asarray(self._signs * self._geometry(x)[2][self._pair])

    def offsets(self, effects: Array) -> Array:
        """Return what positions and repetition add to the score of each pair."""
        repeated = np.where(self.answers.repeats, effects[self._person_of_pair, -4], 0.0)
        return np.asarray(effects.ravel()[self._place] + repeated)

    def at(self, x: Array) -> Point:
        places, means, latent = self.parts(x)
        geometry = self._geometry(places) if self._fixed is None else self._of_fixed
        parameters = self.parameters(means, latent)
        loss, by_pair, by_parameter = self._gradient(geometry[2], parameters)
        prior, by_mean = self._prior(means)
        loss += prior + 0.5 * float(np.sum(latent**2))
        slopes = [by_parameter.sum(axis=0) + by_mean, (by_parameter * self._spread_of_parameter + latent).ravel()]
        if self._fixed is None:
            difference, squared, _, slope = geometry
            by_square = by_pair * slope
            if self._penalty is not None:
                loss += float(self._penalty @ squared)
                by_square += self._penalty
            slopes.insert(0, (self._sums @ (2 * by_square[:, None] * difference)).ravel())
        return Point(x, loss / self._total, np.concatenate(slopes)[:, None] / self._total)

    def _gradient(self, logs: Array, parameters: Array) -> tuple[float, Array, Array]:
        """Return the sum of the losses, and its gradients by the log similarities and by each person's parameters."""
        answers, effects = self.answers, parameters @ self.design.basis
        scores = self._signs * logs[self._pair] + self.offsets(effects)
        result = outcomes(answers, scores, effects, self.design.terms, answers.tie_rates)
        by_score = -self._weight_of_pair * result.by_score
        by_pair = np.bincount(self._pair, by_score * self._signs, minlength=len(logs)).astype(np.float64)
        by_effect = np.bincount(self._place, by_score, minlength=effects.size).reshape(effects.shape)
        n_people = len(effects)
        if self.design.terms.repetition:
            repeated = np.where(answers.repeats, by_score, 0.0)
            by_effect[:, -4] = np.bincount(self._person_of_pair, repeated, minlength=n_people)
        for column, slope in ((-3, result.by_tie), (-2, result.by_lapse)):
            by_effect[:, column] = np.bincount(answers.people, -self._weights * slope, minlength=n_people)
        return -float(self._weights @ result.logs), by_pair, by_effect @ self.design.basis.T

    def _prior(self, means: Array) -> tuple[float, Array]:
        """Return minus the log prior density of the means, and its gradient."""
        is_lapse = self.design.term_of_parameter == len(Terms._fields) - 1
        loss = 0.5 * float(np.sum((means[~is_lapse] / MEAN_SPREAD) ** 2))
        slopes = means / MEAN_SPREAD**2
        if is_lapse.any():
            lapses, careful = self._lapse_prior
            (logit,) = means[is_lapse]
            loss += float((lapses + careful) * np.logaddexp(0.0, logit) - lapses * logit)
            slopes[is_lapse] = (lapses + careful) * expit(logit) - lapses
        return loss, slopes

    def _hessians(self, point: Array, step: float = 1e-4) -> Array:
        """Return the Hessian of the loss with respect to each person's parameters, given all else.

        Those of different people do not depend on each other, so central differences of the gradient along one
        parameter for all people at once give a column of every person's Hessian. Where a mixture is not concave, its
        curvature counts as 0.
        """
        x, means, latent = self.parts(point)
        logs = (self._geometry(x) if self._fixed is None else self._of_fixed)[2]
        parameters = self.parameters(means, latent)
        n_people, n_parameters = latent.shape
        hessian = np.empty((n_people, n_parameters, n_parameters))
        for column in range(n_parameters):
            move = np.zeros(n_parameters)
            move[column] = step
            ahead, behind = (self._gradient(logs, parameters + sign * move)[2] for sign in (1, -1))
            hessian[:, :, column] = (ahead - behind) / (2 * step)
        values, vectors = np.linalg.eigh((hessian + hessian.transpose(0, 2, 1)) / 2)
        return np.asarray(np.einsum("wij,wj,wkj->wik", vectors, np.maximum(values, 0.0), vectors))

    def next_spreads(self, point: Array) -> Terms:
        """Return the spreads that best fit the current deviations of people and their uncertainty (an EM step)."""
        _, _, latent = self.parts(point)
        spread, identity = self._spread_of_parameter, np.eye(self.design.n_parameters)
        covariances = np.linalg.inv(identity + spread[:, None] * self._hessians(point) * spread)
        squares = latent**2 + np.einsum("wii->wi", covariances)
        mean = squares[self.answers.is_present].mean(axis=0)
        term = self.design.term_of_parameter
        return Terms(
            *(
                float(spread) * float(np.sqrt(mean[term == index].mean())) if (term == index).any() else 0.0
                for index, spread in enumerate(self.spreads)
            )
        )

    def covariances(self, point: Array) -> tuple[Array, Array]:
        """Return the posterior covariance matrices of the means and of each person's parameters, given map and spreads.

        With the Hessian H of a person's loss and the prior covariance S, the person's answers are as informative about
        the means as a normal observation with the precision ``H A``, where ``A = (I + S H)^-1``. The covariance of the
        person's parameters is ``A S + A C A'``, where C is that of the means (Laplace's approximation).
        """
        hessians, identity = self._hessians(point), np.eye(self.design.n_parameters)
        prior = np.diag(self._spread_of_parameter**2)
        shrinking = np.linalg.inv(identity + prior @ hessians)
        means = np.linalg.inv((hessians @ shrinking).sum(axis=0) + identity / MEAN_SPREAD**2)
        return means, shrinking @ prior + shrinking @ means @ shrinking.transpose(0, 2, 1)
