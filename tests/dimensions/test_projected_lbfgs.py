"""Projected L-BFGS."""

import numpy as np
import pytest
from scipy.optimize import nnls

from closerthan.dimensions.projected_lbfgs import minimise


@pytest.fixture
def least_squares():
    rng = np.random.default_rng(0)
    table, target = rng.normal(size=(60, 20)), rng.normal(size=60)

    def function(x):
        residual = table @ x - target
        return float(residual @ residual), 2 * table.T @ residual

    return table, target, function


def test_the_minimum_is_that_of_non_negative_least_squares(least_squares):
    table, target, function = least_squares
    minimum = minimise(function, np.ones(20), tolerance=1e-12)
    assert np.allclose(minimum.x, nnls(table, target)[0], atol=1e-4)
    assert (minimum.x >= 0).all()
    assert (minimum.x == 0).any()


def test_the_value_never_increases(least_squares):
    _, _, function = least_squares
    values = [minimise(function, np.ones(20), tolerance=0.0, most_iterations=number).value for number in range(12)]
    assert values == sorted(values, reverse=True)


def test_it_ends_on_request(least_squares):
    _, _, function = least_squares
    minimum = minimise(function, np.ones(20), must_end=lambda: True)
    assert minimum.n_iterations == 0
    assert np.array_equal(minimum.x, np.ones(20))


def test_a_start_at_the_minimum_stays_there():
    minimum = minimise(lambda x: (float(x.sum()) + 1.0, np.ones_like(x)), np.zeros(3))
    assert not minimum.x.any()
