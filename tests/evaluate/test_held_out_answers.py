"""Whole answers that maps were fitted without: held-out error, cross-validation, facts and methods."""

import csv
import itertools

import numpy as np
import pytest

import closerthan as ct
from closerthan.evaluate.facts import facts
from closerthan.report.methods import methods_paragraph

QUICK = {"loss": "ste", "penalty": 0, "seed": 0, "epochs": 20}


@pytest.fixture(scope="module")
def study():
    """Noisy odd-one-out answers of twelve people about points in a plane."""
    rng = np.random.default_rng(0)
    x = 1.3 * rng.normal(size=(12, 2))
    rows = []
    for _ in range(1200):
        three = rng.permutation(12)[:3]
        pairs = list(itertools.combinations(three, 2))
        weights = np.exp([-((x[a] - x[b]) ** 2).sum() for a, b in pairs])
        a, b = pairs[rng.choice(3, p=weights / weights.sum())]
        odd = next(one for one in three if one not in (a, b))
        rows += [[a, b, odd], [b, a, odd]]
    people = np.repeat(np.arange(1200) % 12, 2)
    return ct.Comparisons.from_triplets(rows, answers=np.repeat(np.arange(1200), 2), people=people)


@pytest.mark.parametrize("by", ["answers", "people"])
def test_the_held_out_error_comes_with_the_accuracy_of_whole_answers(study, by):
    measured = ct.held_out_error(study, by=by, fraction=0.2, **QUICK)
    answers = measured.answers
    assert answers.n_answers == measured.n_answers
    assert 1 - 2 * measured.error < answers.accuracy < 1 - measured.error
    assert answers.low < answers.accuracy < answers.high
    assert answers.bits < answers.guessing_bits == pytest.approx(np.log2(3))
    assert measured.answer_calibration.n_answers == measured.n_answers
    assert "whole answers" in str(measured)


def test_without_several_comparisons_per_answer_nothing_is_repeated():
    measured = ct.held_out_error(ct.datasets.eurodist().comparisons(), **QUICK)
    assert (measured.answers, measured.answer_calibration) == (None, None)
    assert "whole" not in str(measured)
    assert ct.cross_validate(ct.datasets.eurodist().comparisons(), n_folds=2, **QUICK).answers is None


def test_cross_validation_counts_each_whole_answer_once(study):
    scores = ct.cross_validate(study, n_folds=3, n_repeats=2, **QUICK)
    assert scores.answers.n_answers == 1200
    assert scores.answers.chance == pytest.approx(1 / 3)
    assert 1 - 2 * scores.mean < scores.answers.accuracy < 1 - scores.mean
    assert "whole answers right" in repr(scores)


def test_divided_answers_are_not_counted_as_whole_ones(study):
    assert ct.cross_validate(study, n_folds=2, by="comparisons", **QUICK).answers is None


def test_tables_of_losses_and_dimensions_have_a_column_of_whole_answers(study, tmp_path):
    choice = ct.choose_dims(study, most=1, n_folds=2, n_repeats=1, by="answers", **QUICK)
    assert "answers" in choice.titles
    assert all(len(row) == len(choice.titles) for row in choice.table())
    assert "of whole answers are right" in choice.verdict
    choice.to_csv(tmp_path / "dims.csv")
    with open(tmp_path / "dims.csv", newline="") as file:
        (row,) = csv.DictReader(file)
    assert float(row["answer_accuracy"]) == pytest.approx(choice.scores[1].answers.accuracy, abs=1e-6)
    assert float(row["answer_accuracy_low"]) < float(row["answer_accuracy"]) < float(row["answer_accuracy_high"])


def test_the_report_names_the_unit_of_every_accuracy(study):
    train, test = study.split(0.2, np.random.default_rng(0))
    result = ct.embed(train, **QUICK)
    lines = {fact.name: fact for fact in facts(result, train, test)}
    assert "whole answers" in lines["Held-out accuracy"].note
    assert "chance is 33.3 %" in lines["Held-out accuracy"].note
    assert "33.3 % of whole answers right" in lines["Chance level"].note
    paragraph = methods_paragraph(result, train, list(lines.values()), test=test)
    assert "Counting whole answers instead of comparisons" in paragraph
    assert "chance level is 33.3 %" in paragraph


def test_the_calibration_of_whole_answers_is_saved_with_the_result(study, tmp_path):
    measured = ct.held_out_error(study, **QUICK)
    fitted = ct.embed(study, **QUICK)
    arrays = {**fitted.__dict__, "answer_calibration": measured.answer_calibration}
    ct.Result(**arrays).save(tmp_path / "fit.npz")
    assert ct.Result.load(tmp_path / "fit.npz").answer_calibration == measured.answer_calibration


def test_the_estimator_scores_whole_answers(study):
    model = ct.OrdinalEmbedding(loss="ste", penalty=0, random_state=0, max_iter=20).fit(study)
    assert model.score_answers(study).n_answers == 1200
    assert model.score_answers(study).accuracy < model.score(study)


@pytest.mark.parametrize("same", [True, False])
def test_one_person_or_equal_answers_are_measured_without_nonsense(same):
    rng = np.random.default_rng(0)
    triads = np.tile([[0, 1, 2]], (60, 1)) if same else np.array([rng.permutation(8)[:3] for _ in range(60)])
    rows = np.stack([triads, triads[:, [1, 0, 2]]], axis=1).reshape(-1, 3)
    answers = ct.Comparisons.from_triplets(rows, answers=np.repeat(np.arange(60), 2), people=[0] * 120)
    accuracy = ct.answer_accuracy(answers, rng.normal(size=(8, 2)))
    assert 0 <= accuracy.low <= accuracy.accuracy <= accuracy.high <= 1
    assert np.isfinite(accuracy.bits)
