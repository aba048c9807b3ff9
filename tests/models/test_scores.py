"""Scores of features: accuracy of whole answers, by model."""

import csv

import numpy as np
import pytest

import closerthan as ct


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(20, 3))


def test_the_accuracy_is_that_of_whole_answers(points):
    answers = ct.answers_from(points, 300, similarity="euclidean", question="odd-one-out", temperature=1.0)
    scores = ct.score_features({"all": points, "one": points[:, :1]}, answers, similarity="euclidean")
    expected = ct.answer_accuracy(answers, points, similarity="euclidean")
    assert scores["all"].accuracy == expected.accuracy
    assert scores["all"].bits == pytest.approx(expected.bits)
    assert scores["all"].chance == pytest.approx(1 / 3)
    assert scores["one"].accuracy < scores["all"].accuracy


def test_features_that_cannot_decide_any_question_have_the_bits_of_guessing():
    rng = np.random.default_rng(0)
    group = np.arange(30) % 3
    features = rng.normal(size=(3, 5))[group] * rng.uniform(0.5, 3.0, (30, 1))
    rows = np.array([rng.choice(30, 3, replace=False) for _ in range(600)])
    ties = rows[group[rows[:, 1]] == group[rows[:, 2]]]
    score = ct.score_features(features, ties)["features"]
    assert (score.accuracy, score.bits) == (0.5, pytest.approx(1.0))


def test_a_matrix_scores_like_the_features_that_it_is_made_from(points):
    answers = ct.datasets.simulated(points, 500, noise="flip")
    matrix = np.linalg.norm(points[:, None] - points, axis=2)
    one = ct.score_features(points, answers, similarity="euclidean")
    two = ct.score_features(matrix, answers, similarity="dissimilarities")
    assert one["features"].accuracy == two["features"].accuracy


def test_answers_about_objects_without_features_are_left_out_and_counted(points):
    names = [f"n{number}" for number in range(20)]
    answers = ct.datasets.simulated(points, 500, names=names)
    scores = ct.score_features(points[:15], answers, similarity="euclidean", names=names[:15])
    outside = int((answers.rows >= 15).any(axis=1).sum())
    assert scores.n_left_out == {"features": outside}
    assert scores["features"].n_answers == 500 - outside
    assert scores["features"].accuracy == 1.0


def test_answers_about_gaps_in_a_matrix_are_left_out_and_counted(points):
    matrix = np.linalg.norm(points[:, None] - points, axis=2)
    matrix[0, 1] = matrix[1, 0] = np.nan
    answers = ct.Comparisons.from_triplets([[0, 1, 2], [2, 3, 4], [2, 4, 3]])
    scores = ct.score_features({"m": matrix}, answers, similarity="dissimilarities")
    assert "m: 1 answer about pairs of objects that are not in the matrix left out." in scores.remarks


def test_repeated_questions_give_a_ceiling(points):
    once = ct.datasets.simulated(points, 100)
    rows = np.tile(once.rows, (5, 1))
    flipped = np.random.default_rng(0).random(500) < 0.2
    rows[flipped] = rows[flipped][:, [0, 2, 1]]
    scores = ct.score_features(points, rows, similarity="euclidean")
    (ceiling,) = scores.ceilings
    assert ceiling.best_accuracy.low - 0.05 < scores["features"].accuracy < ceiling.best_accuracy.high + 0.05
    texts = [text.get_text() for text in scores.plot().axes[0].get_legend().get_texts()]
    assert len(texts) == 2


def test_scores_are_written_and_shown(points, tmp_path):
    scores = ct.score_features({"a_$b": points, "c": points[:, :2]}, ct.datasets.simulated(points, 200))
    scores.to_csv(tmp_path / "scores.csv")
    with open(tmp_path / "scores.csv", newline="") as file:
        assert [row["model"] for row in csv.DictReader(file)] == ["a_$b", "c"]
    assert "<table>" in scores._repr_html_()
    assert [label.get_text() for label in scores.plot().axes[0].get_yticklabels()] == ["a_$b", "c"]
    assert repr(scores).startswith("FeatureScores(2 models, cosine: ")


@pytest.mark.parametrize(
    ("missing", "is_remarked"), [(((), ()), False), (((), (19,)), True), (((2,), (19,)), True), (((18,), (19,)), False)]
)
def test_a_remark_says_if_models_were_scored_on_different_answers(points, missing, is_remarked):
    answers = ct.Comparisons.from_triplets([[0, 1, 2], [3, 4, 5], [0, 18, 19]], unmentioned="ignore")
    matrix = -np.linalg.norm(points[:, None] - points, axis=2)
    models = {}
    for number, objects in enumerate(missing):
        models[f"m{number}"] = model = matrix.copy()
        model[list(objects)] = model[:, list(objects)] = np.nan
    remarks = ct.score_features(models, answers, similarity="similarities").remarks
    assert any("not scored on the same answers" in remark for remark in remarks) == is_remarked


def test_no_model_and_no_known_object_are_errors(points):
    answers = ct.Comparisons.from_triplets([["a", "b", "c"]])
    with pytest.raises(ValueError, match="features is empty"):
        ct.score_features({}, answers)
    with pytest.raises(ValueError, match="the answers are about a, b, c, and the features about 0, 1, 2"):
        ct.score_features(points, answers, names=[str(number) for number in range(20)])
