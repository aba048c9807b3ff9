"""Probit regression with lapses, fitted by Fisher scoring to many sets of answers at once.

A question with the predictor :math:`\\eta = x \\cdot \\beta` is answered "the second interval is larger" with
probability

.. math:: P = \\lambda / 2 + (1 - \\lambda) \\Phi(\\eta)

where :math:`\\lambda` is the lapse rate, the fraction of answers that are guesses. Equal questions are counted
together, and all replicates of a bootstrap are fitted in one array operation.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr

from closerthan.arrays import Array

__all__ = ["ProbitFit", "fit_probit", "log_likelihood", "probabilities"]

STEPS = 100  # most scoring steps; fewer than ten are usual, and separable answers never converge
HALVINGS = 20
TOLERANCE = 1e-10  # change of the log-likelihood, relative to its size
LARGEST_LAPSE = 0.5
FARTHEST = 20.0  # the density of the normal distribution at larger predictors, below 1e-87, moves no coefficient
CELLS = 4_000_000  # numbers per array; larger batches are fitted in parts
_LOG_ROOT_TWO_PI = 0.5 * np.log(2 * np.pi)


class ProbitFit(NamedTuple):
    """Coefficients, lapse rates and log-likelihoods, one of each per set of answers."""

    coefficients: Array
    lapse_rates: Array
    log_likelihoods: Array


def fit_probit(design: Array, counts: Array, totals: Array, *, lapses: bool = False) -> ProbitFit:
    """Return the maximum-likelihood fit for each row of ``counts``.

    Parameters
    ----------
    design
        (n_questions, n_coefficients): the predictors of each question.
    counts
        (n_sets, n_questions): how often each question was answered "larger" in each set.
    totals
        (n_questions,): how often each question was asked.
    lapses
        Whether to estimate lapse rates; otherwise they are zero.

    Examples
    --------
    >>> fit = fit_probit(np.array([[1.0]]), np.array([[84.0]]), np.array([100.0]))
    >>> fit.coefficients.round(2).tolist()
    [[0.99]]
    """
    most = max(CELLS // max(len(design), design.shape[1] ** 2), 1)
    parts = [_fit(design, counts[start : start + most], totals, lapses) for start in range(0, len(counts), most)]
    return ProbitFit(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def probabilities(design: Array, coefficients: Array, lapse_rates: Array) -> Array:
    """Return the probability of "larger" for each set of coefficients and each question."""
    probability: Array = lapse_rates[:, None] / 2 + (1 - lapse_rates[:, None]) * ndtr(coefficients @ design.T)
    return probability


def log_likelihood(design: Array, counts: Array, totals: Array, coefficients: Array, lapse_rates: Array) -> Array:
    """Return the log-likelihood of each set of answers."""
    predictor = coefficients @ design.T
    larger, smaller = _log_probability(predictor, lapse_rates), _log_probability(-predictor, lapse_rates)
    # A probability of zero does not matter if the answer never occurred.
    likelihood: Array = (_times(counts, larger) + _times(totals - counts, smaller)).sum(axis=1)
    return likelihood


def _times(number: Array, logarithm: Array) -> Array:
    return np.where(number > 0, number * np.where(number > 0, logarithm, 0.0), 0.0)


def _log_probability(predictor: Array, lapse_rates: Array) -> Array:
    """Return the logarithm of the probability of "larger", without cancellation in the tails."""
    rate = lapse_rates[:, None]
    with np.errstate(divide="ignore"):
        guessed = np.log(rate / 2)
    result: Array = np.logaddexp(guessed, np.log1p(-rate) + log_ndtr(predictor))
    return result


def _fit(design: Array, counts: Array, totals: Array, lapses: bool) -> ProbitFit:
    n_sets, n_coefficients = len(counts), design.shape[1]
    beta = np.zeros((n_sets, n_coefficients))
    rates = np.full(n_sets, 0.02 if lapses else 0.0)
    best = log_likelihood(design, counts, totals, beta, rates)
    running = np.arange(n_sets)
    for _ in range(STEPS):
        step, rate_step = _scoring_step(design, counts[running], totals, beta[running], rates[running], lapses)
        moved, new_rates, value = _line_search(
            design, counts[running], totals, (beta[running], rates[running], best[running]), (step, rate_step)
        )
        gain = value - best[running]
        beta[running], rates[running], best[running] = moved, new_rates, value
        running = running[gain > TOLERANCE * (1 + np.abs(value))]
        if not len(running):
            break
    return ProbitFit(beta, rates, best)


def _scoring_step(
    design: Array, counts: Array, totals: Array, beta: Array, rates: Array, lapses: bool
) -> tuple[Array, Array]:
    """Return the Fisher scoring steps of the coefficients and of the lapse rates."""
    predictor = np.clip(beta @ design.T, -FARTHEST, FARTHEST)
    larger, smaller = _log_probability(predictor, rates), _log_probability(-predictor, rates)
    log_density = np.log1p(-rates)[:, None] - 0.5 * predictor**2 - _LOG_ROOT_TWO_PI
    up, down = np.exp(log_density - larger), np.exp(log_density - smaller)
    score = (counts * up - (totals - counts) * down) @ design
    weights = totals * up * down
    n_coefficients = design.shape[1]
    products = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
    information = (weights @ products).reshape(-1, n_coefficients, n_coefficients)
    if lapses:
        excess = ndtr(predictor) - 0.5  # minus the derivative of the probability with respect to the lapse rate
        rate_up, rate_down = -excess * np.exp(-larger), excess * np.exp(-smaller)
        rate_score = (counts * rate_up + (totals - counts) * rate_down).sum(axis=1)
        # d log P / d beta is up, d log (1 - P) / d beta is -down; products with expected counts give the information.
        probability = np.exp(larger)
        both = totals * (probability * up * rate_up - (1 - probability) * down * rate_down)
        rate_information = (totals * (probability * rate_up**2 + (1 - probability) * rate_down**2)).sum(axis=1)
        fixed = (rates <= 0) & (rate_score <= 0)  # rates at their lower bound that a step would decrease
        cross = np.where(fixed[:, None], 0.0, both @ design)
        information = np.block([[information, cross[:, :, None]], [cross[:, None, :], np.ones((len(beta), 1, 1))]])
        information[:, -1, -1] = np.where(fixed, 1.0, rate_information)
        score = np.column_stack([score, np.where(fixed, 0.0, rate_score)])
    # A trace of ridge keeps the matrix regular where answers are separable and the weights vanish.
    size = information.shape[-1]
    ridge = 1e-12 * (1 + np.trace(information, axis1=1, axis2=2))[:, None, None] * np.eye(size)
    step = np.linalg.solve(information + ridge, score[:, :, None])[:, :, 0]
    if not lapses:
        return step, np.zeros(len(beta))
    return step[:, :-1], step[:, -1]


def _line_search(
    design: Array,
    counts: Array,
    totals: Array,
    now: tuple[Array, Array, Array],
    step: tuple[Array, Array],
) -> tuple[Array, Array, Array]:
    """Halve steps that do not increase the log-likelihood; return the new parameters and log-likelihoods."""
    beta, rates, value = now
    length = np.ones(len(beta))
    new_beta, new_rates, new_value = beta.copy(), rates.copy(), value.copy()
    remaining = np.arange(len(beta))
    for _ in range(HALVINGS):
        trial = beta[remaining] + length[remaining, None] * step[0][remaining]
        trial_rates = np.clip(rates[remaining] + length[remaining] * step[1][remaining], 0.0, LARGEST_LAPSE)
        trial_value = log_likelihood(design, counts[remaining], totals, trial, trial_rates)
        better = trial_value >= value[remaining]
        at = remaining[better]
        new_beta[at], new_rates[at], new_value[at] = trial[better], trial_rates[better], trial_value[better]
        remaining = remaining[~better]
        length[remaining] /= 2
        if not len(remaining):
            break
    return new_beta, new_rates, new_value
