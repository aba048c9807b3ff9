"""What is known of an objective's curvature beforehand, and what it is worth."""

import numpy as np
import pytest
import reference

import closerthan as ct
from closerthan import QuasiNewton
from closerthan.losses import LOSSES
from closerthan.objective import cpu as objective
from closerthan.objective.cpu import Objective, Point
from closerthan.solvers import curvature, quasi_newton
from closerthan.solvers.curvature import Curvature, inverted
from closerthan.solvers.quasi_newton import _direction


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


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_own_curvatures_are_mean_squares_wherever_the_map_lies(problem, offset, rng, monkeypatch):
    monkeypatch.setattr(objective, "_ASKED", 100)  # all of them
    x, problem = rng.standard_normal((15, 2)), of(problem.train)
    found, looked_at = problem.own_curvatures(with_value(x + offset, 0.5))
    least = objective._HARDLY_WRONG * 0.5
    expected = reference.squares(problem.loss, problem.comparisons.rows, x, least) / problem.n_terms
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4 * expected.max())
    assert looked_at == problem.n_terms


@pytest.mark.parametrize(("n_objects", "expected"), [(4, 512), (400, 3_600)])
def test_a_sample_is_asked_for_them(n_objects, expected, rng):
    """Three comparisons a coordinate; but with few objects not as few as that."""
    answers = ct.datasets.synthetic(n_objects, 3, 5_000, 10, seed=1).train
    found, looked_at = of(answers).own_curvatures(with_value(rng.standard_normal((n_objects, 3)), 0.5))
    assert np.isfinite(found).all()
    assert looked_at == expected


@pytest.mark.parametrize("apart", [0.0, 1e-12, 1e-30])
def test_objects_in_one_place_tell_nothing_of_each_other_but_do_of_others(noisy, halfway, apart):
    """There soe is as steep as can be."""
    x = halfway.copy()
    x[1] = x[0] + apart
    found, _ = of(noisy.train, "soe").own_curvatures(with_value(x, 0.5))
    assert np.isfinite(found).all()
    assert (np.einsum("occ->o", found) > 0).all()


@pytest.mark.usefixtures("curvature_is_told")
@pytest.mark.parametrize(("share", "told"), [(0.1, False), (0.5, True), (1.0, False), (np.nan, False)])
def test_maps_that_know_nothing_or_nearly_all_tell_nothing(noisy, halfway, share, told):
    problem = of(noisy.train)
    assert problem.tells_curvature(with_value(halfway, share * problem.ignorance)) == told


@pytest.mark.parametrize(("n_objects", "n_dims", "n_answers"), [(30, 3, 32_768), (900, 3, 43_200), (50, 30, 45_000)])
def test_few_answers_tell_nothing(n_objects, n_dims, n_answers, rng):
    """On the whole; for a coordinate; for one of the many numbers of a matrix."""
    rows = ct.datasets.synthetic(n_objects, n_dims, n_answers, 10, seed=1).train.rows
    now = with_value(rng.standard_normal((n_objects, n_dims)), 0.4)
    enough, too_few = (ct.Comparisons(rows[:size], n_objects) for size in (n_answers, n_answers - 1))
    assert of(enough).tells_curvature(now)
    assert not of(too_few).tells_curvature(now)


@pytest.mark.usefixtures("curvature_is_told")
@pytest.mark.parametrize(("weight", "most_dims", "told"), [(1.0, 3, True), (2.0, 3, False), (1.0, 2, False)])
def test_uneven_weights_and_very_many_dimensions_tell_nothing(noisy, halfway, weight, most_dims, told, monkeypatch):
    monkeypatch.setattr(objective, "MOST_DIMS_TOLD", most_dims)
    answers = ct.Comparisons.from_triplets(noisy.train.rows, n_objects=60, weights=[1.0, weight] * 4_500)
    assert of(answers).tells_curvature(with_value(halfway, 0.4)) == told


@pytest.mark.parametrize("loss", LOSSES)
def test_curvature_in_size_is_that_of_the_objective(loss, noisy, halfway):
    few = of(ct.Comparisons.from_triplets(noisy.train.rows[:400], n_objects=60), loss)
    grown = [few.at(scale * halfway).value for scale in (0.95, 1.0, 1.05)]
    assert few.curvature_in_size(halfway) == pytest.approx((grown[0] - 2 * grown[1] + grown[2]) / 0.05**2)


@pytest.mark.parametrize("unit", [1.0, 1e-30, 1e30])
def test_each_object_is_divided_by_its_own_curvature(unit, rng):
    factors = rng.standard_normal((4, 3, 5))
    matrices = (unit * factors @ factors.transpose(0, 2, 1)).astype(np.float32)
    matrices[2] = 0.0  # of an object that no comparison with a loss asks for
    vector = rng.standard_normal((4, 3))
    found = Curvature(inverted(matrices), np.zeros((4, 3)), 1.0).own(vector)
    usual = np.trace(matrices.astype(float), axis1=1, axis2=2) / 3
    for number in range(4):
        evenly = (curvature.EVENLY * usual[number] + curvature.LEAST * usual.mean()) * np.eye(3)
        expected = np.linalg.solve(matrices[number] + evenly, vector[number])
        np.testing.assert_allclose(found[number], expected, rtol=1e-4)


@pytest.mark.parametrize("broken", [0.0, np.inf, np.nan])
def test_what_cannot_be_divided_by_is_not_known(broken):
    matrices = np.zeros((4, 3, 3), np.float32)
    matrices[1] = broken
    assert inverted(matrices) is None


class Told:
    """An objective that says what it is asked to say of its curvature."""

    def __init__(self, in_size):
        self.in_size = in_size

    is_smooth = True

    def tells_curvature(self, now):
        return True

    def own_curvatures(self, now):
        return np.tile(np.eye(3, dtype=np.float32), (4, 1, 1)), 7

    def curvature_in_size(self, x):
        assert np.abs(x.mean(axis=0)).max() < 1e-12
        return self.in_size


@pytest.mark.parametrize("in_size", [10.0, 1.0, 0.0, -3.0, np.nan])
def test_a_map_grows_by_what_its_size_asks_for_but_at_first_not_by_much(in_size, rng):
    x = rng.standard_normal((4, 3))
    centred = x - x.mean(axis=0)
    gradient = -0.5 * centred / np.sum(centred * centred)  # of which -0.5 is along the map
    known = Curvature.at(Told(in_size), Point(x, 0.4, gradient))
    growth = 0.05 if in_size == 10.0 else curvature.LARGEST
    np.testing.assert_allclose(known.in_size(-gradient), growth * centred)
    np.testing.assert_allclose(known.in_size(0.1 * gradient), -0.1 * growth * centred)  # and by less towards the end
    assert known.looked_at == 7


@pytest.mark.parametrize("in_size", [0.0, -1.0, np.nan, np.inf])
def test_where_nothing_is_known_of_the_size_it_stays(in_size, rng):
    x = rng.standard_normal((4, 3))
    known = Curvature.at(Told(in_size), Point(x, 0.4, np.zeros((4, 3))))
    assert not known.in_size(x).any()


def looks_to(goal, problem, start, told, monkeypatch):
    """How many looks it takes to an objective."""
    with monkeypatch.context() as patched:
        patched.setattr(objective, "FEWEST_TELL", 1 if told else 10**9)
        looks = []

        def monitor(now, gradients=0, **_):
            looks.append(gradients / problem.n_terms)
            return now.value <= goal or len(looks) > 100

        QuasiNewton().run(problem, start, None, monitor)
    assert len(looks) <= 100
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
    monkeypatch.setattr(Curvature, "own", lambda self, vector: -vector)
    monkeypatch.setattr(Curvature, "in_size", lambda self, vector: 0.0 * vector)
    values, states = [], []

    def monitor(now, state=None, **_):
        values.append(now.value)
        states.append(state)
        return len(values) > 20

    QuasiNewton().run(of(noisy.train), halfway, None, monitor)
    assert (np.diff(values[:9]) < 0).all()  # no epoch is lost
    assert all("start" not in state for state in states[1:])


@pytest.mark.usefixtures("curvature_is_told")
def test_pairs_that_mislead_are_forgotten_first(noisy, halfway, monkeypatch):
    """What was known is still true then."""
    moved = QuasiNewton().run, []

    def monitor(now, state=None, **_):
        moved[1].append(state)
        return len(moved[1]) > 2

    problem = of(noisy.train)
    moved[0](problem, halfway, None, monitor)
    state = dict(moved[1][-1])
    for k in range(2):
        state[f"change {k}"] = -state[f"change {k}"] * (1 + k)  # by which every direction leads up
    moved[1].clear()
    moved[0](problem, halfway, None, monitor, state)
    assert "start" in moved[1][1]
    assert "move 0" in moved[1][1]
    assert "move 1" not in moved[1][1]


@pytest.mark.usefixtures("curvature_is_told")
@pytest.mark.parametrize("loss", LOSSES)
def test_where_it_is_known_an_epoch_is_one_move(loss, noisy, halfway):
    """Of hinges two: they bend nowhere, however a sum of them may. In the first one those that were asked count too."""
    start = ct.embed(noisy.train, 3, loss=loss, solver="polyak", seed=0, epochs=2, tolerance=None).embedding
    settings = {"loss": loss, "solver": "quasi-newton", "start": start, "epochs": 2, "tolerance": None}
    first, second = np.diff(ct.embed(noisy.train, 3, **settings).history.gradients)
    moves = 2 if loss == "gnmds" else 1
    assert first == moves * 9_000 + objective._ASKED * start.size // 16 * 16
    assert second == moves * 9_000


@pytest.mark.usefixtures("curvature_is_told")
def test_the_first_move_is_bounded_by_the_size_of_the_map(noisy, halfway, monkeypatch):
    monkeypatch.setattr(Curvature, "own", lambda self, vector: 1e9 * vector)
    problem = of(noisy.train)
    now = problem.at(halfway)
    known = Curvature.at(problem, now)
    own = _direction(now, [], known, 0.03) - known.in_size(-now.gradient)
    centred = halfway - halfway.mean(axis=0)
    assert np.linalg.norm(own) == pytest.approx(np.linalg.norm(centred))


@pytest.mark.usefixtures("curvature_is_told")
@pytest.mark.parametrize("solver", ["quasi-newton", "relay"])
def test_the_number_of_threads_changes_no_bit(halfway, solver):
    answers = ct.datasets.synthetic(60, 3, 60_000, 10, seed=2, flipped=0.15).train
    settings = {"solver": solver, "start": halfway, "seed": 1, "epochs": 8, "tolerance": None}
    one, two = (ct.embed(answers, 3, **settings, n_threads=threads) for threads in (1, 2))
    assert (np.diff(one.history.gradients)[-2:] == len(answers)).all()  # a move an epoch: it was known
    np.testing.assert_array_equal(one.embedding, two.embedding)


@pytest.mark.parametrize("plenty", [True, False])
def test_what_it_needs_is_compiled_before_and_nothing_else(plenty, noisy, halfway, monkeypatch):
    monkeypatch.setattr(objective, "FEWEST_TELL", 9_000 if plenty else 9_001)
    compiled = []
    monkeypatch.setattr(quasi_newton, "_PREPARED", set())
    monkeypatch.setattr(Objective, "compile_curvature", lambda self: compiled.append(self.kind))
    problem = of(noisy.train)
    for _ in range(2):
        QuasiNewton().prepare(problem, halfway)
    assert compiled == [problem.kind] * plenty
    QuasiNewton().prepare(object(), halfway)  # of other objectives nothing is asked


@pytest.mark.parametrize("n_objects", [3, 5, 61])
@pytest.mark.parametrize("scale", [1e-30, 1e-22, 1e-19, 1e-7, 1e12])
def test_no_start_is_too_small_or_too_large(n_objects, scale, monkeypatch, recwarn):
    monkeypatch.setattr(objective, "FEWEST_TELL", 1)
    answers = ct.datasets.synthetic(60, 1, 9_000, 10, seed=2, flipped=0.15).train.rows % n_objects
    answers = answers[(np.diff(np.sort(answers, axis=1), axis=1) > 0).all(axis=1)]
    start = scale * np.random.default_rng(0).standard_normal((n_objects, 1))
    known = Curvature.at(problem := of(ct.Comparisons(answers, n_objects)), Point(start, 0.4, start))
    assert known is None or np.isfinite(known.own(start)).all()
    assert np.isfinite(problem.curvature_in_size(start))
    assert not recwarn.list
