import pytest

from closerthan.plotting.labels.short_names import short_names


def test_names_that_fit_are_unchanged_except_for_line_breaks():
    assert short_names(["a\nb", "cd"], 5) == (["a b", "cd"], "")


def test_the_common_words_of_all_names_are_removed():
    names = [f"stimulus set/image_{number:03d}.jpeg" for number in range(12)]
    short = short_names(names, 12)
    assert short.names == [f"{number:03d}" for number in range(12)]
    assert short.left_out == "their common beginning 'stimulus set/image_' and ending '.jpeg'"


@pytest.mark.parametrize("longest", [10, 17, 28])
def test_names_in_groups_stay_distinct_and_short(longest):
    names = [f"{group * 30} {number}" for group in "xyz" for number in range(20)]
    short = short_names(names, longest)
    assert len(set(short.names)) == len(names)
    assert max(map(len, short.names)) <= longest


def test_a_difference_in_the_middle_of_long_names_is_kept():
    names = [f"{'a' * 40}{letter}{'b' * 40}" for letter in "xyz"]
    assert len(set(short_names(names, 20).names)) == 3


def test_a_name_that_is_the_beginning_of_another_does_not_become_empty():
    short = short_names(["the same long beginning/", "the same long beginning/two"], 12)
    assert all(short.names)
    assert short.left_out == ""


def test_a_single_name_is_truncated_in_the_middle():
    (name,) = short_names(["abcdefghijklmnopqrstuvwxyz"], 9).names
    assert name == "abcde…xyz"


def test_an_empty_list_of_names_is_allowed():
    assert short_names([], 10) == ([], "")
