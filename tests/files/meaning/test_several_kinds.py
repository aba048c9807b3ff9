"""Tables whose rows are answers to several kinds of questions."""

import numpy as np
import pytest

from closerthan.comparisons import Choices
from closerthan.comparisons.positions import chosen_positions, positions_of_pairs
from closerthan.files import read_answers

HEADER = "person,anchor,left,right,winner,item_1,item_2,item_3,odd,central,shown_1,shown_2,shown_3,rank_1,rank_2"
CLOSER = "ann,ant,bee,cat,cat,,,,,,,,,,"
ODD = "ann,,,,,ant,bee,dog,ant,,,,,,"
CENTRAL = "bob,,,,,cat,bee,dog,,dog,,,,,"
RANK = "bob,dog,,,,,,,,,cat,bee,ant,ant,cat"


def read(tmp_path, *rows, **options):
    file = tmp_path / "answers.csv"
    file.write_text("\n".join([HEADER, *rows]) + "\n")
    return read_answers(file, **options)


def named(comparisons):
    return [tuple(comparisons.names[number] for number in row) for row in comparisons.rows]


def test_each_row_is_an_answer_to_the_question_whose_columns_it_fills(tmp_path):
    answers = read(tmp_path, CLOSER, ODD, CENTRAL, RANK)
    found = named(answers.comparisons)
    assert found[0] == ("ant", "cat", "bee")
    assert found[1:3] == [("bee", "dog", "ant"), ("dog", "bee", "ant")]
    assert found[3:5] == [("cat", "dog", "bee"), ("bee", "dog", "cat")]
    assert sorted(found[5:]) == [("dog", "ant", "bee"), ("dog", "ant", "cat"), ("dog", "cat", "bee")]
    assert answers.comparisons.answers.tolist() == [0, 1, 1, 2, 2, 3, 3, 3]
    assert answers.participants.tolist() == ["ann"] * 3 + ["bob"] * 5
    assert "1 triplet, 1 rank, 1 odd-one-out, 1 most-central" in str(answers.summary)


def test_the_positions_of_all_kinds_are_known(tmp_path):
    answers = read(tmp_path, ODD, CLOSER, CENTRAL, RANK).comparisons
    choices = Choices.of(answers)
    positions = positions_of_pairs(answers, choices)
    assert (positions >= 0).all()
    assert chosen_positions(choices, positions).tolist() == [0, 1, 2, -1]  # a ranking has several choices


def test_a_row_with_an_empty_cell_is_an_error_or_dropped(tmp_path):
    incomplete = "bob,,,,,cat,bee,dog,,,,,,,"
    with pytest.raises(ValueError, match="line 4"):
        read(tmp_path, CLOSER, ODD, incomplete)
    answers = read(tmp_path, CLOSER, ODD, incomplete, missing="drop")
    assert answers.summary.dropped == {"missing": 1}
    assert len(answers.comparisons) == 3


def test_a_row_that_answers_two_questions_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="different questions"):
        read(tmp_path, CLOSER, ODD, "bob,,,,,cat,bee,dog,dog,bee,,,,,")


def test_conditions_select_rows_of_one_kind(tmp_path):
    answers = read(tmp_path, CLOSER, ODD, CENTRAL, RANK, where={"person": "ann"})
    assert len(answers.comparisons) == 3


def test_the_user_may_read_one_kind_only(tmp_path):
    second = "ann,,,,,ant,bee,cat,,ant,,,,,"
    answers = read(tmp_path, CLOSER, ODD, CENTRAL, RANK, second, kind="most-central", missing="drop")
    assert named(answers.comparisons)[:2] == [("cat", "dog", "bee"), ("bee", "dog", "cat")]
    assert answers.comparisons.n_answers == 2


def test_catch_trials_of_every_kind_are_left_out(tmp_path):
    file = tmp_path / "answers.csv"
    rows = [CLOSER, ODD, "ann,ant,ant,cat,ant,,,,,,,,,,"]
    lines = [f"{row},{mark}" for row, mark in zip([HEADER, *rows], ["kind", "main", "main", "catch"], strict=True)]
    file.write_text("\n".join(lines) + "\n")
    answers = read_answers(file)
    assert len(answers.comparisons) == 3
    assert answers.checks["ann"] == (1, 1)


def test_files_of_a_folder_need_no_numbers_if_each_row_is_an_answer(tmp_path):
    (tmp_path / "odd.csv").write_text("anchor,near,far,answer_id\nant,bee,cat,0\nbee,ant,cat,0\nant,cat,bee,1\n")
    (tmp_path / "closer.csv").write_text("anchor,near,far\nant,bee,cat\ncat,bee,ant\n")
    answers = read_answers(tmp_path).comparisons
    assert np.bincount(answers.answers).tolist() == [1, 1, 2, 1]


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("item_1,item_2,item_3,odd,central", ["ant,bee,cat,ant,bee", "bee,cat,dog,dog,cat"]),
        ("anchor,shown_1,shown_2,shown_3,chosen,rank_1,rank_2", ["ant,bee,cat,dog,bee,bee,cat"] * 2),
    ],
)
def test_a_table_whose_rows_all_answer_two_questions_is_an_error(written, header, rows):
    path = written("\n".join([header, *rows]) + "\n")
    with pytest.raises(ValueError, match=r"can be answers to different questions; pass kind"):
        read_answers(path)


@pytest.mark.parametrize(
    ("header", "rows", "incomplete"),
    [
        ("anchor,near,far,left,right,response", ["a,b,c,b,c,f", "b,c,a,a,c,j"], "c,,,a,b,f"),
        ("left,right,winner,loser,anchor", ["x.png,y.png,b,c,a", "y.png,x.png,c,a,b"], "x.png,y.png,a,,c"),
        ("anchor,shown_1,shown_2,shown_3,rank_1,rank_2", ["a,b,c,d,b,c", "b,a,c,d,c,d"], "c,a,,b,a,b"),
    ],
)
def test_an_empty_cell_does_not_change_the_columns_of_a_table_with_one_kind(written, header, rows, incomplete):
    complete = read_answers(written("\n".join([header, *rows]) + "\n", "complete.csv"))
    answers = read_answers(written("\n".join([header, *rows, incomplete]) + "\n"), missing="drop")
    assert answers.summary.dropped == {"missing": 1}
    assert answers.summary.columns == complete.summary.columns
    assert named(answers.comparisons) == named(complete.comparisons)


def test_an_empty_cell_does_not_change_the_columns_of_a_further_kind(tmp_path):
    with pytest.raises(ValueError, match="'ant' is ranked, but it is not among the objects shown"):
        read(tmp_path, CLOSER, RANK, "bob,dog,,,,,,,,,,,,ant,cat")


def test_rows_of_several_kinds_may_all_be_unusable(tmp_path):
    rows = ["ann,ant,ant,bee,,,,,,,,,,,", "ann,,,,,ant,ant,bee,,,,,,,"]
    with pytest.raises(ValueError, match="is empty"):
        read(tmp_path, *rows)
