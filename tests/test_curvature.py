"""What is known of an objective's curvature beforehand, and what it is worth."""

import numpy as np
import pytest
import reference

import closerthan as ct
from closerthan import LOSSES, QuasiNewton, objective
from closerthan.objective import Objective, Point
from closerthan.solvers import curvature
from closerthan.solvers.curvature import Curvature


@pytest.fixture(scope="module")
def noisy():
    return ct.datasets.synthetic(60, 3, 9_000, 100, seed=2, flipped=0.15)


@pytest.fixture(scope="module")
def halfway(noisy):
    """A map that is good, but not yet the best."""
    return ct.embed(noisy.train, 3, solver="polyak", seed=0, epochs=2, tolerance=None).embedding


def of(answers, loss="ste"):
    return Objective(answers, LOSSES[loss]().in_dims(3))


def with_value(x, value):
    return Point(x, value, np.zeros_like(x))


@pytest.mark.usefixtures("curvature_is_told")
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_own_curvatures_are_mean_squares_wherever_the_map_lies(problem, offset, rng, monkeypatch):
    monkeypatch.setattr(objective, "_ASKED", 100)  # all of them
    x, problem = rng.standard_normal((15, 2)), of(problem.train)
    found = problem.own_curvatures(with_value(x + offset, 0.5))
    least = objective._HARDLY_WRONG * 0.5
    expected = reference.squares(problem.loss, problem.comparisons.rows, x, None, least) / problem.n_terms
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4 * expected.max())


@pytest.mark.usefixtures("curvature_is_told")
@pytest.mark.parametrize("share", [0.1, 1.0, np.nan])
def test_maps_that_know_nothing_or_nearly_all_tell_nothing(noisy, halfway, share):
    problem = of(noisy.train)
    assert problem.own_curvatures(with_value(halfway, 0.5 * problem.ignorance)) is not None
    assert problem.own_curvatures(with_value(halfway, share * problem.ignorance)) is None


@pytest.mark.parametrize(("n_objects", "n_dims", "n_answers"), [(30, 3, 32_768), (900, 3, 43_200), (50, 30, 45_000)])
def test_few_answers_tell_nothing(n_objects, n_dims, n_answers, rng):
    """On the whole; for a coordinate; for one of the many numbers of a matrix."""
    rows = ct.datasets.synthetic(n_objects, n_dims, n_answers, 10, seed=1).train.rows
    now = with_value(rng.standard_normal((n_objects, n_dims)), 0.4)
    enough, too_few = (ct.Comparisons(rows[:size], n_objects) for size in (n_answers, n_answers - 1))
    assert of(enough).own_curvatures(now).shape == (n_objects, n_dims, n_dims)
    assert of(too_few).own_curvatures(now) is None


@pytest.mark.parametrize("loss", LOSSES)
def test_curvature_in_size_is_that_of_the_objective(loss, noisy, halfway):
    few = of(ct.Comparisons.from_triplets(noisy.train.rows[:400], n_objects=60), loss)
    grown = [few.at(scale * halfway).value for scale in (0.95, 1.0, 1.05)]
    assert few.curvature_in_size(halfway) == pytest.approx((grown[0] - 2 * grown[1] + grown[2]) / 0.05**2)


def test_each_object_is_divided_by_its_own_curvature(rng):
    factors = rng.standard_normal((4, 3, 5))
    matrices = (factors @ factors.transpose(0, 2, 1)).astype(np.float32)
    matrices[2] = 0.0  # of an object that no comparison with a loss asks for
    vector = rng.standard_normal((4, 3))
    found = Curvature(np.zeros((4, 3)), 1.0, curvature._inverse(matrices)).own(vector)
    usual = np.trace(matrices, axis1=1, axis2=2) / 3
    for number in range(4):
        evenly = (curvature.EVENLY * usual[number] + curvature.LEAST * usual.mean()) * np.eye(3)
        expected = np.linalg.solve(matrices[number] + evenly, vector[number])
        np.testing.assert_allclose(found[number], expected, rtol=1e-3)


@pytest.mark.parametrize("broken", [0.0, np.inf, np.nan])
def test_what_cannot_be_divided_by_is_not_known(broken):
    assert curvature._inverse(np.full((4, 3, 3), broken, np.float32)) is None


@pytest.mark.parametrize(("in_size", "expected"), [(10.0, 0.05), (1.0, 0.2), (0.0, 0.2), (-3.0, 0.2), (np.nan, 0.2)])
def test_a_map_grows_by_what_its_size_asks_for_but_not_by_much(in_size, expected, rng):
    x = rng.standard_normal((4, 3))
    vector = 0.5 * x / np.sum(x * x)  # of which 0.5 is along x
    known = Curvature(x, in_size, np.zeros((4, 3, 3), np.float32))
    np.testing.assert_allclose(known.in_size(vector), expected * x)
    np.testing.assert_allclose(known.in_size(-vector), -expected * x)
    assert not known.in_size(np.zeros((4, 3))).any()


def looks_to(goal, problem, start, told, monkeypatch):
    """How many looks it takes to an objective."""
    with monkeypatch.context() as patched:
        patched.setattr(objective, "FEWEST_TELL", 1 if told else 10**9)
        looks = []

        def monitor(now, gradients=0, **_):
            looks.append(gradients / problem.n_terms)
            return now.value <= goal or len(looks) > 100

        QuasiNewton().run(problem, start, None, monitor)
    return sum(looks)


@pytest.mark.parametrize("loss", sorted({*LOSSES} - {"gnmds"}))  # a hinge bends nowhere, however a sum of them may
def test_it_takes_fewer_looks_to_the_end(loss, noisy, monkeypatch):
    start = ct.embed(noisy.train, 3, loss=loss, solver="polyak", seed=0, epochs=3, tolerance=None).embedding
    lowest = ct.embed(noisy.train, 3, loss=loss, solver="lbfgs", start=start, epochs=300, tolerance=None)
    problem = of(noisy.train, loss)
    goal = lowest.record.objective + 0.02 * (problem.at(start).value - lowest.record.objective)
    told, untold = (looks_to(goal, problem, start, told, monkeypatch) for told in (True, False))
    assert told < untold


@pytest.mark.usefixtures("curvature_is_told")
def test_what_misleads_is_forgotten(noisy, halfway, monkeypatch):
    """Told a curvature by which every move leads up, it goes on without one, and from a checkpoint too."""
    problem = of(noisy.train)
    monkeypatch.setattr(Curvature, "own", lambda self, vector: -vector)
    monkeypatch.setattr(Curvature, "in_size", lambda self, vector: 0.0 * vector)
    reports = []

    def monitor(now, state=None, **_):
        reports.append((now.value, state))
        return len(reports) > 20

    QuasiNewton().run(problem, halfway, None, monitor)
    values, states = zip(*reports, strict=True)
    assert values[1] == values[0]
    assert values[-1] < values[0]
    assert all("start" not in state for state in states[1:])


@pytest.mark.usefixtures("curvature_is_told")
def test_where_it_is_known_an_epoch_is_one_move(noisy, halfway):
    history = ct.embed(noisy.train, 3, solver="quasi-newton", start=halfway, epochs=4, tolerance=None).history
    assert np.diff(history.gradients)[0] == len(noisy.train)
