"""The inlined exp and log of the kernels, compared with NumPy's."""

import math

import numba
import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Polynomial

import closerthan as ct
from closerthan.compiled import vector_math
from closerthan.compiled.simd import FAST_SUMS
from closerthan.objective.cpu.objective import CPUObjective


@numba.njit(error_model="numpy", fastmath=set(FAST_SUMS))  # as in kernels, in loops that are vectorised
def _exp(numbers):
    out = np.empty_like(numbers)
    for place in range(len(numbers)):
        out[place] = vector_math.exp(numbers[place])
    return out


@numba.njit(error_model="numpy", fastmath=set(FAST_SUMS))
def _log(numbers):
    out = np.empty_like(numbers)
    for place in range(len(numbers)):
        out[place] = vector_math.log(numbers[place])
    return out


def test_the_constants_are_those_of_the_series():
    assert math.log(2.0) == vector_math.LN_2
    assert 1.0 / math.log(2.0) == vector_math.LOG2_E
    assert np.float64(math.sqrt(0.5)).view(np.int64) == vector_math.ROOT_HALF
    series = Polynomial([2.0 / (2 * n + 3) for n in range(25)])
    largest = ((math.sqrt(2.0) - 1.0) / (math.sqrt(2.0) + 1.0)) ** 2
    fitted = Chebyshev.interpolate(series, deg=6, domain=[0.0, 0.0295]).convert(kind=Polynomial)
    assert largest < 0.0295
    np.testing.assert_allclose(vector_math.LOG_SERIES, fitted.coef, rtol=1e-6)
    squares = np.linspace(0.0, largest, 1001)
    np.testing.assert_allclose(Polynomial(vector_math.LOG_SERIES)(squares), series(squares), rtol=2e-15)


@pytest.mark.parametrize(("low", "high", "tolerance"), [(-30.0, 30.0, 2e-15), (-708.0, 709.0, 5e-14)])
def test_exp(low, high, tolerance, rng):
    numbers = np.concatenate([rng.uniform(low, high, size=40_000), [low, high, 0.0, -0.0, 1e-300]])
    np.testing.assert_allclose(_exp(numbers), np.exp(numbers), rtol=tolerance)


def test_exp_is_bounded_and_preserves_nan():
    small, large, least, most, nan = _exp(np.array([-1e9, 1e9, -np.inf, np.inf, np.nan]))
    assert 0 < small == least < 1e-307
    assert 1e307 < large == most < np.inf
    assert np.isnan(nan)


def test_log(rng):
    numbers = np.exp(np.concatenate([rng.uniform(-708, 709, size=20_000), 0.1 * rng.normal(size=20_000)]))
    np.testing.assert_allclose(_log(numbers), np.log(numbers), rtol=1e-15)
    assert _log(np.ones(1)) == 0.0


@pytest.mark.parametrize("number", [0.0, -1.0, np.inf, np.nan])
def test_log_is_nan_unless_the_number_is_positive_and_finite(number):
    assert np.isnan(_log(np.array([number])))


def test_all_other_names_are_those_of_the_math_module():
    others = {name for name in vars(math) if not name.startswith("_")} - {"exp", "log"}
    assert all(getattr(vector_math, name) == getattr(math, name) for name in others - {"nan"})


class Everything(ct.Loss):
    """STE, written with many functions of the math module."""

    def value(self, near, far):
        return math.log1p(math.exp(min(near - far, 50.0))) + math.erf(0.0) * math.pi * math.fabs(near)

    def slopes(self, near, far):
        slope = math.pow(1.0 + math.exp(min(far - near, 50.0)), -1.0)
        return slope, -slope


def test_a_loss_may_use_all_of_math(rng):
    answers, x = ct.datasets.eurodist().comparisons(), rng.standard_normal((21, 2))
    plain, roundabout = (CPUObjective(answers, loss).at(x) for loss in (ct.losses.STE(), Everything()))
    assert roundabout.value == pytest.approx(plain.value)
    np.testing.assert_allclose(roundabout.gradient, plain.gradient, rtol=1e-9)
