"""The quasi-Newton solver: what it promises beyond what all solvers do (tests/contracts)."""

import numpy as np
import pytest

import closerthan as ct
from closerthan import QuasiNewton
from closerthan.losses import LOSSES
from closerthan.objective.cpu import Point
from closerthan.solvers.curvature import Curvature
from closerthan.solvers.quasi_newton import _direction, _lower


@pytest.fixture(scope="module")
def noisy():
    return ct.datasets.synthetic(30, 2, 6_000, 2_000, seed=2, flipped=0.3)


class Bowl:
    """Half of a quadratic form, with curvatures from 1 to 100; counts the looks at it."""

    n_terms = 1
    curvature = np.geomspace(1.0, 100.0, 6).reshape(3, 2)

    def __init__(self):
        self.looks = 0

    def at(self, x):
        self.looks += 1
        return Point(x, 0.5 * float(np.sum(self.curvature * x * x)), self.curvature * x)


def reported(solver, objective, start, epochs):
    points = []

    def monitor(now, **_):
        points.append(now)
        return len(points) > epochs

    solver.run(objective, start, np.random.default_rng(0), monitor)
    return points


@pytest.fixture(params=["told", "untold"])
def knowledge(request):
    """With what is told of the curvature and without."""
    if request.param == "told":
        request.getfixturevalue("curvature_is_told")


@pytest.mark.usefixtures("knowledge")
@pytest.mark.parametrize("loss", LOSSES)
def test_it_ends_where_scipys_does(loss, noisy):
    start = ct.embed(noisy.train, 2, loss=loss, seed=0, epochs=5).embedding
    ours, theirs = (
        ct.embed(noisy.train, 2, loss=loss, solver=solver, start=start, epochs=epochs, tolerance=None).record.objective
        for solver, epochs in (("quasi-newton", 30), ("lbfgs", 90))
    )
    assert ours == pytest.approx(theirs, rel=2e-3)


def test_curvature_is_learned_from_the_moves():
    """On a quadratic form, what it remembers of six dimensions is worth more than what it remembers of one."""
    start = np.ones((3, 2))
    values = {memory: reported(QuasiNewton(memory=memory, moves=1), Bowl(), start, 30)[-1].value for memory in (1, 6)}
    assert values[6] < 1e-2 * values[1]


@pytest.mark.parametrize("told", [False, True])
def test_its_direction_is_that_of_the_matrix_it_stands_for(told):
    """The two-loop recursion against the BFGS formula, written out."""
    rng = np.random.default_rng(1)
    bowl = Bowl()
    pairs = [(move, bowl.curvature * move) for move in rng.standard_normal((3, 3, 2))]
    now = bowl.at(rng.standard_normal((3, 2)))
    last_move, last_change = (part.ravel() for part in pairs[-1])
    known, own, in_size = None, np.eye(6), 0.0
    if told:
        blocks, size = (np.array([[3.0, 1.0], [1.0, 2.0]]) * (1 + np.arange(3))[:, None, None]), now.x
        known = Curvature(blocks, size, 1e6)
        own = np.zeros((6, 6))
        for number, block in enumerate(blocks):
            own[2 * number : 2 * number + 2, 2 * number : 2 * number + 2] = block
        in_size = np.outer(size, size) / 1e6
    inverse = own * (last_move @ last_change) / (last_change @ own @ last_change) + in_size
    for move, change in ((m.ravel(), c.ravel()) for m, c in pairs):
        rho = 1.0 / (move @ change)
        left = np.eye(6) - rho * np.outer(move, change)
        inverse = left @ inverse @ left.T + rho * np.outer(move, move)
    expected = -(inverse @ now.gradient.ravel()).reshape(3, 2)
    with_bends = [(move, change, float(np.sum(move * change))) for move, change in pairs]
    found = _direction(now, with_bends, known, 0.03)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.usefixtures("knowledge")
def test_the_objective_never_rises(noisy):
    start = ct.embed(noisy.train, 2, solver="polyak", seed=0, epochs=2, tolerance=None).embedding
    history = ct.embed(noisy.train, 2, solver=QuasiNewton(), start=start, epochs=15, tolerance=None).history
    assert (np.diff(history.objective) <= 0).all()


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_where_the_map_lies_does_not_matter(noisy, offset):
    start = offset + 0.1 * np.random.default_rng(0).standard_normal((30, 2))
    result = ct.embed(noisy.train, 2, solver="quasi-newton", start=start, epochs=40, tolerance=None)
    best = ct.embed(noisy.train, 2, solver="lbfgs", start=start, epochs=200, tolerance=None)
    assert result.record.objective < 1.001 * best.record.objective


@pytest.mark.parametrize("loss", ["ste", "gnmds", "tste"])
@pytest.mark.parametrize("scale", [1e-7, 1e-3])
def test_it_leaves_a_start_that_is_hardly_one(noisy, loss, scale):
    """All objects nearly in one place: the objective bends down there, and moves become longer until it does not."""
    start = scale * np.random.default_rng(0).standard_normal((30, 2))
    result = ct.embed(noisy.train, 2, loss=loss, solver="quasi-newton", start=start, epochs=60, tolerance=None)
    best = ct.embed(noisy.train, 2, loss=loss, seed=0).record.objective
    assert result.record.objective < 1.05 * best


def test_a_move_that_is_too_long_is_shortened():
    bowl = Bowl()
    now = bowl.at(np.ones((3, 2)))
    after, length, looks = _lower(bowl, now, -now.gradient)  # 50 times too long for the steepest of its directions
    assert after.value < now.value
    assert 0 < length < 0.02
    assert looks == bowl.looks - 1 > 1


def test_it_stops_where_nothing_is_lower():
    points = reported(QuasiNewton(), Bowl(), np.zeros((3, 2)), 10)
    assert len(points) == 2


@pytest.mark.parametrize("options", [{"memory": 0}, {"moves": 0}, {"first": -1.0}])
def test_bad_options_are_named(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        QuasiNewton(**options)


def test_gradients_are_counted(noisy):
    history = ct.embed(noisy.train, 2, solver=QuasiNewton(moves=2), seed=0, epochs=4, tolerance=None).history
    looks = np.diff(history.gradients) / len(noisy.train)
    assert (looks >= 2).all()
    assert (looks == looks.round()).all()
