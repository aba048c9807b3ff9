"""Ellipses and neighbours."""

import numpy as np
import pytest

from closerthan.uncertainty.ellipses import Ellipses
from closerthan.uncertainty.neighbours import neighbour_probability


@pytest.mark.parametrize("n_dims", [1, 2, 5])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_ellipses_contain_the_stated_fraction_of_positions(n_dims, level):
    rng = np.random.default_rng(n_dims)
    shapes = rng.standard_normal((2000, n_dims, n_dims))
    drawn = np.einsum("ode,roe->rod", shapes, rng.standard_normal((41, 2000, n_dims)))
    ellipses = Ellipses.around(np.zeros((2000, n_dims)), drawn[1:], level)
    assert ellipses.contain(drawn[0]).mean() == pytest.approx(level, abs=0.04)


def test_ellipses_of_few_replicates_have_the_size_of_hotellings():
    """The mean of five normal places, times the square root of five, has Hotelling's distribution."""
    places = np.random.default_rng(0).standard_normal((5, 20_000, 2))
    means = places.mean(axis=0)
    moments = np.einsum("rod,roe->ode", places - means, places - means) / 4
    ellipses = Ellipses(np.zeros((20_000, 2)), moments, 0.95, 5)
    assert ellipses.contain(np.sqrt(5) * means).mean() == pytest.approx(0.95, abs=0.006)


def test_half_axes_reach_to_the_edge():
    ellipses = Ellipses(np.zeros((1, 2)), np.diag([4.0, 1.0])[np.newaxis], 0.95, 100)
    long, short = ellipses.half_axes()[0]
    assert ellipses.contain([[0.999 * long, 0]])[0]
    assert not ellipses.contain([[1.001 * long, 0]])[0]
    assert ellipses.contain([[0, 0.999 * short]])[0]
    assert not ellipses.contain([[0, 1.001 * short]])[0]


def test_replicates_that_lie_off_the_fitted_map_make_ellipses_larger():
    maps = np.random.default_rng(0).standard_normal((50, 1, 2))
    there, off = (Ellipses.around(np.full((1, 2), shift), maps, 0.95) for shift in (0.0, 3.0))
    assert off.half_axes()[0, 0] > 2 * there.half_axes()[0, 0]


def test_neighbours_are_counted_as_plain_loops_count_them():
    maps = np.random.default_rng(0).standard_normal((7, 9, 3))
    for k in (1, 4):
        counts = np.zeros((9, 9))
        for x in maps:
            for i in range(9):
                distance = np.linalg.norm(x - x[i], axis=1)
                distance[i] = np.inf
                counts[i, np.argsort(distance)[:k]] += 1
        np.testing.assert_allclose(neighbour_probability(maps, k), counts / 7)
        np.testing.assert_allclose(neighbour_probability(maps, k, of=[5, 2]), counts[[5, 2]] / 7)


@pytest.mark.parametrize(
    ("k", "of", "words"), [(9, None, "choose a smaller k"), (0, None, "k is 0"), (1, [9], "0 to 8")]
)
def test_neighbours_that_cannot_be_are_an_error(k, of, words):
    with pytest.raises(ValueError, match=words):
        neighbour_probability(np.zeros((2, 9, 2)), k, of)


def test_moments_are_divided_by_one_less_than_the_number_of_replicates():
    places = np.array([1.0, -1.0, 2.0, -2.0]).reshape(4, 1, 1)
    assert Ellipses.around(np.zeros((1, 1)), places, 0.95).moments.item() == pytest.approx(10 / 3)
