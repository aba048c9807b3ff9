"""Errors and alignments."""

import numpy as np
import pytest
import reference

from closerthan import Comparisons, triplet_error
from closerthan.metrics import margins, procrustes


def test_equal_distances_count_as_wrong():
    assert triplet_error([[0, 1, 2]], np.zeros((3, 2))) == 1


def test_weights_count():
    answers = Comparisons.from_triplets([[0, 1, 2], [0, 2, 1]], weights=[3, 1])
    assert triplet_error(answers, [[0.0], [1.0], [2.0]]) == 0.25


def test_margins_are_far_minus_near(answers, rng):
    x = rng.standard_normal((12, 4))
    near, far = reference.squared_distances(answers.rows, x)
    np.testing.assert_allclose(margins(answers, x), far - near, atol=1e-12)


@pytest.mark.parametrize("bad", [np.zeros((2, 2)), np.full((12, 2), np.nan), np.zeros(12)])
def test_maps_with_too_few_objects_are_refused(answers, bad):
    with pytest.raises(ValueError, match=r"map has|finite numbers"):
        triplet_error(answers, bad)


class TestProcrustes:
    def test_inverts_translation_rotation_reflection_and_scaling(self, rng):
        x = rng.standard_normal((20, 3))
        turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
        aligned, distance = procrustes(2.5 * x @ turn + 7, x)
        np.testing.assert_allclose(aligned, x, atol=1e-9)
        assert distance == pytest.approx(0, abs=1e-12)

    def test_agrees_with_scipy(self, rng):
        from scipy.spatial import procrustes as scipy_procrustes

        x, y = rng.standard_normal((2, 20, 3))
        assert procrustes(x, y).distance == pytest.approx(scipy_procrustes(y, x)[2])

    def test_without_scaling_keeps_size(self, rng):
        x = rng.standard_normal((20, 3))
        assert procrustes(2 * x, x, scaling=False).distance == pytest.approx(1)

    def test_pads_missing_dimensions(self, rng):
        x = rng.standard_normal((20, 2))
        assert procrustes(x, np.column_stack([x, np.zeros(20)])).distance == pytest.approx(0, abs=1e-12)

    def test_refuses_maps_that_cannot_be_aligned(self, rng):
        with pytest.raises(ValueError, match="20 and 10 objects"):
            procrustes(rng.standard_normal((20, 2)), rng.standard_normal((10, 2)))
        with pytest.raises(ValueError, match="at the same place"):
            procrustes(rng.standard_normal((20, 2)), np.ones((20, 2)))
