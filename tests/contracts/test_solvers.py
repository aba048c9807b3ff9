"""What every solver must do with every loss."""

import itertools

import numpy as np
import pytest

import closerthan as ct
from closerthan import LOSSES, SOLVERS, Comparisons
from closerthan.objective import Objective

MAY_DIVERGE = ("svrg-bb", "svrg-sbb0")  # steps without a bound: the reason for the paper's epsilon


@pytest.fixture(params=itertools.product(LOSSES, SOLVERS), ids="-".join)
def names(request):
    return dict(zip(("loss", "solver"), request.param, strict=True))


def test_the_objective_falls_and_the_map_agrees_better_than_chance(names, problem):
    result = ct.embed(problem.train, **names, seed=0, epochs=15)
    assert result.record.objective < result.history.objective[0]
    assert np.isfinite(result.embedding).all()
    if result.stopped_by == "diverged":
        assert names["solver"] in MAY_DIVERGE
    else:
        assert ct.triplet_error(problem.test, result.embedding) < 0.3


def test_it_never_returns_a_worse_map_than_the_best_it_saw(names, problem):
    result = ct.embed(problem.train, **names, seed=1, epochs=12, tolerance=None)
    assert result.record.objective == np.nanmin(result.history.objective)
    x = result.embedding
    loss = LOSSES[names["loss"]]().in_dims(2)
    assert Objective(problem.train, loss).at(x).value == pytest.approx(result.record.objective, rel=1e-9)


def test_the_same_seed_gives_the_same_bits(names, problem):
    runs = [ct.embed(problem.train, **names, seed=7, epochs=4).embedding for _ in range(2)]
    assert np.array_equal(*runs)


def test_it_stops_after_the_epochs_asked_for(names, problem):
    result = ct.embed(problem.train, **names, seed=0, epochs=3, tolerance=None)
    assert (result.stopped_by, len(result.history)) in {("epochs", 4), ("diverged", len(result.history))}


def test_a_callback_stops_it(names, problem):
    result = ct.embed(problem.train, **names, seed=0, callback=lambda record, x: record.epoch == 2)
    assert result.stopped_by in ("callback", "diverged")
    assert len(result.history) <= 3


def test_it_counts_gradients_as_the_paper_does(names, problem):
    result = ct.embed(problem.train, **names, seed=0, epochs=4, tolerance=None)
    per_epoch = np.diff(result.history.gradients) / len(problem.train)
    if names["solver"].startswith("svrg"):
        assert (per_epoch == 3).all()
    elif names["solver"] in ("sgd", "batch"):
        assert (per_epoch == 1).all()
    else:
        assert (per_epoch >= 1).all()


def test_weights_equal_repeated_rows(names, problem, rng):
    """Exactly, for the objective; so a solver that draws nothing takes the same path."""
    repeats = rng.integers(1, 4, len(problem.train))
    make = Comparisons.of
    weighted = make(problem.train.rows, weights=repeats, n_objects=15)
    repeated = make(np.repeat(problem.train.rows, repeats, axis=0), n_objects=15)
    start = 0.1 * rng.standard_normal((15, 2))
    results = [ct.embed(data, **names, start=start, seed=0, epochs=3, tolerance=None) for data in (weighted, repeated)]
    assert results[0].history.objective[0] == pytest.approx(results[1].history.objective[0], rel=1e-10)
    assert results[0].history.train_error[0] == pytest.approx(results[1].history.train_error[0], rel=1e-10)
    if names["solver"] in ("batch", "gram", "lbfgs"):
        np.testing.assert_allclose(results[0].history.objective, results[1].history.objective, rtol=1e-4)
