"""Trials: response times, sides and lines follow the comparisons wherever they go."""

import copy
import pickle

import numpy as np
import pytest

import closerthan as ct

ROWS = [[0, 1, 2], [1, 0, 2], [2, 0, 1], [0, 2, 1]]


def with_trials(**trials):
    return ct.Comparisons.from_triplets(ROWS, trials=ct.Trials(**trials))


def test_comparisons_without_trials_have_no_times_sides_or_lines():
    plain = ct.Comparisons.from_triplets(ROWS)
    assert (plain.trials, plain.times, plain.sides, plain.lines) == (None, None, None, None)
    assert with_trials().trials is None


def test_times_sides_and_lines_are_stored_as_numbers():
    answers = with_trials(times=[1, 2.5, np.nan, 0], sides=["left", "Right", None, ""], lines=[2, 3, 5, 6])
    assert answers.times.tolist()[:2] == [1.0, 2.5]
    assert np.isnan(answers.times[2])
    assert answers.sides.tolist() == [0, 1, -1, -1]
    assert answers.lines.tolist() == [2, 3, 5, 6]
    assert with_trials(sides=[0, 1, -1, 0]).sides.tolist() == [0, 1, -1, 0]
    assert with_trials(sides=np.array([0.0, 1.0, np.nan, -1])).sides.tolist() == [0, 1, -1, -1]
    assert with_trials(times=[1, 2, 3, 4]).sides is None


def test_later_changes_to_the_callers_arrays_change_nothing():
    times, lines = np.ones(4), np.arange(1, 5)
    answers = with_trials(times=times, lines=lines)
    times[:], lines[:] = 7, 7
    assert answers.times.tolist() == [1, 1, 1, 1]
    assert answers.lines.tolist() == [1, 2, 3, 4]


def test_parts_of_the_comparisons_keep_their_trials(rng):
    answers = with_trials(times=[1, 2, 3, 4], sides=[0, 1, 0, 1], lines=[2, 3, 4, 5])
    for part in (answers[1:3], answers.take(np.array([1, 2])), answers[np.array([False, True, True, False])]):
        assert (part.times.tolist(), part.sides.tolist(), part.lines.tolist()) == ([2, 3], [1, 0], [3, 4])
    one, other = answers.split(0.5, rng, by="comparisons")
    assert sorted([*one.lines, *other.lines]) == [2, 3, 4, 5]
    for part in (one, other):
        assert [ROWS[line - 2] for line in part.lines] == part.rows.tolist()


def test_dropped_rows_take_their_trials_with_them():
    answers = ct.Comparisons.from_triplets(
        [[0, 1, 2], [1, 0, 2], [2, 2, 1], [0, 2, 1]],
        [1, 0, 1, -1],
        trials=ct.Trials(times=[1, 2, 3, 4], lines=[2, 3, 4, 5]),
        ties="drop",
        self_pairs="drop",
    )
    assert (answers.times.tolist(), answers.lines.tolist()) == ([1, 4], [2, 5])


def test_copies_and_pickles_are_the_same_and_read_only():
    answers = with_trials(times=[1, 2, 3, 4], sides=[0, 1, 0, 1])
    for again in (pickle.loads(pickle.dumps(answers)), copy.deepcopy(answers), answers[1:]):
        assert again.times.tolist() == answers.times.tolist()[-len(again) :]
        assert again.lines is None
        for array in (again.times, again.sides):
            assert not array.flags.writeable


@pytest.mark.parametrize(
    ("trials", "match"),
    [
        ({"times": [1, 2]}, "there are 2 times, but 4 comparisons; one per row is needed"),
        ({"times": [1, 2], "sides": [0]}, "there are 2 times and 1 sides; one of each per row"),
        ({"times": [1, 2, -3, 4]}, "row 2: the time is -3; times are in seconds and not negative"),
        ({"times": [1, 2, np.inf, 4]}, "row 2: the time is inf"),
        ({"times": ["a", 2, 3, 4]}, "times are not all numbers; pass seconds"),
        ({"times": [[1, 2, 3, 4]]}, r"times have shape \(1, 4\)"),
        ({"sides": ["left", "up", "", ""]}, "row 1: the side is 'up'; sides are left or right"),
        ({"sides": [0, 1, 2, 0]}, "row 2: the side is .*2"),
        ({"lines": [1, 2, 0, 3]}, "lines are not all whole numbers from 1"),
    ],
)
def test_bad_trials_are_a_clear_error(trials, match):
    with pytest.raises(ValueError, match=match):
        with_trials(**trials)


def test_the_constructor_checks_the_number_of_trials():
    answers = with_trials(times=[1, 2, 3, 4])
    with pytest.raises(ValueError, match="there are 4 times, but 3 comparisons"):
        ct.Comparisons(answers.rows[:3], 3, trials=answers.trials)


def test_trials_cannot_be_passed_with_comparisons():
    with pytest.raises(ValueError, match="blocks and trials belong to the Comparisons"):
        ct.Comparisons.of(with_trials(times=[1, 2, 3, 4]), trials=ct.Trials(times=[1, 2, 3, 4]))
