"""Properties of every loss."""

import dataclasses
import itertools

import numpy as np
import pytest
import reference
from conftest import leg_of, random_comparisons, visits_of
from plain_objective import PlainObjective

from closerthan import Loss
from closerthan.compiled.kernels import polyak
from closerthan.compiled.simd import padded
from closerthan.losses import LOSSES, TSTE, Penalized, loss_named, name_with_parameter
from closerthan.objective.cpu.objective import CPUObjective
from closerthan.objective.protocol import StepSchedule

DISTANCES = [0.0, 1e-150, 1e-30, 1e-3, 1.0, 50.0, 1e6, 1e75, 1e150]


ALL = {name: kind().in_dims(3) for name, kind in LOSSES.items()} | {"tste, alpha not whole": TSTE(alpha=1.5)}


@pytest.fixture(params=ALL)
def loss(request):
    return ALL[request.param]


def test_value_and_slopes_are_finite_for_distances_from_0_to_1e150(loss):
    for near, far in itertools.product(DISTANCES, repeat=2):
        numbers = [loss.value(near**2, far**2), *loss.slopes(near**2, far**2)]
        assert np.isfinite(numbers).all(), (near, far, numbers)


def test_compiled_gradient_is_finite_for_distances_from_0_to_1e150(loss, kind, rng):
    answers = random_comparisons(kind, rng)
    for scale in DISTANCES:
        point = CPUObjective(answers, loss).at(scale / 4 * rng.uniform(-1, 1, (12, 3)))
        assert np.isfinite(point.value)
        assert np.isfinite(point.gradient).all()


def test_slopes_agree_with_central_differences(loss, rng):
    for _ in range(50):
        near, far = rng.uniform(0.1, 4, 2)
        tiny = 1e-6
        by_near = (loss.value(near + tiny, far) - loss.value(near - tiny, far)) / (2 * tiny)
        by_far = (loss.value(near, far + tiny) - loss.value(near, far - tiny)) / (2 * tiny)
        np.testing.assert_allclose(loss.slopes(near, far), (by_near, by_far), atol=1e-6)


@pytest.mark.parametrize("scale", [0.1, 1, 5, 50])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_agrees_with_central_differences_at_every_scale(loss, kind, scale, weighted, rng):
    answers = random_comparisons(kind, rng, weighted=weighted)
    objective = CPUObjective(answers, loss)
    x = scale * rng.standard_normal((12, 3))
    gradient = objective.at(x).gradient
    tiny = 1e-6 * scale
    numeric = np.empty_like(x)
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += tiny
        down[place] -= tiny
        numeric[place] = (objective.at(up).value - objective.at(down).value) / (2 * tiny)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-6 * np.abs(gradient).max())


def test_it_never_rewards_a_near_pair_that_moves_away_or_a_far_pair_that_moves_closer(loss, rng):
    for near, far in rng.uniform(0, 9, (50, 2)):
        near_slope, far_slope = loss.slopes(near, far)
        assert near_slope >= 0
        assert far_slope <= 0


def test_compiled_value_and_gradient_equal_the_plain_reference(loss, kind, rng):
    for weighted in (False, True):
        answers = random_comparisons(kind, rng, weighted=weighted)
        x = rng.standard_normal((12, 3))
        point = CPUObjective(answers, loss).at(x)
        np.testing.assert_allclose(point.value, reference.value(loss, answers.rows, x, answers.weights), rtol=1e-12)
        np.testing.assert_allclose(
            point.gradient, reference.gradient(loss, answers.rows, x, answers.weights), rtol=1e-10, atol=1e-14
        )


def test_gram_gradient_agrees_with_central_differences(loss, kind, rng):
    objective = CPUObjective(random_comparisons(kind, rng), loss)
    x = rng.standard_normal((12, 5))
    gram = x @ x.T
    _, gradient = objective.at_gram(gram)
    for _ in range(20):
        direction = rng.standard_normal(gram.shape)
        direction += direction.T
        tiny = 1e-6
        up, _ = objective.at_gram(gram + tiny * direction)
        down, _ = objective.at_gram(gram - tiny * direction)
        np.testing.assert_allclose(np.sum(gradient * direction), (up - down) / (2 * tiny), rtol=1e-4, atol=1e-7)


def test_gram_objective_equals_that_of_the_map(loss, answers, rng):
    objective = CPUObjective(answers, loss)
    x = rng.standard_normal((12, 3))
    np.testing.assert_allclose(objective.at_gram(x @ x.T)[0], objective.at(x).value, rtol=1e-9)


def test_its_parameters_are_numbers_that_must_be_positive(loss):
    for field in dataclasses.fields(loss):
        with pytest.raises(ValueError, match=field.name):
            dataclasses.replace(loss, **{field.name: -1.0})


def test_it_is_frozen_and_equal_to_its_copy(loss):
    assert loss == dataclasses.replace(loss)
    assert hash(loss) == hash(dataclasses.replace(loss))


@pytest.mark.parametrize("alpha", [1.0, 2.0, 9.0, 62.0])
def test_powers_by_multiplication_are_those_by_logarithms(alpha, rng):
    by_logarithms, by_products = TSTE(alpha), TSTE(alpha).in_kernels()
    assert type(by_products) is not TSTE
    answers, x = random_comparisons("triplets", rng), rng.standard_normal((12, 3))
    compiled = CPUObjective(answers, by_logarithms).at(x)
    np.testing.assert_allclose(compiled.value, reference.value(by_logarithms, answers.rows, x), rtol=1e-12)
    np.testing.assert_allclose(compiled.gradient, reference.gradient(by_logarithms, answers.rows, x), rtol=1e-9)
    for near, far in 10 ** rng.uniform(-3, 3, (200, 2)):
        np.testing.assert_allclose(by_products.value(near, far), by_logarithms.value(near, far), rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(by_products.slopes(near, far), by_logarithms.slopes(near, far), rtol=1e-11)


@pytest.mark.parametrize("alpha", [1.5, 63.0, 1e6])
def test_other_powers_are_left_to_logarithms(alpha):
    assert type(TSTE(alpha).in_kernels()) is TSTE


def test_a_subclass_of_tste_runs_its_own_code(rng):
    class Double(TSTE):
        def value(self, near, far):
            return 2.0 * (near + self.alpha)

        def slopes(self, near, far):
            return 2.0, 0.0

    answers, x = random_comparisons("triplets", rng), rng.standard_normal((12, 3))
    loss = Double().in_dims(3)
    assert CPUObjective(answers, loss).at(x).value == pytest.approx(reference.value(loss, answers.rows, x))


# ---- penalties -------------------------------------------------------------------------------------------------------


class Steep(Loss):
    """A user-defined loss."""

    steepness: float = 2.0

    def value(self, near, far):
        return max(0.0, near - far + 1.0) ** self.steepness

    def slopes(self, near, far):
        slope = self.steepness * max(0.0, near - far + 1.0) ** (self.steepness - 1.0)
        return slope, -slope


@pytest.mark.parametrize("weight", [0.001, 0.1, 10.0])
def test_a_penalty_adds_to_the_value_and_the_slopes(loss, weight, rng):
    penalized, tiny = Penalized(loss, weight), 1e-6
    for near, far in rng.uniform(0.1, 4, (50, 2)):
        assert penalized.value(near, far) == pytest.approx(loss.value(near, far) + weight * (near + far))
        by_near = (penalized.value(near + tiny, far) - penalized.value(near - tiny, far)) / (2 * tiny)
        by_far = (penalized.value(near, far + tiny) - penalized.value(near, far - tiny)) / (2 * tiny)
        np.testing.assert_allclose(penalized.slopes(near, far), (by_near, by_far), atol=1e-6 * max(weight, 1.0))


@pytest.mark.parametrize("weight", [0.001, 0.1, 10.0])
def test_a_penalty_leaves_the_answers_model_as_it_is(loss, weight):
    penalized = Penalized(loss, weight)
    assert penalized.is_likelihood == loss.is_likelihood
    assert penalized.in_dims(4).loss == loss.in_dims(4)
    assert penalized.in_kernels() == Penalized(loss.in_kernels(), weight)


@pytest.mark.slow
@pytest.mark.parametrize("share_kernels", [False, True])
def test_a_penalty_of_0_gives_the_same_bits_as_none(answers, share_kernels, rng):
    """A kernel adds the penalty to any loss in the same way, so one loss is enough."""
    loss, x = LOSSES["ste"](), rng.standard_normal((12, 3))
    gram, schedule, order = x @ x.T, StepSchedule(0.1, 100.0, 4.0), rng.integers(60, size=80)
    visits = visits_of(order, weight_seed=1)
    results = []
    for one in (loss, Penalized(loss, 0.0)):
        objective = CPUObjective(answers, one, share_kernels=share_kernels)
        assert not objective.penalized
        point, walk, moved = objective.at(x), objective.polyak_walk(x, schedule, 20), x.copy()
        walk.take(leg_of(order, *[1] * objective.weighted))
        objective.descend(visits, moved, 1, 0.01)
        svrg = objective.walk(point, 1)
        svrg.take(visits, 0.01)
        numbers = [point.value, objective.value(x).value, objective.at_gram(gram)[0]]
        results.append([*numbers, point.gradient, objective.at_gram(gram)[1], walk.mean, moved, svrg.x])
    for plain, of_0 in zip(*results, strict=True):
        assert np.array_equal(plain, of_0)


@pytest.mark.slow
@pytest.mark.parametrize(("weight", "weighted"), [(0.01, False), (1.0, True)])
def test_a_user_defined_loss_takes_a_penalty_in_every_kernel(weight, weighted, rng):
    kind = "quadruplets" if weighted else "triplets"
    loss, answers = Penalized(Steep(), weight), random_comparisons(kind, rng, weighted=weighted)
    x, order = 0.5 * rng.standard_normal((12, 3)), rng.integers(60, size=60)
    objective, plain = CPUObjective(answers, loss), PlainObjective(answers, loss)
    assert objective.penalized
    point, expected = objective.at(x), plain.at(x)
    assert (point.value, objective.value(x).value) == pytest.approx((expected.value, expected.value), rel=1e-12)
    np.testing.assert_allclose(point.gradient, expected.gradient, rtol=1e-10, atol=1e-14)
    assert objective.collapsed_objective == loss.value(0.0, 0.0)
    gram = x @ x.T
    for one, other in zip(objective.at_gram(gram), plain.at_gram(gram), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-14)
    visits = visits_of(order, weight_seed=3)
    for batch_size in (1, 5):
        walk = objective.walk(point, batch_size)
        walk.take(visits, 0.01)
        expected_walk = plain.walk(expected, batch_size)
        expected_walk.take(visits, 0.01)
        np.testing.assert_allclose(walk.x, expected_walk.x, rtol=1e-9, atol=1e-12)
        moved, expected_moved = x.copy(), x.copy()
        objective.descend(visits, moved, batch_size, 0.01)
        plain.descend(visits, expected_moved, batch_size, 0.01)
        np.testing.assert_allclose(moved, expected_moved, rtol=1e-9, atol=1e-12)
    steps = objective.expand(visits)
    expected_x, _ = reference.polyak_pass(loss, answers.rows, x, steps, 0.05, objective.steps_at_once)
    moved = padded(x)
    polyak.polyak_steps(objective.shared_argument, objective.rows, steps, objective.steps_at_once, 0.05, moved)
    np.testing.assert_allclose(moved[:, :3], expected_x, rtol=2e-4, atol=2e-5)


# ---- names with a parameter ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("tste-4", {"alpha": 4.0}), ("tste-0.5", {"alpha": 0.5}), ("soe-2", {"margin": 2.0}), ("ckl-1e-05", {"mu": 1e-5})],
)
def test_a_number_after_the_name_is_the_parameter(name, parameters):
    loss = loss_named(name)
    assert dataclasses.asdict(loss) == parameters
    assert name_with_parameter(loss) == name


@pytest.mark.parametrize("name", ["tste-x", "tste-", "tste--4", "tste-0", "tste-inf", "tste-nan", "ste-4", "other-4"])
def test_other_endings_of_a_name_are_unknown(name):
    with pytest.raises(ValueError, match=f"loss is '{name}'; choose from: gnmds, ckl, ste, tste, soe"):
        loss_named(name)


def test_every_loss_without_a_set_parameter_has_its_name():
    assert [name_with_parameter(kind()) for kind in LOSSES.values()] == ["gnmds-1", "ckl-0.05", "ste", "tste", "soe-1"]
    assert name_with_parameter(Steep()) is None
    assert name_with_parameter(TSTE(alpha=1 / 3)) is None  # its digits would not give the same number
