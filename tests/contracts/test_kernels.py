"""Every kernel against a plain NumPy reference, on the same order, step for step."""

import numpy as np
import pytest
import reference
from conftest import random_comparisons

from closerthan import LOSSES, SVRG, Comparisons, Loss, kernels, triplet_error
from closerthan.objective import DenseWalk, LazyWalk, Objective, kernel_rows
from closerthan.sampling import SAMPLINGS


@pytest.fixture(params=LOSSES)
def loss(request):
    return LOSSES[request.param]().in_dims(3)


@pytest.fixture(params=["equal", "weighted"])
def answers(request, kind, rng):
    return random_comparisons(kind, rng, weighted=request.param == "weighted")


@pytest.mark.parametrize("batch_size", [1, 3, 20, 60])
def test_lazy_and_dense_walks_equal_the_algorithm_as_printed(loss, answers, batch_size, rng):
    objective = Objective(answers, loss)
    snapshot = objective.at(0.5 * rng.standard_normal((12, 3)))
    order = rng.integers(60, size=120)
    step = 0.05 * batch_size
    expected = reference.svrg_epoch(loss, answers.rows, answers.weights, snapshot.x, order, batch_size, step)
    for walk in (LazyWalk(objective, snapshot, batch_size), DenseWalk(objective, snapshot, batch_size)):
        cut = 60  # in two parts, as the solver hands orders over in chunks
        walk.take(order[:cut], step)
        walk.take(order[cut:], step)
        np.testing.assert_allclose(walk.x, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_dims", [1, 4, 7, 10])
@pytest.mark.parametrize("batch_size", [1, 3, 1500])
def test_long_walks_in_any_number_of_dimensions_equal_the_reference(kind, n_dims, batch_size, rng):
    """Longer than what is fetched at a time, and not a multiple of it or of the batch size."""
    loss, answers = LOSSES["ste"](), random_comparisons(kind, rng)
    objective = Objective(answers, loss)
    snapshot = objective.at(0.5 * rng.standard_normal((12, n_dims)))
    order = rng.integers(60, size=kernels.STRETCH + 1501)
    step = 0.01 * batch_size**0.5
    whole = len(order) // batch_size * batch_size
    expected = reference.svrg_epoch(loss, answers.rows, None, snapshot.x, order[:whole], batch_size, step)
    for walk in (LazyWalk(objective, snapshot, batch_size), DenseWalk(objective, snapshot, batch_size)):
        walk.take(order[:whole], step)
        np.testing.assert_allclose(walk.x, expected, rtol=1e-7, atol=1e-10)
    x = snapshot.x.copy()
    expected = reference.sgd_pass(loss, answers.rows, x, order, batch_size, step)
    objective.descend(order, x, batch_size, step)
    np.testing.assert_allclose(x, expected, rtol=1e-7, atol=1e-10)
    x = snapshot.x.copy()
    expected, _ = reference.polyak_pass(loss, answers.rows, x, order, 0.01, 5)
    kernels.polyak_steps(loss, kernel_rows(answers), order, 5, 0.01, x)
    np.testing.assert_allclose(x, expected, rtol=1e-6, atol=1e-8)


def test_maps_of_any_kind_are_read_and_those_that_cannot_be_moved_are_refused(rng):
    objective = Objective(random_comparisons("triplets", rng), LOSSES["ste"]())
    x = rng.integers(-3, 4, size=(12, 3)).astype(float)
    readonly = x.copy()
    readonly.flags.writeable = False
    expected = objective.at(x)
    for same in (x.astype(np.float32), x.astype(int), np.asfortranarray(x), np.hstack([x, x])[:, :3], readonly):
        point = objective.at(same)
        assert point.value == expected.value
        assert objective.glance(same).value == objective.glance(x).value
        np.testing.assert_array_equal(point.gradient, expected.gradient)
        np.testing.assert_array_equal(objective.at_scales(same, np.ones(1)), objective.at_scales(x, np.ones(1)))
        with pytest.raises(ValueError, match="cannot be moved in place"):
            objective.descend(np.arange(9), same, 1, 0.1)
        with pytest.raises(ValueError, match="cannot be moved in place"):
            objective.descend_by_polyak(np.arange(9), same, 0.1)


@pytest.mark.parametrize("batch_size", [1, 7])
def test_sgd_equals_the_reference(loss, answers, batch_size, rng):
    x = 0.5 * rng.standard_normal((12, 3))
    order = rng.integers(60, size=70)
    expected = reference.sgd_pass(loss, answers.rows, x, order, batch_size, 0.1)
    Objective(answers, loss).descend(order, x, batch_size, 0.1)
    np.testing.assert_allclose(x, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("longest", [1e-3, 0.05, 10.0])
def test_polyak_steps_equal_the_reference(loss, answers, longest, rng):
    x = 0.5 * rng.standard_normal((12, 3))
    order = rng.integers(60, size=70)
    objective = Objective(answers, loss)
    expected, distance = reference.polyak_pass(loss, answers.rows, x, order, longest, objective.together)
    assert objective.descend_by_polyak(order, x, longest) == pytest.approx(distance)
    np.testing.assert_allclose(x, expected, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("together", [1, 4, 16])
def test_how_far_to_go_is_settled_before_any_of_those_together_moves(loss, answers, together, rng):
    x = 0.5 * rng.standard_normal((12, 3))
    order = rng.integers(60, size=70)
    expected, distance = reference.polyak_pass(loss, answers.rows, x, order, 0.05, together)
    met = kernels.polyak_steps(loss, kernel_rows(answers), order, together, 0.05, x)
    assert met == pytest.approx(2 * 70 * distance)
    np.testing.assert_allclose(x, expected, rtol=1e-8, atol=1e-11)


def test_few_objects_are_walked_one_comparison_after_the_other(rng):
    answers = [random_comparisons("triplets", rng, n_objects=n, n_rows=20 * n) for n in (3, 12, 40, 500)]
    assert [Objective(some, LOSSES["ste"]()).together for some in answers] == [1, 3, 10, 16]


def test_a_glance_says_what_a_closer_look_does_but_for_the_gradient(loss, answers, rng, monkeypatch):
    monkeypatch.setattr("closerthan.objective.WORTH_A_PART", 4)
    x = rng.standard_normal((12, 3))
    for n_threads in (1, 2):
        with Objective(answers, loss, n_threads) as objective:
            assert len(objective._parts()) > 1
            closer, glance = objective.at(x), objective.glance(x)
        assert (glance.value, glance.error) == pytest.approx((closer.value, closer.error), rel=1e-13)
        assert np.isnan(glance.gradient).all()


def test_scales_cost_what_the_scaled_maps_do(loss, answers, rng):
    x, scales = rng.standard_normal((12, 3)), np.array([0.5, 1.0, 3.0])
    expected = [reference.value(loss, answers.rows, scale * x, answers.weights) for scale in scales]
    np.testing.assert_allclose(Objective(answers, loss).at_scales(x, scales), expected, rtol=1e-12)


@pytest.mark.parametrize("period", [2, 4, 16, 20])
def test_the_sample_that_tells_the_size_has_no_period(period):
    """A file may ask hard and easy questions in turn; the sample sees as many of each as there are."""
    rows = np.array([[0, period, period + 1]] * 10_240)
    rows[:, 0] = np.arange(len(rows)) % period  # marks the place within a period
    sample, _ = Objective(Comparisons.from_triplets(rows), LOSSES["ste"]())._sample
    counts = np.bincount(sample.table[:, 0], minlength=period)
    assert 500 < len(sample.table) < 700
    assert counts.max() < 1.5 * counts.mean()


def test_the_slope_of_a_tie(loss):
    slope = Objective(Comparisons.from_triplets([[0, 1, 2]]), loss).tie_slope(1.7)
    assert slope == pytest.approx(max(np.abs(loss.slopes(1.7, 1.7))))
    assert slope == pytest.approx(kernels.tie_slope(loss, 1.7))


def test_the_slope_of_a_tie_where_python_cannot_divide():
    class Harmonic(Loss):
        def value(self, near, far):
            return 1.0 / far

        def slopes(self, near, far):
            return 0.0, -1.0 / (far * far)

    objective = Objective(Comparisons.from_triplets([[0, 1, 2]]), Harmonic())
    assert objective.tie_slope(2.0) == 0.25
    assert objective.tie_slope(0.0) == np.inf


def test_polyak_knows_how_two_pairs_of_a_quadruplet_share_objects(loss, rng):
    rows = [[0, 1, 0, 2], [0, 1, 2, 1], [0, 1, 2, 0], [0, 1, 1, 2], [0, 1, 2, 3]]
    answers = Comparisons.from_quadruplets(rows)
    x = rng.standard_normal((4, 3))
    expected, _ = reference.polyak_pass(loss, answers.rows, x, range(5), 10.0)
    Objective(answers, loss).descend_by_polyak(np.arange(5), x, 10.0)
    np.testing.assert_allclose(x, expected, rtol=1e-8, atol=1e-11)


def test_errors_equal_a_count_by_hand(loss, answers, rng):
    x = rng.standard_normal((12, 3))
    near, far = reference.squared_distances(answers.rows, x)
    expected = np.average(near >= far, weights=answers.weights)
    assert triplet_error(answers, x) == pytest.approx(expected)
    assert Objective(answers, loss).at(x).error == pytest.approx(expected)


def test_a_quadruplet_that_repeats_its_anchor_is_the_triplet(loss, rng):
    triplets = random_comparisons("triplets", rng, weighted=True)
    quadruplets = Comparisons.from_quadruplets(
        reference.four_columns(triplets.rows), weights=triplets.weights, n_objects=12
    )
    x = rng.standard_normal((12, 3))
    points = [Objective(answers, loss).at(x) for answers in (triplets, quadruplets)]
    assert points[0].value == pytest.approx(points[1].value, rel=1e-12)
    np.testing.assert_allclose(points[0].gradient, points[1].gradient, rtol=1e-9, atol=1e-14)
    order = rng.integers(60, size=60)
    walks = [LazyWalk(Objective(answers, loss), points[0], 5) for answers in (triplets, quadruplets)]
    for walk in walks:
        walk.take(order, 0.3)
    np.testing.assert_allclose(walks[0].x, walks[1].x, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("batch_size", [1, 4])
def test_the_solver_is_the_algorithm_in_the_paper(loss, kind, sampling, batch_size, rng):
    """Whole epochs of SVRG, snapshot for snapshot, against Algorithm 1 written out in NumPy."""
    answers = random_comparisons(kind, rng)
    start = 0.3 * rng.standard_normal((12, 2))
    loss = type(loss)().in_dims(2)
    solver = SVRG(batch_size=batch_size, sampling=sampling)
    seen = []

    def watch(point, *, step=None, gradients=0, state=None):
        seen.append((point.x.copy(), step))
        return len(seen) == 4

    solver.run(Objective(answers, loss), start, np.random.default_rng(5), watch)

    draw = np.random.default_rng(5)
    x, before = start, None
    for snapshot, step in seen[1:]:
        gradient = reference.gradient(loss, answers.rows, x)
        if before is None:
            eta = 0.5 * 12 / 60
        else:
            dx, dy = x - before[0], gradient - before[1]
            epsilon = max(0.1 / 12, 4 / 60)
            eta = np.sum(dx * dx) / (abs(np.sum(dx * dy)) + epsilon * np.sum(dx * dx)) / 60
        assert step == pytest.approx(eta, rel=1e-6)
        order = np.concatenate(list(SAMPLINGS[sampling](draw, 60, 60, batch_size, 2048)))
        before = (x, gradient)
        x = reference.svrg_epoch(loss, answers.rows, None, x, order, batch_size, batch_size * eta)
        np.testing.assert_allclose(snapshot, x, rtol=1e-6, atol=1e-9)


def test_a_long_walk_of_polyak_steps_adds_what_two_halves_did(monkeypatch, loss, kind, rng):
    monkeypatch.setattr("closerthan.objective._WORTH_A_HALF", 30)
    answers = random_comparisons(kind, rng)
    start = 0.5 * rng.standard_normal((12, 3))
    order = rng.integers(60, size=71)
    halves = [reference.polyak_pass(loss, answers.rows, start, half, 0.05, 3)[0] for half in (order[:35], order[35:])]
    for n_threads in (1, 2):
        x = start.copy()
        with Objective(answers, loss, n_threads) as objective:
            objective.descend_by_polyak(order, x, 0.05)
        np.testing.assert_allclose(x, sum(halves) - start, rtol=1e-8, atol=1e-11)
