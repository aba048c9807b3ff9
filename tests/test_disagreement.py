"""What no map can get right, and what no comparison links."""

import itertools

import numpy as np

import closerthan as ct
from closerthan.evaluate.connection import groups, mentions
from closerthan.evaluate.disagreement import least_error


def test_no_map_is_better_than_the_least_error(answers, rng):
    least = least_error(answers)
    assert all(ct.triplet_error(answers, rng.standard_normal((12, 11))) >= least for _ in range(50))


def test_the_least_error_counts_the_minority_of_each_question():
    rows = [[0, 1, 2]] * 3 + [[0, 2, 1]] * 2 + [[1, 0, 2]] + [[3, 1, 0]]
    assert least_error(ct.Comparisons.from_triplets(rows)) == 2 / 7
    quadruplets = [[0, 1, 0, 2], [1, 0, 2, 0], [2, 0, 0, 1]]
    assert least_error(ct.Comparisons.from_quadruplets(quadruplets)) == 1 / 3


def test_the_least_error_goes_by_weight():
    answers = ct.Comparisons.from_triplets([[0, 1, 2], [0, 2, 1]], weights=[3.0, 1.0])
    assert least_error(answers) == 0.25


def test_answers_without_contradiction_have_none():
    assert least_error(ct.datasets.eurodist().comparisons()) == 0.0


def test_mentions_are_counted_once_a_comparison(answers):
    expected = [sum(number in row for row in answers.rows.tolist()) for number in range(answers.n_objects)]
    assert mentions(answers).tolist() == expected
    assert mentions(answers, 20).tolist() == expected + [0] * 8


def test_groups_are_what_comparisons_link():
    blocks = [list(itertools.permutations(range(start, start + 3), 3)) for start in (0, 3, 6)]
    apart = ct.Comparisons.from_triplets(np.concatenate(blocks))
    assert groups(apart) == 3
    linked = ct.Comparisons.from_triplets(np.concatenate([*blocks, [[0, 3, 6]]]))
    assert groups(linked) == 1
