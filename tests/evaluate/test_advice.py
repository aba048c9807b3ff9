"""Advice on what to try next: each piece has a reason in the answers."""

import numpy as np
import pytest

import closerthan as ct
from closerthan.evaluate.missing_dimension import missing_dimension


def says_dimensions(answers, n_dims, held_out=True, **settings):
    result = ct.embed(answers, n_dims, loss="soe", penalty=0, seed=0, **settings)
    measured = ct.held_out_error(answers, n_dims, loss="soe", penalty=0, seed=0) if held_out else None
    return any("a dimension may be missing" in line for line in ct.advice(answers, result, measured))


@pytest.mark.parametrize("held_out", [True, False])
def test_a_missing_dimension_is_reported_with_the_time_that_a_test_takes(held_out):
    points = np.random.default_rng(0).standard_normal((15, 3))
    answers = ct.datasets.simulated(points, 3_000, noise="ste", seed=0)
    assert says_dimensions(answers, 1, held_out)
    [line] = [
        line for line in ct.advice(answers, ct.embed(answers, 1, loss="soe", penalty=0, seed=0)) if "dimension" in line
    ]
    assert "find out by cross-validation, which takes about " in line
    assert "second" in line


def test_three_answers_say_nothing_about_dimensions():
    answers = ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 3], [0, 2, 1]])
    assert not says_dimensions(answers, 2, held_out=False)


def test_answers_that_are_all_alike_are_not_called_too_few():
    answers = ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]] * 30, answers=np.arange(60) // 2)
    (line,) = ct.advice(answers, ct.embed(answers, 1, loss="ste", penalty=0, seed=0), None)
    assert line.startswith("all answers are about the same objects")


def test_few_noisy_answers_say_nothing_about_dimensions():
    points = np.random.default_rng(0).standard_normal((30, 2))
    assert not says_dimensions(ct.datasets.simulated(points, 600, noise="flip", level=0.3, seed=0), 2)


def test_a_good_map_needs_no_further_dimension():
    points = np.random.default_rng(0).standard_normal((15, 2))
    assert not says_dimensions(ct.datasets.simulated(points, 3_000, noise="ste", seed=0), 2)


@pytest.mark.slow
def test_noise_alone_seldom_looks_like_a_missing_dimension():
    """The right number of dimensions, lapses and reversed answers: a p value below 1 % in about 1 % of the cases."""
    p_values = []
    for seed in range(30):
        points = np.random.default_rng(seed).standard_normal((15, 1 + seed % 2))
        answers = ct.datasets.simulated(points, 800, noise="flip", level=0.2, seed=seed)
        result = ct.embed(answers, points.shape[1], loss="soe", penalty=0, seed=0)
        p_values.append(missing_dimension(answers, result.embedding, result.loss))
    assert np.sum(np.array(p_values) < 0.01) <= 2


def test_guesses_do_not_ask_for_more_dimensions():
    rng = np.random.default_rng(0)
    guesses = ct.Comparisons(np.array([rng.permutation(10)[:3] for _ in range(2_000)]), 10)
    assert not says_dimensions(guesses, 2)


def test_more_answers_about_the_same_three_objects_are_no_remedy():
    answers = ct.Comparisons.from_triplets([[0, 1, 2]] * 50)
    [line] = ct.advice(answers, ct.embed(answers, loss="soe", penalty=0, seed=0))
    assert "ask about more objects" in line
