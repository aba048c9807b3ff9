import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import closerthan as ct
from closerthan.metrics import distances


def counted_by_hand(answers, x):
    wrong, total = np.zeros(len(x)), np.zeros(len(x))
    weights = np.ones(len(answers)) if answers.weights is None else answers.weights
    for row, weight in zip(answers.rows.tolist(), weights, strict=True):
        i, j, far_head, k = row if len(row) == 4 else (row[0], row[1], row[0], row[2])
        violated = np.sum((x[i] - x[j]) ** 2) >= np.sum((x[far_head] - x[k]) ** 2)
        for number in set(row):
            total[number] += weight
            wrong[number] += weight * violated
    return [w / t if t else math.nan for w, t in zip(wrong, total, strict=True)]


@pytest.mark.parametrize("quadruplets", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_object_errors_agree_with_a_plain_count(quadruplets, weighted):
    rng = np.random.default_rng(3)
    rows = rng.permuted(np.tile(np.arange(9), (200, 1)), axis=1)[:, : 4 if quadruplets else 3]
    if quadruplets:
        rows[:50, 2] = rows[:50, 0]  # pairs that share an object
    weights = rng.random(200) if weighted else None
    make = ct.Comparisons.from_quadruplets if quadruplets else ct.Comparisons.from_triplets
    answers = make(rows, weights=weights)
    x = rng.normal(size=(9, 2))
    np.testing.assert_allclose(ct.metrics.object_errors(answers, x), counted_by_hand(answers, x))


def test_an_object_without_comparisons_has_no_error():
    assert np.isnan(ct.metrics.object_errors([[0, 1, 2]], np.arange(4.0)[:, None])[3])


def test_distances_agree_with_margins():
    data = ct.datasets.synthetic(n_objects=20, n_dims=3, n_train=100, n_test=100, quadruplets=True, seed=0)
    near, far = distances(data.train, data.points)
    np.testing.assert_allclose(far**2 - near**2, ct.metrics.margins(data.train, data.points))


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_the_interval_lies_within_0_and_1_and_contains_the_error(number, share):
    error = round(share * number) / number
    low, high = ct.metrics.error_interval(error, number)
    assert 0 <= low <= error + 1e-12
    assert error - 1e-12 <= high <= 1


@pytest.mark.parametrize("error", [0.02, 0.3])
def test_the_interval_has_its_nominal_coverage(error):
    counts = np.random.default_rng(0).binomial(300, error, size=4000)
    intervals = {count: ct.metrics.error_interval(count / 300, 300) for count in set(counts.tolist())}
    held = np.mean([intervals[count].low <= error <= intervals[count].high for count in counts.tolist()])
    assert 0.93 < held < 0.975


def test_weights_count_as_fewer_comparisons():
    rows = np.arange(300).reshape(100, 3)
    even = ct.Comparisons.from_triplets(rows, weights=np.full(100, 7.0))
    uneven = ct.Comparisons.from_triplets(rows, weights=[1000.0] + [0.001] * 99)
    assert ct.metrics.error_interval(0.2, even) == pytest.approx(ct.metrics.error_interval(0.2, 100))
    assert ct.metrics.error_interval(0.2, uneven).high > 0.7


@pytest.mark.parametrize(("error", "number", "message"), [(1.2, 5, "error is 1.2"), (0.1, 0, "at least one")])
def test_an_impossible_error_has_no_interval(error, number, message):
    with pytest.raises(ValueError, match=message):
        ct.metrics.error_interval(error, number)


def test_principal_axes_preserve_distances_and_are_sorted_by_variance():
    x = np.random.default_rng(0).normal(size=(50, 4)) * [1, 5, 2, 0.1] + 100
    axes = ct.geometry.principal_axes(x)
    width = axes.coordinates.var(axis=0)
    assert (np.diff(width) < 0).all()
    np.testing.assert_allclose(axes.shares, width / width.sum())
    np.testing.assert_allclose(np.linalg.norm(axes.coordinates[3] - axes.coordinates[9]), np.linalg.norm(x[3] - x[9]))
    np.testing.assert_allclose(axes.coordinates, (x - x.mean(axis=0)) @ axes.rotation)


@pytest.mark.parametrize("scale", [1e-170, 1e170])
def test_principal_axes_of_huge_and_tiny_maps_are_finite(scale):
    axes = ct.geometry.principal_axes(scale * np.random.default_rng(0).normal(size=(10, 3)))
    assert np.isfinite(axes.coordinates).all()
    assert axes.shares.sum() == pytest.approx(1)


def test_a_map_with_all_objects_at_one_point_has_principal_axes():
    assert ct.geometry.principal_axes(np.ones((4, 3))).shares.tolist() == [0, 0, 0]
