"""L-BFGS against a dense BFGS update and against SciPy."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from conftest import random_comparisons
from scipy.optimize import minimize

from closerthan.losses import LOSSES, Penalized
from closerthan.objective.cpu.objective import CPUObjective
from closerthan.objective.inverse_hessian import InverseHessian
from closerthan.objective.protocol import MeanLoss, Point
from closerthan.solvers.quasi_newton import descend


def dense_estimate(moves, changes):
    """The inverse Hessian by the BFGS formula with matrices, from the scaled identity."""
    move, change = moves[-1], changes[-1]
    estimate = (move @ change) / (change @ change) * np.eye(len(move))
    for move, change in zip(moves, changes, strict=True):
        rho = 1.0 / (move @ change)
        left = np.eye(len(move)) - rho * np.outer(move, change)
        estimate = left @ estimate @ left.T + rho * np.outer(move, move)
    return estimate


@dataclasses.dataclass
class Quadratic(MeanLoss):
    """A quadratic function of a map, with its minimum at ``centre``; every evaluation is recorded."""

    hessian: np.ndarray
    centre: np.ndarray
    values: list = dataclasses.field(default_factory=list)

    def at(self, x):
        away = (x - self.centre).ravel()
        gradient = self.hessian @ away
        self.values.append(0.5 * away @ gradient)
        return Point(x, self.values[-1], gradient.reshape(x.shape))


@pytest.fixture
def quadratic(rng):
    roots = rng.standard_normal((6, 6))
    return Quadratic(roots @ roots.T + 0.1 * np.eye(6), rng.standard_normal((3, 2)))


@pytest.mark.parametrize("memory", [1, 3, 10])
@pytest.mark.parametrize("n_pairs", [1, 2, 3, 7])
def test_the_estimate_is_that_of_the_dense_update_from_the_last_pairs(quadratic, memory, n_pairs, rng):
    estimate, moves, changes = InverseHessian((3, 2), memory), [], []
    gradient = quadratic.at(np.zeros((3, 2))).gradient
    for _ in range(n_pairs):
        move, step = rng.standard_normal((3, 2)), 0.3
        change = (quadratic.hessian @ (step * move).ravel()).reshape(3, 2)
        estimate.update(move, step, gradient, gradient + change)
        moves.append(step * move.ravel())
        changes.append(change.ravel())
    assert estimate.n_pairs == n_pairs
    expected = -dense_estimate(moves[-memory:], changes[-memory:]) @ gradient.ravel()
    move, slope = estimate.direction(gradient)
    np.testing.assert_allclose(move.ravel(), expected, rtol=1e-9)
    assert slope == pytest.approx(expected @ gradient.ravel(), rel=1e-9)
    assert slope < 0


@pytest.mark.parametrize("bend", [0.0, -1.0])
def test_a_step_without_positive_curvature_teaches_nothing(bend, rng):
    estimate, gradient, move = InverseHessian((3, 2), 4), rng.standard_normal((3, 2)), rng.standard_normal((3, 2))
    estimate.update(move, 1.0, gradient, gradient + 2.0 * move)
    before = estimate.direction(gradient)
    estimate.update(move, 1.0, gradient, gradient + bend * move)
    assert estimate.n_pairs == 1
    np.testing.assert_array_equal(estimate.direction(gradient)[0], before[0])


def test_without_pairs_the_direction_is_that_of_steepest_descent(rng):
    estimate, gradient = InverseHessian((3, 2), 4), rng.standard_normal((3, 2))
    estimate.update(-gradient, 1.0, gradient, 0.5 * gradient)
    estimate.forget()
    np.testing.assert_array_equal(estimate.direction(gradient)[0], -gradient)


def never(*_):
    return False


def test_the_minimum_of_a_quadratic_function_is_found(quadratic):
    last = descend(quadratic, quadratic.at(np.zeros((3, 2))), never, never)
    np.testing.assert_allclose(last.x, quadratic.centre, atol=1e-6)


def test_it_ends_at_a_minimum_without_a_step(quadratic):
    start = quadratic.at(quadratic.centre)
    reports = []
    assert descend(quadratic, start, lambda *report: reports.append(report), never) is start
    assert reports == []
    assert len(quadratic.values) == 1


@pytest.mark.parametrize("weighted", [False, True])
def test_a_penalty_that_outweighs_the_loss_collapses_the_map(kind, weighted, rng):
    """Both slopes are then positive everywhere, so there is a single minimum."""
    answers = random_comparisons(kind, rng, weighted=weighted)
    objective = CPUObjective(answers, Penalized(LOSSES["ste"](), 0.6))
    last = descend(objective, objective.at(rng.standard_normal((12, 1))), never, never)
    assert last.value == pytest.approx(math.log(2.0), abs=1e-9)
    assert np.ptp(last.x) < 1e-3


@pytest.mark.parametrize("loss", ["ste", "tste", "ckl"])
@pytest.mark.parametrize("weight", [0.003, 0.03])
def test_from_the_same_map_it_ends_where_scipy_does(loss, weight, problem, rng):
    """Close to a minimum, both find the same one."""
    objective = CPUObjective(problem.train, Penalized(LOSSES[loss]().in_dims(2), weight))

    def value_and_gradient(flat):
        point = objective.at(flat.reshape(15, 2))
        return point.value, point.gradient.ravel()

    options = {"maxiter": 10_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-9}
    start = minimize(value_and_gradient, rng.standard_normal(30), jac=True, method="L-BFGS-B", options=options)
    near = start.x + 0.01 * rng.standard_normal(30)
    expected = minimize(value_and_gradient, near, jac=True, method="L-BFGS-B", options=options)
    last = descend(objective, objective.at(near.reshape(15, 2)), never, never)
    assert last.value == pytest.approx(expected.fun, rel=1e-9)
    assert np.abs(last.gradient).max() < 1e-5


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weight", [0.0, 0.03, 3.0])
def test_no_iteration_raises_the_objective(loss, weight, answers, rng):
    objective = CPUObjective(answers, Penalized(LOSSES[loss]().in_dims(2), weight))
    first, points = objective.at(5.0 * rng.standard_normal((12, 2))), []

    def report(point, evaluations):
        assert evaluations >= 1
        points.append(point)
        return len(points) == 200

    last = descend(objective, first, report, never)
    assert last is points[-1]
    values = [first.value, *(point.value for point in points)]
    assert all(after < before for before, after in itertools.pairwise(values))


def test_it_ends_when_a_report_says_so(quadratic):
    reports = []

    def report(point, evaluations):
        reports.append(point)
        return len(reports) == 3

    assert descend(quadratic, quadratic.at(np.zeros((3, 2))), report, never) is reports[2]


@pytest.mark.parametrize("allowed", [0, 1, 2, 5])
def test_it_ends_after_the_evaluation_at_which_it_must(quadratic, allowed):
    reports, checks = [], itertools.count()

    def report(point, evaluations):
        reports.append((point, evaluations))
        return False

    last = descend(quadratic, quadratic.at(np.zeros((3, 2))), report, lambda: next(checks) >= allowed)
    assert len(quadratic.values) == 2 + allowed  # the start, those allowed, and the one after which it had to end
    assert last is reports[-1][0]
    assert last.value == min(quadratic.values)  # a better map is not thrown away
    assert sum(evaluations for _, evaluations in reports) == 1 + allowed


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_a_map_that_cannot_be_measured_shortens_the_step(broken, quadratic):
    """As if the function were undefined outside of a small ball."""

    class Walled(Quadratic):
        def at(self, x):
            point = super().at(x)
            far = np.abs(x - self.centre).max() > 1.0
            return dataclasses.replace(point, value=broken, gradient=np.full_like(x, np.nan)) if far else point

    walled = Walled(quadratic.hessian, quadratic.centre)
    last = descend(walled, walled.at(quadratic.centre + 0.9), never, never)
    np.testing.assert_allclose(last.x, quadratic.centre, atol=1e-6)


def test_a_start_that_cannot_be_measured_is_the_end():
    start = Point(np.full((3, 2), np.nan), math.nan, np.full((3, 2), np.nan))
    assert descend(Quadratic(np.eye(6), np.zeros((3, 2))), start, never, never) is start
