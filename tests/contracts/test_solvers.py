"""Properties of every solver with every loss."""

import dataclasses
import itertools

import numpy as np
import pytest

import closerthan as ct
from closerthan import Comparisons
from closerthan.comparisons import reversed_rows
from closerthan.losses import LOSSES
from closerthan.objective.cpu.objective import CPU, CPUObjective
from closerthan.solvers import SOLVERS


@dataclasses.dataclass(frozen=True)
class Counting(CPU):
    """Records the maps at which full gradients were evaluated."""

    evaluated: list = dataclasses.field(default_factory=list)

    def objective(self, comparisons, loss, held_out=None):
        objective = CountingObjective(comparisons, loss, held_out)
        objective.evaluated = self.evaluated
        return objective


class CountingObjective(CPUObjective):
    def at(self, x):
        self.evaluated.append("at")
        return super().at(x)

    def at_gram(self, gram_matrix):
        self.evaluated.append("at_gram")
        return super().at_gram(gram_matrix)


MAY_DIVERGE = ("svrg-bb", "svrg-sbb0")  # steps without a bound: the reason for the paper's epsilon


@pytest.fixture(params=itertools.product(LOSSES, SOLVERS), ids="-".join)
def names(request):
    return dict(zip(("loss", "solver"), request.param, strict=True)) | {"penalty": 0}


def test_the_objective_falls_and_the_map_agrees_better_than_chance(names, problem):
    result = ct.embed(problem.train, **names, seed=0, epochs=15)
    assert result.best_record.objective < result.history.objective[0]
    assert np.isfinite(result.embedding).all()
    if result.stopped_by == "diverged":
        assert names["solver"] in MAY_DIVERGE
    else:
        assert ct.triplet_error(problem.test, result.embedding) < 0.3


def test_it_never_returns_a_worse_map_than_the_best_it_saw(names, problem):
    result = ct.embed(problem.train, **names, seed=1, epochs=12, tolerance=None)
    assert result.best_record.objective == np.nanmin(result.history.objective)
    x = result.embedding
    loss = LOSSES[names["loss"]]().in_dims(2)
    assert CPUObjective(problem.train, loss).at(x).value == pytest.approx(result.best_record.objective, rel=1e-9)


def test_the_same_seed_gives_the_same_bits(names, problem):
    runs = [ct.embed(problem.train, **names, seed=7, epochs=4).embedding for _ in range(2)]
    assert np.array_equal(*runs)


def test_it_stops_after_the_epochs_asked_for(names, problem):
    result = ct.embed(problem.train, **names, seed=0, epochs=3, tolerance=None)
    if result.stopped_by == "diverged":
        assert names["solver"] in MAY_DIVERGE
    else:
        assert (result.stopped_by, len(result.history)) == ("epochs", 4)


def test_a_callback_stops_it(names, problem):
    result = ct.embed(problem.train, **names, seed=0, callback=lambda record, x: record.epoch == 2)
    if result.stopped_by == "diverged":
        assert names["solver"] in MAY_DIVERGE
    else:
        assert (result.stopped_by, len(result.history)) == ("callback", 3)


def test_it_counts_gradients_as_the_paper_does(names, problem):
    device = Counting()
    result = ct.embed(problem.train, **names, seed=0, epochs=4, tolerance=None, device=device)
    per_epoch = np.diff(result.history.gradients) / len(problem.train)
    if names["solver"].startswith("svrg"):
        assert (per_epoch == 3).all()
    elif names["solver"] in ("sgd", "batch"):
        assert (per_epoch == 1).all()
    elif names["solver"] in ("polyak", "hogwild"):
        # Two passes and the value at the end; with extra dimensions, 12 comparisons for each of 15 * 8 coordinates.
        assert per_epoch.tolist() == [4, 3, 3, 3]
    else:  # a line search: as many as it took, after the start
        assert per_epoch.sum() == device.evaluated.count({"gram": "at_gram", "lbfgs": "at"}[names["solver"]]) - 1


@pytest.mark.slow
def test_answers_count_in_proportion_to_their_weight(names, problem):
    """Each answer is accompanied by its opposite, and the map follows those with the larger weight."""
    if names["solver"] == "batch":
        pytest.skip("its fixed step is too long here; that weights equal repeated rows is tested below")
    rows, opposite = problem.train.rows, reversed_rows(problem.train.rows)
    for weights, agreeing in (((1.0, 0.05), rows), ((0.05, 1.0), opposite)):
        data = Comparisons.of(np.concatenate([rows, opposite]), weights=np.repeat(weights, len(rows)), n_objects=15)
        result = ct.embed(data, **names, seed=0, epochs=15)
        if result.stopped_by == "diverged":
            assert names["solver"] in MAY_DIVERGE
        else:
            assert ct.triplet_error(Comparisons.of(agreeing, n_objects=15), result.embedding) < 0.45


def test_weights_equal_repeated_rows(names, problem, rng):
    """The objective is exactly the same, so a solver without random draws takes the same path."""
    repeats = rng.integers(1, 4, len(problem.train))
    make = Comparisons.of
    weighted = make(problem.train.rows, weights=repeats, n_objects=15)
    repeated = make(np.repeat(problem.train.rows, repeats, axis=0), n_objects=15)
    start = 0.1 * rng.standard_normal((15, 2))
    results = [ct.embed(data, **names, start=start, seed=0, epochs=3, tolerance=None) for data in (weighted, repeated)]
    assert results[0].history.objective[0] == pytest.approx(results[1].history.objective[0], rel=1e-10)
    assert results[0].history.train_error[0] == pytest.approx(results[1].history.train_error[0], rel=1e-10)
    other_seed = ct.embed(weighted, **names, start=start, seed=1, epochs=3, tolerance=None)
    if np.array_equal(other_seed.embedding, results[0].embedding):  # nothing is drawn
        np.testing.assert_allclose(results[0].history.objective, results[1].history.objective, rtol=1e-4)


@pytest.mark.parametrize(
    "weights", ["one heavy row", *[pytest.param(name, marks=pytest.mark.slow) for name in ("few rows count", "uneven")]]
)
def test_uneven_weights_do_not_cause_divergence(names, problem, weights):
    rng = np.random.default_rng(0)
    weight = {
        "one heavy row": np.where(np.arange(600) == 5, 600.0, 1.0),
        "few rows count": (rng.random(600) < 0.2).astype(float),
        "uneven": rng.lognormal(0, 2, 600),
    }[weights]
    data = Comparisons.of(problem.train.rows, weights=weight, n_objects=15)
    result = ct.embed(data, **names, seed=0, epochs=15)
    if result.stopped_by == "diverged":
        assert names["solver"] in (*MAY_DIVERGE, "batch")  # its fixed step does not depend on the weights
    assert result.best_record.objective < result.history.objective[0]
    assert result.best_record.train_error < 0.45


def test_a_start_in_one_place_or_with_twins_stays_finite(names, problem):
    twins = 0.1 * np.random.default_rng(0).standard_normal((15, 2))
    twins[3] = twins[7]
    for start in (np.zeros((15, 2)), twins):
        result = ct.embed(problem.train, **names, start=start, seed=0, epochs=5)
        assert np.isfinite(result.embedding).all()
        assert result.best_record.objective <= result.history.objective[0]
