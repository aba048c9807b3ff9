"""Polyak steps and their average against a plain NumPy reference, on the same order, step for step."""

import numpy as np
import pytest
import reference
from conftest import leg_of, random_comparisons
from scipy.spatial.distance import pdist

from closerthan import Comparisons, Loss
from closerthan.compiled import compiling
from closerthan.compiled.kernels import polyak
from closerthan.compiled.kernels.rows import STRETCH, rows_of
from closerthan.compiled.simd import padded
from closerthan.losses import LOSSES
from closerthan.objective.cpu.objective import CPUObjective
from closerthan.objective.protocol import StepSchedule


def steps(answers, loss, order, together, longest, x):
    """The kernel, as solvers run it."""
    objective = CPUObjective(answers, loss)
    return polyak.polyak_steps(objective.shared_argument, objective.rows, np.asarray(order), together, longest, x)


def assert_close_in_single_precision(x, expected):
    n_dims = expected.shape[1]
    np.testing.assert_allclose(x[:, :n_dims], expected, rtol=2e-4, atol=2e-5)
    assert not x[:, n_dims:].any()  # padding stays 0


@pytest.mark.parametrize("together", [1, 4, 16])
@pytest.mark.parametrize("longest", [1e-3, 0.05, 10.0])
def test_steps_of_a_block_are_computed_before_any_of_them_is_taken(loss, answers, together, longest, rng):
    x = 0.5 * rng.standard_normal((12, 3))
    order = rng.integers(60, size=70)
    expected, distance = reference.polyak_pass(loss, answers.rows, x, order, longest, together)
    moved = padded(x)
    assert steps(answers, loss, order, together, longest, moved) == pytest.approx(2 * 70 * distance, rel=1e-5)
    assert_close_in_single_precision(moved, expected)


@pytest.mark.slow
def test_in_double_precision_the_same_steps_are_exact(loss, answers, rng):
    """The differences above are therefore rounding errors."""
    x = 0.5 * rng.standard_normal((12, 3))
    order = rng.integers(60, size=70)
    expected, distance = reference.polyak_pass(loss, answers.rows, x, order, 0.05, 4)
    assert steps(answers, loss, order, 4, 0.05, x) == pytest.approx(2 * 70 * distance)
    np.testing.assert_allclose(x, expected, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("n_dims", [1, 4, 7, 10])
def test_long_walks_in_any_number_of_dimensions_equal_the_reference(kind, n_dims, rng):
    loss, answers = LOSSES["ste"](), random_comparisons(kind, rng)
    x, order = 0.5 * rng.standard_normal((12, n_dims)), rng.integers(60, size=STRETCH + 1501)
    expected, _ = reference.polyak_pass(loss, answers.rows, x, order, 0.01, 5)
    moved = padded(x)
    steps(answers, loss, order, 5, 0.01, moved)
    assert_close_in_single_precision(moved, expected)


def walked(loss, rows, start, parts, schedule, together):
    """Walk in stretches; return the map, average, distance and step at the end."""
    x = start - start.mean(axis=0)
    mean, distance, age, maps = start, 2 * np.mean(np.sum(x**2, axis=1)), 0, []
    for part in parts:
        age += len(part)
        step = schedule.share / max(np.abs(loss.slopes(distance, distance))) * min(1.0, schedule.reach / age) ** 0.5
        x, distance = reference.polyak_pass(loss, rows, x, part, step, together)
        maps.append(x)
        mean = np.average(maps, axis=0, weights=[1, 3, 6][: len(maps)])  # k (k + 1) / 2: lateness 2
    return x, mean, distance, step


def test_a_walk_in_stretches_is_one_after_the_other(loss, answers, rng):
    """Each begins where the last one ended, steps according to its distances, and weighs more in the mean."""
    start = 0.5 * rng.standard_normal((12, 3)) + 3.0
    schedule = StepSchedule(share=0.2, reach=40.0, lateness=2.0)
    objective, order = CPUObjective(answers, loss), rng.integers(60, size=70)
    legs = [leg_of(order[:30], *[7] * objective.weighted), leg_of(order[30:], *[8] * objective.weighted)]
    parts = [objective.expand(stretch) for leg in legs for stretch in leg.stretches(30)]
    x, mean, distance, step = walked(loss, answers.rows, start, parts, schedule, objective.steps_at_once)
    walk = objective.polyak_walk(start, schedule, 30)
    for leg in legs:
        walk.take(leg)
    state = walk.state()
    assert (walk.age, state["n_maps"]) == (70, 3)
    assert (state["distance"], walk.step) == (pytest.approx(distance, rel=1e-4), pytest.approx(step, rel=1e-4))
    assert_close_in_single_precision(state["x"], x)
    np.testing.assert_allclose(walk.mean, mean, rtol=1e-4, atol=1e-5)


def test_a_long_stretch_adds_the_moves_of_its_two_halves(loss, kind, rng):
    answers = random_comparisons(kind, rng)
    start = 0.5 * rng.standard_normal((12, 3))
    start -= start.mean(axis=0)
    order = rng.integers(60, size=71)
    schedule = StepSchedule(share=0.05, reach=1e9, lateness=2.0)
    distance = 2 * np.mean(np.sum(start**2, axis=1))
    step = 0.05 / max(np.abs(loss.slopes(distance, distance)))
    halves = [reference.polyak_pass(loss, answers.rows, start, half, step, 3)[0] for half in (order[:35], order[35:])]
    states = []
    for n_threads in (1, 2):
        with CPUObjective(answers, loss, n_threads=n_threads, least_part=30) as objective:
            walk = objective.polyak_walk(start, schedule, 71)
            walk.take(leg_of(order))
        states.append(walk.state())
        assert_close_in_single_precision(states[-1]["x"], sum(halves) - start)
    for name, array in states[0].items():
        assert np.array_equal(array, states[1][name]), name


@pytest.mark.parametrize("least_part", [1, 30])
def test_the_average_includes_the_sum_of_the_moves_of_two_halves(least_part, rng):
    """With small parts, threads also share the rows of the map."""
    answers = random_comparisons("triplets", rng)
    start = rng.standard_normal((12, 3))
    for n_threads in (1, 2):
        with CPUObjective(answers, LOSSES["ste"](), n_threads=n_threads, least_part=least_part) as objective:
            walk = objective.polyak_walk(start, StepSchedule(share=0.05, reach=1e9, lateness=2.0), 60)
            maps = []
            for _ in range(4):
                walk.take(leg_of(np.arange(60)))
                maps.append(walk.state()["x"])
        assert walk.age == 240
        # The k-th of them weighs k (k + 1) / 2.
        np.testing.assert_allclose(walk.mean, np.average(maps, axis=0, weights=[1, 3, 6, 10]), rtol=1e-10)


def test_a_walk_resumed_from_its_state_has_the_same_bits(loss, answers, rng):
    start, schedule = rng.standard_normal((12, 3)), StepSchedule(0.1, 100.0, 4.0)
    for least_part in (5, 10**9):
        objective = CPUObjective(answers, loss, least_part=least_part)
        order = rng.integers(60, size=80)
        first, second = (leg_of(half, *[1] * objective.weighted) for half in (order[:40], order[40:]))
        walk = objective.polyak_walk(start, schedule, 20)
        walk.take(first)
        before = {name: array.copy() for name, array in walk.state().items()}
        again = objective.polyak_walk(start, schedule, 20, walk.state())
        for one in (walk, again):
            one.rescale(1.5)
            one.take(second)
        for name, array in walk.state().items():
            assert np.array_equal(array, again.state()[name]), name
        assert not np.array_equal(before["x"], walk.state()["x"])


def test_rescaling_restarting_and_slowing_down(rng):
    answers, start = random_comparisons("triplets", rng), rng.standard_normal((12, 3)) + 2.0
    walk = CPUObjective(answers, LOSSES["ste"]()).polyak_walk(start, StepSchedule(0.1, 100.0, 4.0), 20)
    walk.take(leg_of(np.arange(40)))
    before = walk.state()
    walk.rescale(2.0)
    after = walk.state()
    np.testing.assert_array_equal(after["x"], 2 * before["x"])
    np.testing.assert_array_equal(after["mean"], 2 * before["mean"])
    assert after["distance"] == 4 * before["distance"]
    walk.restart(start)
    walk.slow_down(4.0)
    after = walk.state()
    assert (after["age"], after["n_maps"]) == (160, 2)
    np.testing.assert_array_equal(after["mean"], start)
    np.testing.assert_allclose(after["x"], start - start.mean(axis=0), atol=1e-6)


def test_a_projection_keeps_the_widest_directions_of_the_average(rng):
    answers, start = random_comparisons("triplets", rng, n_objects=40), rng.standard_normal((40, 8))
    start = start @ rng.standard_normal((8, 8)) + 5.0
    walk = CPUObjective(answers, LOSSES["ste"]()).polyak_walk(start, StepSchedule(0.1, 100.0, 4.0), 20)
    walk.take(leg_of(np.arange(60)))
    before = walk.state()
    walk.project(3)
    after = walk.state()
    axes = np.linalg.svd(before["mean"] - before["mean"].mean(axis=0))[2][:3].T
    assert after["x"].shape == after["mean"].shape == (40, 3)
    assert walk.mean.flags.c_contiguous
    np.testing.assert_allclose(pdist(after["mean"]), pdist(before["mean"] @ axes), rtol=1e-9)
    np.testing.assert_allclose(pdist(after["x"]), pdist(before["x"] @ axes), rtol=1e-4)
    np.testing.assert_allclose(after["mean"].mean(axis=0), 0.0, atol=1e-12)
    # Both are rotated in the same way.
    apart = np.abs((before["x"] - before["mean"]) @ axes).max()
    np.testing.assert_allclose(np.abs(after["x"] - after["mean"]).max(), apart, rtol=1e-3)
    assert after["distance"] == pytest.approx(2 * np.mean(np.sum(after["x"] ** 2, axis=1)))


@pytest.mark.parametrize("broken", [np.nan, np.inf, 1e200])
def test_a_start_that_is_not_finite_stays_so_in_a_projection(broken, rng):
    answers, start = random_comparisons("triplets", rng), rng.standard_normal((12, 8))
    start[3] = broken
    walk = CPUObjective(answers, LOSSES["ste"]()).polyak_walk(start, StepSchedule(0.1, 100.0, 4.0), 20)
    with np.errstate(all="ignore"):
        walk.project(2)
    assert walk.mean.shape == (12, 2)
    assert not np.isfinite(walk.state()["x"]).all()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_steps_are_right_for_any_fraction_of_comparisons_without_loss(kind, share, rng):
    loss, n_rows = LOSSES["gnmds"](), 3 * STRETCH + 5
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
    steps(answers, loss, order, 16, 1e-4, moved)
    np.testing.assert_allclose(moved[:, :3], expected, rtol=1e-4, atol=1e-4)
    assert share == 0.0 or abs(expected - x).max() > 1e-3


@pytest.mark.parametrize("n_rows", [16, 3 * STRETCH])
def test_nan_slopes_move_nothing(n_rows, rng):
    class Rooted(Loss):
        """A loss whose slopes are infinite where two objects coincide, so that a step along them is NaN."""

        def value(self, near, far):
            return max(0.0, near**0.5 - far**0.5 + 0.5)

        def slopes(self, near, far):
            return 0.5 / near**0.5, -0.5 / far**0.5

    answers, x = random_comparisons("triplets", rng), 0.5 * rng.standard_normal((12, 3))
    i, j, _ = answers.rows[0]
    x[j] = x[i]
    moved = padded(x)
    polyak.polyak_steps(compiling.argument(Rooted()), rows_of(answers), np.zeros(n_rows, np.int64), 16, 0.05, moved)
    assert np.array_equal(moved, padded(x))


@pytest.mark.parametrize("slope", [np.inf, -np.inf, np.nan])
def test_slopes_that_are_not_finite_move_nothing_even_where_pairs_are_apart(slope, rng):
    class Broken(Loss):
        slope: float = 1.0

        def value(self, near, far):
            return 1.0

        def slopes(self, near, far):
            return self.slope, -1.0

    answers, x = random_comparisons("triplets", rng), rng.standard_normal((12, 3))
    for together in (1, 16):
        moved = padded(x)
        order = np.arange(60)
        polyak.polyak_steps(compiling.argument(Broken(slope)), rows_of(answers), order, together, 0.05, moved)
        assert np.array_equal(moved, padded(x))


def test_few_objects_are_walked_one_comparison_after_the_other(rng):
    answers = [random_comparisons("triplets", rng, n_objects=n, n_rows=20 * n) for n in (3, 12, 20, 40, 500)]
    assert [CPUObjective(some, LOSSES["ste"]()).steps_at_once for some in answers] == [1, 3, 8, 16, 16]


@pytest.mark.parametrize("age", [10, 1_000])
def test_steps_are_bounded_by_the_slope_of_a_tie(loss, age):
    slope = max(np.abs(loss.slopes(1.7, 1.7)))
    schedule = StepSchedule(share=0.1, reach=100.0, lateness=4.0)
    expected = 0.1 / slope * (1.0 if age < 100 else np.sqrt(100.0 / age))
    assert polyak.longest_step(compiling.argument(loss), schedule, 1.7, float(age)) == pytest.approx(expected)


@pytest.mark.parametrize(("slope", "expected"), [(0.0, np.inf), (np.inf, 0.0), (np.nan, np.inf)])
def test_a_loss_without_a_slope_there_is_bounded_by_its_slopes_elsewhere_alone(slope, expected):
    class Fixed(Loss):
        slope: float = 1.0

        def value(self, near, far):
            return near - far

        def slopes(self, near, far):
            return self.slope, -self.slope

    schedule = StepSchedule(share=0.1, reach=100.0, lateness=4.0)
    assert polyak.longest_step(compiling.argument(Fixed(slope=slope)), schedule, 1.0, 1.0) == expected


def test_steps_account_for_objects_that_both_pairs_of_a_quadruplet_share(loss, rng):
    rows = [[0, 1, 0, 2], [0, 1, 2, 1], [0, 1, 2, 0], [0, 1, 1, 2], [0, 1, 2, 3]]
    answers = Comparisons.from_quadruplets(rows)
    x = rng.standard_normal((4, 3))
    expected, _ = reference.polyak_pass(loss, answers.rows, x, range(5), 10.0)
    moved = padded(x)
    steps(answers, loss, np.arange(5), 1, 10.0, moved)
    assert_close_in_single_precision(moved, expected)
