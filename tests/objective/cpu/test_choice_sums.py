"""Sums over whole answers by several threads."""

import numpy as np
import pytest

from closerthan.comparisons import Choices, Comparisons
from closerthan.compiled.simd import padded
from closerthan.losses import GNMDS, STE, DotProduct
from closerthan.objective.cpu.choices import ChoiceRows, ChoiceSums


@pytest.fixture
def odd_one_out(rng):
    objects = np.array([rng.choice(9, 3, replace=False) for _ in range(200)])
    triplets = np.stack([objects, objects[:, [1, 0, 2]]], axis=1).reshape(-1, 3)
    return Choices.of(Comparisons.from_triplets(triplets, answers=np.repeat(np.arange(200), 2)))


@pytest.mark.slow
@pytest.mark.parametrize("rule", [STE(), DotProduct()], ids=repr)
@pytest.mark.parametrize("precision", [np.asarray, padded])
def test_any_number_of_threads_gives_the_same_bits(rule, precision, odd_one_out, rng):
    x, rows = precision(rng.standard_normal((9, 8))), ChoiceRows.of(odd_one_out)
    results = []
    for n_threads in (1, 2, 3):
        with ChoiceSums(rows, rule, n_threads=n_threads, least_part=20) as sums:
            results.append((*sums.gradient(x), sums.losses(x)))
    for total, gradient, right, losses in results[1:]:
        assert (total, right) == (results[0][0], results[0][2])
        np.testing.assert_array_equal(gradient, results[0][1])
        np.testing.assert_array_equal(losses, results[0][3])
    assert results[0][3].sum() == pytest.approx(results[0][0], rel=1e-6)


def test_a_part_of_the_choices_in_any_order_has_their_gradient(odd_one_out, rng):
    x, order = rng.standard_normal((9, 3)), rng.permutation(200)[:90]
    with ChoiceSums(ChoiceRows.of(odd_one_out), STE(), n_threads=2, least_part=20) as sums:
        total, gradient, right = sums.gradient(x, order)
    with ChoiceSums(ChoiceRows.of(odd_one_out.take(np.sort(order))), STE()) as sums:
        expected = sums.gradient(x)
    assert (total, right) == pytest.approx((expected[0], expected[2]))
    np.testing.assert_allclose(gradient, expected[1], atol=1e-12)


def test_a_loss_without_similarity_cannot_be_a_choice_rule(odd_one_out):
    with pytest.raises(ValueError, match="need a loss with a similarity"):
        ChoiceSums(ChoiceRows.of(odd_one_out), GNMDS())


def test_a_map_that_lacks_objects_is_refused(odd_one_out):
    with ChoiceSums(ChoiceRows.of(odd_one_out), STE()) as sums, pytest.raises(ValueError, match="mention object 8"):
        sums.gradient(np.zeros((8, 2)))
