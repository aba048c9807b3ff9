"""Sparse dimensions: estimation, choice of the penalty, and reproducibility."""

import dataclasses

import numpy as np
import pytest

import closerthan as ct
from closerthan.comparisons import Choices
from closerthan.compiled.threads import WorkerPool
from closerthan.objective.dot_products import DotProducts, ShownPairs

BLOCKS = np.kron(np.eye(4), np.ones((10, 1))) * 2.0
"""40 objects in four groups, each of which has a dimension of its own."""


def odd_one_out(x, number, seed=0, **options):
    return ct.answers_from(x, number, similarity="dot", question="odd-one-out", temperature=1.0, seed=seed, **options)


@pytest.fixture(scope="module")
def answers():
    return odd_one_out(BLOCKS, 4000)


@pytest.fixture(scope="module")
def dimensions(answers):
    return ct.sparse_dimensions(answers, 8, n_refits=3)


def test_the_dimensions_behind_simulated_answers_are_found(answers, dimensions):
    _, correlations = ct.match_dimensions(BLOCKS, dimensions.weights)
    assert correlations.min() > 0.9
    assert dimensions.is_reproducible.sum() == 4
    best = ct.answer_accuracy(answers, BLOCKS, similarity="dot").accuracy
    assert dimensions.accuracy.accuracy == pytest.approx(best, abs=0.08)
    assert (dimensions.weights >= 0).all()
    assert (np.diff(dimensions.weights.sum(axis=0)) <= 0).all()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(answers):
    one, two = (ct.sparse_dimensions(answers, 6, n_refits=1, n_threads=number) for number in (1, 2))
    assert one.weights.tobytes() == two.weights.tobytes()
    assert one.correlations.tobytes() == two.correlations.tobytes()


def test_answers_by_chance_have_no_dimensions():
    chance = odd_one_out(np.zeros((20, 1)), 2000)
    result = ct.sparse_dimensions(chance, 5, n_refits=3)
    assert result.n_dims == 0
    assert "No dimension" in result.advice[0]


def test_a_penalty_that_leaves_no_dimension_is_named(answers):
    result = ct.sparse_dimensions(answers, 5, penalty=100.0)
    assert result.n_dims == 0
    assert result.advice == ["The penalty is so large that no dimension remains; pass penalty=50.0"]


@pytest.mark.slow
def test_answers_by_chance_have_no_reproducible_dimension_even_with_a_small_penalty():
    chance = odd_one_out(np.zeros((30, 1)), 1500)
    result = ct.sparse_dimensions(chance, 5, penalty=0.02, n_refits=5)
    assert result.n_dims > 0
    assert not result.is_reproducible.any()


@pytest.mark.slow
def test_a_larger_penalty_gives_a_smaller_sum_and_a_worse_fit(answers):
    fits = [
        ct.sparse_dimensions(answers, 6, n_refits=0, penalty=penalty, tolerance=1e-7) for penalty in (0.01, 0.05, 0.2)
    ]
    sums = [fit.weights.sum() for fit in fits]
    choices = Choices.of(answers)
    with WorkerPool(0) as pool:
        likelihood = DotProducts(ShownPairs.of(choices), pool)
        losses = [likelihood.at(fit.weights)[0] for fit in fits]
    assert sums == sorted(sums, reverse=True)
    assert losses == sorted(losses)


@pytest.mark.slow
def test_copies_of_the_same_answers_do_not_change_the_penalty_much(answers):
    rows, number = np.asarray(answers.rows), answers.n_answers
    few = 600
    first = rows[answers.answers < few]
    own = answers.answers[answers.answers < few]
    copies = ct.Comparisons.from_triplets(
        np.vstack([first] * 4), answers=np.concatenate([own + few * k for k in range(4)]), n_objects=answers.n_objects
    )
    once = ct.Comparisons.from_triplets(first, answers=own, n_objects=answers.n_objects)
    assert number > few
    one, four = (ct.sparse_dimensions(each, 6, n_refits=0) for each in (once, copies))
    # If copies of held-out answers were among the training answers, the smallest penalty would predict best.
    assert four.penalty > 0.3 * one.penalty
    assert four.accuracy.bits == pytest.approx(one.accuracy.bits, abs=0.25)


@pytest.mark.slow
def test_triplets_work_as_choices_between_two_pairs():
    triplets = ct.answers_from(BLOCKS, 6000, similarity="dot", temperature=1.0)
    result = ct.sparse_dimensions(triplets, 8, n_refits=0)
    _, correlations = ct.match_dimensions(BLOCKS, result.weights)
    assert correlations.min() > 0.9
    assert result.accuracy.noun == "comparison"


def test_weights_of_answers_count(answers):
    other = odd_one_out(BLOCKS[::-1], 4000, seed=1)
    rows = np.vstack([answers.rows, other.rows])
    numbers = np.concatenate([answers.answers, other.answers + answers.n_answers])
    weights = np.where(np.arange(len(rows)) < len(answers), 1.0, 1e-6)
    both = ct.Comparisons.from_triplets(rows, answers=numbers, weights=weights)
    result = ct.sparse_dimensions(both, 8, n_refits=0, penalty=0.05)
    assert ct.match_dimensions(BLOCKS, result.weights)[1].min() > 0.9


def test_a_saved_result_is_read_back(dimensions, tmp_path):
    dimensions.save(tmp_path / "dimensions.npz")
    again = ct.SparseDimensions.load(tmp_path / "dimensions.npz")
    assert repr(again) == repr(dimensions)
    for name in ("weights", "correlations"):
        assert np.array_equal(getattr(again, name), getattr(dimensions, name))
    assert again.settings == dimensions.settings
    assert again.candidates == dimensions.candidates


def test_a_file_of_another_kind_is_refused(tmp_path):
    np.savez(tmp_path / "other.npz", weights=np.ones((2, 2)))
    with pytest.raises(ValueError, match="is not a file of sparse dimensions"):
        ct.SparseDimensions.load(tmp_path / "other.npz")


def test_the_time_limit_keeps_the_dimensions_so_far(answers):
    result = ct.sparse_dimensions(answers, 6, time_limit=1e-6)
    assert result.stopped_by == "time_limit"
    assert result.n_refits == 0
    assert result.weights.shape[0] == 40


def test_a_search_that_was_cut_short_does_not_ask_for_more_answers():
    result = ct.sparse_dimensions(odd_one_out(np.zeros((20, 1)), 500), 5, time_limit=1e-6)
    assert result.n_dims == 0
    (sentence,) = result.advice
    assert sentence.startswith("The time limit was reached before a penalty was chosen")


def test_a_dimension_that_does_not_reappear_is_marked(dimensions):
    correlations = dimensions.correlations.copy()
    correlations[:, 0] = 0.5
    marked = dataclasses.replace(dimensions, correlations=correlations)
    assert not marked.is_reproducible[0]
    assert marked.rows()[0][0] == "1 ?"
    assert "did not reappear" in marked.advice[0]
    assert marked.reproducible().n_dims == dimensions.reproducible().n_dims - 1
    assert "<table>" in marked._repr_html_()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_dims": 41}, "n_dims is 41; it can be at most the number of objects, 40"),
        ({"penalty": -1.0}, "penalty is -1.0; it must be finite and not negative"),
        ({"held_out": 0.0}, "held_out is 0.0; it must be positive and at most 0.4"),
        ({"by": "people"}, "people"),
        ({"by": "comparisons"}, "unit of whole answers"),
        ({"by": "persons"}, "unit of whole answers: auto, answers, blocks or people$"),
        ({"n_refits": -1}, "n_refits"),
    ],
)
def test_bad_options_are_refused(answers, options, message):
    with pytest.raises(ValueError, match=message):
        ct.sparse_dimensions(answers, **options)


def test_too_few_answers_are_refused():
    with pytest.raises(ValueError, match="3 answers: too few"):
        ct.sparse_dimensions([[0, 1, 2], [1, 0, 2], [2, 1, 0]], 1)


def test_answers_that_cannot_be_held_out_are_refused(answers):
    with pytest.raises(ValueError, match="all answers belong to 1 question, too few for training"):
        ct.sparse_dimensions([[0, 1, 2], [0, 2, 1]] * 50, 1)
    people = np.zeros(len(answers), dtype=int)
    one = ct.Comparisons.from_triplets(answers.rows, answers=answers.answers, people=people)
    with pytest.raises(ValueError, match=r'the unit \'people\' divides the answers into 1.*choose by="answers"'):
        ct.sparse_dimensions(one, 3, by="people")
    weights = (answers.answers == 0).astype(float)
    with pytest.raises(ValueError, match="1 answer: too few"):
        ct.sparse_dimensions(ct.Comparisons.from_triplets(answers.rows, answers=answers.answers, weights=weights), 3)


@pytest.mark.parametrize("second", [np.full((5, 2), np.nan), np.ones(5)])
def test_only_tables_of_finite_numbers_are_matched(second):
    with pytest.raises(ValueError, match="second must be a table of finite numbers"):
        ct.match_dimensions(np.ones((5, 2)), second)
