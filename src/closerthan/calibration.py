"""Calibration: turn scores into probabilities that match the observed frequencies."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from closerthan.accuracy import chance_levels, log_probabilities
from closerthan.arrays import Array, one_blas_thread
from closerthan.comparisons import Choices
from closerthan.comparisons.questions import consecutive_numbers
from closerthan.metrics import clustered_number, error_interval
from closerthan.registry import JsonObject
from closerthan.representation import tabulated
from closerthan.signatures import readable
from closerthan.wording import percent

__all__ = ["Calibration", "ChoiceCalibration", "Tenth", "reliability", "tenths", "unreliable"]

# Weak priors, set by judgement; docs/measured/trust-lapses.md measures the resulting calibration.
SLOPE_SPREAD = 3.0  # prior standard deviation of log(slope): keeps the slope finite where no answer is wrong
POWER_SPREAD = 0.5  # prior standard deviation of log(power)
LAPSE_PRIOR = 5.0  # b of the Beta(1, b) prior of the lapse rate, whose mode is 0: lapses need evidence
LEAST_LAPSE, MOST_LAPSE = 1e-4, 0.9  # bounds that keep the log odds of the lapse rate finite
LOG_SLOPES, LOG_POWERS = (-6.0, 6.0), (-1.5, 1.0)  # bounds of the logarithms of slope and power
LAPSE_ODDS = (float(logit(LEAST_LAPSE)), float(logit(MOST_LAPSE)))
SPREADS = np.array([SLOPE_SPREAD, POWER_SPREAD, math.inf])  # prior spreads of the parameters of Calibration
LOG_SLOPE_STEP = 1e-4  # step of a difference quotient
FIRST_LAPSES = (0.02, 0.2, 0.5)  # starting values of the fit: a low power without lapses can be a local optimum
MOST_FROM_ALL_STARTS = 100_000  # with more scores, only the start that is best on a sample is fitted to all
MOST_WHOLE_ANSWERS = 2_000  # the same limit for whole answers, whose probabilities take longer to compute
WORTH_THREADS = 4_000  # number of scores from which the fits from all starting values run in parallel
FEWEST_TO_DOUBT = 30  # independent answers in a tenth, set by judgement; fewer are inconclusive
CLEARLY_OFF = 0.05  # difference of predicted and observed frequency that matters in practice, set by judgement
CONFIDENCE = 0.99  # level of each of the five intervals, so that all five together have 95 % (Bonferroni)


class Tenth(NamedTuple):
    """Predictions whose probability lies in one interval of width 0.1.

    Attributes
    ----------
    predicted
        Mean predicted probability.
    right
        Fraction of the predictions that came true.
    number
        Number of predictions (comparisons).
    independent
        Number of independent predictions that would measure ``right`` as precisely; comparisons from one answer, or
        answers of one person, may be right or wrong together. NaN if unknown.
    """

    predicted: float
    right: float
    number: int
    independent: float = math.nan

    @property
    def effective_number(self) -> float:
        """``independent``, or ``number`` where that is unknown."""
        return float(self.number) if math.isnan(self.independent) else self.independent


@tabulated
@readable
@dataclasses.dataclass(frozen=True)
class Calibration:
    """The probability of an answer as a function of a score, with a lapse rate that keeps it away from 0 and 1.

    The probability is ``lapse / 2 + (1 - lapse) / (1 + exp(-z))`` with ``z = slope * sign(score) * |score| ** power``.
    Positive scores favour the answer. Reversing a question reverses its score, and the two probabilities sum to 1:
    logistic regression without an intercept (Platt 1999), with a power for its curvature and, as in psychometric
    functions (Wichmann and Hill 2001), a lapse rate: however clear a question is, some answers are given without
    attention to it.

    Attributes
    ----------
    slope, power
        Parameters of the logistic curve.
    n_answers
        Number of held-out comparisons that the curve was fitted to; 0 if it was not fitted.
    tenths
        For predictions of 50 to 60 %, 60 to 70 %, ...: the mean prediction on held-out answers and the fraction that
        came true.
    lapse
        Fraction of answers that the score does not influence; no probability exceeds ``1 - lapse / 2``.

    Examples
    --------
    >>> Calibration(slope=2.0).probability([-1.0, 0.0, 1.0]).round(2).tolist()
    [0.12, 0.5, 0.88]
    >>> Calibration(slope=2.0, lapse=0.1).probability([-1.0, 0.0, 1.0, 100.0]).round(2).tolist()
    [0.16, 0.5, 0.84, 0.95]
    """

    slope: float = 1.0
    power: float = 1.0
    n_answers: int = 0
    tenths: tuple[Tenth, ...] = ()
    lapse: float = 0.0

    @classmethod
    def fitted(
        cls,
        scores: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        units: ArrayLike | None = None,
        fit_power: bool = True,
        fit_lapses: bool = True,
    ) -> Self:
        """Fit the curve to the scores of held-out answers by penalised maximum likelihood.

        Parameters
        ----------
        scores
            Scores of held-out answers: positive where the map agrees with the answer, negative where it disagrees.
        weights
            Weights of the answers, or None.
        units
            Number of the answer or person that each score belongs to; scores of one unit may be right or wrong
            together. By default all scores are independent.
        fit_power
            Whether the power is fitted, or stays at 1.
        fit_lapses
            Whether the lapse rate is fitted, or stays at 0.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> score = rng.normal(size=5000)
        >>> answer = np.where(rng.random(5000) < 1 / (1 + np.exp(-3 * score)), 1, -1)
        >>> bool(abs(Calibration.fitted(score * answer).slope - 3) < 0.4)
        True
        """
        score = np.asarray(scores, dtype=np.float64)
        all_weights = np.ones(len(score)) if weights is None else np.asarray(weights, dtype=np.float64)
        if not len(score) or not all_weights.sum() > 0:
            raise ValueError("there are no answers to calibrate with; hold some out")
        size = np.abs(score)
        # Scores are divided by their mean size, so that the optimum is near the first guess.
        unit = float(np.average(size, weights=all_weights)) or 1.0
        signs, log_sizes = np.sign(score), np.log(np.maximum(size / unit, 1e-12))

        def cost_of(every: int) -> Cost:
            """Return the negative log posterior density given every n-th score, and its gradient, as a function."""
            sign, log_size, weight = signs[::every], log_sizes[::every], all_weights[::every]

            def cost(parameters: Array) -> tuple[float, Array]:
                log_slope, log_power, lapse_odds = parameters
                curve = sign * np.exp(log_slope + np.exp(log_power) * log_size)
                logs = -np.logaddexp(0.0, -curve)
                total, attentive, by_odds = _with_lapses(
                    logs, math.log(0.5), weight, lapse_odds if fit_lapses else None
                )
                by_curve = -attentive * expit(-curve) * curve
                slopes = np.array([np.sum(by_curve), np.sum(by_curve * np.exp(log_power) * log_size), by_odds])
                slopes += parameters / SPREADS**2
                slopes[1] *= fit_power
                return total + 0.5 * float(np.sum((parameters / SPREADS) ** 2)), slopes

            return cost

        bounds = [LOG_SLOPES, LOG_POWERS if fit_power else (0.0, 0.0), LAPSE_ODDS]
        starts = [np.array([0.0, 0.0, logit(first)]) for first in (FIRST_LAPSES if fit_lapses else FIRST_LAPSES[:1])]
        on_sample = cost_of(every) if (every := math.ceil(len(score) / MOST_FROM_ALL_STARTS)) > 1 else None
        log_slope, log_power, lapse_odds = _minimum(cost_of(1), on_sample, bounds, starts, len(score))
        power = math.exp(log_power)
        lapse = float(expit(lapse_odds)) if fit_lapses else 0.0
        fit = cls(math.exp(log_slope) / unit**power, power, len(score), lapse=lapse)
        return dataclasses.replace(fit, tenths=tenths(fit.probability(score), all_weights, units))

    def probability(self, scores: ArrayLike) -> Array:
        """Return the probability that the answer is as written."""
        score = np.asarray(scores, dtype=np.float64)
        curve = self.slope * np.sign(score) * np.abs(score) ** self.power
        return np.asarray(self.lapse / 2 + (1 - self.lapse) * expit(curve))

    def to_data(self) -> JsonObject:
        """Return the calibration as JSON data."""
        return dataclasses.asdict(self)

    @classmethod
    def from_data(cls, data: dict[str, Any] | None) -> Self | None:
        """Return the calibration that :meth:`to_data` described; the lapse rate is 0 in data without one."""
        if data is None:
            return None
        return cls(**{**data, "tenths": tuple(Tenth(*tenth) for tenth in data["tenths"])})


@dataclasses.dataclass(frozen=True)
class ChoiceCalibration:
    """Probabilities of whole answers as a function of log similarities: a slope and a lapse rate.

    The probability of an answer is ``lapse * chance + (1 - lapse) * P``, where P is that of Luce's choice rule with the
    log similarities multiplied by the slope, the inverse of a temperature
    (:func:`closerthan.accuracy.log_probabilities`), and chance is the probability of a random answer.

    Attributes
    ----------
    slope, lapse
        The slope and the lapse rate.
    n_answers
        Number of held-out answers that the two were fitted to; 0 if they were not fitted.

    Examples
    --------
    >>> from closerthan.accuracy import pair_similarities
    >>> from closerthan.comparisons import Comparisons
    >>> choices = Choices.of(Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], answers=[0, 0]))
    >>> similarities = pair_similarities(choices, [[0.0], [1.0], [2.0]])
    >>> ChoiceCalibration(slope=0.0).log_probability(choices, similarities).round(3)
    array([-1.099])
    """

    slope: float = 1.0
    lapse: float = 0.0
    n_answers: int = 0

    @classmethod
    def fitted(cls, choices: Choices, log_similarities: Array) -> Self:
        """Fit slope and lapse rate to held-out answers by penalised maximum likelihood.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> rows = np.array([rng.permutation(9)[:3] for _ in range(3000)])
        >>> x = rng.normal(size=9)
        >>> far, near = (-((x[rows[:, 0]] - x[rows[:, place]]) ** 2) for place in (2, 1))
        >>> reverse = rng.random(3000) > 1 / (1 + np.exp(3 * (far - near)))
        >>> rows[reverse] = rows[reverse][:, [0, 2, 1]]
        >>> from closerthan.accuracy import pair_similarities
        >>> from closerthan.comparisons import Comparisons
        >>> choices = Choices.of(Comparisons.from_triplets(rows))
        >>> bool(abs(ChoiceCalibration.fitted(choices, pair_similarities(choices, x[:, None])).slope - 3) < 0.5)
        True
        """
        if not len(choices):
            raise ValueError("there are no answers to calibrate with; hold some out")
        log_similarities = _centred(choices, log_similarities)
        size = np.repeat(log_similarities[choices.starts[:-1]], choices.sizes) - log_similarities
        unit = float(np.sqrt(np.mean(size**2))) or 1.0

        def cost_of(choices: Choices, similarities: Array) -> Cost:
            """Return the negative log posterior density of these answers, and its gradient, as a function."""
            weights = np.ones(len(choices)) if choices.weights is None else choices.weights
            chance = np.log(chance_levels(choices))

            def cost(parameters: Array) -> tuple[float, Array]:
                log_slope, lapse_odds = parameters
                # A difference quotient, because exact derivatives are different for choices, sets and groups.
                lower, logs, higher = (
                    log_probabilities(choices, math.exp(log_slope + step) / unit * similarities)
                    for step in (-LOG_SLOPE_STEP, 0.0, LOG_SLOPE_STEP)
                )
                total, attentive, by_odds = _with_lapses(logs, chance, weights, lapse_odds)
                is_possible = np.isfinite(lower) & np.isfinite(higher)  # the probability of a set may be rounded to 0
                change = np.sum(attentive[is_possible] * (higher[is_possible] - lower[is_possible]))
                by_slope = log_slope / SLOPE_SPREAD**2 - float(change) / (2 * LOG_SLOPE_STEP)
                return total + 0.5 * (log_slope / SLOPE_SPREAD) ** 2, np.array([by_slope, by_odds])

            return cost

        on_sample = None
        if len(choices) > MOST_WHOLE_ANSWERS:
            used = np.arange(0, len(choices), math.ceil(len(choices) / MOST_WHOLE_ANSWERS))
            on_sample = cost_of(choices.take(used), log_similarities[choices.pairs_of_answers(used)])
        starts = [np.array([0.0, logit(first)]) for first in FIRST_LAPSES]
        cost = cost_of(choices, log_similarities)
        log_slope, lapse_odds = _minimum(cost, on_sample, [LOG_SLOPES, LAPSE_ODDS], starts, len(choices))
        return cls(math.exp(log_slope) / unit, float(expit(lapse_odds)), len(choices))

    def log_probability(self, choices: Choices, log_similarities: Array) -> Array:
        """Return the logarithm of the probability of each answer."""
        logs = log_probabilities(choices, self.slope * _centred(choices, log_similarities))
        if not self.lapse:
            return logs
        return np.logaddexp(math.log(self.lapse) + np.log(chance_levels(choices)), math.log1p(-self.lapse) + logs)

    @classmethod
    def from_data(cls, data: dict[str, Any] | None) -> Self | None:
        """Return the calibration that ``dataclasses.asdict`` described; None stays None."""
        return None if data is None else cls(**data)


def _centred(choices: Choices, log_similarities: Array) -> Array:
    """Return log similarities minus their mean in each answer, which avoids cancellation and changes no probability."""
    answer_of_pair = choices.answers[choices.choice_of_pair]
    means = np.bincount(answer_of_pair, log_similarities) / np.bincount(answer_of_pair)
    return np.asarray(log_similarities - means[answer_of_pair])


Cost = Callable[[Array], tuple[float, Array]]


def _with_lapses(
    logs: Array, log_chance: Array | float, weights: Array, lapse_odds: float | None
) -> tuple[float, Array, float]:
    """Return the cost of answers of which some are lapses: their negative log likelihood minus the log prior.

    The other two results are the derivative of the log likelihood with respect to ``logs``, and that of the cost with
    respect to the log odds of the lapse rate.

    Parameters
    ----------
    logs
        Log probability of each answer if it is not a lapse.
    log_chance
        Log probability of each answer if it is one.
    weights
        Weight of each answer.
    lapse_odds
        Log odds of the lapse rate; None means that there are no lapses.
    """
    if lapse_odds is None:
        return -float(np.sum(weights * logs)), weights, 0.0
    lapse = float(expit(lapse_odds))
    attentive = math.log1p(-lapse) + logs
    mixture = np.logaddexp(math.log(lapse) + log_chance, attentive)
    share = np.exp(attentive - mixture)  # posterior probability that the answer was not a lapse
    by_odds = float(np.sum(weights * (lapse * share - (1 - lapse) * (1 - share)))) + (LAPSE_PRIOR - 1) * lapse
    return -float(np.sum(weights * mixture)) - (LAPSE_PRIOR - 1) * math.log1p(-lapse), weights * share, by_odds


def _minimum(
    cost: Cost, on_sample: Cost | None, bounds: Sequence[tuple[float, float]], starts: Sequence[Array], n_scores: int
) -> Array:
    """Return the parameters with the lowest cost; if there is a sample, only its optimum is a start of the last fit."""
    from scipy.optimize import minimize

    def best_from(cost: Cost, starts: Sequence[Array]) -> Array:
        fit_from = functools.partial(minimize, cost, jac=True, method="L-BFGS-B", bounds=bounds)
        n_threads = len(starts) if n_scores >= WORTH_THREADS else 1
        with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
            fits = list(pool.map(fit_from, starts))
        return np.asarray(min(fits, key=lambda fit: float(fit.fun)).x)

    if on_sample is not None:
        starts = [best_from(on_sample, starts)]
    return best_from(cost, starts)


def tenths(
    probabilities: ArrayLike, weights: ArrayLike | None = None, units: ArrayLike | None = None
) -> tuple[Tenth, ...]:
    """Compare predictions of 50 to 60 %, 60 to 70 %, ... with the answers; tenths without predictions are left out.

    Parameters
    ----------
    probabilities
        Predicted probabilities of the actual answers: below one half where the opposite was predicted.
    weights
        Weights of the answers, or None.
    units
        As in :meth:`Calibration.fitted`.

    Examples
    --------
    >>> [tenth] = tenths([0.75, 0.75, 0.75, 0.25])
    >>> tenth.predicted, tenth.right, tenth.number
    (0.75, 0.75, 4)
    """
    of_answer = np.asarray(probabilities, dtype=np.float64)
    weight = np.ones(len(of_answer)) if weights is None else np.asarray(weights, dtype=np.float64)
    unit = np.arange(len(of_answer)) if units is None else np.asarray(units)
    predicted = np.maximum(of_answer, 1.0 - of_answer)
    right: NDArray[np.float64] = np.where(of_answer == 0.5, 0.5, of_answer > 0.5)
    bin_of = np.minimum((10 * predicted).astype(int), 9)
    rows = []
    for number in range(5, 10):
        inside = (bin_of == number) & (weight > 0)
        if inside.any():
            mean, fraction = (
                float(np.average(column[inside], weights=weight[inside])) for column in (predicted, right)
            )
            independent = clustered_number(1.0 - right[inside], consecutive_numbers(unit[inside]), weight[inside])
            rows.append(Tenth(mean, fraction, int(inside.sum()), independent))
    return tuple(rows)


def unreliable(measured: Sequence[Tenth]) -> tuple[Tenth, ...]:
    """Return the tenths whose predictions are off by more than five points, and by more than chance explains.

    A tenth counts only if it holds at least 30 independent answers. Its 99 % interval (Wilson's) must lie more than
    five points away from the mean prediction.

    Examples
    --------
    >>> unreliable([Tenth(0.55, 0.0, 4), Tenth(0.75, 0.71, 100_000), Tenth(0.95, 0.85, 2_000)])
    (Tenth(predicted=0.95, right=0.85, number=2000, independent=nan),)
    """
    rows = []
    for tenth in measured:
        if tenth.effective_number >= FEWEST_TO_DOUBT:
            low, high = error_interval(tenth.right, tenth.effective_number, confidence=CONFIDENCE)
            if not low - CLEARLY_OFF <= tenth.predicted <= high + CLEARLY_OFF:
                rows.append(tenth)
    return tuple(rows)


def reliability(measured: Sequence[Tenth]) -> str:
    """Return a sentence that says whether predicted probabilities can be used as they are.

    Examples
    --------
    >>> print(reliability([Tenth(0.55, 0.56, 1_000), Tenth(0.95, 0.85, 2_000)]).split(":")[0])
    Predictions of about 95 % came true in 85 % of 2,000 held-out comparisons
    >>> reliability([Tenth(0.55, 0.0, 4)])
    'Too few answers were held out to tell whether the probabilities are right.'
    """
    if off := unreliable(measured):
        worst = max(off, key=lambda tenth: abs(tenth.predicted - tenth.right))
        return (
            f"Predictions of about {percent(worst.predicted, 0)} came true in {percent(worst.right, 0)} of "
            f"{worst.number:,} held-out comparisons: use these probabilities as a ranking only."
        )
    if all(tenth.effective_number < FEWEST_TO_DOUBT for tenth in measured):
        return "Too few answers were held out to tell whether the probabilities are right."
    return (
        "On held-out answers no prediction was clearly off by more than 5 percentage points: use the probabilities as "
        "they are."
    )
