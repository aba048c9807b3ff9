import dataclasses
import itertools

import numpy as np
import pytest

import closerthan as ct
from closerthan.accuracy import log_probabilities, pair_similarities
from closerthan.comparisons import Choices, Comparisons
from closerthan.history import History
from closerthan.uncertainty.drawn_answers import AnswersToDraw

X = np.random.default_rng(1).standard_normal((5, 2))
QUESTIONS = {
    "odd one out of three": [(0, 1, 2), (1, 0, 2)],
    "most central of three": [(0, 2, 1), (1, 2, 0)],
    "nearest of four": [(0, 1, 2), (0, 1, 3), (0, 1, 4)],
    "two nearest of four": [(0, near, far) for near in (1, 2) for far in (3, 4)],
    "ranking of two of four": [(0, 1, 2), (0, 1, 3), (0, 1, 4), (0, 2, 3), (0, 2, 4)],
    "odd one out of four": [(a, b, 4) for a, b in itertools.permutations((0, 1, 2), 2)],
}


def on_map(rows, n_answers, lapse=0.0):
    answers = Comparisons.from_triplets(rows * n_answers, answers=np.repeat(np.arange(n_answers), len(rows)),
                                        n_objects=5, unmentioned="ignore")  # fmt: skip
    result = ct.Result(X, History(()), "solver", 0, settings=ct.Settings(loss="ste"))
    return AnswersToDraw.on_map(result, answers, slope=1.0, lapse=lapse)


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_of_every_kind_are_drawn_with_the_probabilities_of_the_choice_rule(name):
    n_answers = 4000
    drawn = on_map(QUESTIONS[name], n_answers).drawn(np.random.default_rng(0))
    assert drawn.n_answers == n_answers
    choices = Choices.of(drawn)
    probability = np.exp(log_probabilities(choices, pair_similarities(choices, X)))
    values, counts = np.unique(probability.round(12), return_counts=True)
    assert len(values) > 2
    np.testing.assert_allclose(counts / n_answers, values, atol=4 * 0.5 / np.sqrt(n_answers))


@pytest.mark.parametrize("name", QUESTIONS)
def test_comparisons_are_guessed_as_often_as_required(name):
    """Without lapses, a clear answer implies no wrong comparison, except for the odd one of more than three objects."""
    answers = on_map(QUESTIONS[name], 8000, lapse=0.2)
    clear = dataclasses.replace(answers, scores=answers.scores * 1000)
    error, without_lapses = (
        ct.triplet_error(one.drawn(np.random.default_rng(0)), X) for one in (clear, dataclasses.replace(clear, lapse=0))
    )
    assert error == pytest.approx(0.2 * 0.5 + 0.8 * without_lapses, abs=0.015)
