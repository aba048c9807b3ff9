"""The lapse model: a person answers by the map, or now and then without looking.

``P(answer) = (1 - l) P_map + l b``, where l is the person's lapse rate and b the probability of the answer when the
person lapses: one half, or the person's own preference for a side where sides are known. ``P_map`` is logistic in the
map's *lead*, the log odds of the loss (:func:`closerthan.metrics.log_odds`), with one slope for all, which is estimated
with the rates: so it works for every loss, and a map that knows little says little. Rates have a Beta prior worth ten
answers, one of them a lapse.
"""

import dataclasses
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons

__all__ = ["Given", "Lapses", "fit_lapses"]

PRIOR_LAPSES, PRIOR_ANSWERS = 1.0, 10.0  # Beta(2, 10): as if one lapse had been seen in ten answers
PRIOR_SIDES = 10.0  # lapses on each side that a person's preference for a side is shrunk by
MOST_ROUNDS = 30  # of slope and rates in turn
SETTLED = 1e-3  # change of a rate in a round
NEWTON_STEPS = 4
GRID = np.linspace(0.0, 1.0, 101)


@dataclasses.dataclass(frozen=True)
class Given:
    """What is known of each comparison, beside the map's lead.

    Attributes
    ----------
    person, n_people
        Who answered: numbers from 0.
    counts
        How many answers each comparison stands for: the comparisons of one answer share it.
    left
        Whether the near one was shown on the left, 1 or 0, NaN where unknown; None if no side is known.
    """

    person: NDArray[np.int32]
    n_people: int
    counts: Array
    left: Array | None = None

    @classmethod
    def of(cls, answers: Comparisons, left: Array | None = None) -> Self:
        """From comparisons whose people are known."""
        assert answers.people is not None
        assert answers.person_names is not None
        counts = np.ones(len(answers))
        if answers.answers is not None:
            counts /= np.bincount(answers.answers)[answers.answers]
        if answers.weights is not None:
            counts *= answers.weights / answers.weights.mean()
        return cls(answers.people, len(answers.person_names), counts, left)

    def sums(self, values: Array | None = None) -> Array:
        """Totals by person."""
        weights = self.counts if values is None else self.counts * values
        return np.bincount(self.person, weights, minlength=self.n_people).astype(np.float64)


@dataclasses.dataclass(frozen=True)
class Lapses:
    """The fitted model.

    Attributes
    ----------
    rates
        Lapse rate of each person: the mode of what is known about it.
    slope
        Of the probability, per unit of the map's lead.
    reliability
        For each comparison, the probability that it was answered by looking: ``(1 - l) P / ((1 - l) P + l b)``.
    guess
        For each comparison, b: the probability of this answer in a lapse.
    """

    rates: Array
    slope: float
    reliability: Array
    guess: Array

    def intervals(self, lead: Array, given: Given, confidence: float = 0.95) -> tuple[Array, Array]:
        """The interval that each person's rate lies in, from its posterior distribution."""
        looking = expit(self.slope * lead)
        chances = ((1 - rate) * looking + rate * self.guess for rate in GRID)
        log_posterior = np.stack([given.sums(np.log(np.maximum(chance, 1e-300))) for chance in chances])
        with np.errstate(divide="ignore"):
            prior = PRIOR_LAPSES * np.log(GRID) + (PRIOR_ANSWERS - PRIOR_LAPSES) * np.log(1 - GRID)
        log_posterior += prior[:, None]
        density = np.exp(log_posterior - log_posterior.max(axis=0))
        below = np.cumsum(density, axis=0) - density / 2
        below /= density.sum(axis=0)
        tail = (1 - confidence) / 2
        low, high = (np.array([np.interp(level, share, GRID) for share in below.T]) for level in (tail, 1 - tail))
        return low, high


def fit_lapses(lead: Array, given: Given) -> Lapses:
    """Rates and slope that make the answers most likely, given the leads of a map that has not seen them.

    Parameters
    ----------
    lead
        Of each comparison; positive where the map agrees. It must be of a map that was fitted without the person's
        answers: otherwise these vouch for themselves.
    given
        Who answered, and what else is known.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> person = np.repeat(np.arange(2, dtype=np.int32), 200)
    >>> size = rng.exponential(3.0, 400)
    >>> right = np.where(person == 0, rng.random(400) < 1 / (1 + np.exp(-size)), rng.random(400) < 0.5)
    >>> found = fit_lapses(np.where(right, size, -size), Given(person, 2, np.ones(400)))
    >>> bool(found.rates[0] < 0.2), bool(found.rates[1] > 0.6)
    (True, True)
    """
    scale = float(np.abs(lead).mean()) or 1.0
    person = given.person
    rates = np.full(given.n_people, PRIOR_LAPSES / PRIOR_ANSWERS)
    guess = np.full(len(lead), 0.5)
    slope = 1.0 / scale

    def misfit(log_slope: float) -> float:
        looking, lapse = expit(np.exp(log_slope) * lead), rates[person]
        return -float(given.counts @ np.log(np.maximum((1 - lapse) * looking + lapse * guess, 1e-300)))

    for _ in range(MOST_ROUNDS):
        around = np.clip(np.log(slope) + np.array([-1.0, 1.0]), np.log(1e-6 / scale), np.log(1e6 / scale))
        slope = float(np.exp(minimize_scalar(misfit, bounds=around, method="bounded", options={"xatol": 5e-3}).x))
        looking, before = expit(slope * lead), rates
        rates = _rates(looking, rates, guess, given)
        if given.left is not None:
            guess = _guess(given, 1 - _reliability(looking, rates[person], guess))
        if np.abs(rates - before).max() < SETTLED:
            break
    return Lapses(rates, slope, _reliability(looking, rates[person], guess), guess)


def _rates(looking: Array, rates: Array, guess: Array, given: Given) -> Array:
    """The most likely rates: Newton's method, for each person a concave function of one number.

    Where it ends, ``l = (1 + sum(1 - r)) / (10 + m)``, r being the reliabilities of a person's m answers.
    """
    heads, tails = PRIOR_LAPSES, PRIOR_ANSWERS - PRIOR_LAPSES
    difference = guess - looking
    for _ in range(NEWTON_STEPS):
        relative = difference / (looking + rates[given.person] * difference)
        slope = given.sums(relative) + heads / rates - tails / (1 - rates)
        bend = given.sums(relative**2) + heads / rates**2 + tails / (1 - rates) ** 2
        # At most half of the way to the ends, where the prior is infinite.
        rates = np.clip(rates + slope / bend, rates / 2, (1 + rates) / 2)
    return rates


def _reliability(looking: Array, lapse: Array, guess: Array) -> Array:
    by_map = (1 - lapse) * looking
    return np.asarray(by_map / (by_map + lapse * guess))


def _guess(given: Given, lapsed: Array) -> Array:
    """The probability of the side that was chosen, from the person's lapses; one half where it is unknown."""
    assert given.left is not None
    known = np.isfinite(given.left)
    on_left = given.sums(np.where(known, lapsed * np.nan_to_num(given.left), 0.0))
    share = (PRIOR_SIDES + on_left) / (2 * PRIOR_SIDES + given.sums(np.where(known, lapsed, 0.0)))
    of_left = share[given.person]
    return np.where(known, np.where(given.left == 1, of_left, 1 - of_left), 0.5)
