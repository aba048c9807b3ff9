import math

import numpy as np
import pytest
from reproduction.finite_sums import ShiftedSines

from closerthan.fit.monitor import Monitor
from closerthan.fit.stopping import Limits
from closerthan.losses import CKL, GNMDS, STE, TSTE
from closerthan.solvers import SVRG
from closerthan.solvers.steps import StabilizedBB
from closerthan.theory import (
    gradient_bound,
    inner_loop,
    largest_batch,
    largest_step,
    pl_constant,
    pl_rate,
    proven_batch,
    smoothness,
    step_bounds,
)

SMOOTH = [STE(), TSTE(alpha=3.0), CKL()]


def term_gradient(loss, x):
    i, j, k = x
    near, far = loss.slopes(float(np.sum((i - j) ** 2)), float(np.sum((i - k) ** 2)))
    pull, push = 2 * near * (i - j), 2 * far * (i - k)
    return np.array([pull + push, -pull, -push])


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_the_smoothness_bounds_the_change_of_a_terms_gradient(loss):
    rng = np.random.default_rng(0)
    diameter = 2.0
    bound = smoothness(loss, diameter)
    for _ in range(300):
        x = rng.uniform(-1, 1, size=(3, 2)) / math.sqrt(2)
        move = 1e-4 * rng.normal(size=x.shape)
        change = term_gradient(loss, x + move) - term_gradient(loss, x)
        assert np.linalg.norm(change) <= bound * np.linalg.norm(move) * 1.01


@pytest.mark.slow
@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_the_smoothness_is_nearly_attained(loss):
    # A random search over triangles in the plane, whose longest side is at most the diameter, comes close to it.
    rng = np.random.default_rng(1)
    bound = smoothness(loss, 2.0)
    steepest = 0.0
    for _ in range(1300):
        x = rng.normal(size=(3, 2))
        longest = max(np.linalg.norm(a - b) for a in x for b in x)
        x *= rng.choice([0.05, 0.3, 1.0]) * 2.0 / longest
        hessian = np.array(
            [
                (term_gradient(loss, x + e) - term_gradient(loss, x - e)).ravel() / 2e-5
                for e in 1e-5 * np.eye(6).reshape(6, 3, 2)
            ]
        )
        steepest = max(steepest, np.abs(np.linalg.eigvalsh((hessian + hessian.T) / 2)).max())
    assert 0.85 * bound < steepest <= 1.01 * bound


def test_the_hinge_has_the_smoothness_of_its_pieces():
    assert smoothness(GNMDS(), 3.0) == pytest.approx(2 * math.sqrt(3))
    with pytest.raises(ValueError, match="diameter is 0"):
        smoothness(GNMDS(), 0.0)


def test_the_constants_of_lemma_1_follow_its_recursion():
    step, bound, draws, batch = 2e-3, 1.5, 40, 3
    loop = inner_loop(step, bound, draws, batch)
    beta = 4 * draws * batch * step**2 * bound**3
    rho = 1 + batch * step * beta + 2 * batch * step**2 * bound**2
    c = [0.0]
    for _ in range(draws):
        c.append(rho * c[-1] + batch * step**2 * bound**3)
    np.testing.assert_allclose(loop.c, c[::-1], rtol=1e-9)
    gamma = [batch * step * (1 - after / beta - batch * step * (bound + 2 * after)) for after in loop.c[1:]]
    np.testing.assert_allclose(loop.gamma, gamma)
    assert (loop.beta, loop.rho) == (pytest.approx(beta), pytest.approx(rho))


@pytest.mark.parametrize("epsilon", [0.15, 0.5, 2.0])
@pytest.mark.parametrize("share", [0.01, 0.3, 1.0])
def test_steps_with_proven_batch_sizes_satisfy_lemma_1(epsilon, share):
    draws, bound = 10_000, 2.0
    batch = math.floor(proven_batch(draws, bound, epsilon))
    assert batch >= 1
    assert inner_loop(share * step_bounds(bound, epsilon).high / draws, bound, draws, batch).holds


def test_the_printed_theorem_2_admits_batch_sizes_whose_steps_violate_lemma_1():
    draws, bound, epsilon = 10_000, 2.0, 0.1
    assert largest_batch(draws, bound, epsilon) > 1
    step = step_bounds(bound, epsilon).high / draws
    assert not inner_loop(step, bound, draws, batch_size=1).holds
    # The proof's first inequality, without and with the factor 1/m that it adds to one term.
    exact = 4 * draws * step**3 * bound**3 + 2 * step**2 * bound**2
    printed = (4 * (bound / epsilon) ** 3 / draws**2 + 2 * (bound / epsilon) ** 2 / draws) / draws
    assert exact > 1 / draws > printed


def test_the_largest_batch_grows_with_draws_and_epsilon_and_is_0_for_epsilon_0():
    assert largest_batch(2000, 1.0, 0.5) == 2 * largest_batch(1000, 1.0, 0.5)
    assert largest_batch(1000, 1.0, 0.5) > largest_batch(1000, 1.0, 0.4)
    assert largest_batch(1000, 1.0, 0.0) == 0.0


def test_the_largest_step_shrinks_with_curvature():
    assert largest_step(4.0, 100) == pytest.approx(largest_step(2.0, 100) / 2, rel=1e-6)


def test_sbb_0_has_no_upper_bound():
    assert step_bounds(2.0, 0.0).high == math.inf


def test_bounds_follow_the_theorems():
    n_steps = 10 // 2 * 5
    assert gradient_bound(2.0, 10, 5, 2, 0.1) == pytest.approx(4 * 2.0 / (n_steps * 2 * 0.1))
    assert pl_rate(0.25, 10, 5, 2, 0.1) == pytest.approx(1 / (0.25 * n_steps * 2 * 0.1 / 2))


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 4, 16])
def test_the_gradient_at_a_random_iterate_satisfies_the_bound_with_batches(batch_size):
    draws, epochs, smoothness, epsilon = 64, 40, 8.0, 16.0  # the curvature of a term lies between -4 and 8
    ratio = smoothness / epsilon
    assert 4 * ratio**3 + 2 * ratio**2 <= draws
    assert 4 * ratio**3 * batch_size / draws**2 + ratio * batch_size / draws <= 1 / 4
    problem = ShiftedSines((-0.4, -0.1, 0.1, 0.4))
    rule = StabilizedBB(epsilon=epsilon, first=1 / (draws * epsilon))
    solver = SVRG(step=rule, draws=draws, batch_size=batch_size, sampling="uniform", output="random")
    start = np.array([[2.5]])
    squared, steps = [], []
    for seed in range(60):
        monitor = Monitor(problem, Limits(epochs))
        picked = solver.run(problem, start, np.random.default_rng(seed), monitor)
        squared.append(float(np.sum(problem.at(picked).gradient ** 2)))
        steps.append(float(monitor.history.step[1:].min()))
    bound = gradient_bound(problem.at(start).value - problem.minimum, draws, epochs, batch_size, min(steps))
    assert np.mean(squared) <= bound
    if batch_size == 16:  # the bound for m steps in place of m/b does not hold
        assert np.mean(squared) > bound / batch_size


@pytest.mark.parametrize("ratio", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("draws", [10, 100, 10_000])
def test_every_gamma_is_at_least_a_quarter_of_the_step_under_the_conditions_for_batches(ratio, draws):
    batches = [b for b in (1, 2, 5, 10, 100) if 4 * ratio**3 * b / draws**2 + ratio * b / draws <= 1 / 4]
    if 4 * ratio**3 + 2 * ratio**2 > draws:
        batches = []
    for batch_size in batches:
        for step in (1 / draws, 0.1 / draws):  # eps = 1, so steps are at most 1/m
            inner = inner_loop(step, ratio, draws // batch_size, batch_size)
            assert inner.gamma.min() >= batch_size * step / 4


def test_the_textbook_function_satisfies_pl_with_at_least_the_textbook_constant():
    constant = pl_constant(
        lambda x: x**2 + 3 * np.sin(x) ** 2, lambda x: 2 * x + 3 * np.sin(2 * x), np.linspace(-20, 20, 100_001), 0.0
    )
    assert 1 / 32 < constant < 1
