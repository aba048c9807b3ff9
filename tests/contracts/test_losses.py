"""Properties of every loss."""

import dataclasses
import itertools

import numpy as np
import pytest
import reference
from conftest import random_comparisons

from closerthan.losses import LOSSES, TSTE
from closerthan.objective.cpu.objective import CPUObjective

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
