"""Linear maps: gradients, losses of dot products and cosines, and recovery of a known map."""

import numpy as np
import pytest

import closerthan as ct
from closerthan.accuracy import log_probabilities, pair_similarities
from closerthan.comparisons import Choices
from closerthan.losses import loss_named
from closerthan.models.linear_map import LinearMapObjective, MapSettings, fitted_map, loss_of_positions

QUESTIONS = ("triplet", "quadruplet", "odd-one-out", "most-central", "nearest of 4", "rank 2 of 4")


@pytest.fixture
def features():
    return np.random.default_rng(0).normal(size=(12, 4))


def slopes(function, x, step=1e-6):
    """Central differences of a function of a matrix."""
    slopes = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        move = np.zeros_like(x)
        move[place] = step
        slopes[place] = (function(x + move) - function(x - move)) / (2 * step)
    return slopes


@pytest.mark.parametrize(
    ("similarity", "loss"), [("dot", "ste"), ("cosine", "ste"), ("euclidean", "ste"), ("euclidean", "soe")]
)
def test_gradients_are_those_of_finite_differences(features, similarity, loss):
    answers = ct.answers_from(features, 40, similarity="euclidean", question="odd-one-out", temperature=1.0)
    target = np.eye(4, 2)
    weights = np.random.default_rng(1).normal(size=(4, 2))
    with loss_of_positions(answers, similarity, loss_named(loss).in_dims(2)) as evaluate:
        objective = LinearMapObjective(features, evaluate, 0.3, target)
        expected = slopes(lambda x: objective.at(x).value, weights)
        assert np.allclose(objective.at(weights).gradient, expected, rtol=1e-4, atol=1e-7)


def loss_at(positions, answers, similarity):
    """Return the mean loss of the answers and its gradient."""
    with loss_of_positions(answers, similarity, loss_named("ste")) as evaluate:
        return evaluate(positions)


@pytest.mark.parametrize("similarity", ["dot", "euclidean"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_loss_is_minus_the_log_probability_of_whole_answers(features, question, similarity):
    answers = ct.answers_from(features, 40, similarity=similarity, question=question, temperature=1.0)
    choices = Choices.of(answers)
    logs = log_probabilities(choices, pair_similarities(choices, features, similarity))
    assert loss_at(features, answers, similarity)[0] == pytest.approx(-logs.mean())


def test_weights_of_answers_multiply_their_losses(features):
    answers = ct.answers_from(features, 40, similarity="dot", question="odd-one-out", temperature=1.0)
    weighted = loss_at(features, answers.weighted(np.where(answers.answers < 10, 2.0, 0.0)), "dot")
    some = loss_at(features, answers.take(answers.answers < 10), "dot")
    assert weighted[0] == pytest.approx(some[0])
    assert np.allclose(weighted[1], some[1])


@pytest.mark.parametrize("similarity", ["euclidean", "cosine", "dot"])
def test_a_known_linear_map_is_recovered(similarity):
    rng = np.random.default_rng(2)
    features = rng.normal(size=(60, 6))
    truth = rng.normal(size=(6, 2)) * 1.5
    answers = ct.answers_from(
        features @ truth, 8000, similarity=similarity, question="odd-one-out", temperature=0.3, seed=1
    )
    settings = MapSettings(2, similarity, loss_named("ste"), "zero", strength=1e-5)
    found = fitted_map(features, answers, settings).weights
    metric, expected = (weights @ weights.T for weights in (found, truth))
    assert np.corrcoef(metric.ravel(), expected.ravel())[0, 1] > 0.98


def test_an_infinite_strength_keeps_all_similarities(features):
    answers = ct.datasets.simulated(features, 300, noise="flip", level=0.2, seed=0)
    linear = fitted_map(features, answers, MapSettings(None, "euclidean", loss_named("ste"), strength=np.inf))
    ratio = np.linalg.norm(np.diff(linear(features), axis=0), axis=1) / np.linalg.norm(
        np.diff(features, axis=0), axis=1
    )
    assert np.allclose(ratio, ratio[0])


def test_more_features_than_objects_give_a_map_of_all_features(features):
    wide = np.hstack([features, np.random.default_rng(3).normal(size=(12, 300))])
    answers = ct.datasets.simulated(features, 300, noise="flip", level=0.2, seed=0)
    linear = fitted_map(wide, answers, MapSettings(3, "euclidean", loss_named("ste"), strength=0.1))
    assert linear.weights.shape == (304, 3)
    assert np.isfinite(linear(wide)).all()
