"""Generalised Procrustes alignment."""

import numpy as np
import pytest

from closerthan.uncertainty.alignment import align


def turned(x, rng, size=1.0):
    rotation, _ = np.linalg.qr(rng.standard_normal((x.shape[1],) * 2))
    return size * x @ rotation + rng.standard_normal(x.shape[1])


@pytest.mark.parametrize("n_dims", [1, 2, 5])
@pytest.mark.parametrize("scaling", [False, True])
def test_maps_of_one_shape_become_one_map(n_dims, scaling):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((12, n_dims))
    sizes = rng.uniform(0.5, 2, 8) if scaling else np.ones(8)
    maps = np.stack([turned(x, rng, size) for size in sizes])
    np.testing.assert_allclose(align(maps, x, np.ones(12), scaling=scaling), np.broadcast_to(x, maps.shape), atol=1e-7)


def test_size_is_kept_unless_scaling_is_asked_for():
    x = np.random.default_rng(0).standard_normal((12, 2))
    aligned = align(np.stack([2 * x, x]), x, np.ones(12))
    np.testing.assert_allclose(aligned[0].std(axis=0), 2 * aligned[1].std(axis=0))


def test_an_object_without_weight_does_not_rotate_the_map():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((12, 2))
    strayed = x.copy()
    strayed[0] += 50
    weights = np.ones(12)
    weights[0] = 0
    aligned = align(turned(strayed, rng)[np.newaxis], x, weights)
    np.testing.assert_allclose(aligned[0, 1:], x[1:], atol=1e-6)


def test_no_rotation_brings_an_aligned_map_closer_to_the_mean():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((10, 2))
    maps = np.stack([turned(x + 0.2 * rng.standard_normal(x.shape), rng) for _ in range(6)])
    aligned = align(maps, x, np.ones(10))
    spread = np.sum((aligned - aligned.mean(axis=0)) ** 2)
    angle = 0.02
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    moved = aligned.copy()
    centre = moved[0].mean(axis=0)
    moved[0] = (moved[0] - centre) @ turn + centre
    assert np.sum((moved - moved.mean(axis=0)) ** 2) > spread


def test_scaled_maps_keep_the_size_of_the_reference_though_they_are_noisy():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((12, 2))
    noisy = np.stack([turned(x + 0.8 * rng.standard_normal(x.shape), rng, size) for size in rng.uniform(0.5, 2, 20)])
    mean = align(noisy, x, np.ones(12), scaling=True).mean(axis=0)
    # The least squares scale of a noisy map is too small; round by round, all maps would shrink.
    assert np.linalg.norm(mean - mean.mean(axis=0)) == pytest.approx(np.linalg.norm(x - x.mean(axis=0)))
