"""Rows that a column called excluded marks."""

import pytest

from closerthan.files import read_answers

HEADER = "anchor,near,far,excluded\n"


def read(tmp_path, *rows):
    path = tmp_path / "answers.csv"
    path.write_text(HEADER + "".join(f"{row}\n" for row in rows))
    return read_answers(path)


def test_marked_rows_are_left_out_and_counted(tmp_path):
    answers = read(tmp_path, "a,b,c,no", "b,c,a,yes", "c,a,b,no")
    assert len(answers.comparisons) == 2
    assert answers.summary.dropped == {"marked_as_excluded": 1}
    assert any("are left out" in note for note in answers.summary.notes)


def test_a_column_that_holds_no_marks_is_ignored(tmp_path):
    assert len(read(tmp_path, "a,b,c,dog", "b,c,a,yes", "c,a,b,no").comparisons) == 3


def test_it_is_an_error_if_every_row_is_marked(tmp_path):
    with pytest.raises(ValueError, match="every row is marked as excluded"):
        read(tmp_path, "a,b,c,1", "b,c,a,1")
