"""Kernels of whole answers, compared with plain NumPy and finite differences, for every rule and size of choice."""

import math

import numpy as np
import pytest

from closerthan import Loss
from closerthan.compiled.kernels import choices as kernels
from closerthan.compiled.kernels.choices import ChoiceRows, rule_argument
from closerthan.compiled.simd import padded
from closerthan.losses import CKL, STE, TSTE, DotProduct, Penalized

N_OBJECTS, N_DIMS = 12, 3


class Exponential(Loss):
    """A user-defined choice rule: the similarity decreases exponentially with the distance."""

    scale: float = 2.0

    def value(self, near, far):
        return math.log(1.0 + math.exp(self.log_similarity(far) - self.log_similarity(near)))

    def slopes(self, near, far):
        share = 1.0 / (1.0 + math.exp(self.log_similarity(near) - self.log_similarity(far)))
        return -share * self.similarity_slope(near), share * self.similarity_slope(far)

    def log_similarity(self, squared):
        return -self.scale * math.sqrt(squared + 0.01)

    def similarity_slope(self, squared):
        return -0.5 * self.scale / math.sqrt(squared + 0.01)


RULES = {
    "ste": STE(),
    "tste": TSTE(alpha=2.0),
    "ckl": CKL(),
    "user-defined": Exponential(),
    "with a penalty": Penalized(STE(), 0.3),
    "dot product": DotProduct(0.7),
}


@pytest.fixture(params=RULES)
def rule(request):
    return RULES[request.param]


@pytest.fixture(params=["with a penalty", "dot product"])
def any_rule(request):
    """One rule for each geometry, for what does not depend on the formula of the similarity."""
    return RULES[request.param]


def some_choices(rng, sizes=(2, 3, 8, 2, 3, 3, 100, 8, 2), offsets=True):
    starts = np.concatenate([[0], np.cumsum(sizes)])
    pairs = np.array([rng.choice(N_OBJECTS, 2, replace=False) for _ in range(starts[-1])], np.int32)
    signs = rng.choice([-1, 1], len(sizes)).astype(np.int8)
    return ChoiceRows(pairs, starts, signs, rng.standard_normal(starts[-1]) if offsets else None)


def plain_losses(rule, rows, x):
    """-log P of each choice, and the mean measure of its pairs, one choice at a time."""
    out, spreads = [], []
    for begin, end, sign in zip(rows.starts[:-1], rows.starts[1:], rows.signs, strict=True):
        one, other = x[rows.pairs[begin:end].T].astype(float)
        if isinstance(rule, DotProduct):
            scores, spread = rule.scale * np.sum(one * other, axis=1), 0.0
        else:
            squared = np.sum((one - other) ** 2, axis=1)
            scores, spread = np.array([rule.log_similarity(number) for number in squared]), squared.mean()
        scores = sign * scores + (0.0 if rows.offsets is None else rows.offsets[begin:end])
        out.append(np.log(np.exp(scores).sum()) - scores[0])
        spreads.append(spread)
    return np.array(out), np.array(spreads)


def plain_total(rule, rows, weights, x):
    losses, spreads = plain_losses(rule, rows, x)
    return np.sum(weights * (losses + 2.0 * getattr(rule, "weight", 0.0) * spreads))


def test_gradient_and_sum_agree_with_numpy_and_finite_differences(rule, rng):
    rows = some_choices(rng)
    weights, x = rng.uniform(0.0, 2.0, 9), rng.standard_normal((N_OBJECTS, N_DIMS))
    out = np.zeros_like(x)
    total, _ = kernels.gradient(rule_argument(rule), rows, None, weights, x, out)
    assert total == pytest.approx(plain_total(rule, rows, weights, x))
    tiny = 1e-6
    for place in np.ndindex(x.shape):
        change = np.zeros_like(x)
        change[place] = tiny
        slope = (
            plain_total(rule, rows, weights, x + change) - plain_total(rule, rows, weights, x - change)
        ) / (2 * tiny)  # fmt: skip
        assert out[place] == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.slow
def test_single_precision_agrees_with_double_precision(any_rule, rng):
    rows, x = some_choices(rng), rng.standard_normal((N_OBJECTS, N_DIMS))
    doubles, singles = np.zeros_like(x), np.zeros_like(padded(x))
    total, right = kernels.gradient(rule_argument(any_rule), rows, None, np.ones(9), x, doubles)
    single_total, single_right = kernels.gradient(rule_argument(any_rule), rows, None, np.ones(9), padded(x), singles)
    assert single_total == pytest.approx(total, rel=1e-5)
    assert single_right == right
    np.testing.assert_allclose(singles[:, :N_DIMS], doubles, rtol=1e-4, atol=1e-4)
    assert not singles[:, N_DIMS:].any()


@pytest.mark.slow
def test_choices_in_an_order_are_visited_as_often_as_they_are_listed(any_rule, rng):
    rows, x, order = some_choices(rng), rng.standard_normal((N_OBJECTS, N_DIMS)), np.array([5, 0, 6, 5])
    out, expected = np.zeros_like(x), np.zeros_like(x)
    total, right = kernels.gradient(rule_argument(any_rule), rows, order, None, x, out)
    weights = np.bincount(order, minlength=9).astype(float)
    assert (total, right) == pytest.approx(
        kernels.gradient(rule_argument(any_rule), rows, None, weights, x, expected)
    )  # fmt: skip
    np.testing.assert_allclose(out, expected, atol=1e-12)


def test_losses_of_single_choices_have_no_penalty(any_rule, rng):
    rows, x, out = some_choices(rng), rng.standard_normal((N_OBJECTS, N_DIMS)), np.empty(9)
    kernels.losses(rule_argument(any_rule), rows, None, x, out)
    np.testing.assert_allclose(out, plain_losses(any_rule, rows, x)[0])


@pytest.mark.slow
def test_sums_at_several_scales_are_those_of_scaled_maps(any_rule, rng):
    rows, x = some_choices(rng), rng.standard_normal((N_OBJECTS, N_DIMS))
    scales, weights, totals = np.array([0.5, 1.0, 2.0]), rng.uniform(0.5, 2.0, 9), np.empty(3)
    beaten = kernels.loss_sums(rule_argument(any_rule), rows, weights, x, scales, totals)
    np.testing.assert_allclose(totals, [plain_total(any_rule, rows, weights, scale * x) for scale in scales])
    counts = kernels.counting_gradient(rule_argument(any_rule), rows, None, weights, x, np.zeros_like(x))
    assert beaten == pytest.approx(counts[2])


@pytest.mark.slow
def test_steps_follow_the_gradients_of_batches(any_rule, rng):
    rows, order, weights = some_choices(rng), np.array([5, 0, 6, 5, 2]), rng.uniform(0.5, 2.0, 9)
    x = rng.standard_normal((N_OBJECTS, N_DIMS))
    expected, out = x.copy(), np.zeros_like(x)
    kernels.sgd_steps(rule_argument(any_rule), rows, order, weights, 2, 0.1, x, out)
    for batch in (order[:2], order[2:4]):  # the incomplete batch at the end is left out
        gradient = np.zeros_like(x)
        kernels.gradient(rule_argument(any_rule), rows, batch, weights, expected, gradient)
        expected -= 0.05 * gradient
    np.testing.assert_allclose(x, expected, atol=1e-12)
    assert not out.any()


@pytest.mark.slow
def test_parts_of_the_choices_add_up_to_all(any_rule, rng):
    rows, x = some_choices(rng), rng.standard_normal((N_OBJECTS, N_DIMS))
    parts = [rows.part(0, 4), rows.part(4, 9)]
    pieces = [np.zeros_like(x) for _ in range(3)]
    totals = [
        kernels.gradient(rule_argument(any_rule), part, None, np.ones(9), x, piece)[0]
        for part, piece in zip([rows, *parts], pieces, strict=True)
    ]
    assert totals[0] == pytest.approx(totals[1] + totals[2])
    np.testing.assert_allclose(pieces[0], pieces[1] + pieces[2], atol=1e-12)


@pytest.mark.slow
def test_a_choice_between_two_pairs_costs_what_the_comparison_costs(rng):
    rows, x = some_choices(rng, sizes=[2] * 20, offsets=False), rng.standard_normal((N_OBJECTS, N_DIMS))
    near, far = np.sum((x[rows.pairs[:, 0]] - x[rows.pairs[:, 1]]) ** 2, axis=1).reshape(-1, 2).T
    for loss in (STE(), Penalized(CKL(), 0.3)):
        expected = [
            loss.value(*((a, b) if sign == 1 else (b, a)))
            for a, b, sign in zip(near, far, rows.signs, strict=True)
        ]  # fmt: skip
        total, right = kernels.gradient(rule_argument(loss), rows, None, np.ones(20), x, np.zeros_like(x))
        assert total == pytest.approx(np.sum(expected))
        assert right == np.count_nonzero((far - near) * rows.signs > 0)


def test_an_undefined_map_has_an_undefined_loss_and_is_never_right(rule, rng):
    rows, x = some_choices(rng), np.full((N_OBJECTS, N_DIMS), np.nan)
    total, right = kernels.gradient(rule_argument(rule), rows, None, np.ones(9), x, np.zeros_like(x))
    assert math.isnan(total)
    assert right == 0.0


def test_a_certain_choice_has_a_finite_loss_and_gradient(rule, rng):
    rows, x = some_choices(rng), 1e3 * rng.standard_normal((N_OBJECTS, N_DIMS))
    out = np.zeros_like(x)
    total, _ = kernels.gradient(rule_argument(rule), rows, None, np.ones(9), x, out)
    assert math.isfinite(total)
    assert np.isfinite(out).all()
