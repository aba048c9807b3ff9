"""Fits with a penalty: its weight, and the descent to the minimum."""

import itertools
import signal

import numpy as np
import pytest

import closerthan as ct
from closerthan.fit import loss_race
from closerthan.losses import LOSSES, STE, Penalized
from closerthan.objective.cpu.objective import CPU, CPUObjective
from closerthan.solvers import SOLVERS, Polyak

CAN_REPEAT = sorted(set(SOLVERS) - {"hogwild"})


@pytest.fixture
def few():
    """Answers so few that the fit is finished by L-BFGS."""
    return ct.datasets.synthetic(30, 2, 900, 2_000, flipped=0.1, seed=4)


def is_finished(result):
    """Whether L-BFGS, which has no step size, ran at the end."""
    return len(result.history) > 2 and np.isnan(result.history.step[-1])


def objective_by_hand(answers, result, n_comparisons):
    """The penalised objective at the map of a result."""
    strength = result.penalty
    loss = Penalized(result.loss, strength * answers.n_objects / n_comparisons)
    return CPUObjective(answers, loss).at(result.embedding)


# ---- the weight of the penalty ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", [0.01, 1.0])
def test_its_weight_is_its_strength_per_object_over_the_comparisons(loss, penalty, few):
    result = ct.embed(few.train, loss=loss, penalty=penalty, seed=0, epochs=3)
    expected = objective_by_hand(few.train, result, 900)
    assert result.best_record.objective == pytest.approx(expected.value, rel=1e-9)


def test_comparisons_held_out_for_validation_do_not_count(few):
    result = ct.embed(few.train, loss="ste", penalty=1.0, validation=0.2, by="comparisons", seed=0, epochs=3)
    train, _ = few.train.split(0.2, np.random.default_rng(0), by="comparisons")
    expected = objective_by_hand(train, result, len(train))
    assert len(train) == 720
    assert result.best_record.objective == pytest.approx(expected.value, rel=1e-9)


@pytest.mark.parametrize("loss", ["ste", "auto"])
def test_comparisons_without_weight_change_nothing(loss, few):
    """Neither the weight of the penalty nor the choice depends on them."""
    weights = np.tile([1.0, 0.0, 0.5], 300)
    rows = few.train.rows
    weighted = ct.Comparisons.from_triplets(rows, weights=weights, n_objects=30)
    without = ct.Comparisons.from_triplets(rows[weights > 0], weights=weights[weights > 0], n_objects=30)
    results = [
        ct.embed(answers, loss=loss, penalty=0.3, solver="lbfgs", seed=0, tolerance=None, epochs=300)
        for answers in (weighted, without)
    ]
    assert results[0].candidates == results[1].candidates
    assert results[0].best_record.objective == pytest.approx(results[1].best_record.objective, rel=1e-6)


@pytest.mark.parametrize("solver", [solver for solver in CAN_REPEAT if solver != "polyak"])
def test_solvers_of_publications_have_no_penalty_by_default(solver, problem):
    results = [
        ct.embed(problem.train, loss="tste", penalty=penalty, solver=solver, seed=2, epochs=4) for penalty in (None, 0)
    ]
    assert results[0].candidates == ()
    assert np.array_equal(*(result.embedding for result in results))


@pytest.mark.parametrize("solver", CAN_REPEAT)
def test_every_solver_lowers_the_penalised_objective(solver, problem):
    result = ct.embed(problem.train, loss="ste", penalty=1.0, solver=solver, seed=0, epochs=10)
    assert result.best_record.objective < 0.95 * result.history[0].objective
    gram = solver == "gram"  # its records are of the Gram matrix before it is cut to few dimensions
    expected = objective_by_hand(problem.train, result, 600)
    assert gram or result.history[result.best_epoch].objective == pytest.approx(expected.value, rel=1e-6)


def test_a_stronger_penalty_gives_a_smaller_map(few):
    maps = [ct.embed(few.train, loss="ste", penalty=penalty, seed=0).embedding for penalty in (0.01, 0.1, 1.0, 10.0)]
    sizes = [float(np.sum((x - x.mean(axis=0)) ** 2)) for x in maps]
    assert sizes == sorted(sizes, reverse=True)


# ---- the descent to the minimum --------------------------------------------------------------------------------------


def test_a_fit_with_a_penalty_ends_at_a_minimum(few):
    result = ct.embed(few.train, loss="ste", penalty=0.3, seed=0, tolerance=None, epochs=1000)
    assert is_finished(result)
    assert result.stopped_by == "solver"
    point = objective_by_hand(few.train, result, 900)
    assert np.abs(point.gradient).max() < 1e-6
    assert all(after <= before for before, after in itertools.pairwise(result.history.objective[1:]))


def test_without_a_penalty_and_with_many_answers_there_is_no_descent(few):
    assert not is_finished(ct.embed(few.train, loss="ste", penalty=0, seed=0))
    assert not is_finished(ct.embed(few.train, loss="ste", penalty=0.3, solver=Polyak(finish=10.0), seed=0))


def test_two_seeds_end_at_the_same_objective(few):
    objectives = [
        ct.embed(few.train, loss="ste", penalty=0.3, seed=seed, tolerance=1e-9, epochs=1000).best_record.objective
        for seed in (0, 1)
    ]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-6)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_bits_do_not_depend_on_threads(n_threads, few):
    settings = {"loss": "tste", "penalty": 0.3, "seed": 0, "device": CPU(least_part=100)}
    alone = ct.embed(few.train, n_threads=2, **settings)
    assert is_finished(alone)
    assert np.array_equal(ct.embed(few.train, n_threads=n_threads, **settings).embedding, alone.embedding)


@pytest.mark.parametrize("epochs", [0, 1, 2])
def test_few_epochs_are_not_exceeded(epochs, few):
    result = ct.embed(few.train, loss="ste", penalty=0.3, seed=0, epochs=epochs)
    assert (result.history[-1].epoch, result.stopped_by) == (epochs, "epochs")


def test_early_stopping_selects_the_map_during_the_descent_too(few):
    result = ct.embed(few.train, loss="ste", penalty=0.01, validation=0.2, patience=3, seed=0)
    assert is_finished(result)
    errors = result.history.validation_error[1:]
    assert result.best_record.validation_error == errors.min()


def interrupting(monkeypatch, at, act):
    """Call a function at an evaluation of the gradient, which only the descent needs."""
    evaluations, plain = itertools.count(1), CPUObjective.at

    def watched(self, x):
        if next(evaluations) == at:
            act()
        return plain(self, x)

    monkeypatch.setattr(CPUObjective, "at", watched)
    return evaluations


@pytest.mark.parametrize("at", [1, 2, 3, 10, 17, 30])
def test_ctrl_c_during_the_descent_returns_the_best_map(at, few, monkeypatch):
    evaluations = interrupting(monkeypatch, at, lambda: signal.raise_signal(signal.SIGINT))
    result = ct.embed(few.train, loss="ste", penalty=0.3, seed=0, tolerance=None, epochs=1000)
    assert next(evaluations) <= at + 3  # it ended at once
    assert result.stopped_by == "interrupted"
    assert result.best_record.objective == min(record.objective for record in result.history)
    expected = objective_by_hand(few.train, result, 900)
    assert result.best_record.objective == pytest.approx(expected.value, rel=1e-9)


@pytest.mark.parametrize("at", [1, 2, 15])
def test_a_time_limit_during_the_descent_returns_the_best_map(at, few, monkeypatch):
    """The clock jumps ahead by an hour."""
    ahead, plain = [0.0], loss_race.time.perf_counter
    monkeypatch.setattr(loss_race.time, "perf_counter", lambda: plain() + ahead[0])
    evaluations = interrupting(monkeypatch, at, lambda: ahead.__setitem__(0, 3600.0))
    result = ct.embed(few.train, loss="ste", penalty=0.3, seed=0, tolerance=None, epochs=1000, time_limit=1800.0)
    assert next(evaluations) <= at + 3
    assert result.stopped_by == "time_limit"
    assert result.best_record.objective == min(record.objective for record in result.history)


# ---- unusual answers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [0.1, "auto"])
@pytest.mark.parametrize(
    "answers",
    [
        [[0, 1, 2]],
        [[0, 1, 2]] * 50,
        [[0, 1, 2], [0, 2, 1]] * 20,
        [[0, 1, 2], [1, 0, 3]],
        [[0, 1, 2, 3], [2, 3, 0, 1]],
    ],
    ids=["one answer", "all alike", "contradictions", "two answers", "two quadruplets"],
)
def test_answers_that_say_little_have_a_finite_map(answers, penalty):
    for loss in ("auto", "ste"):
        result = ct.embed(answers, 2, loss=loss, penalty=penalty, seed=0)
        assert np.isfinite(result.embedding).all()
        assert np.isfinite(result.best_record.objective)


def test_a_loss_that_cannot_be_compiled_is_named():
    class Broken(STE):
        def value(self, near, far):
            return open("file")

    with pytest.raises(TypeError, match="the loss Broken cannot be compiled"):
        CPUObjective(ct.Comparisons.from_triplets([[0, 1, 2]]), Penalized(Broken(), 0.1))
