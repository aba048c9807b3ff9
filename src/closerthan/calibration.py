"""Calibration: from a score to a probability that is right as often as it says."""

import dataclasses
import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array

__all__ = ["Calibration", "Tenth", "tenths"]

POWER_SPREAD = 0.5  # of the logarithm of the power, around 0, before there are answers
SLOPE_SPREAD = 3.0  # of the logarithm of the slope, around 0: answers without a single error keep it finite


class Tenth(NamedTuple):
    """Predictions whose probability lies in one tenth."""

    said: float  # the mean probability of what was predicted
    right: float  # how often that was the answer
    number: int  # of answers


@dataclasses.dataclass(frozen=True)
class Calibration:
    """The log odds of an answer as a function of a score: ``slope * sign(score) * |score| ** power``.

    Positive scores speak for the answer. Reversing a question reverses its score, so that the curve goes through 0: a
    logistic regression without a constant (Platt 1999), with one more number for its bend.

    Attributes
    ----------
    slope, power
        Of the curve.
    n_answers
        How many held-out answers it was fitted to; 0: it was not fitted.
    tenths
        For predictions of 50 to 60 %, 60 to 70 %, ...: what was said of the held-out answers, and what was right.

    Examples
    --------
    >>> Calibration(slope=2.0).probability([-1.0, 0.0, 1.0]).round(2).tolist()
    [0.12, 0.5, 0.88]
    """

    slope: float = 1.0
    power: float = 1.0
    n_answers: int = 0
    tenths: tuple[Tenth, ...] = ()

    @classmethod
    def fitted(cls, scores: ArrayLike, weights: ArrayLike | None = None, *, bent: bool = True) -> Self:
        """The curve under which answers are likeliest whose scores these are.

        Parameters
        ----------
        scores
            Of answers that the map has not seen, as they were given: negative where the map says the opposite.
        weights
            Of the answers, or None.
        bent
            Whether the power is fitted too, or stays at 1.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> score = rng.normal(size=5000)
        >>> answer = np.where(rng.random(5000) < 1 / (1 + np.exp(-3 * score)), 1, -1)
        >>> bool(abs(Calibration.fitted(score * answer).slope - 3) < 0.3)
        True
        """
        from scipy.optimize import minimize

        score = np.asarray(scores, dtype=np.float64)
        weight = np.ones(len(score)) if weights is None else np.asarray(weights, dtype=np.float64)
        if not len(score) or not weight.sum() > 0:
            raise ValueError("there are no answers to calibrate with; hold some out")
        size = np.abs(score)
        # In units of their own, so that the first guess is near.
        unit = float(np.average(size, weights=weight)) or 1.0
        sign, log_size = np.sign(score), np.log(np.maximum(size / unit, 1e-12))

        def cost(parameters: Array) -> tuple[float, Array]:
            slope, power = parameters
            curve = sign * np.exp(slope + np.exp(power) * log_size)
            wrong = 0.5 * (1.0 - np.tanh(0.5 * curve))
            total = np.sum(weight * np.logaddexp(0.0, -curve))
            steep = -weight * wrong * curve
            slopes = np.array([np.sum(steep), np.sum(steep * np.exp(power) * log_size)])
            spreads = np.array([SLOPE_SPREAD, POWER_SPREAD])
            gradient = slopes + parameters / spreads**2
            gradient[1] *= bent
            return float(total + 0.5 * np.sum((parameters / spreads) ** 2)), gradient

        bounds = [(-6.0, 6.0), (-1.5, 1.0) if bent else (0.0, 0.0)]
        slope, power = minimize(cost, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds).x
        power = math.exp(power)
        found = cls(math.exp(slope) / unit**power, power, len(score))
        return dataclasses.replace(found, tenths=tenths(found.probability(score), weight))

    def log_odds(self, scores: ArrayLike) -> Array:
        """The log odds that the answer is as written."""
        score = np.asarray(scores, dtype=np.float64)
        odds: Array = self.slope * np.sign(score) * np.abs(score) ** self.power
        return odds

    def probability(self, scores: ArrayLike) -> Array:
        """The probability that the answer is as written."""
        return 0.5 * (1.0 + np.tanh(0.5 * self.log_odds(scores)))

    def to_data(self) -> dict[str, Any]:
        """As JSON can say it."""
        return dataclasses.asdict(self)

    @classmethod
    def from_data(cls, data: dict[str, Any] | None) -> Self | None:
        """Read what :meth:`to_data` wrote."""
        if data is None:
            return None
        made = {**data, "tenths": tuple(Tenth(*tenth) for tenth in data["tenths"])}
        return cls(**made)


def tenths(probabilities: ArrayLike, weights: ArrayLike | None = None) -> tuple[Tenth, ...]:
    """What was said and what was right, for predictions of 50 to 60 %, 60 to 70 %, ..., those without answers left out.

    Parameters
    ----------
    probabilities
        Of the answers that were given: below a half where the opposite was predicted.
    weights
        Of the answers, or None.

    Examples
    --------
    >>> [tenth] = tenths([0.75, 0.75, 0.75, 0.25])
    >>> tenth.said, tenth.right, tenth.number
    (0.75, 0.75, 4)
    """
    given = np.asarray(probabilities, dtype=np.float64)
    weight = np.ones(len(given)) if weights is None else np.asarray(weights, dtype=np.float64)
    said = np.maximum(given, 1.0 - given)
    right: NDArray[np.float64] = np.where(given == 0.5, 0.5, given > 0.5)
    bin_of = np.minimum((10 * said).astype(int), 9)
    found = []
    for number in range(5, 10):
        mine = (bin_of == number) & (weight > 0)
        if mine.any():
            meant, was = (float(np.average(column[mine], weights=weight[mine])) for column in (said, right))
            found.append(Tenth(meant, was, int(mine.sum())))
    return tuple(found)
