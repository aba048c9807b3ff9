"""The lapse model: a person answers according to the map, or occasionally guesses.

The probability of an answer is ``(1 - l) P + l b``. Here l is the person's lapse rate, and b is the probability of the
answer in a lapse: one half, or the person's own preference for a side where sides are known. P is logistic in the log
odds that the map gives the answer (:func:`closerthan.metrics.log_odds`). Its slope is common to all people and is
estimated with the rates, so that the model works with every loss, and a poor map yields probabilities near one half.
Rates have a Beta(2, 10) prior, which counts as much as ten answers of which one is a lapse.
"""

import dataclasses
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons

__all__ = ["Lapses", "Responses", "determined", "fit_lapses", "intervals"]

PRIOR_LAPSES, PRIOR_ANSWERS = 1.0, 10.0  # Beta(2, 10): as if one lapse had been seen in ten answers
PRIOR_SIDES = 10.0  # pseudo-counts of lapses on each side, which shrink a person's preference for a side
MOST_ROUNDS = 30  # maximum number of rounds, in which the slope and the rates are updated in turn
SETTLED = 1e-3  # change of the rates in a round at which the iteration ends
NEWTON_STEPS = 4
GRID = np.linspace(0.0, 1.0, 101)
# A rate counts as determined if the answers move at least this much of the probability of its prior (total variation
# distance); 20 clear answers move 0.14.
LEAST_MOVED = 0.1


@dataclasses.dataclass(frozen=True)
class Responses:
    """The person, the weight and the side of each comparison.

    Attributes
    ----------
    person, n_people
        Number of the person who answered, from 0, and the number of people.
    counts
        Number of answers that each comparison stands for: the comparisons of one answer share its count of 1.
    on_left
        1 if the near object was shown on the left, 0 if on the right, NaN if unknown; None if no side is known.
    """

    person: NDArray[np.int32]
    n_people: int
    counts: Array
    on_left: Array | None = None

    @classmethod
    def of(cls, answers: Comparisons, on_left: Array | None = None) -> Self:
        """Return the responses of comparisons whose people are known."""
        assert answers.people is not None
        assert answers.person_names is not None
        counts = np.ones(len(answers))
        if answers.answers is not None:
            counts /= np.bincount(answers.answers)[answers.answers]
        if answers.weights is not None:
            counts *= answers.weights / answers.weights.mean()
        return cls(answers.people, len(answers.person_names), counts, on_left)

    def sums(self, values: Array | None = None) -> Array:
        """Return the sum of each person's values, weighted by the counts; without values, the sum of the counts."""
        weights = self.counts if values is None else self.counts * values
        return np.bincount(self.person, weights, minlength=self.n_people).astype(np.float64)


@dataclasses.dataclass(frozen=True)
class Lapses:
    """The fitted model.

    Attributes
    ----------
    rates
        Lapse rate of each person: the mode of its posterior distribution.
    slope
        Slope of the logistic probability P, per unit of the map's log odds.
    reliability
        For each comparison, the probability that it is not a lapse: ``(1 - l) P / ((1 - l) P + l b)``.
    guess
        For each comparison, b: the probability of this answer in a lapse.
    """

    rates: Array
    slope: float
    reliability: Array
    guess: Array

    def posteriors(self, scores: Array, responses: Responses) -> Array:
        """Return the posterior probabilities of the rates in ``GRID``, one column per person."""
        by_map = expit(self.slope * scores)
        probabilities = ((1 - rate) * by_map + rate * self.guess for rate in GRID)
        log_posterior = np.stack([responses.sums(np.log(np.maximum(one, 1e-300))) for one in probabilities])
        log_posterior += np.log(np.maximum(_prior(), 1e-300))[:, None]
        density = np.exp(log_posterior - log_posterior.max(axis=0))
        return np.asarray(density / density.sum(axis=0))


def intervals(posteriors: Array, confidence: float = 0.95) -> tuple[Array, Array]:
    """Return the central posterior interval of each person's lapse rate, as lower and upper limits."""
    below = np.cumsum(posteriors, axis=0) - posteriors / 2
    tail = (1 - confidence) / 2
    low, high = (np.array([np.interp(level, person, GRID) for person in below.T]) for level in (tail, 1 - tail))
    return low, high


def determined(posteriors: Array) -> NDArray[np.bool_]:
    """Return, for each person, whether the answers say anything about the lapse rate.

    They do if they move at least a tenth of the probability of the prior (total variation distance). A person whose
    questions the map cannot answer has the rate of the prior, 10 %, whatever the answers are.
    """
    moved = np.abs(posteriors - _prior()[:, None]).sum(axis=0) / 2
    return np.asarray(moved >= LEAST_MOVED)


def _prior() -> Array:
    density = GRID**PRIOR_LAPSES * (1 - GRID) ** (PRIOR_ANSWERS - PRIOR_LAPSES)
    return np.asarray(density / density.sum())


def fit_lapses(scores: Array, responses: Responses) -> Lapses:
    """Fit lapse rates and slope to answers by maximum a posteriori.

    Parameters
    ----------
    scores
        Log odds that a map gives each comparison; positive where the map agrees. The map must have been fitted without
        the answers of the person who is judged; otherwise these answers would confirm themselves.
    responses
        Person, weight and side of each comparison.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> person = np.repeat(np.arange(2, dtype=np.int32), 200)
    >>> size = rng.exponential(3.0, 400)
    >>> right = np.where(person == 0, rng.random(400) < 1 / (1 + np.exp(-size)), rng.random(400) < 0.5)
    >>> lapses = fit_lapses(np.where(right, size, -size), Responses(person, 2, np.ones(400)))
    >>> bool(lapses.rates[0] < 0.2), bool(lapses.rates[1] > 0.6)
    (True, True)
    """
    scale = float(np.abs(scores).mean()) or 1.0
    person = responses.person
    rates = np.full(responses.n_people, PRIOR_LAPSES / PRIOR_ANSWERS)
    guess = np.full(len(scores), 0.5)
    slope = 1.0 / scale

    def negative_log_likelihood(log_slope: float) -> float:
        by_map, lapse = expit(np.exp(log_slope) * scores), rates[person]
        return -float(responses.counts @ np.log(np.maximum((1 - lapse) * by_map + lapse * guess, 1e-300)))

    for _ in range(MOST_ROUNDS):
        around = np.clip(np.log(slope) + np.array([-1.0, 1.0]), np.log(1e-6 / scale), np.log(1e6 / scale))
        search = minimize_scalar(negative_log_likelihood, bounds=around, method="bounded", options={"xatol": 5e-3})
        slope = float(np.exp(search.x))
        by_map, before = expit(slope * scores), rates
        rates = _rates(by_map, rates, guess, responses)
        if responses.on_left is not None:
            guess = _guess(responses, 1 - _reliability(by_map, rates[person], guess))
        if np.abs(rates - before).max() < SETTLED:
            break
    return Lapses(rates, slope, _reliability(by_map, rates[person], guess), guess)


def _rates(by_map: Array, rates: Array, guess: Array, responses: Responses) -> Array:
    """Maximise the posterior of each person's rate, a concave function of one number, by Newton's method.

    At the maximum ``l = (1 + sum(1 - r)) / (10 + m)``, where r are the reliabilities of the person's m answers.
    """
    lapses, careful = PRIOR_LAPSES, PRIOR_ANSWERS - PRIOR_LAPSES  # exponents of the prior density
    difference = guess - by_map
    for _ in range(NEWTON_STEPS):
        relative = difference / (by_map + rates[responses.person] * difference)
        slope = responses.sums(relative) + lapses / rates - careful / (1 - rates)
        curvature = responses.sums(relative**2) + lapses / rates**2 + careful / (1 - rates) ** 2
        # A step goes at most half of the way to 0 or 1, where the log prior is infinite.
        rates = np.clip(rates + slope / curvature, rates / 2, (1 + rates) / 2)
    return rates


def _reliability(by_map: Array, lapse: Array, guess: Array) -> Array:
    careful = (1 - lapse) * by_map
    return np.asarray(careful / (careful + lapse * guess))


def _guess(responses: Responses, lapsed: Array) -> Array:
    """Return the probability of the chosen side in a lapse, from the person's lapses; 0.5 if the side is unknown."""
    assert responses.on_left is not None
    has_side = np.isfinite(responses.on_left)
    on_left = responses.sums(np.where(has_side, lapsed * np.nan_to_num(responses.on_left), 0.0))
    preference = (PRIOR_SIDES + on_left) / (2 * PRIOR_SIDES + responses.sums(np.where(has_side, lapsed, 0.0)))
    of_left = preference[responses.person]
    return np.where(has_side, np.where(responses.on_left == 1, of_left, 1 - of_left), 0.5)
