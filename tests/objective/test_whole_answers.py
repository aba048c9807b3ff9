"""The likelihood of whole answers as an objective, and its choice by embed."""

import numpy as np
import pytest
from whole_answers import N_OBJECTS, some_answers

import closerthan as ct
from closerthan import Comparisons
from closerthan.comparisons import Choices
from closerthan.losses import STE, TSTE, Penalized
from closerthan.objective.cpu.objective import CPU, CPUObjective
from closerthan.objective.visits import ShuffledPass, Visits
from closerthan.objective.whole_answers import WholeAnswers


def objective_of(answers, loss, **options):
    return WholeAnswers(CPUObjective(answers, loss, **options), Choices.of(answers), loss)


@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_is_that_of_the_mean_loss_of_all_kinds_of_answers(weighted, rng):
    answers, x = some_answers(rng, weighted), rng.standard_normal((N_OBJECTS, 2))
    objective, tiny = objective_of(answers, Penalized(STE(), 0.1)), 1e-6
    gradient = objective.at(x).gradient
    for place in np.ndindex(x.shape):
        change = np.zeros_like(x)
        change[place] = tiny
        slope = (objective.value(x + change).value - objective.value(x - change).value) / (2 * tiny)
        assert gradient[place] == pytest.approx(slope, abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_steps_follow_the_gradient_on_average(weighted, rng):
    answers, x = some_answers(rng, weighted), rng.standard_normal((N_OBJECTS, 2))
    objective = objective_of(answers, Penalized(STE(), 0.1))
    expected = x - 0.5 * objective.at(x).gradient
    moved, one_pass = x.copy(), Visits((ShuffledPass.draw(rng, objective.n_terms),), 0)
    objective.descend(one_pass, moved, objective.n_terms, 0.5)
    np.testing.assert_allclose(moved, expected, atol=1e-12)
    changes = sum(objective.gradient_changes(objective.expand(one_pass), x, moved))
    here, there = objective.at(x).gradient, objective.at(moved).gradient
    np.testing.assert_allclose(changes / objective.n_terms, here - there, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_error_counts_comparisons_as_the_objective_of_comparisons_does(weighted, rng):
    answers, x = some_answers(rng, weighted), rng.standard_normal((N_OBJECTS, 2))
    whole, single = objective_of(answers, STE()), CPUObjective(answers, STE())
    error = single.at(x).error if not weighted else np.nan
    assert whole.at(x).error == whole.value(x).error
    if not weighted:
        assert whole.at(x).error == pytest.approx(error)


def test_sizes_are_judged_by_the_likelihood_of_answers(rng):
    answers, x = some_answers(rng), rng.standard_normal((N_OBJECTS, 2))
    objective, scales = objective_of(answers, STE()), np.array([0.25, 0.5, 1.0])
    losses = [objective.value(scale * x).value for scale in scales]
    assert objective.best_scale(x, scales, 1.0) == (scales[np.argmin(losses)] if min(losses) < np.log(2.5) else 1.0)


@pytest.mark.parametrize("solver", ["polyak", "hogwild", "lbfgs", "batch", "sgd", "svrg-sbb"])
def test_every_solver_that_can_lowers_the_loss_of_answers(solver, rng):
    answers = some_answers(rng)
    options = {"loss": "ste", "penalty": 0.1, "solver": solver, "likelihood": "answers"}
    result = ct.embed(answers, 2, **options, seed=0, epochs=20, n_threads=1)
    assert result.settings.likelihood == "answers"
    objective = objective_of(answers, Penalized(STE(), 0.1 * N_OBJECTS / 90))
    assert result.best_record.objective == pytest.approx(objective.at(result.embedding).value)
    assert result.best_record.objective < objective.collapsed_objective


@pytest.mark.slow
def test_the_default_solver_ends_at_a_minimum_of_the_likelihood(rng):
    answers = some_answers(rng)
    result = ct.embed(answers, 2, loss=TSTE(), penalty=1.0, likelihood="answers", seed=0, tolerance=None, epochs=200)
    assert result.best_record.gradient_norm < 1e-5


def test_any_number_of_threads_gives_the_same_map(rng):
    answers = some_answers(rng)
    options = {"loss": "ste", "penalty": 0.1, "likelihood": "answers", "device": CPU(least_part=10)}
    maps = [ct.embed(answers, 2, **options, seed=0, n_threads=n).embedding for n in (1, 2)]
    np.testing.assert_array_equal(*maps)


def test_single_comparisons_are_fitted_alike_in_either_way(rng):
    answers = Comparisons.from_triplets([rng.choice(9, 3, replace=False) for _ in range(100)])
    results = [
        ct.embed(answers, 2, loss="ste", penalty=0, likelihood=likelihood, seed=0, epochs=3)
        for likelihood in ("auto", "answers", "comparisons")
    ]
    assert [result.settings.likelihood for result in results] == ["auto", "comparisons", "comparisons"]
    for result in results[1:]:
        np.testing.assert_array_equal(result.embedding, results[0].embedding)


def test_a_hinge_loss_is_summed_over_comparisons(rng):
    answers = some_answers(rng)
    result = ct.embed(answers, 2, loss="gnmds", penalty=0, likelihood="answers", seed=0, epochs=2)
    with CPU().objective(answers, result.loss) as objective:
        assert result.best_record.objective == pytest.approx(objective.at(result.embedding).value)


def test_auto_fits_comparisons():
    auto, comparisons = (
        ct.embed(some_answers(rng), 2, loss="ste", penalty=0, likelihood=likelihood, seed=0, epochs=2).embedding
        for likelihood, rng in (("auto", np.random.default_rng(1)), ("comparisons", np.random.default_rng(1)))
    )
    np.testing.assert_array_equal(auto, comparisons)


def test_a_solver_of_single_comparisons_cannot_fit_answers(rng):
    with pytest.raises(ValueError, match=r"likelihood is 'answers'; the solver Gram takes single comparisons only"):
        ct.embed(some_answers(rng), 2, loss="ste", penalty=0, solver="gram", likelihood="answers", seed=0, epochs=1)


def test_answers_that_are_read_in_blocks_can_only_be_fitted_as_comparisons(rng, tmp_path):
    answers = some_answers(rng)
    np.save(tmp_path / "rows.npy", answers.rows)
    mapped = Comparisons(np.load(tmp_path / "rows.npy", mmap_mode="r"), N_OBJECTS, answers=answers.answers)
    options = {"loss": "ste", "penalty": 0, "seed": 0, "epochs": 1, "device": CPU(1, stream_from=1)}
    with pytest.raises(ValueError, match=r"likelihood is 'answers'; the answers are on disk.* pass \"comparisons\""):
        ct.embed(mapped, 2, likelihood="answers", **options)
    assert ct.embed(mapped, 2, likelihood="comparisons", **options).embedding.shape == (N_OBJECTS, 2)


def test_an_unknown_likelihood_is_refused():
    with pytest.raises(ValueError, match="likelihood is 'luce'; it must be one of auto, answers, comparisons"):
        ct.Settings(likelihood="luce")


def test_settings_of_earlier_versions_were_fitted_to_comparisons():
    data = ct.Settings(loss="ste").to_data()
    del data["likelihood"]
    assert ct.Settings.from_data(data).likelihood == "comparisons"
