"""Probit regression with lapses, beside plain maximisation of the likelihood."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ndtr

from closerthan.scaling.probit import fit_probit, log_likelihood, probabilities


@pytest.fixture
def study():
    """A regression with lapses: predictors, and how often each question was answered "larger"."""
    rng = np.random.default_rng(3)
    design = rng.normal(size=(60, 3))
    totals = rng.integers(5, 40, size=60).astype(float)
    truth = 0.08 / 2 + 0.92 * ndtr(design @ [1.5, -1.0, 0.5])
    return design, rng.binomial(totals.astype(int), truth, size=(4, 60)).astype(float), totals


def plain_log_likelihood(design, counts, totals, coefficients, rate):
    probability = rate / 2 + (1 - rate) * ndtr(design @ coefficients)
    return float((counts * np.log(probability) + (totals - counts) * np.log(1 - probability)).sum())


@pytest.mark.parametrize("lapses", [False, True])
def test_it_finds_the_maximum_of_the_likelihood(study, lapses):
    design, counts, totals = study
    fit = fit_probit(design, counts, totals, lapses=lapses)
    for number, one in enumerate(counts):

        def loss(parameters, one=one):
            rate = parameters[3] if lapses else 0.0
            return -plain_log_likelihood(design, one, totals, parameters[:3], rate)

        bounds = [(None, None)] * 3 + [(0.0, 0.5)] * lapses
        best = minimize(loss, [0.1] * 3 + [0.02] * lapses, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-14})
        np.testing.assert_allclose(fit.coefficients[number], best.x[:3], atol=1e-3)
        assert fit.log_likelihoods[number] >= -best.fun - 1e-6


def test_the_log_likelihood_is_that_of_the_formula(study):
    design, counts, totals = study
    coefficients, rates = np.array([[0.3, -0.2, 0.1]] * 4), np.array([0.0, 0.01, 0.1, 0.4])
    expected = [
        plain_log_likelihood(design, one, totals, beta, rate)
        for one, beta, rate in zip(counts, coefficients, rates, strict=True)
    ]
    np.testing.assert_allclose(log_likelihood(design, counts, totals, coefficients, rates), expected)


def test_sets_of_answers_are_fitted_as_if_each_were_alone(study):
    design, counts, totals = study
    together = fit_probit(design, counts, totals)
    for number in range(len(counts)):
        alone = fit_probit(design, counts[number : number + 1], totals)
        np.testing.assert_allclose(together.coefficients[number], alone.coefficients[0], rtol=1e-6)


def test_a_lapse_rate_of_answers_without_lapses_is_zero():
    design, totals = np.array([[1.0], [2.0], [-1.0]]), np.full(3, 1000.0)
    counts = np.rint(totals * probabilities(design, np.array([[1.2]]), np.zeros(1)))
    assert fit_probit(design, counts, totals, lapses=True).lapse_rates[0] < 0.01


def test_tails_of_the_distribution_cause_no_infinities():
    design, totals = np.array([[40.0], [-40.0], [0.1]]), np.array([50.0, 50.0, 50.0])
    counts = np.array([[50.0, 0.0, 30.0]])
    fit = fit_probit(design, counts, totals)
    assert np.isfinite(fit.log_likelihoods).all()
    assert np.isfinite(fit.coefficients).all()
