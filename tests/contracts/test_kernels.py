"""Every kernel against a plain NumPy reference, on the same order, step for step."""

import numpy as np
import pytest
import reference
from conftest import random_comparisons

from closerthan import Comparisons, Loss, triplet_error
from closerthan.compiled import compiling, kernels
from closerthan.compiled.simd import padded
from closerthan.losses import LOSSES
from closerthan.objective.cpu import DenseWalk, LazyWalk, Objective, kernel_rows
from closerthan.solvers import SVRG
from closerthan.solvers.visiting_order import SAMPLINGS


@pytest.fixture(params=LOSSES)
def loss(request):
    return LOSSES[request.param]().in_dims(3)


@pytest.fixture(params=["equal", "weighted"])
def answers(request, kind, rng):
    return random_comparisons(kind, rng, weighted=request.param == "weighted")


def walk_by_polyak(objective, order, x, longest):
    """One stretch, with steps of at most ``longest``."""
    pace = kernels.Pace(share=1e300, longest=longest, reach=1e9, lateness=4.0)
    return objective.descend_by_polyak(order, len(order), pace, kernels.Way(0, 0, 1.0, 0.0), x, np.zeros((12, 3)))


def assert_close_in_single_precision(x, expected):
    n_dims = expected.shape[1]
    np.testing.assert_allclose(x[:, :n_dims], expected, rtol=2e-4, atol=2e-5)
    assert not x[:, n_dims:].any()  # what rows are padded with stays 0


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


@pytest.mark.parametrize(
    "n_dims", [1, 4, pytest.param(7, marks=pytest.mark.slow), pytest.param(10, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("batch_size", [1, 3, pytest.param(1500, marks=pytest.mark.slow)])
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
    x = padded(snapshot.x)
    expected, _ = reference.polyak_pass(loss, answers.rows, snapshot.x, order, 0.01, 5)
    kernels.polyak_steps(loss, kernel_rows(answers), order, 5, 0.01, x)
    assert_close_in_single_precision(x, expected)


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
        sizes = np.array([0.5, 1.0, 2.0]), 1, np.zeros(3), 1.0
        assert objective.best_scale(same, *sizes) == objective.best_scale(x, *sizes)
        with pytest.raises(ValueError, match="cannot be moved in place"):
            objective.descend(np.arange(9), same, 1, 0.1)
        with pytest.raises(ValueError, match=r"cannot be moved in place.*padded"):
            walk_by_polyak(objective, np.arange(9), same, 0.1)


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
    moved = padded(x)
    assert walk_by_polyak(objective, order, moved, longest).distance == pytest.approx(distance, rel=1e-5)
    assert_close_in_single_precision(moved, expected)


@pytest.mark.parametrize("together", [1, 4, 16])
def test_how_far_to_go_is_settled_before_any_of_those_together_moves(loss, answers, together, rng):
    x = 0.5 * rng.standard_normal((12, 3))
    order = rng.integers(60, size=70)
    expected, distance = reference.polyak_pass(loss, answers.rows, x, order, 0.05, together)
    moved = padded(x)
    met = kernels.polyak_steps(loss, kernel_rows(answers), order, together, 0.05, moved)
    assert met == pytest.approx(2 * 70 * distance, rel=1e-5)
    assert_close_in_single_precision(moved, expected)


def test_in_double_precision_the_same_steps_are_exact(loss, answers, rng):
    """So what differs above is rounding, and nothing else."""
    x = 0.5 * rng.standard_normal((12, 3))
    order = rng.integers(60, size=70)
    expected, distance = reference.polyak_pass(loss, answers.rows, x, order, 0.05, 4)
    assert kernels.polyak_steps(loss, kernel_rows(answers), order, 4, 0.05, x) == pytest.approx(2 * 70 * distance)
    np.testing.assert_allclose(x, expected, rtol=1e-8, atol=1e-11)


def test_a_walk_in_stretches_is_one_after_the_other(loss, answers, rng):
    """Each begins where the last one ended, with a step for its distances, and its end weighs more in the mean."""
    start = 0.5 * rng.standard_normal((12, 3))
    order = rng.integers(60, size=70)
    pace = kernels.Pace(share=0.2, longest=0.5, reach=40.0, lateness=2.0)
    objective = Objective(answers, loss)
    x, mean, distance, maps = start, start, 1.3, []
    for first in (0, 30, 60):
        part = order[first : first + 30]
        slope = max(np.abs(loss.slopes(distance, distance)))
        step = min(0.5, 0.2 / slope) * min(1.0, 40.0 / (first + len(part))) ** 0.5
        x, distance = reference.polyak_pass(loss, answers.rows, x, part, step, objective.together)
        maps.append(x)
        mean = np.average(maps, axis=0, weights=[1, 3, 6][: len(maps)])
    moved, averaged = padded(start), start.copy()
    way = objective.descend_by_polyak(order, 30, pace, kernels.Way(0, 0, 1.3, 0.0), moved, averaged)
    assert way == (70, 3, pytest.approx(distance, rel=1e-4), pytest.approx(step, rel=1e-4))
    assert_close_in_single_precision(moved, x)
    np.testing.assert_allclose(averaged, mean, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_it_does_not_matter_how_many_comparisons_rest(kind, share, rng):
    """Where most of them do, the kernel asks which ones: for the others nothing changes."""
    loss, n_rows = LOSSES["gnmds"](), 3 * kernels.STRETCH + 5
    answers, x = random_comparisons(kind, rng, n_objects=300, n_rows=n_rows), 30.0 * rng.standard_normal((300, 3))
    rows = answers.rows.copy()
    near, far = reference.squared_distances(rows, x)
    wrong = (near > far) != (rng.random(n_rows) < share)
    half = rows.shape[1] // 2
    rows[wrong] = rows[wrong][:, [0, 2, 1] if half == 1 else [2, 3, 0, 1]]
    make = Comparisons.from_triplets if half == 1 else Comparisons.from_quadruplets
    answers, order = make(rows, n_objects=300), rng.permutation(n_rows)
    expected, _ = reference.polyak_pass(loss, answers.rows, x, order, 1e-4, 16)
    moved = padded(x)
    kernels.polyak_steps(loss, kernel_rows(answers), order, 16, 1e-4, moved)
    np.testing.assert_allclose(moved[:, :3], expected, rtol=1e-4, atol=1e-4)
    assert share == 0.0 or abs(expected - x).max() > 1e-3


@pytest.mark.parametrize("kind", ["triplets"])
@pytest.mark.parametrize("n_rows", [16, 3 * kernels.STRETCH])
def test_slopes_that_are_no_numbers_move_nothing(answers, n_rows, rng):
    class Rooted(Loss):
        """Its slopes are infinite where a pair is in one place, and a step along them is no number."""

        def value(self, near, far):
            return max(0.0, near**0.5 - far**0.5 + 0.5)

        def slopes(self, near, far):
            return 0.5 / near**0.5, -0.5 / far**0.5

    x = 0.5 * rng.standard_normal((12, 3))
    i, j, _ = answers.rows[0]
    x[j] = x[i]
    moved = padded(x)
    kernels.polyak_steps(
        compiling.argument(Rooted()), kernel_rows(answers), np.zeros(n_rows, np.int64), 16, 0.05, moved
    )
    assert np.array_equal(moved, padded(x))


def test_few_objects_are_walked_one_comparison_after_the_other(rng):
    answers = [random_comparisons("triplets", rng, n_objects=n, n_rows=20 * n) for n in (3, 12, 20, 40, 500)]
    assert [Objective(some, LOSSES["ste"]()).together for some in answers] == [1, 3, 8, 16, 16]


@pytest.mark.usefixtures("judged_by_a_sample")
def test_an_estimate_is_what_a_glance_says_of_a_sample(loss, kind, rng):
    answers, x = random_comparisons(kind, rng, n_objects=500, n_rows=3_000), rng.standard_normal((500, 3))
    objective = Objective(answers, loss)
    estimate = objective.estimate(x)
    assert 64 <= estimate.sample < 3_000 / 8
    table = np.concatenate([rows.table for rows, _ in objective._judges])
    places = [answers.rows.tolist().index(row) for row in table[::16].tolist()]
    assert len(table) == estimate.sample
    for n, place in enumerate(places):
        assert np.array_equal(answers.rows[place : place + 16], table[16 * n : 16 * n + 16])
    assert max(np.diff(sorted(places))) < 3_000 / 2  # from all over
    sample = answers.take(np.add.outer(places, np.arange(16)).ravel())
    glance = Objective(sample, loss).glance(x)
    assert (estimate.value, estimate.error) == pytest.approx((glance.value, glance.error), rel=1e-13)
    assert np.isnan(estimate.gradient).all()


@pytest.mark.usefixtures("judged_by_a_sample")
def test_few_or_weighted_comparisons_are_all_looked_at(loss, kind, rng):
    x = rng.standard_normal((12, 3))
    for answers in (
        random_comparisons(kind, rng, n_rows=8 * 64 - 1),
        random_comparisons(kind, rng, n_rows=1_000, weighted=True),
    ):
        objective = Objective(answers, loss)
        estimate, glance = objective.estimate(x), objective.glance(x)
        assert (estimate.value, estimate.error, estimate.sample) == (glance.value, glance.error, 0)


def test_a_glance_says_what_a_closer_look_does_but_for_the_gradient(loss, answers, rng, monkeypatch):
    monkeypatch.setattr("closerthan.objective.cpu.WORTH_A_PART", 4)
    x = rng.standard_normal((12, 3))
    for n_threads in (1, 2):
        with Objective(answers, loss, n_threads) as objective:
            assert len(objective._parts) > 1
            closer, glance = objective.at(x), objective.glance(x)
        assert (glance.value, glance.error) == pytest.approx((closer.value, closer.error), rel=1e-13)
        assert np.isnan(glance.gradient).all()


def test_scales_cost_what_the_scaled_maps_do(loss, answers, rng):
    x, scales = rng.standard_normal((12, 3)), np.array([0.5, 1.0, 3.0])
    expected = [reference.value(loss, answers.rows, scale * x, answers.weights) for scale in scales]
    weights = None if answers.weights is None else 60 * answers.weights / answers.weights.sum()
    totals = np.empty(3)
    kernels.heights_scaled(loss, kernel_rows(answers), weights, x, scales, totals)
    np.testing.assert_allclose(totals / 60, expected, rtol=1e-12)


def _agreeing(answers, x):
    """Nearly the same answers, but the map gets all of them right."""
    near, far = reference.squared_distances(answers.rows, x)
    other = [0, 2, 1] if answers.rows.shape[1] == 3 else [2, 3, 0, 1]
    rows = np.where((near < far)[:, np.newaxis], answers.rows, answers.rows[:, other])
    return Comparisons(rows, answers.n_objects, weights=answers.weights)


@pytest.mark.parametrize(("size", "right"), [(0.05, False), (1.0, False), (20.0, False), (1.0, True), (5.0, True)])
@pytest.mark.parametrize("trust", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("inertia", [0.0, 0.05])
def test_the_best_scale_is_the_one_that_gains_most(loss, answers, size, right, trust, inertia, rng):
    x, scales = size * rng.standard_normal((12, 3)), np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
    answers = _agreeing(answers, x) if right else answers
    asked = inertia * np.log(scales) ** 2
    objective = Objective(answers, loss)
    heights = np.array([reference.value(loss, answers.rows, scale * x, answers.weights) for scale in scales])
    best = np.argmin(heights + asked * min(abs(heights[2]), abs(objective.ignorance - heights[2])))
    if heights[best] >= min(objective.ignorance, heights[2]):
        expected = 1.0
    elif best < 2:
        expected = scales[best]
    else:  # the first place on the line through the gains where a share of the best one is reached
        gains = np.maximum.accumulate(heights[2] - heights[2 : best + 1])
        expected = np.interp(trust * gains[-1], gains, scales[2 : best + 1])
    assert objective.best_scale(x, scales, 2, asked, trust) == pytest.approx(expected)


@pytest.mark.parametrize("broken", [np.nan, np.inf, 1e200])
def test_a_map_that_cannot_be_measured_keeps_its_size(answers, broken, rng):
    x = rng.standard_normal((12, 3))
    x[3] = broken
    assert Objective(answers, LOSSES["ste"]()).best_scale(x, np.array([0.5, 1.0, 2.0]), 1, np.zeros(3), 1.0) == 1.0


@pytest.mark.parametrize("period", [2, 4, 16, 20])
def test_the_sample_that_tells_the_size_has_no_period(period):
    """A file may ask hard and easy questions in turn; the sample sees as many of each as there are."""
    rows = np.array([[0, period, period + 1]] * 10_240)
    rows[:, 0] = np.arange(len(rows)) % period  # marks the place within a period
    sample, _ = Objective(Comparisons.from_triplets(rows), LOSSES["ste"]())._measures
    counts = np.bincount(sample.table[:, 0], minlength=period)
    assert 500 < len(sample.table) < 700
    assert counts.max() < 1.5 * counts.mean()


@pytest.mark.parametrize("age", [10, 1_000])
def test_steps_are_bounded_by_the_slope_of_a_tie(loss, age):
    slope = max(np.abs(loss.slopes(1.7, 1.7)))
    pace = kernels.Pace(share=0.1, longest=20.0, reach=100.0, lateness=4.0)
    expected = min(0.1 / slope, 20.0) * (1.0 if age < 100 else np.sqrt(100.0 / age))
    assert kernels.longest_step(loss, pace, 1.7, age) == pytest.approx(expected)


@pytest.mark.parametrize(("slope", "expected"), [(0.0, 20.0), (np.inf, 0.0), (np.nan, 20.0)])
def test_a_loss_without_a_slope_there_is_bounded_too(slope, expected):
    class Fixed(Loss):
        slope: float = 1.0

        def value(self, near, far):
            return near - far

        def slopes(self, near, far):
            return self.slope, -self.slope

    pace = kernels.Pace(share=0.1, longest=20.0, reach=100.0, lateness=4.0)
    assert kernels.longest_step(Fixed(slope=slope), pace, 1.0, 1) == expected


def test_polyak_knows_how_two_pairs_of_a_quadruplet_share_objects(loss, rng):
    rows = [[0, 1, 0, 2], [0, 1, 2, 1], [0, 1, 2, 0], [0, 1, 1, 2], [0, 1, 2, 3]]
    answers = Comparisons.from_quadruplets(rows)
    x = rng.standard_normal((4, 3))
    expected, _ = reference.polyak_pass(loss, answers.rows, x, range(5), 10.0)
    moved = padded(x)
    walk_by_polyak(Objective(answers, loss), np.arange(5), moved, 10.0)
    assert_close_in_single_precision(moved, expected)


@pytest.mark.parametrize("n_dims", [1, 3, 9])
def test_squares_of_gradients_equal_the_reference(loss, answers, n_dims, rng):
    x = 0.7 * rng.standard_normal((12, n_dims))
    objective = Objective(answers, loss)
    least = 0.3 * objective.at(x).value
    expected = reference.squares(loss, answers.rows, x, least)
    for map_, width, precision in ((x, n_dims, 1e-10), (padded(x), padded(x).shape[1], 1e-4)):
        out = np.zeros((12, n_dims, width), map_.dtype)
        kernels.squares(objective._loss, objective._rows, map_, least, out)
        np.testing.assert_allclose(out[:, :, :n_dims], expected, rtol=precision, atol=precision * expected.max())
        assert not out[:, :, n_dims:].any()


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
    monkeypatch.setattr("closerthan.objective.cpu._WORTH_A_HALF", 30)
    answers = random_comparisons(kind, rng)
    start = 0.5 * rng.standard_normal((12, 3))
    order = rng.integers(60, size=71)
    halves = [reference.polyak_pass(loss, answers.rows, start, half, 0.05, 3)[0] for half in (order[:35], order[35:])]
    for n_threads in (1, 2):
        x = padded(start)
        with Objective(answers, loss, n_threads) as objective:
            walk_by_polyak(objective, order, x, 0.05)
        assert_close_in_single_precision(x, sum(halves) - start)


@pytest.mark.parametrize("worth_rows", [1, 10**9])
def test_the_mean_takes_in_where_two_walks_led_together(monkeypatch, worth_rows, rng):
    monkeypatch.setattr("closerthan.objective.cpu._WORTH_A_HALF", 30)
    monkeypatch.setattr("closerthan.objective.cpu._WORTH_ROWS", worth_rows)
    answers = random_comparisons("triplets", rng)
    start, before = rng.standard_normal((2, 12, 3))
    pace = kernels.Pace(share=1e300, longest=0.05, reach=1e9, lateness=2.0)
    for n_threads in (1, 2):
        x, mean = padded(start), before.copy()
        with Objective(answers, LOSSES["ste"](), n_threads) as objective:
            way = objective.descend_by_polyak(np.arange(60), 60, pace, kernels.Way(180, 3, 1.0, 0.0), x, mean)
        assert (way.age, way.n_maps) == (240, 4)
        # The fourth map's share, where the k-th weighs about k ** 2.
        np.testing.assert_allclose(mean, before + (x[:, :3] - before) * (3 / 6), rtol=1e-12)
