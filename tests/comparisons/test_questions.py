"""Keys of questions: equal for rows that ask the same, different for all others."""

import itertools

import numpy as np
import pytest
from conftest import random_comparisons

from closerthan.comparisons import Comparisons, pair_questions, pairs_of, reversed_rows
from closerthan.comparisons.questions import consecutive_numbers, object_set_keys


def pairs(row):
    near, far = (frozenset(map(int, pair)) for pair in pairs_of(np.array(row)))
    return frozenset([near, far])


@pytest.mark.parametrize("n_objects", [12, 1 << 20, (1 << 31) - 1])
def test_two_rows_have_the_same_question_if_they_compare_the_same_two_pairs(kind, n_objects, rng):
    rows = random_comparisons(kind, rng, n_objects=6, n_rows=60).rows + (n_objects - 6)
    question, _ = pair_questions(Comparisons.from_columns(rows, n_objects))
    for one, other in itertools.combinations(range(60), 2):
        assert (question[one] == question[other]) == (pairs(rows[one]) == pairs(rows[other]))


def test_a_row_and_its_reverse_are_opposite_answers_to_one_question(answers):
    question, way = pair_questions(answers)
    same, other_way = pair_questions(answers.replace(rows=reversed_rows(answers.rows)))
    assert np.array_equal(question, same)
    assert np.array_equal(way, ~other_way)


def test_a_question_about_objects_does_not_depend_on_how_their_answer_is_written():
    odd_one_out = np.array([[0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 1, 3]], np.int32)
    keys = object_set_keys(odd_one_out, 4, np.array([0, 0, 1, 2], np.int32))
    first, second, third, last = consecutive_numbers(keys)
    assert first == second == third != last


@pytest.mark.parametrize("bits", [1, 20, 40, 54, 60, 64])
def test_keys_of_any_size_are_numbered_in_their_order(bits, rng):
    keys = rng.integers(0, 2**bits, size=2000, dtype=np.uint64)
    # Some keys are repeated, and some differ only in their last bits.
    keys = np.concatenate([keys, keys[:500], keys[500:1000] ^ np.uint64(1)])
    distinct, expected = np.unique(keys, return_inverse=True)
    assert np.array_equal(consecutive_numbers(keys), expected)
    assert consecutive_numbers(keys).max() == len(distinct) - 1
