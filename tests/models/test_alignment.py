"""Alignment of features with answers: what it predicts, what it claims, and how it is shown."""

import csv
import dataclasses

import numpy as np
import pytest

import closerthan as ct
from closerthan.comparisons import Choices
from closerthan.models.alignment import variance_over_objects


@pytest.fixture(scope="module")
def features():
    return np.random.default_rng(0).normal(size=(40, 5))


@pytest.fixture(scope="module")
def answers(features):
    return ct.answers_from(
        features[:, :2] * [3.0, 2.0], 1500, similarity="euclidean", question="odd-one-out", temperature=0.5
    )


@pytest.fixture(scope="module")
def aligned(features, answers):
    return ct.align(features, answers, similarity="euclidean", n_folds=4)


def test_features_that_people_ignore_lose_their_weight(aligned):
    size = np.linalg.norm(aligned.weights, axis=1)
    assert size[:2].min() > 5 * size[2:].max()


def test_answers_about_new_objects_are_predicted(aligned):
    assert aligned.new_objects.is_better
    assert aligned.new_answers.is_better
    assert aligned.new_objects.aligned.accuracy > aligned.new_objects.unchanged.accuracy + 0.05
    assert "better than the unchanged features" in aligned.new_objects.verdict


def test_objects_without_answers_get_positions(features, answers):
    known = answers.take((answers.rows < 30).all(axis=1))
    names = [f"n{number}" for number in range(40)]
    found = ct.align(features, known.replace(names=tuple(names)), similarity="euclidean", names=names, n_folds=0)
    about_others = answers.take((answers.rows >= 30).any(axis=1))
    before = ct.answer_accuracy(about_others, features).accuracy
    assert ct.answer_accuracy(about_others, found.embedding).accuracy > before + 0.05
    assert np.allclose(found.transform(features), found.embedding)


def test_features_of_chance_claim_nothing_about_new_objects(features, answers):
    noise = np.random.default_rng(5).normal(size=(40, 50))
    found = ct.align(noise, answers, similarity="euclidean", n_folds=4)
    assert not found.new_objects.is_better


def test_the_number_of_threads_does_not_change_anything(features, answers, aligned):
    again = ct.align(features, answers, similarity="euclidean", n_folds=4, n_threads=1)
    assert np.array_equal(again.weights, aligned.weights)
    assert again.new_objects == aligned.new_objects


@pytest.mark.parametrize("hold_out", ["answers", "objects"])
@pytest.mark.parametrize("towards", ["identity", "zero"])
def test_each_penalty_improves_on_the_features(features, answers, hold_out, towards):
    found = ct.align(features, answers, similarity="euclidean", towards=towards, hold_out=hold_out, n_folds=0)
    assert found.towards == towards
    assert {one for one, _ in found.candidates} == {towards}
    assert ct.answer_accuracy(answers, found.embedding).accuracy > ct.answer_accuracy(answers, features).accuracy + 0.05


def test_answers_about_objects_without_features_are_left_out_and_counted(features, answers):
    names = [f"n{number}" for number in range(40)]
    named = answers.replace(names=tuple(names))
    found = ct.align(features[:30], named, names=names[:30], n_folds=0)
    outside = len(np.unique(answers.answers[(answers.rows >= 30).any(axis=1)]))
    assert found.n_left_out == outside


def test_the_variance_over_objects_covers_that_of_new_objects():
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(30)[:3] for _ in range(2000)])
    choices = Choices.of(ct.Comparisons.from_triplets(rows))
    effects = rng.normal(size=(300, 30))
    means = [one[rows].mean() for one in effects]
    estimates = [
        variance_over_objects(choices, one[rows].mean(axis=1)) * np.var(one[rows].mean(axis=1)) / 2000
        for one in effects
    ]
    assert 0.7 < np.mean(estimates) / np.var(means) < 1.5


def test_it_is_saved_shown_and_drawn(aligned, tmp_path):
    aligned.save(tmp_path / "map.npz")
    with np.load(tmp_path / "map.npz") as saved:
        assert np.array_equal(saved["weights"], aligned.weights)
    assert "new objects" in repr(aligned)
    assert "<table>" in aligned._repr_html_()
    scores = ct.AlignedScores({"a_$b": aligned, "c": aligned})
    scores.to_csv(tmp_path / "aligned.csv")
    with open(tmp_path / "aligned.csv", newline="") as file:
        assert [(row["model"], row["held_out"]) for row in csv.DictReader(file)] == [
            (model, kind) for model in ("a_$b", "c") for kind in ("new answers", "new objects")
        ]
    axes = scores.plot().axes[0]
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts[:3] == ["unchanged features", "aligned, new answers", "aligned, new objects"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a_$b", "c"]


def test_scores_say_that_new_objects_were_not_measured():
    points = np.random.default_rng(0).normal(size=(5, 2))
    aligned = ct.align(points, ct.answers_from(points, 30), strength=1.0, n_folds=2)
    assert "m, new objects: not measured" in " ".join(ct.AlignedScores({"m": aligned}).remarks)


@pytest.mark.parametrize("other", [0, 1])
def test_scores_say_if_models_were_aligned_with_different_answers(aligned, other):
    one, two = (dataclasses.replace(aligned, left_out=np.arange(1500) == number) for number in (0, other))
    remarks = ct.AlignedScores({"one": one, "two": two}).remarks
    assert any("not scored on the same answers" in remark for remark in remarks) == (other != 0)


def test_scores_need_alignments_with_an_accuracy():
    points = np.random.default_rng(0).normal(size=(5, 2))
    aligned = ct.align(points, ct.answers_from(points, 30), strength=1.0, n_folds=0)
    with pytest.raises(ValueError, match="no alignment has an accuracy"):
        ct.AlignedScores({"m": aligned})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"similarity": "taxi"}, "similarity is 'taxi'; it must be one of euclidean, dot, cosine"),
        ({"towards": "one"}, "towards is 'one'; it must be one of auto, identity, zero"),
        ({"hold_out": "people"}, "hold_out is 'people'; it must be one of answers, objects"),
        ({"similarity": "dot", "loss": "soe"}, "it must be ste"),
        ({"strength": -1.0}, "strength is -1.0; it must be positive"),
        ({"rank": 9}, "rank is 9; only 5 features of the objects in the answers are independent"),
        ({"n_folds": 1}, "n_folds is 1; it must be 0 or at least 2"),
        ({"names": ["a"]}, "there must be one for each of 40 objects"),
    ],
)
def test_errors_name_the_parameter(features, answers, options, message):
    with pytest.raises(ValueError, match=message):
        ct.align(features, answers, **options)


def test_features_without_numbers_or_differences_are_errors(features, answers):
    with pytest.raises(ValueError, match="finite numbers"):
        ct.align(np.where(features > 2, np.nan, features), answers)
    with pytest.raises(ValueError, match="all features are the same"):
        ct.align(np.ones((40, 2)), answers, similarity="euclidean")
    with pytest.raises(ValueError, match="must have 5 columns"):
        ct.align(features, answers, n_folds=0, strength=1.0).transform(features[:, :3])


def test_new_objects_are_placed_on_an_alignment():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(25, 3))
    answers = ct.answers_from(features, 1500, similarity="euclidean")
    is_old = (answers.rows < 20).all(axis=1)
    old, about_new = answers.rows[is_old], answers.rows[~is_old]
    aligned = ct.align(features[:20], old, similarity="euclidean", strength=0.01, towards="identity", n_folds=0)
    placed = ct.place(about_new, aligned, features=features)
    assert placed.places.shape == (5, 3)
    assert ct.triplet_error(about_new, placed.embedding) < 0.1
    by_cosine = ct.align(features[:20], old, strength=0.01, towards="identity", n_folds=0)
    with pytest.raises(ValueError, match="predict answers by cosine, but new objects are placed by distance"):
        ct.place(about_new, by_cosine, features=features)
