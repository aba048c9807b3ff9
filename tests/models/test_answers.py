"""Answers from features and matrices, for every kind of question and similarity."""

import numpy as np
import pytest

import closerthan as ct
from closerthan.comparisons import Choices
from closerthan.models.answers import MEASURES

QUESTIONS = ("triplet", "quadruplet", "odd-one-out", "most-central", "nearest of 4", "nearest 2 of 5", "rank 2 of 5",
             "rank of 4")  # fmt: skip
COMPARISONS = {"triplet": 1, "quadruplet": 1, "odd-one-out": 2, "most-central": 2, "nearest of 4": 3,
               "nearest 2 of 5": 6, "rank 2 of 5": 7, "rank of 4": 6}  # fmt: skip


@pytest.fixture
def features():
    return np.random.default_rng(0).normal(size=(25, 4))


def model_for(similarity, features):
    """Features, or a matrix of the given kind."""
    products = features @ features.T
    if similarity == "dissimilarities":
        return np.linalg.norm(features[:, None] - features, axis=2)
    return products if similarity == "similarities" else features


@pytest.mark.parametrize("similarity", MEASURES)
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_answer_is_the_one_that_the_similarity_gives(features, question, similarity):
    answers = ct.answers_from(model_for(similarity, features), 200, similarity=similarity, question=question)
    assert answers.n_answers == 200
    assert len(answers) == 200 * COMPARISONS[question]
    of_features = {"similarities": "dot", "dissimilarities": "euclidean"}.get(similarity, similarity)
    assert ct.answer_accuracy(answers, features, similarity=of_features).accuracy == 1.0


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_questions_of_people_are_answered_in_their_order(features, question):
    people = ct.answers_from(features, 100, question=question, seed=1)
    same = ct.answers_from(features, people)
    choices, others = Choices.of(people), Choices.of(same)
    np.testing.assert_array_equal(choices.pairs, others.pairs)
    np.testing.assert_array_equal(choices.starts, others.starts)
    other_model = ct.answers_from(np.random.default_rng(5).normal(size=(25, 4)), people)
    assert other_model.n_answers == 100
    shown = [
        [frozenset(row.ravel().tolist()) for row in np.split(one.rows, np.flatnonzero(np.diff(number)) + 1)]
        for one in (people, other_model)
        for number in [np.arange(len(one)) if one.answers is None else one.answers]
    ]
    assert shown[0] == shown[1]


def test_files_of_several_kinds_of_questions_are_answered(features):
    triplets = ct.answers_from(features, 50)
    odd = ct.answers_from(features, 50, question="odd-one-out")
    rows = np.concatenate([triplets.rows, odd.rows])
    mixed = ct.Comparisons.from_triplets(rows, answers=np.concatenate([np.arange(50), 50 + odd.answers]))
    assert (
        ct.answer_accuracy(ct.answers_from(features, mixed, similarity="dot"), features, similarity="dot").accuracy
        == 1.0
    )


def test_drawn_answers_follow_luces_rule():
    matrix = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, -1.0], [0.0, -1.0, 0.0]])
    people = ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]] * 20_000, answers=np.repeat(np.arange(20_000), 2))
    drawn = ct.answers_from(matrix, people, similarity="similarities", temperature=0.5)
    chosen = Choices.of(drawn)
    pairs = chosen.pairs[chosen.starts[:-1]]
    share = [np.mean((pairs == pair).all(axis=1)) for pair in ([0, 1], [0, 2], [1, 2])]
    weights = np.exp(np.array([1.0, 0.0, -1.0]) / 0.5)
    np.testing.assert_allclose(share, weights / weights.sum(), atol=0.015)


def test_ties_and_gaps_are_left_out_and_counted():
    matrix = np.array([[0, 1, 1, 2.0], [1, 0, 3, np.nan], [1, 3, 0, 4], [2, np.nan, 4, 0]])
    people = ct.Comparisons.from_triplets([[0, 1, 2], [0, 1, 3], [1, 0, 3], [2, 0, 1]])
    made = ct.answers_from(matrix, people, similarity="dissimilarities")
    assert made.rows.tolist() == [[0, 1, 3], [2, 0, 1]]
    assert made.dropped == {"ties": 1, "gaps": 1}


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean", "similarities", "dissimilarities"])
def test_rounding_errors_hide_no_ties(similarity):
    rng = np.random.default_rng(0)
    group = np.arange(12) % 3  # objects of a group are equally similar to any object of another one
    lengths = rng.uniform(0.5, 3.0, (12, 1)) if similarity == "cosine" else 1.0
    features = rng.normal(size=(3, 5))[group] * lengths
    if similarity in ("similarities", "dissimilarities"):
        features = model_for(similarity, features) * (1 + 1e-15 * rng.normal(size=(12, 12)))
        features = (features + features.T) / 2
    people = ct.Comparisons.from_triplets([[0, 1, 4], [0, 1, 2], [5, 0, 3], [5, 0, 4]])
    made = ct.answers_from(features, people, similarity=similarity)
    assert made.dropped == {"ties": 2}


def test_steps_of_a_grid_are_ties():
    made = ct.answers_from(np.arange(10)[:, None] * 0.1, 500, similarity="euclidean")
    anchor, near, far = made.rows.T
    assert (abs(anchor - near) < abs(anchor - far)).all()


def test_random_questions_avoid_gaps():
    rng = np.random.default_rng(0)
    matrix = np.abs(rng.normal(size=(12, 12)))
    matrix += matrix.T
    gaps = np.triu(rng.random((12, 12)) < 0.5, 1)
    matrix[gaps | gaps.T] = np.nan
    made = ct.answers_from(matrix, 300, similarity="dissimilarities")
    assert made.n_answers == 300
    assert made.dropped == {}


def test_one_half_of_a_matrix_fills_the_gaps_of_the_other():
    full = np.abs(np.random.default_rng(0).normal(size=(8, 8)))
    full += full.T
    half = np.where(np.triu(np.ones((8, 8))) > 0, full, np.nan)
    one, two = (ct.answers_from(model, 100, similarity="dissimilarities") for model in (full, half))
    np.testing.assert_array_equal(one.rows, two.rows)


def test_objects_are_matched_by_name(features):
    people = ct.Comparisons.from_triplets([["ant", "bee", "cat"], ["dog", "ant", "cat"]])
    order = ["dog", "cat", "bee", "ant"]
    made = ct.answers_from(features[:4], people, names=order)
    by_hand = ct.answers_from(features[[3, 2, 1, 0]], people)
    assert made.names == people.names
    np.testing.assert_array_equal(made.rows, by_hand.rows)


def test_a_map_of_the_answers_recovers_the_distances():
    cities = ct.datasets.eurodist()
    made = ct.answers_from(cities.table, 3000, similarity="dissimilarities", names=cities.names)
    result = ct.embed(made, n_dims=2, loss="soe", penalty=0, seed=0)
    assert ct.triplet_error(cities.comparisons(), result.embedding) < 0.06


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (np.eye(4), {"similarity": "manhattan"}, "similarity is 'manhattan'; choose from: cosine"),
        (np.ones((4, 2)), {}, "the model can answer none of the questions"),
        (np.ones((4, 3)), {"similarity": "similarities"}, "square"),
        (np.arange(16.0).reshape(4, 4), {"similarity": "similarities"}, r"it must be symmetric; average both halves"),
        ([[1.0, np.nan]] * 4, {}, "has nan in row 0"),
        (np.eye(4), {"question": "best of 3"}, "choose from: triplet, quadruplet"),
        (np.eye(4), {"question": "nearest 3 of 3"}, "fewer objects must be chosen than shown"),
        (np.eye(4), {"question": "nearest of 8"}, "it is about 9 objects, but there are 4"),
        (np.eye(4), {"temperature": 0.0}, "temperature is 0.0"),
        (np.eye(4), {"names": ["a", "b"]}, "one for each of 4 objects"),
    ],
)
def test_errors_say_what_to_do(model, options, message):
    with pytest.raises(ValueError, match=message):
        ct.answers_from(model, 20, **options)


def test_too_few_rows_for_the_answers_are_an_error():
    with pytest.raises(ValueError, match="has 3 rows; the answers are about 5 objects"):
        ct.answers_from(np.eye(3), ct.Comparisons.from_triplets([[0, 1, 4], [2, 3, 4]]))
