"""Contradictions that every map gets wrong, and objects that no comparison links."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

import closerthan as ct
from closerthan.evaluate.diagnostics import connected_groups, least_error, mentions


def test_the_least_error_recognises_opposite_answers_however_pairs_are_written(problem):
    """Answers without contradictions, each given twice and reversed once: one in three is wrong on every map."""
    reverse = problem.train.rows[:, [0, 2, 1] if problem.train.rows.shape[1] == 3 else [3, 2, 1, 0]]
    rows = np.unique(np.concatenate([problem.train.rows, reverse]), axis=0)
    agreeing = rows[ct.metrics.margins(ct.Comparisons.of(rows), problem.points) > 0]
    opposite = agreeing[:, [0, 2, 1] if rows.shape[1] == 3 else [3, 2, 1, 0]]
    both = ct.Comparisons.of(np.concatenate([agreeing, agreeing, opposite]))
    assert least_error(both) == pytest.approx(1 / 3, abs=1e-12)


def test_the_least_error_is_reached_by_a_map_where_only_pairs_contradict(rng):
    """Answers that follow from points, a minority of them repeated the other way: the points get the rest right."""
    data = ct.datasets.synthetic(12, 3, 60, 1, seed=5)
    wrong = data.train.rows[:10, [0, 2, 1]]
    both = ct.Comparisons.from_triplets(np.concatenate([data.train.rows, data.train.rows, wrong]), n_objects=12)
    assert ct.triplet_error(both, data.points) == least_error(both) == 10 / 130
    assert all(ct.triplet_error(both, rng.standard_normal((12, 11))) >= 10 / 130 for _ in range(20))


def test_the_least_error_finds_contradictions_between_answers_about_different_sets_of_objects():
    rows = [[0, 1, 2], [0, 1, 3], [0, 2, 1], [0, 2, 4]]  # the first answer is also about 3, the second about 4
    assert least_error(ct.Comparisons.from_triplets(rows, answers=[1, 1, 2, 2])) == 1 / 4


def test_the_least_error_counts_the_minority_of_each_question():
    rows = [[0, 1, 2]] * 3 + [[0, 2, 1]] * 2 + [[1, 0, 2]] + [[3, 1, 0]]
    assert least_error(ct.Comparisons.from_triplets(rows)) == 2 / 7
    quadruplets = [[0, 1, 0, 2], [1, 0, 2, 0], [2, 0, 0, 1]]
    assert least_error(ct.Comparisons.from_quadruplets(quadruplets)) == 1 / 3


def test_the_least_error_depends_on_the_weights():
    answers = ct.Comparisons.from_triplets([[0, 1, 2], [0, 2, 1]], weights=[5.0, 3.0])
    assert least_error(answers) == 3 / 8


def test_answers_without_contradiction_have_none():
    assert least_error(ct.datasets.eurodist().comparisons()) == 0.0


def test_mentions_are_counted_once_a_comparison(answers):
    expected = [sum(number in row for row in answers.rows.tolist()) for number in range(answers.n_objects)]
    assert mentions(answers).tolist() == expected
    assert mentions(answers, 20).tolist() == expected + [0] * 8


def test_groups_are_objects_that_comparisons_link():
    blocks = [list(itertools.permutations(range(start, start + 3), 3)) for start in (0, 3, 6)]
    apart = ct.Comparisons.from_triplets(np.concatenate(blocks))
    assert connected_groups(apart) == 3
    linked = ct.Comparisons.from_triplets(np.concatenate([*blocks, [[0, 3, 6]]]))
    assert connected_groups(linked) == 1


@pytest.mark.parametrize(("n_contradicted", "expected"), [(7, False), (11, True)])
def test_contradictions_are_named_where_they_make_more_than_half_of_the_error(n_contradicted, expected):
    """A map on a line is wrong about 20 of 100 answers; some of these contradict others about the same question."""
    x = np.arange(300.0)[:, None]
    right = 3 * np.arange(100)[:, None] + np.array([0, 1, 2])
    rows = np.concatenate([right[: 100 - n_contradicted], right[:n_contradicted, [0, 2, 1]]])
    n_wrong = 20 - n_contradicted
    rows[50 : 50 + n_wrong] = right[50 : 50 + n_wrong, [0, 2, 1]]
    answers = ct.Comparisons.from_triplets(rows, n_objects=300, unmentioned="ignore")
    assert ct.triplet_error(answers, x) == 0.2
    assert least_error(answers) == n_contradicted / 100
    record = ct.history.Record(0, 0, 0.0, 1.0, 1.0, 1.0, 0.2, math.nan)
    result = dataclasses.replace(
        ct.embed(answers, 1, loss="ste", penalty=0, seed=0, epochs=1),
        embedding=x,
        history=ct.History([record]),
        best_epoch=0,
    )
    assert any("contradict" in line for line in ct.advice(answers, result)) == expected
