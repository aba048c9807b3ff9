"""Reading answers from files."""

import gzip
import json
import os
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from paths import ROOT
from rows_by_name import rows_by_name

import closerthan as ct
from closerthan.comparisons.column_names import ALIASES, NUMBERED
from closerthan.files import read_answers, read_comparisons
from closerthan.files.formats.text.arrow_text import Shape, read_with_arrow
from closerthan.files.meaning.columns import KINDS
from closerthan.files.meaning.interpretation import RULES
from closerthan.files.meaning.numbering import number_objects
from closerthan.files.meaning.summary import repeated_and_contradictory

DATA = os.environ.get("CLOSERTHAN_DATA")
needs_data = pytest.mark.skipif(DATA is None, reason="CLOSERTHAN_DATA does not point at the data")


# ---- text -----------------------------------------------------------------------------------------------------------

FRUIT = [("apple", "pear", "plum"), ("plum", "pear", "apple"), ("pear", "plum", "apple")]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " ", "   "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_any_usual_delimiter_and_line_ending_is_detected(written, read_text, delimiter, end):
    lines = [delimiter.join(row) for row in [("anchor", "near", "far"), *FRUIT]]
    answers = read_text(written(end.join(lines), "answers.txt"))
    assert rows_by_name(answers) == FRUIT
    assert answers.summary.kind == "triplet"
    assert answers.summary.numbering == "names"


def test_a_byte_order_mark_quotes_commas_and_unicode_are_read(written, read_text):
    text = '\ufeffanchor,near,far\n"New York, NY","Zürich","5"" disk"\n東京,"New York, NY","two\nlines"\n'
    answers = read_text(written(text))
    assert rows_by_name(answers) == [
        ("New York, NY", "Zürich", '5" disk'),
        ("東京", "New York, NY", "two\nlines"),
    ]


def test_a_gzipped_file_is_unpacked(written, read_text):
    packed = gzip.compress(b"anchor,near,far\na,b,c\n")
    assert rows_by_name(read_text(written(packed, "answers.csv.gz"))) == [("a", "b", "c")]


def test_utf_16_as_spreadsheets_save_it_is_read(written, read_text):
    assert rows_by_name(read_text(written("anchor\tnear\tfar\nä\tb\tc\n".encode("utf-16"), "a.txt"))) == [
        ("ä", "b", "c")
    ]


def test_bytes_that_are_not_utf_8_are_an_error_that_quotes_the_line(written, read_text):
    path = written("anchor,near,far\na,b,c\nZürich,b,c\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"line 3 \('Zürich,b,c'\): it is not in utf-8.*encoding"):
        read_text(path)
    assert rows_by_name(read_text(path, encoding="latin-1"))[1] == ("Zürich", "b", "c")


def test_an_unknown_encoding_is_an_error(written):
    with pytest.raises(ValueError, match="encoding is 'klingon'"):
        read_answers(written("anchor,near,far\na,b,c\n"), encoding="klingon")


@pytest.mark.parametrize("bad", ["a,b", "a,b,c,d"])
def test_a_line_with_too_few_or_too_many_columns_is_an_error_that_quotes_it(written, read_text, bad):
    path = written(f"anchor,near,far\na,b,c\n\n{bad}\na,c,b\n")
    with pytest.raises(ValueError, match=rf"line 4 \('{bad}'\): it has {bad.count(',') + 1} columns, but .* 3"):
        read_text(path)


def test_an_unclosed_quotation_mark_is_an_error_that_quotes_the_line(written, read_text):
    with pytest.raises(ValueError, match=r"line 3 \('\"b,a,c'\).*quotation mark"):
        read_text(written('anchor,near,far\na,b,c\n"b,a,c\nc,a,b\n'))


def test_an_unclosed_quotation_mark_in_an_unused_column_is_an_error(written, read_text):
    sample = "a,b,c,\n" * 10_000  # longer than the sample from which the format is detected
    text = f'anchor,near,far,remark\n{sample}a,c,b,"oh\n' + "b,c,a,\n" * 20
    with pytest.raises(ValueError, match=r"line 10002 \('a,c,b,\"oh'\).*quotation mark"):
        read_text(written(text))


def test_pyarrow_reads_a_file_without_unusual_content(written):
    pytest.importorskip("pyarrow")
    path = written('anchor,near,far,weight\na,"b",c,1\n\n')
    cells = read_with_arrow(Shape(path, ",", width=4, skipped=1), [0, 1, 2], [], [3])
    assert [cells.labels[place].array().tolist() for place in range(3)] == [["a"], ["b"], ["c"]]
    assert cells.numbers[3].tolist() == [1]


@pytest.mark.parametrize("delimiter", [" ", ",", "\t"])
def test_tables_of_r_have_no_title_for_the_names_of_rows(written, read_text, delimiter):
    lines = ['"anchor" "near" "far"', '"1" "ant" "bee" "cat"', '"2" "bee" "ant" "cat"']
    answers = read_text(written("\n".join(lines).replace(" ", delimiter), "answers.txt"))
    assert rows_by_name(answers) == [("ant", "bee", "cat"), ("bee", "ant", "cat")]


def test_quotation_marks_keep_spaces_in_a_cell_together(written, read_text):
    path = written('"anchor" "near" "far"\n"blue whale"\t"ant" "bee, small"\nant "blue whale"  "bee, small"\n')
    expected = [("blue whale", "ant", "bee, small"), ("ant", "blue whale", "bee, small")]
    assert rows_by_name(read_text(path)) == expected


def test_spaces_around_cells_are_removed_with_a_note(written, read_text):
    answers = read_text(written("anchor, near, far\na, b, c\nb, a, c \n"))
    assert rows_by_name(answers) == [("a", "b", "c"), ("b", "a", "c")]
    assert any("spaces around" in note for note in answers.summary.notes)


def test_comments_at_the_top_are_skipped_with_a_note(written, read_text):
    answers = read_text(written("# from the lab\n# 2020\n0 1 2\n2 1 0\n", "answers.txt"))
    assert answers.comparisons.rows.tolist() == [[0, 1, 2], [2, 1, 0]]
    assert any("2 lines with #" in note for note in answers.summary.notes)


@pytest.mark.parametrize("content", ["", "\n\n", "  \n", "# only a remark\n"])
def test_an_empty_file_is_an_error(written, content):
    with pytest.raises(ValueError, match="is empty"):
        read_answers(written(content))


def test_a_file_with_only_a_header_is_an_error(written, read_text):
    with pytest.raises(ValueError, match=r"has a header line \('anchor,near,far'\) and nothing else"):
        read_text(written("anchor,near,far\n"))


def test_an_unknown_delimiter_is_an_error_that_quotes_the_line(written):
    with pytest.raises(ValueError, match=r"line 1 \('anchor/near/far'\): expected at least 3 columns"):
        read_answers(written("anchor/near/far\na/b/c\n"))
    assert rows_by_name(read_answers(written("anchor/near/far\na/b/c\n"), delimiter="/")) == [("a", "b", "c")]


def test_a_folder_and_a_missing_file_are_errors(tmp_path):
    with pytest.raises(ValueError, match="is a folder"):
        read_answers(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_answers(tmp_path / "none.csv")


def test_a_binary_file_with_an_unknown_suffix_is_an_error(written):
    with pytest.raises(ValueError, match="not a text file"):
        read_answers(written(b"\x00\x01\x02 \x00\n", "answers.bin"))


def test_a_spreadsheet_is_an_error_that_says_what_to_do(written):
    with pytest.raises(ValueError, match=r"spreadsheet; save the sheet as \.csv"):
        read_answers(written(b"PK", "answers.xlsx"))


def test_a_damaged_gzip_file_is_an_error(written):
    with pytest.raises(ValueError, match="cannot be decompressed"):
        read_answers(written(gzip.compress(b"anchor,near,far\na,b,c\n" * 50)[:40], "answers.csv.gz"))


# ---- header ---------------------------------------------------------------------------------------------------------


def test_columns_without_a_header_are_identified_by_position_with_a_note(written):
    answers = read_answers(written("0 1 2 3\n3 2 1 0\n", "answers.dat"))
    assert answers.summary.kind == "quadruplet"
    assert answers.comparisons.rows.tolist() == [[0, 1, 2, 3], [3, 2, 1, 0]]
    assert any("no header" in note for note in answers.summary.notes)


def test_a_first_line_whose_names_recur_is_not_a_header(written):
    assert len(read_comparisons(written("x,y,z\ny,x,z\nz,y,x\n"))) == 3


def test_a_header_that_recurs_in_the_file_is_an_error(written):
    with pytest.raises(ValueError, match=r"line 1 .*it may be a header or an answer"):
        read_answers(written("anchor,near,far\na,b,c\nanchor,near,far\nb,a,c\n"))


def test_an_ambiguous_first_line_is_an_error_unless_header_is_passed(written):
    path = written("red,green,blue\ncyan,pink,teal\n")
    with pytest.raises(ValueError, match=r"line 1 .*header=True or header=False"):
        read_answers(path)
    assert len(read_comparisons(path, header=False)) == 2
    columns = {"anchor": "red", "near": "green", "far": "blue"}
    assert rows_by_name(read_comparisons(path, columns=columns)) == [("cyan", "pink", "teal")]


# ---- columns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        "anchor,near,far", "Head,Winner,Loser", "CENTER,closer,other", "probe,positive,negative", "reference,near,far",
        "anchor id,near id,far id", "i,j,k",
    ],
)  # fmt: skip
def test_triplet_columns_are_found_by_their_usual_names_in_any_order(written, header):
    a, n, f = header.split(",")
    assert rows_by_name(read_answers(written(f"{f},time,{a},{n}\nx,0.5,y,z\n"))) == [("y", "z", "x")]


def test_left_right_and_winner_give_triplets(written):
    answers = read_answers(written("head,left,right,winner\na,b,c,b\na,b,c,c\n"))
    assert rows_by_name(answers) == [("a", "b", "c"), ("a", "c", "b")]


@pytest.mark.parametrize("words", [("left", "right"), ("0", "1"), ("1", "2"), ("Left", "RIGHT")])
def test_a_winner_may_be_a_side_or_a_position(written, words):
    text = f"head,left,right,winner\na,b,c,{words[0]}\na,b,c,{words[1]}\n"
    assert rows_by_name(read_answers(written(text))) == [("a", "b", "c"), ("a", "c", "b")]


def test_a_winner_that_was_not_shown_is_an_error_that_quotes_the_line(written):
    with pytest.raises(ValueError, match=r"line 3 \('a,b,c,d'\): the answer in 'winner' is 'd'; expected 'b', 'c'"):
        read_answers(written("head,left,right,winner\na,b,c,b\na,b,c,d\n"))


def test_columns_chosen_by_the_user_take_precedence(written):
    text = "anchor,q,near,far\na,b,c,d\n"
    answers = read_answers(written(text), columns={"anchor": "q", "near": 0, "far": "far"})
    assert rows_by_name(answers) == [("b", "a", "d")]


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"anchor": "zebra"}, r"has no column 'zebra' \(for 'anchor'\); its columns are 'anchor', 'near', 'far'"),
        ({"anchor": 7}, "has no column at position 7 .*counted from 0"),
        ({"hero": "near"}, "columns has the role 'hero'; choose from: anchor"),
    ],
)
def test_columns_that_do_not_exist_are_errors(written, columns, problem):
    with pytest.raises(ValueError, match=problem):
        read_answers(written("anchor,near,far\na,b,c\n"), columns=columns)


def test_columns_that_are_not_understood_are_an_error_that_lists_them(written):
    with pytest.raises(ValueError, match=r"has the columns 'x1', 'foo', 'bar', which are not understood; expected"):
        read_answers(written("x1,foo,bar\n1,2,3\n"))


def test_two_columns_for_one_role_are_an_error(written):
    with pytest.raises(ValueError, match="'near' and 'closer' could both be 'near'; pass columns"):
        read_answers(written("anchor,near,closer,far\na,b,c,d\n"))


def test_quadruplet_columns_of_both_conventions_mean_the_same(written):
    for header in ("i,j,k,l", "i,j,l,k", "near_1,near_2,far_1,far_2", "near_a,near_b,far_a,far_b"):
        answers = read_answers(written(f"{header}\n0,1,2,3\n"))
        near, far = set(answers.comparisons.rows[0, :2].tolist()), set(answers.comparisons.rows[0, 2:].tolist())
        assert (answers.summary.kind, near, far) == ("quadruplet", {0, 1}, {2, 3})


@pytest.mark.parametrize(("label", "first"), [("1", "b"), ("-1", "c"), ("true", "b"), ("False", "c")])
def test_a_label_column_reverses_comparisons(written, label, first):
    assert rows_by_name(read_answers(written(f"anchor,near,far,y\na,b,c,{label}\n")))[0][1] == first


def test_an_invalid_label_is_an_error_that_quotes_the_line(written):
    with pytest.raises(ValueError, match=r"line 2 .*'y' is '7'; expected 1, -1, true or false"):
        read_answers(written("anchor,near,far,y\na,b,c,7\n"))


def test_weights_participants_and_test_rows_stay_with_their_answers(written):
    text = "anchor,near,far,weight,worker,split\na,b,c,0.5,w1,train\na,c,b,2,w2,test\nb,c,a,1,w3,train\n"
    answers = read_answers(written(text))
    assert rows_by_name(answers) == [("a", "b", "c"), ("b", "c", "a")]
    assert answers.comparisons.weights.tolist() == [0.5, 1.0]
    assert answers.participants.tolist() == ["w1", "w3"]
    assert rows_by_name(answers.test) == [("a", "c", "b")]
    assert answers.test.weights.tolist() == [2.0]
    assert (answers.summary.n_test, answers.summary.n_participants) == (1, 3)
    assert len(read_comparisons(written(text))) == 3
    with pytest.raises(ValueError, match=r"use closerthan\.files\.read_answers"):
        read_comparisons(written(text), columns={"split": "split"})


def test_objects_only_in_test_rows_give_a_note_and_only_test_rows_are_an_error(written):
    answers = read_answers(written("anchor,near,far,split\na,b,c,train\na,d,e,test\n"))
    assert answers.comparisons.n_objects == answers.test.n_objects == 5
    assert any("2 objects occur only in answers marked as test" in note for note in answers.summary.notes)
    with pytest.raises(ValueError, match="all answers are marked as test in 'split'"):
        read_answers(written("anchor,near,far,split\na,b,c,test\n"))


@pytest.mark.parametrize(
    ("labels", "expected"), [(["7", "12"], [7, 12]), (["007", "7"], ["007", "7"]), (["1_0", "x"], ["1_0", "x"])]
)
def test_participants_are_numbers_only_if_nothing_is_lost(written, labels, expected):
    text = f"anchor,near,far,worker_id\na,b,c,{labels[0]}\nb,a,c,{labels[1]}\n"
    assert read_answers(written(text)).participants.tolist() == expected


def test_answers_without_a_participant_give_a_note(written):
    answers = read_answers(written("anchor,near,far,worker\na,b,c,w\nb,a,c,\n"))
    assert "1 rows do not say who gave the answer" in answers.summary.notes


@pytest.mark.parametrize(("name", "marks"), [("is_test", "01"), ("test", ["false", "true"]), ("is_train", "10")])
def test_a_column_of_flags_can_mark_test_rows(written, name, marks):
    answers = read_answers(written(f"anchor,near,far,{name}\na,b,c,{marks[0]}\na,c,b,{marks[1]}\n"))
    assert (rows_by_name(answers), rows_by_name(answers.test)) == ([("a", "b", "c")], [("a", "c", "b")])


def test_a_set_column_with_other_content_is_ignored_with_a_note(written):
    path = written("anchor,near,far,set\na,b,c,birds\n")
    answers = read_answers(path)
    assert answers.test is None
    assert any("'set' is not used" in note and "'birds'" in note for note in answers.summary.notes)
    with pytest.raises(ValueError, match=r"line 2 .*'set' is 'birds'; expected train or test"):
        read_answers(path, columns={"split": "set"})


@pytest.mark.parametrize(
    ("weight", "problem"), [("x", "'x' in 'weight' is not a number"), ("-1", "the weight is -1"), ("inf", "is inf")]
)
def test_an_invalid_weight_is_an_error_that_quotes_the_line(written, read_text, weight, problem):
    with pytest.raises(ValueError, match=rf"line 3 \('a,c,b,{weight}'\): .*{problem}"):
        read_text(written(f"anchor,near,far,weight\na,b,c,1\na,c,b,{weight}\n"))


# ---- questions ------------------------------------------------------------------------------------------------------


def test_odd_one_out_gives_two_triplets(written):
    answers = read_answers(written("item_1,item_2,item_3,odd\na,b,c,a\na,b,c,c\n"))
    assert rows_by_name(answers) == [("b", "c", "a"), ("c", "b", "a"), ("a", "b", "c"), ("b", "a", "c")]


def test_the_last_item_is_the_odd_one_without_an_answer_column(written):
    answers = read_answers(written("0 1 2\n2 1 0\n", "things.txt"), kind="odd-one-out")
    assert answers.comparisons.rows.tolist() == [[0, 1, 2], [1, 0, 2], [2, 1, 0], [1, 2, 0]]
    assert any("the last item of each row" in note for note in answers.summary.notes)


def test_most_central_gives_two_triplets(written):
    answers = read_answers(written("item1,item2,item3,most_central\na,b,c,b\n"))
    assert rows_by_name(answers) == [("a", "b", "c"), ("c", "b", "a")]


def test_three_stimuli_and_a_selected_one_need_the_kind(written):
    path = written("stim_0,stim_1,stim_2,selected\na,b,c,2\na,b,c,0\n")
    with pytest.raises(ValueError, match='pass kind="triplet" or kind="odd-one-out" or kind="most-central"'):
        read_answers(path)
    odd = read_answers(path, kind="odd-one-out")
    assert rows_by_name(odd) == [("a", "b", "c"), ("b", "a", "c"), ("b", "c", "a"), ("c", "b", "a")]
    assert any("counted from 0" in note for note in odd.summary.notes)
    assert rows_by_name(read_answers(path, kind="most-central"))[:2] == [("a", "c", "b"), ("b", "c", "a")]
    assert rows_by_name(read_answers(path, kind="triplet", self_pairs="drop")) == [("a", "c", "b")]


def test_positions_that_may_count_from_0_or_1_are_an_error(written):
    with pytest.raises(ValueError, match=r"line 2 .*is '1'; expected 'a', 'b', 'c'"):
        read_answers(written("stim_0,stim_1,stim_2,odd\na,b,c,1\n"))


def test_answers_that_may_be_objects_or_positions_are_objects_with_a_note(written):
    answers = read_answers(written("item_1,item_2,item_3,odd\n1,2,3,1\n2,3,4,3\n"))
    assert rows_by_name(answers) == [("2", "3", "1"), ("3", "2", "1"), ("2", "4", "3"), ("4", "2", "3")]
    assert any("taken to be objects, but they could also be positions" in note for note in answers.summary.notes)


def test_a_wrong_number_of_items_is_an_error(written):
    with pytest.raises(ValueError, match="4 of them are items, but 3 are expected"):
        read_answers(written("item_1,item_2,item_3,item_4,central\na,b,c,d,a\n"))
    with pytest.raises(ValueError, match="2 of them are items, but 3 are expected"):
        read_answers(written("item_1,item_2,odd\na,b,a\n"))


def test_a_selected_column_can_name_a_column(written):
    answers = read_answers(written("stim_0,stim_1,stim_2,odd\na,b,c,stim_1\n"))
    assert rows_by_name(answers) == [("a", "c", "b"), ("c", "a", "b")]


def test_a_ranking_gives_all_pairs_and_may_end_early(written):
    answers = read_answers(written("anchor,rank_1,rank_2,rank_3\na,b,c,d\nb,c,a,\n"))
    assert answers.summary.kind == "rank"
    assert rows_by_name(answers) == [("a", "b", "c"), ("a", "b", "d"), ("a", "c", "d"), ("b", "c", "a")]


def test_ranked_objects_are_nearer_than_the_others_shown(written):
    answers = read_answers(written("anchor,shown_1,shown_2,shown_3,rank_1,rank_2\na,b,c,d,d,b\nb,c,a,,a,\n"))
    assert answers.summary.kind == "rank"
    assert sorted(rows_by_name(answers)) == [("a", "b", "c"), ("a", "d", "b"), ("a", "d", "c"), ("b", "a", "c")]
    with pytest.raises(ValueError, match="'e' is ranked, but it is not among the objects shown"):
        read_answers(written("anchor,shown_1,shown_2,rank_1\na,b,c,e\n"))


def test_chosen_objects_are_nearer_than_all_others(written):
    lines = [
        {"anchor": "a", "shown": ["b", "c", "d", "e"], "chosen": ["c", "e"]},
        {"anchor": "b", "shown": ["a", "c"], "chosen": ["a"]},
    ]
    answers = read_answers(written("\n".join(map(json.dumps, lines)), "answers.jsonl"))
    assert answers.summary.kind == "nearest"
    assert set(rows_by_name(answers)) == {("a", near, far) for near in "ce" for far in "bd"} | {("b", "a", "c")}
    assert len(rows_by_name(answers)) == 5


def test_the_column_of_a_single_choice_needs_no_number(written):
    answers = read_answers(written("query,option_1,option_2,option_3,chosen\na,b,c,d,c\n"))
    assert rows_by_name(answers) == [("a", "c", "b"), ("a", "c", "d")]


def test_a_chosen_position_without_an_object_is_an_error_that_quotes_the_line(written):
    text = "query,option_1,option_2,option_3,chosen\na,b,c,d,3\na,b,c,,3\n"
    with pytest.raises(ValueError, match=r"line 3 .*the answer in 'chosen' is '3'; expected 'b', 'c'"):
        read_answers(written(text))


def test_an_unknown_kind_is_an_error(written):
    with pytest.raises(ValueError, match="kind is 'tuple'; choose from: triplet, quadruplet"):
        read_answers(written("anchor,near,far\na,b,c\n"), kind="tuple")


# ---- what is otherwise an error can be dropped, and is counted ------------------------------------------------------


@pytest.mark.parametrize("cell", ["", "NA", "NaN", "nan", "null"])
def test_an_empty_cell_is_an_error_that_quotes_the_line_unless_dropped(written, read_text, cell):
    path = written(f"anchor,near,far,rt\na,b,c,\na,{cell},b,1\nb,a,c,2\n")
    with pytest.raises(ValueError, match=rf"line 3 \('a,{cell},b,1'\): a cell is empty.*missing=\"drop\""):
        read_text(path)
    answers = read_text(path, missing="drop")
    assert rows_by_name(answers) == [("a", "b", "c"), ("b", "a", "c")]
    assert answers.summary.dropped == {"missing": 1}
    assert (answers.summary.n_rows, answers.summary.n_used) == (3, 2)


def test_na_is_an_object_if_it_is_among_the_names(written):
    answers = read_answers(written("anchor,near,far\nNA,b,c\n"), names=["NA", "b", "c"])
    assert rows_by_name(answers) == [("NA", "b", "c")]


@pytest.mark.parametrize("row", ["a,a,b", "a,b,a", "a,b,b"])
def test_an_object_compared_with_itself_is_an_error_unless_dropped(written, row):
    path = written(f"anchor,near,far\na,b,c\n{row}\n")
    with pytest.raises(ValueError, match=rf"line 3 \('{row}'\): object '[ab]' is compared with itself.*self_pairs"):
        read_answers(path)
    assert read_answers(path, self_pairs="drop").summary.dropped == {"self_pairs": 1}


def test_four_columns_without_names_may_be_three_objects_and_a_person(written):
    path = written("5 6 2 0\n4 5 3 0\n6 4 5 1\n3 4 1 1\n")
    hint = r"if the last column is the person, pass columns=\{\"participant\": 3\}, and kind=\"odd-one-out\" if"
    with pytest.raises(ValueError, match=rf"'3 4 1 1'.*{hint}"):
        read_answers(path)
    answers = read_answers(path, columns={"participant": 3}, kind="odd-one-out")
    assert (answers.comparisons.n_answers, answers.comparisons.n_people) == (4, 2)


@pytest.mark.parametrize(
    "text", ["anchor,near,far,y\na,b,c,1\na,b,c,0\n", "head,left,right,winner\na,b,c,b\na,b,c,tie\n"]
)
def test_a_tie_is_an_error_unless_dropped(written, text):
    path = written(text)
    with pytest.raises(ValueError, match=r"line 3 .*tie.*ties=\"drop\""):
        read_answers(path)
    answers = read_answers(path, ties="drop")
    assert answers.summary.dropped == {"ties": 1}
    assert rows_by_name(answers) == [("a", "b", "c")]


def test_the_first_invalid_line_is_quoted_whatever_the_problem(written):
    path = written("anchor,near,far\na,b,c\na,a,b\na,,b\n")
    with pytest.raises(ValueError, match="line 3 "):
        read_answers(path)


def test_weights_and_participants_of_dropped_rows_are_dropped(written):
    path = written("anchor,near,far,weight,user\na,a,b,5,1\na,b,c,2,7\n")
    answers = read_answers(path, self_pairs="drop")
    assert (answers.comparisons.weights.tolist(), answers.participants.tolist()) == ([2.0], [7])


def test_a_row_dropped_for_one_reason_is_not_an_error_for_another(written):
    text = "anchor,left,right,winner\na,b,c,b\na,,c,b\na,c,,tie\n"
    answers = read_answers(written(text), missing="drop")
    assert (rows_by_name(answers), answers.summary.dropped) == ([("a", "b", "c")], {"missing": 2})
    text = "near_1,near_2,far_1,far_2\na,b,c,d\n,,a,b\n"
    assert read_answers(written(text), missing="drop").summary.dropped == {"missing": 1}


def test_dropping_everything_is_an_error(written):
    with pytest.raises(ValueError, match="no answer is left"):
        read_answers(written("anchor,near,far\na,a,b\n"), self_pairs="drop")


@pytest.mark.parametrize("option", ["ties", "self_pairs", "missing"])
def test_an_option_has_few_values(written, option):
    values = '"error" or "drop" or "keep"' if option == "ties" else '"error" or "drop"'
    with pytest.raises(ValueError, match=rf"{option} is 'skip'; it must be {values}"):
        read_answers(written("anchor,near,far\na,b,c\n"), **{option: "skip"})


def test_repeated_and_contradictory_comparisons_are_counted(written):
    rows = "a,b,c\n" * 3 + "a,c,b\n" + "b,a,c\n"
    summary = read_answers(written("anchor,near,far\n" + rows)).summary
    assert (summary.n_repeated, summary.n_contradictory) == (2, 4)


@pytest.mark.parametrize("n_objects", [10, 1_000_000, 3_000_000])
@pytest.mark.filterwarnings("ignore:.*occur in no comparison:UserWarning")
def test_counts_of_repeats_agree_with_a_simple_count(n_objects):
    rng = np.random.default_rng(0)
    small = np.array([rng.permutation(6)[:4] for _ in range(300)])
    spread = np.linspace(0, n_objects - 1, 6).astype(int)
    for width, make in ((3, ct.Comparisons.from_triplets), (4, ct.Comparisons.from_quadruplets)):
        rows = spread[small[:, :width]]
        plain = [(frozenset(row[:2]), frozenset(row[2:] if width == 4 else (row[0], row[2]))) for row in rows.tolist()]
        counted = (len(plain) - len(set(plain)), sum((far, near) in set(plain) for near, far in plain))
        assert repeated_and_contradictory(make(rows, n_objects=n_objects)) == counted


def test_the_summary_reads_as_text(written):
    text = str(read_answers(written("head,winner,loser\na,b,c\na,c,b\na,a,b\n"), self_pairs="drop").summary)
    assert "3 read, 2 used, 1 dropped (1 self pair)" in text
    assert "0 repeat another, 2 contradict another" in text
    assert "anchor = head, near = winner, far = loser" in text
    assert "triplet: anchor is closer to near than to far" in text


# ---- numbering ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "numbering", "names"),
    [
        ("0 1 2\n", "0-based", None),
        ("1 2 3\n", "1-based", ("1", "2", "3")),
        ("1.0 2.0 3.0\n", "1-based", ("1", "2", "3")),
        ("7 8 9\n", "names", ("7", "8", "9")),
        ("0 1000 90\n", "names", ("0", "90", "1000")),
        ("01 02 03\n", "names", ("01", "02", "03")),
    ],
)
def test_the_numbering_is_detected_and_reported(written, read_text, rows, numbering, names):
    answers = read_text(written(rows, "answers.txt"))
    assert (answers.summary.numbering, answers.comparisons.names) == (numbering, names)
    assert answers.summary.numbering_reason in str(answers.summary)


def test_the_numbering_can_be_passed(written):
    path = written("1 2 3\n", "answers.txt")
    with pytest.warns(UserWarning, match="1 of 4 objects occur in no comparison"):
        assert read_comparisons(path, numbering="0-based").rows.tolist() == [[1, 2, 3]]
    assert read_comparisons(path, numbering="names").names == ("1", "2", "3")
    with pytest.raises(ValueError, match="numbering is '2-based'; it must be"):
        read_comparisons(path, numbering="2-based")
    with pytest.raises(ValueError, match=r"line 1 \('0 1 2'\): object 0 is below 1"):
        read_comparisons(written("0 1 2\n", "b.txt"), numbering="1-based")


def test_names_determine_the_order_of_objects_and_the_meaning_of_numbers(written):
    names = ["c", "b", "a"]
    assert read_comparisons(written("anchor,near,far\na,b,c\n"), names=names).rows.tolist() == [[2, 1, 0]]
    assert rows_by_name(read_comparisons(written("1 2 3\n", "a.txt"), names=names)) == [("c", "b", "a")]
    assert rows_by_name(read_comparisons(written("0 1 2\n", "a.txt"), names=names)) == [("c", "b", "a")]
    assert read_comparisons(written("1 2 3\n", "a.txt"), names=["3", "2", "1"]).rows.tolist() == [[2, 1, 0]]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("3,x,2", "'x' is not a whole number, but other objects are"),
        ("3,-1,2", "object -1 is negative"),
    ],
)
def test_an_inconsistent_label_is_an_error_that_quotes_the_line(written, row, problem):
    with pytest.raises(ValueError, match=rf"line 3 \('{row}'\): {problem}"):
        read_answers(written(f"anchor,near,far\n1,2,3\n{row}\n"))


def test_a_decimal_number_is_not_an_object(tmp_path):
    np.save(tmp_path / "a.npy", [[1.5, 2.5, 3.5]])
    with pytest.raises(ValueError, match=r"row 0 \(1\.5, 2\.5, 3\.5\): '1\.5' is not a whole number"):
        read_answers(tmp_path / "a.npy")


def test_an_unknown_name_is_an_error_that_quotes_the_line(written):
    with pytest.raises(ValueError, match=r"line 3 \('a,b,d'\): 'd' is not among the 3 names that were passed"):
        read_answers(written("anchor,near,far\na,b,c\na,b,d\n"), names=["a", "b", "c"])


# ---- other formats --------------------------------------------------------------------------------------------------


def test_json_lines_of_lists_and_of_objects(written):
    assert rows_by_name(read_answers(written('["a", "b", "c"]\n["b", "a", "c"]\n', "a.jsonl")))[1] == ("b", "a", "c")
    text = '{"anchor": 0, "near": 1, "far": 2, "weight": 0.5}\n\n{"far": 0, "near": 1, "anchor": 2, "weight": 1}\n'
    answers = read_answers(written(text, "b.jsonl"))
    assert answers.comparisons.rows.tolist() == [[0, 1, 2], [2, 1, 0]]
    assert answers.comparisons.weights.tolist() == [0.5, 1.0]


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ("{oops", "it is not JSON"),
        ("7", "expected an object such as"),
        ('{"anchor": {"x": 1}}', "expected a name or a number"),
        ('{"anchor": "a", "near": "b"}', "a cell is empty"),
        ('["a", "b", "c"]', "some lines are objects and others are lists"),
    ],
)
def test_a_malformed_json_line_is_an_error_that_quotes_it(written, bad, problem):
    text = '{"anchor": "a", "near": "b", "far": "c"}\n' + bad + "\n"
    with pytest.raises(ValueError, match=rf"line 2 \('.*{problem}"):
        read_answers(written(text, "a.jsonl"))


def test_parquet_columns_of_any_type(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    pq.write_table(
        pa.table(
            {
                "anchor": pa.array(["a", "b", None]).dictionary_encode(),
                "near": ["b", "a", "c"],
                "far": pa.array(["c", "c", "a"], pa.large_string()),
                "weight": [1, 2, 3],
            }
        ),
        path,
    )
    with pytest.raises(ValueError, match=r"row 2 .*a cell is empty"):
        read_answers(path)
    answers = read_answers(path, missing="drop")
    assert rows_by_name(answers) == [("a", "b", "c"), ("b", "a", "c")]
    assert answers.comparisons.weights.tolist() == [1.0, 2.0]


def test_parquet_lists_are_numbered_columns(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"anchor": [0, 1], "ranking": [[1, 2, 3], [0, 2]]}), path)
    assert read_comparisons(path).rows.tolist() == [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 0, 2]]


def test_a_missing_library_is_an_error_that_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(ImportError, match=r"needs pyarrow, which is not installed: pip install 'closerthan\[files\]'"):
        read_answers(tmp_path / "a.parquet")


def test_arrays_with_names_numbers_or_fields(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.array([["a", "b", "c"], ["b", "a", "c"]]))
    assert rows_by_name(read_answers(path)) == [("a", "b", "c"), ("b", "a", "c")]
    np.save(path, np.array([[0.0, 1.0, 2.0], [2.0, np.nan, 1.0]]))
    assert read_answers(path, missing="drop").comparisons.rows.tolist() == [[0, 1, 2]]
    np.save(path, np.array([(2, 0, 1)], dtype=[("far", int), ("near", int), ("anchor", int)]))
    assert read_comparisons(path).rows.tolist() == [[1, 0, 2]]


def test_npz_tables_vectors_and_choices(tmp_path):
    path = tmp_path / "a.npz"
    rows = np.array([[0, 1, 2], [2, 1, 0]])
    np.savez(path, anchor=rows[:, 0], near=rows[:, 1], far=rows[:, 2])
    assert read_comparisons(path).rows.tolist() == rows.tolist()
    np.savez(path, mine=rows, weights=np.array([1.0, 3.0]), note=np.array("hello"))
    assert read_comparisons(path).weights.tolist() == [1.0, 3.0]
    np.savez(path, mine=rows, yours=rows[::-1])
    with pytest.raises(ValueError, match=r"holds mine \(2, 3\), yours \(2, 3\); expected one table"):
        read_comparisons(path)
    assert read_comparisons(path, variable="yours").rows.tolist() == rows[::-1].tolist()
    with pytest.raises(ValueError, match="has no variable 'theirs'"):
        read_comparisons(path, variable="theirs")


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, np.float32])
def test_arrays_of_any_number_type_mean_the_same(tmp_path, dtype):
    rows = np.array([[0, 1, 2], [100, 2, 1]])
    np.save(tmp_path / "a.npy", rows.astype(dtype))
    answers = read_answers(tmp_path / "a.npy", numbering="names")
    assert rows_by_name(answers) == [("0", "1", "2"), ("100", "2", "1")]


def test_numbers_far_apart_are_names_and_keep_all_digits(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[2**62, 2**62 + 1, 5]]))
    assert rows_by_name(read_answers(tmp_path / "a.npy")) == [(str(2**62), str(2**62 + 1), "5")]


def test_a_transposed_table_is_an_error(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 20)))
    with pytest.raises(ValueError, match=r"shape \(3, 20\).*transpose"):
        read_answers(tmp_path / "a.npy")


@pytest.mark.slow
def test_matlab_version_5_numbers_and_cells(tmp_path):
    from scipy import io

    path = tmp_path / "a.mat"
    io.savemat(path, {"triplets": np.array([[1, 2, 3], [3, 1, 2]])})
    answers = read_answers(path)
    assert (answers.summary.numbering, answers.comparisons.rows.tolist()) == ("1-based", [[0, 1, 2], [2, 0, 1]])
    io.savemat(path, {"answers": np.array([["ant", "bee", "cat"]], dtype=object)})
    assert rows_by_name(read_answers(path)) == [("ant", "bee", "cat")]
    io.savemat(path, {"triplets": [[1, 2, 3]], "names": np.array(["ant", "bee", "cat"], dtype=object)})
    assert rows_by_name(read_answers(path)) == [("ant", "bee", "cat")]


def test_matlab_version_7_3_numbers_and_cells(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["triplets"] = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]).T
    assert read_comparisons(path).rows.tolist() == [[0, 1, 2], [2, 0, 1]]
    with h5py.File(path, "w") as file:
        cells = file.create_dataset("answers", (3, 2), dtype=h5py.ref_dtype)
        for (column, row), name in np.ndenumerate(np.array([["ant", "bee"], ["bee", "ant"], ["cät", "cät"]])):
            text = file.create_dataset(f"#refs#/{column}{row}", data=np.array([[ord(c)] for c in name], dtype="u2"))
            text.attrs["MATLAB_class"] = np.bytes_("char")
            cells[column, row] = text.ref
    assert rows_by_name(read_answers(path)) == [("ant", "bee", "cät"), ("bee", "ant", "cät")]


@pytest.mark.parametrize("name", ["a.mat", "a.npz", "a.npy", "a.parquet"])
def test_a_damaged_file_raises_a_value_error(written, name):
    with pytest.raises(ValueError, match=r"cannot be read as|is not a Parquet file"):
        read_answers(written(b"this is something else entirely, 0123456789" * 20, name))


class Bomb:
    """Unpickling it sets a flag."""

    exploded = False

    def __reduce__(self):
        return (_explode, ())


def _explode():
    Bomb.exploded = True


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.mat", "a.pkl", "a.csv", "a.parquet", "a.joblib"])
def test_pickled_content_is_never_loaded(tmp_path, name):
    path = tmp_path / name
    array = np.array([[Bomb(), Bomb(), Bomb()]], dtype=object)
    if name == "a.npy":
        np.save(path, array, allow_pickle=True)
    elif name == "a.npz":
        np.savez(path, triplets=array)
    else:
        path.write_bytes(pickle.dumps(array))
    with pytest.raises(ValueError, match=r"pickle|cannot be read|not a|empty|utf-8"):
        read_answers(path)
    assert not Bomb.exploded
    pickle.loads(pickle.dumps(Bomb()))
    assert Bomb.exploded, "the bomb works"
    Bomb.exploded = False


def test_the_public_names_are_where_they_should_be():
    assert ct.read_comparisons is read_comparisons
    assert ct.files.read_answers is read_answers


# ---- real data ------------------------------------------------------------------------------------------------------


@needs_data
def test_the_music_answers_are_read():
    path = Path(DATA, "music_triplets.mat")
    with pytest.raises(ValueError, match="compared with itself"):
        read_answers(path)
    with pytest.warns(UserWarning, match="12 of 412 objects occur in no comparison"):
        answers = read_answers(path, self_pairs="drop")
    summary = answers.summary
    assert (summary.n_rows, summary.n_objects, summary.n_mentioned) == (9107, 412, 400)
    assert (summary.numbering, summary.kind) == ("1-based", "triplet")
    assert summary.n_used + summary.dropped["self_pairs"] == 9107
    assert rows_by_name(answers)[0] == ("3", "47", "206")


@needs_data
def test_the_cars_answers_are_read():
    answers = read_answers(Path(DATA, "cars_most_central.csv"))
    summary = answers.summary
    assert (summary.kind, summary.n_rows, summary.n_objects) == ("most-central", 7097, 60)
    assert (summary.n_comparisons, summary.numbering) == (2 * 7097, "1-based")
    # The first line: 32 is the most central of 32, 16 and 30.
    assert rows_by_name(answers)[:2] == [("16", "32", "30"), ("30", "32", "16")]


# ---- the page -------------------------------------------------------------------------------------------------------

PAGE = ROOT / "docs" / "columns-and-questions.md"


@pytest.mark.parametrize("word", sorted({word for names in (*ALIASES.values(), *NUMBERED.values()) for word in names}))
def test_the_page_lists_every_usual_name(word):
    assert re.search(rf"\b{word}\b", PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_states_every_rule(kind):
    _, _, formula = RULES[kind].partition(": ")
    for part in formula.split(", k(n")[0].split(" and "):
        assert part in PAGE.read_text(encoding="utf-8")


def test_an_answer_that_is_dropped_for_two_reasons_is_counted_once(written):
    path = written("anchor,near,far,y\na,b,c,1\na,a,c,0\na,b,,0\na,b,c,0\n")
    summary = read_answers(path, ties="drop", self_pairs="drop", missing="drop").summary
    assert (summary.n_rows, summary.n_used) == (4, 1)
    assert sum(summary.dropped.values()) == 3


@pytest.mark.parametrize(
    ("labels", "numbering"),
    [
        (["0", "1", "5"], "0-based"),
        (["0", "1", "6"], "names"),
        (["1", "2", "6"], "1-based"),
        (["1", "2", "7"], "names"),
    ],
)
def test_numbers_are_names_if_more_than_half_of_them_are_unused(labels, numbering):
    assert number_objects(list(labels)).numbering == numbering


def test_object_numbers_must_fit_in_32_bits():
    assert number_objects([str(2**31 - 2)], "0-based", n_objects=2**31 - 1).numbers.tolist() == [2**31 - 2]
    for label, first in ((2**31 - 1, "0-based"), (2**31, "1-based")):
        with pytest.raises(ValueError, match=f"object {label} is too large for an object number"):
            number_objects([str(label)], first)


def test_the_largest_number_of_counted_objects():
    assert number_objects(["2"], "0-based", n_objects=3).numbers.tolist() == [2]
    assert number_objects(["3"], "1-based", n_objects=3).numbers.tolist() == [2]
    for label, first in (("3", "0-based"), ("4", "1-based")):
        with pytest.raises(ValueError, match=f"object {label} is too large for 3 objects"):
            number_objects([label], first, n_objects=3)


def test_an_object_that_is_chosen_twice_is_refused_or_dropped(written):
    path = written("anchor,shown_1,shown_2,shown_3,chosen_1,chosen_2\na,b,c,d,b,c\na,b,c,d,b,b\na,b,c,d,d,\n")
    with pytest.raises(ValueError, match=r'line 3.*an object is chosen twice.*self_pairs="drop"'):
        read_answers(path)
    answers = read_answers(path, self_pairs="drop")
    assert dict(answers.summary.dropped) == {"self_pairs": 1}
    assert sorted(rows_by_name(answers)) == [("a", "b", "d"), ("a", "c", "d"), ("a", "d", "b"), ("a", "d", "c")]


def test_a_column_of_people_that_is_taken_for_the_odd_one_has_a_way_out(tmp_path):
    (tmp_path / "odd.txt").write_text("11 12 13 7\n12 14 11 7\n13 11 14 8\n")
    with pytest.raises(ValueError, match=r'the person, pass columns=\{"participant": 3\}'):
        read_answers(tmp_path / "odd.txt", kind="odd-one-out")
    read = read_answers(tmp_path / "odd.txt", kind="odd-one-out", columns={"participant": 3})
    assert read.comparisons.n_people == 2


def test_columns_of_the_same_name_are_told_apart_by_position(written):
    path = written("anchor,near,far,near\na,b,c,b\n")
    with pytest.raises(ValueError, match=r'pass columns=\{"near": 1\} to choose one by its position \(1 or 3,'):
        read_answers(path)
    assert read_answers(path, columns={"near": 1}).comparisons.names == ("a", "b", "c")
