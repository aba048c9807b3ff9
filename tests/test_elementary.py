"""exp and log as they are written out in kernels, against NumPy's."""

import math

import numba
import numpy as np
import pytest

from closerthan import elementary


@numba.njit
def _applied(function, numbers):
    return np.array([function(number) for number in numbers])


def test_exp(rng):
    numbers = np.concatenate([np.linspace(-708, 709, 20_001), rng.normal(size=20_000), [0.0, -0.0, 1e-300]])
    np.testing.assert_array_max_ulp(_applied(elementary.exp, numbers), np.exp(numbers), maxulp=2)


def test_exp_is_bounded_and_keeps_what_is_not_a_number():
    small, large, least, most, nan = _applied(elementary.exp, np.array([-1e9, 1e9, -np.inf, np.inf, np.nan]))
    assert 0 < small == least < 1e-307
    assert 1e307 < large == most < np.inf
    assert np.isnan(nan)


def test_log(rng):
    numbers = np.exp(np.concatenate([np.linspace(-708, 709, 20_001), 0.1 * rng.normal(size=20_000)]))
    np.testing.assert_array_max_ulp(_applied(elementary.log, numbers), np.log(numbers), maxulp=2)
    assert _applied(elementary.log, np.ones(1)) == 0.0


@pytest.mark.parametrize("number", [0.0, -1.0, np.inf, np.nan])
def test_log_of_what_has_none(number):
    assert np.isnan(_applied(elementary.log, np.array([number])))


def test_all_else_is_the_real_thing():
    others = {name for name in vars(math) if not name.startswith("_")} - {"exp", "log"}
    assert all(getattr(elementary, name) == getattr(math, name) for name in others - {"nan"})
