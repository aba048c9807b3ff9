import pytest

from closerthan.plotting.labels.short_names import short_names


def test_names_that_fit_are_left_alone_but_for_line_breaks():
    assert short_names(["a\nb", "cd"], 5) == (["a b", "cd"], "")


def test_what_all_names_share_is_left_out_in_whole_words():
    names = [f"stimulus set/image_{number:03d}.jpeg" for number in range(12)]
    short = short_names(names, 12)
    assert short.names == [f"{number:03d}" for number in range(12)]
    assert short.left_out == "their common beginning 'stimulus set/image_' and ending '.jpeg'"


@pytest.mark.parametrize("longest", [10, 17, 28])
def test_names_in_groups_stay_different_and_short(longest):
    names = [f"{group * 30} {number}" for group in "xyz" for number in range(20)]
    short = short_names(names, longest)
    assert len(set(short.names)) == len(names)
    assert max(map(len, short.names)) <= longest


def test_a_difference_in_the_middle_of_long_names_is_shown():
    names = [f"{'a' * 40}{letter}{'b' * 40}" for letter in "xyz"]
    assert len(set(short_names(names, 20).names)) == 3


def test_a_name_that_is_part_of_the_others_is_not_emptied():
    short = short_names(["the same long beginning/", "the same long beginning/two"], 12)
    assert all(short.names)
    assert short.left_out == ""


def test_one_name_is_cut_in_the_middle():
    (name,) = short_names(["abcdefghijklmnopqrstuvwxyz"], 9).names
    assert name == "abcde…xyz"


def test_no_names_are_no_error():
    assert short_names([], 10) == ([], "")
