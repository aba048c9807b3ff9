"""Sums over all comparisons, and quantities derived from them, against a plain NumPy reference."""

import numpy as np
import pytest
import reference
from conftest import random_comparisons, visits_of

from closerthan import Comparisons, Loss, triplet_error
from closerthan.compiled.kernels import sums
from closerthan.compiled.kernels.rows import rows_of
from closerthan.losses import LOSSES
from closerthan.objective.cpu.objective import CPUObjective
from closerthan.objective.scales import SIZE_SAMPLE, sample_places

SCALES = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0])


def test_a_value_is_that_of_a_point_with_its_gradient(loss, answers, rng):
    x = rng.standard_normal((12, 3))
    for n_threads in (1, 2):
        with CPUObjective(answers, loss, n_threads=n_threads, least_part=4) as objective:  # in four parts
            point, value = objective.at(x), objective.value(x)
        assert (value.value, value.error) == pytest.approx((point.value, point.error), rel=1e-13)
        assert np.isnan(value.gradient).all()


@pytest.mark.parametrize("least_part", [1, 4, 7, 10**9])
def test_parts_add_up_to_the_whole_with_the_same_bits_for_any_number_of_threads(loss, answers, least_part, rng):
    x = rng.standard_normal((12, 3))
    points = []
    for n_threads in (1, 2, 5):
        with CPUObjective(answers, loss, n_threads=n_threads, least_part=least_part) as objective:
            points.append(objective.at(x))
    assert points[0].value == pytest.approx(reference.value(loss, answers.rows, x, answers.weights), rel=1e-12)
    expected = reference.gradient(loss, answers.rows, x, answers.weights)
    np.testing.assert_allclose(points[0].gradient, expected, rtol=1e-10, atol=1e-14)
    for other in points[1:]:
        assert other.value == points[0].value
        assert np.array_equal(other.gradient, points[0].gradient)


def test_scales_cost_what_the_scaled_maps_do(loss, answers, rng):
    x, scales = rng.standard_normal((12, 3)), np.array([0.5, 1.0, 3.0])
    expected = [reference.value(loss, answers.rows, scale * x, answers.weights) for scale in scales]
    objective = CPUObjective(answers, loss)
    weights = None if answers.weights is None else 60 * answers.weights / answers.weights.sum()
    for chosen in (objective.shared_argument, objective.loss_argument):
        totals = np.empty(3)
        sums.loss_sums(chosen, rows_of(answers), weights, x, scales, totals)
        np.testing.assert_allclose(totals / 60, expected, rtol=1e-12)


def test_errors_equal_a_count_by_hand(loss, answers, rng):
    x = rng.standard_normal((12, 3))
    near, far = reference.squared_distances(answers.rows, x)
    expected = np.average(near >= far, weights=answers.weights)
    objective = CPUObjective(answers, loss, held_out=answers)
    assert triplet_error(answers, x) == pytest.approx(expected)
    assert objective.at(x).error == pytest.approx(expected)
    assert objective.held_out_error(x) == pytest.approx(expected)
    assert np.isnan(CPUObjective(answers, loss).held_out_error(x))


def test_the_collapsed_objective_is_that_of_a_map_in_one_place(loss, answers):
    objective = CPUObjective(answers, loss)
    assert objective.collapsed_objective == pytest.approx(objective.at(np.ones((12, 3))).value, rel=1e-12)


def test_a_quadruplet_that_repeats_its_anchor_is_the_triplet(loss, rng):
    triplets = random_comparisons("triplets", rng, weighted=True)
    quadruplets = Comparisons.from_quadruplets(
        reference.four_columns(triplets.rows), weights=triplets.weights, n_objects=12
    )
    x = rng.standard_normal((12, 3))
    points = [CPUObjective(answers, loss).at(x) for answers in (triplets, quadruplets)]
    assert points[0].value == pytest.approx(points[1].value, rel=1e-12)
    np.testing.assert_allclose(points[0].gradient, points[1].gradient, rtol=1e-9, atol=1e-14)
    visits = visits_of(rng.integers(60, size=60), weight_seed=1)
    for batch_size in (1, 5):
        places = []
        for answers in (triplets, quadruplets):
            walk = CPUObjective(answers, loss).walk(points[0], batch_size)
            walk.take(visits, 0.3)
            places.append(walk.x)
        np.testing.assert_allclose(*places, rtol=1e-9, atol=1e-12)


def test_maps_of_any_kind_are_read_and_those_that_cannot_be_moved_are_refused(rng):
    answers = random_comparisons("triplets", rng)
    objective = CPUObjective(answers, LOSSES["ste"](), held_out=answers)
    x = rng.integers(-3, 4, size=(12, 3)).astype(float)
    readonly = x.copy()
    readonly.flags.writeable = False
    expected = objective.at(x)
    visits = visits_of(np.arange(9))
    for same in (x.astype(np.float32), x.astype(int), np.asfortranarray(x), np.hstack([x, x])[:, :3], readonly):
        point = objective.at(same)
        assert point.value == expected.value
        assert objective.value(same).value == objective.value(x).value
        assert objective.held_out_error(same) == objective.held_out_error(x)
        np.testing.assert_array_equal(point.gradient, expected.gradient)
        sizes = np.array([0.5, 1.0, 2.0]), 1.0
        assert objective.best_scale(same, *sizes) == objective.best_scale(x, *sizes)
        with pytest.raises(ValueError, match="cannot be modified in place"):
            objective.descend(visits, same, 1, 0.1)


# ---- how large a map should be ---------------------------------------------------------------------------------------


def _agreeing(answers, x):
    """Nearly the same answers, but the map gets all of them right."""
    near, far = reference.squared_distances(answers.rows, x)
    other = [0, 2, 1] if answers.rows.shape[1] == 3 else [2, 3, 0, 1]
    rows = np.where((near < far)[:, np.newaxis], answers.rows, answers.rows[:, other])
    return Comparisons(rows, answers.n_objects, weights=answers.weights)


@pytest.mark.parametrize(("size", "right"), [(0.05, False), (1.0, False), (20.0, False), (1.0, True), (5.0, True)])
@pytest.mark.parametrize("trust", [0.0, 0.6, 1.0])
def test_the_best_scale_is_the_one_that_gains_most(loss, answers, size, right, trust, rng):
    x = size * rng.standard_normal((12, 3))
    answers = _agreeing(answers, x) if right else answers
    objective = CPUObjective(answers, loss)
    expected = reference.best_scale(loss, answers.rows, x, SCALES, trust, answers.weights)
    assert objective.best_scale(x, SCALES, trust) == pytest.approx(expected)


class Ratio(Loss):
    """A loss that is undefined if all objects coincide."""

    def value(self, near, far):
        return near / (near + far) + 0.01 * near

    def slopes(self, near, far):
        return far / (near + far) ** 2 + 0.01, -near / (near + far) ** 2


class LogRatio(Loss):
    """A loss that is minus infinity if all objects coincide."""

    offset: float = 0.0

    def value(self, near, far):
        return np.log(near + self.offset) + 1.0 / (1.0 + far)

    def slopes(self, near, far):
        return 1.0 / (near + self.offset), -1.0 / (1.0 + far) ** 2


@pytest.mark.parametrize("kind", [Ratio, LogRatio])
@pytest.mark.parametrize("size", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_loss_without_a_value_in_one_place_has_a_best_scale_all_the_same(kind, size, weighted, rng):
    answers = random_comparisons("triplets", rng, weighted=weighted)
    x = size * rng.standard_normal((12, 3))
    objective = CPUObjective(answers, kind())
    assert not np.isfinite(objective.collapsed_objective)
    expected = reference.best_scale(kind(), answers.rows, x, SCALES, 0.6, answers.weights)
    assert objective.best_scale(x, SCALES, 0.6) == pytest.approx(expected)
    assert expected < 1.0 or size < 1.0


@pytest.mark.parametrize("broken", [np.nan, np.inf, 1e200])
def test_a_map_that_cannot_be_measured_keeps_its_size(loss, answers, broken, rng):
    x = 20.0 * rng.standard_normal((12, 3))
    x[3] = broken
    assert CPUObjective(answers, loss).best_scale(x, np.array([0.5, 1.0, 2.0]), 1.0) == 1.0


@pytest.mark.parametrize("period", [2, 4, 16, 20])
def test_the_sample_for_the_size_of_a_map_has_no_period(period):
    """A file may alternate between hard and easy questions; the sample has them in the same proportions."""
    sample = sample_places(10_240, SIZE_SAMPLE)
    counts = np.bincount(sample % period, minlength=period)
    assert len(sample) == 1024
    assert counts.max() < 1.5 * counts.mean()


LINE = np.array([[0.0], [1.0], [-1.0], [3.0]])  # objects 1 and 2 are equally far from object 0


def errors_at(x, rows=((0, 1, 2), (0, 1, 3))):
    """Return the error as computed with a gradient, without one, and on held-out answers."""
    answers = Comparisons.from_triplets(rows)
    with CPUObjective(answers, LOSSES["ste"](), answers) as objective:
        return [objective.at(x).error, objective.value(x).error, objective.held_out_error(x)]


def test_a_tie_is_not_right():
    assert errors_at(LINE) == [0.5, 0.5, 0.5]
    assert errors_at(np.zeros((4, 1))) == [1.0, 1.0, 1.0]


def test_a_nan_position_counts_as_wrong():
    assert errors_at(np.where(LINE == 3.0, np.nan, LINE)) == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("name", ["gnmds", "soe"])
def test_a_map_whose_distances_overflow_is_not_perfect(name):
    """The maximum of 0 and NaN may be 0."""
    with CPUObjective(Comparisons.from_triplets([[0, 1, 2], [0, 1, 3]]), LOSSES[name]()) as objective:
        for x in (1e160 * LINE, -1e160 * LINE[::-1]):
            assert np.isnan(objective.at(x).value)
            assert np.isnan(objective.value(x).value)
        assert objective.at(1e150 * LINE).value >= 0
