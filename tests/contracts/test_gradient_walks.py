"""SVRG's and SGD's steps against a plain NumPy reference, on the same order, step for step."""

import numpy as np
import pytest
import reference
from conftest import random_comparisons, visits_of

from closerthan.compiled.kernels.rows import STRETCH
from closerthan.losses import LOSSES
from closerthan.objective.cpu.objective import CPUObjective
from closerthan.objective.cpu.walks import DenseWalk, LazyWalk
from closerthan.solvers import SVRG
from closerthan.solvers.visiting_order import SAMPLINGS


def walks(objective, snapshot, batch_size):
    """The dense walk and, for steps of one comparison, the lazy one, too."""
    dense = DenseWalk(objective.gradient_changes, snapshot, batch_size, objective.expand, objective.on_rows)
    return [dense] + [LazyWalk(objective, snapshot)] * (batch_size == 1)


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 5, 60])
def test_lazy_and_dense_walks_equal_the_algorithm_as_printed(loss, answers, batch_size, rng):
    objective = CPUObjective(answers, loss)
    snapshot = objective.at(0.5 * rng.standard_normal((12, 3)))
    visits = visits_of(rng.integers(60, size=120), weight_seed=7)
    step = 0.05 * batch_size
    order = objective.expand(visits)
    expected = reference.svrg_epoch(loss, answers.rows, answers.weights, snapshot.x, order, batch_size, step)
    for walk in walks(objective, snapshot, batch_size):
        cut = 60  # in two parts, as the solver hands orders over in chunks
        walk.take(visits[:cut], step)
        walk.take(visits[cut:], step)
        np.testing.assert_allclose(walk.x, expected, rtol=1e-9, atol=1e-12)


def test_a_batch_that_threads_share_is_the_same_to_the_bit(loss, answers, rng):
    visits, start = visits_of(rng.integers(60, size=120), weight_seed=7), 0.5 * rng.standard_normal((12, 3))
    places = []
    for n_threads in (1, 2, 3):
        with CPUObjective(answers, loss, n_threads=n_threads, least_part=4) as objective:
            snapshot = objective.at(start)
            walk = objective.walk(snapshot, 60)
            walk.take(visits, 2.0)
            places.append(walk.x)
            order = objective.expand(visits)
    expected = reference.svrg_epoch(loss, answers.rows, answers.weights, start, order, 60, 2.0)
    np.testing.assert_allclose(places[0], expected, rtol=1e-9, atol=1e-12)
    assert all(np.array_equal(places[0], other) for other in places[1:])


@pytest.mark.parametrize("n_dims", [1, 4, 7, 10])
@pytest.mark.parametrize("batch_size", [1, 3, 1500])
def test_long_walks_in_any_number_of_dimensions_equal_the_reference(kind, n_dims, batch_size, rng):
    """The order is longer than a prefetched stretch, and a multiple neither of it nor of the batch size."""
    loss, answers = LOSSES["ste"](), random_comparisons(kind, rng)
    objective = CPUObjective(answers, loss)
    snapshot = objective.at(0.5 * rng.standard_normal((12, n_dims)))
    order = rng.integers(60, size=STRETCH + 1501)
    step = 0.01 * batch_size**0.5
    whole = len(order) // batch_size * batch_size
    expected = reference.svrg_epoch(loss, answers.rows, None, snapshot.x, order[:whole], batch_size, step)
    for walk in walks(objective, snapshot, batch_size):
        walk.take(visits_of(order[:whole]), step)
        np.testing.assert_allclose(walk.x, expected, rtol=1e-7, atol=1e-10)
    x = snapshot.x.copy()
    expected = reference.sgd_pass(loss, answers.rows, x, order, batch_size, step)
    objective.descend(visits_of(order), x, batch_size, step)
    np.testing.assert_allclose(x, expected, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("batch_size", [1, 7])
def test_sgd_equals_the_reference(loss, answers, batch_size, rng):
    x = 0.5 * rng.standard_normal((12, 3))
    visits = visits_of(rng.integers(60, size=70), weight_seed=7)
    objective = CPUObjective(answers, loss)
    expected = reference.sgd_pass(loss, answers.rows, x, objective.expand(visits), batch_size, 0.1)
    objective.descend(visits, x, batch_size, 0.1)
    np.testing.assert_allclose(x, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("batch_size", [1, 4])
def test_the_solver_is_the_algorithm_in_the_paper(loss, kind, sampling, batch_size, rng):
    """Whole epochs of SVRG, snapshot for snapshot, against Algorithm 1 written out in NumPy."""
    answers = random_comparisons(kind, rng)
    start = 0.3 * rng.standard_normal((12, 2))
    loss = loss.in_dims(2)
    solver = SVRG(batch_size=batch_size, sampling=sampling)
    reports = []

    def watch(point, *, step=None, gradients=0, state=None):
        reports.append((point.x.copy(), step))
        return len(reports) == 4

    watch.must_end = lambda: False
    solver.run(CPUObjective(answers, loss), start, np.random.default_rng(5), watch)

    draw = np.random.default_rng(5)
    x, before = start, None
    for snapshot, step in reports[1:]:
        gradient = reference.gradient(loss, answers.rows, x)
        if before is None:
            eta = 0.5 * 12 / 60
        else:
            dx, dy = x - before[0], gradient - before[1]
            epsilon = max(0.1 / 12, 4 / 60)
            eta = np.sum(dx * dx) / (abs(np.sum(dx * dy)) + epsilon * np.sum(dx * dx)) / 60
        assert step == pytest.approx(eta, rel=1e-6)
        (visits,) = SAMPLINGS[sampling](draw, 60, 60, batch_size, 2048)
        before = (x, gradient)
        x = reference.svrg_epoch(loss, answers.rows, None, x, visits.indices(), batch_size, batch_size * eta)
        np.testing.assert_allclose(snapshot, x, rtol=1e-6, atol=1e-9)
