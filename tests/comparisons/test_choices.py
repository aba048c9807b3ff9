"""Choices: whole answers put together again from their comparisons."""

import itertools

import numpy as np
import pytest

from closerthan.comparisons import Choices, Comparisons, Trials


def pairs_by_choice(choices: Choices) -> list[list[list[int]]]:
    return [choices.pairs[begin:end].tolist() for begin, end in itertools.pairwise(choices.starts)]


def choices_of(rows: list[list[int]], answers: list[int] | None = None, **columns: object) -> Choices:
    kind = Comparisons.from_triplets if len(rows[0]) == 3 else Comparisons.from_quadruplets
    return Choices.of(kind(rows, answers=answers, unmentioned="ignore", **columns))


KINDS = {
    "two alternatives": ([[0, 1, 2]], 1, [[[0, 1], [0, 2]]], 1),
    "quadruplet": ([[0, 1, 2, 3]], 1, [[[0, 1], [2, 3]]], 1),
    "odd one out": ([[0, 1, 2], [1, 0, 2]], 1, [[[0, 1], [0, 2], [1, 2]]], 1),
    "most central": ([[0, 2, 1], [1, 2, 0]], 1, [[[0, 1], [0, 2], [1, 2]]], -1),
    "nearest of four": ([[0, 3, 1], [0, 3, 2], [0, 3, 4]], 1, [[[0, 3], [0, 1], [0, 2], [0, 4]]], 1),
    "rank 2 of 3": ([[0, 1, 2], [0, 1, 3], [0, 2, 3]], 2, [[[0, 1], [0, 2], [0, 3]], [[0, 2], [0, 3]]], 1),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_of_question_follows_from_the_comparisons(kind):
    rows, n_choices, pairs, sign = KINDS[kind]
    choices = choices_of(rows, [7] * len(rows))
    assert (choices.n_answers, choices.n_choices) == (1, n_choices)
    assert pairs_by_choice(choices) == pairs
    assert set(choices.signs.tolist()) == {sign}
    assert not choices.is_set.any()


def test_nearest_two_of_four_is_a_set():
    choices = choices_of([[0, 1, 3], [0, 1, 4], [0, 2, 3], [0, 2, 4]], [0] * 4)
    assert choices.is_set.tolist() == [True]
    assert pairs_by_choice(choices) == [[[0, 1], [0, 3], [0, 4]], [[0, 2], [0, 3], [0, 4]]]


def test_all_kinds_and_shuffled_rows_work_together():
    rows, answers, expected = [], [], []
    for number, (_kind, (part, _, pairs, _sign)) in enumerate(sorted(KINDS.items())):
        wide = [row if len(row) == 4 else [row[0], row[1], row[0], row[2]] for row in part]
        rows += wide
        answers += [number] * len(wide)
        expected += pairs
    order = np.random.default_rng(0).permutation(len(rows))
    choices = choices_of([rows[place] for place in order], [answers[place] for place in order])
    assert sorted(pairs_by_choice(choices)) == sorted(expected)


def test_without_answers_each_row_is_an_answer():
    choices = choices_of([[0, 1, 2], [2, 1, 0]])
    assert choices.n_answers == 2
    assert choices.rows.tolist() == [0, 1]


def test_a_repeated_row_counts_once():
    assert pairs_by_choice(choices_of([[0, 1, 2], [0, 1, 2]], [0, 0])) == [[[0, 1], [0, 2]]]


def test_the_weight_of_an_answer_is_the_mean_over_its_rows():
    choices = choices_of([[0, 1, 2], [1, 0, 2], [0, 1, 3]], [0, 0, 1], weights=[1.0, 3.0, 5.0])
    assert choices.weights.tolist() == [2.0, 5.0]


def test_the_odd_one_of_four_is_known_by_the_object_that_all_far_pairs_share():
    rows = [[a, b, 3] for a, b in itertools.permutations(range(3), 2)]
    choices = choices_of(rows, [0] * 6)
    assert (choices.is_odd_of_many.tolist(), choices.is_set.tolist()) == ([True], [False])
    ranking = choices_of([[0, 1, 2], [0, 1, 3], [0, 2, 3]], [0] * 3)
    assert ranking.is_odd_of_many.tolist() == [False]


@pytest.mark.parametrize(
    "rows",
    [
        [[0, 1, 2], [0, 2, 1]],
        [[0, 1, 2], [1, 2, 0], [2, 0, 1]],
        [[0, 1, 2], [0, 2, 3], [0, 3, 1], [0, 1, 4]],
        [[0, 1, 2, 3], [2, 3, 0, 1]],
    ],
)
def test_comparisons_of_an_answer_that_contradict_each_other_are_refused(rows):
    before = [[0, 1, 2], [1, 0, 2]] if len(rows[0]) == 3 else [[0, 1, 2, 3]]
    with pytest.raises(ValueError, match=f"the answer in row {len(before)} contradict each other"):
        choices_of([*before, *rows], [0] * len(before) + [1] * len(rows))
    people = [0] * len(before) + list(range(1, len(rows) + 1))
    assert choices_of([*before, *rows], [0] * (len(before) + len(rows)), people=people).n_answers == len(rows) + 1


def test_an_error_about_contradictory_comparisons_names_the_line_of_the_file():
    rows = [[0, 1, 2], [1, 0, 2], [1, 2, 0]]
    answers = Comparisons.from_triplets(rows, answers=[0, 1, 1], trials=Trials(lines=[2, 4, 5]))
    with pytest.raises(ValueError, match="the answer in line 4 of the file contradict each other"):
        Choices.of(answers)


def test_some_answers_are_taken_whole():
    rows = [[0, 1, 2], [1, 0, 2], [0, 1, 3], [0, 1, 2], [0, 1, 3], [0, 2, 3]]
    choices = choices_of(rows, [0, 0, 1, 2, 2, 2], weights=[1.0, 1.0, 2.0, 3.0, 3.0, 3.0])
    part = choices.take(np.array([0, 2]))
    assert pairs_by_choice(part) == [pairs for place, pairs in enumerate(pairs_by_choice(choices)) if place != 1]
    assert (part.answers.tolist(), part.rows.tolist(), part.weights.tolist()) == ([0, 1, 1], [0, 3], [1.0, 3.0])
