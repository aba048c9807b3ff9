"""Selection of the columns and rows of a table."""

import os

import pytest
from rows_by_name import rows_by_name
from typer.testing import CliRunner

from closerthan.cli import app
from closerthan.files import read_answers

DATA = os.environ.get("CLOSERTHAN_DATA")

STUDY = """head,winner,loser,worker_id,sampleAlg,sampleSet,block
a,b,c,w1,random,train,1
b,a,c,w1,validation,test,1
d,d,c,w1,check,NA,1
c,b,a,w2,random,train,2
d,c,d,w2,check,NA,2
d,d,b,w2,check,NA,3
b,c,a,w2,random,test,3
"""


# ---- winner and loser -----------------------------------------------------------------------------------------------


def test_winner_and_loser_are_preferred_to_left_and_right(written):
    answers = read_answers(written("anchor,left,right,winner,loser\na,b,c,c,b\nb,a,c,a,c\n"))
    assert rows_by_name(answers.comparisons) == [("a", "c", "b"), ("b", "a", "c")]
    assert answers.summary.columns["far"] == "loser"


def test_a_vague_name_is_not_preferred(written):
    answers = read_answers(written("anchor,left,right,winner,other\na,b,c,right,x\nb,a,c,left,y\n"))
    assert rows_by_name(answers.comparisons) == [("a", "c", "b"), ("b", "a", "c")]


def test_left_and_right_can_be_chosen_explicitly(written):
    text = "head,winner,loser,Center,Left,Right,Answer\n0,1,2,ant,bee,cat,bee\n1,2,0,bee,ant,cat,cat\n"
    columns = {"anchor": "Center", "left": "Left", "right": "Right", "winner": "Answer"}
    assert rows_by_name(read_answers(written(text), columns=columns).comparisons) == [
        ("ant", "bee", "cat"),
        ("bee", "cat", "ant"),
    ]


@pytest.mark.skipif(DATA is None, reason="CLOSERTHAN_DATA does not point at the data")
def test_a_table_of_a_real_study_is_read_at_the_first_attempt():
    result = CliRunner().invoke(app, ["info", f"{DATA}/cfd36_people.csv"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert "anchor = head, near = winner, far = loser, participant = worker_id, time = rt, side = Left" in result.stdout
    assert "39,468 read, 37,234 used, 2,234 dropped (2,234 catch trials)" in result.stdout
    assert "2,152 of 2,234 were answered correctly; pass --catch keep" in result.stdout


# ---- where ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "lines"),
    [
        ({"block": 1}, [2, 3]),
        ({"block": ["2", "3"]}, [5, 8]),
        ({"Block": {2.0}}, [5]),
        ({"sample_set": "TRAIN"}, [2, 5]),
        ({"sampleAlg": "random", "block": ["1", "2"]}, [2, 5]),
        ({4: "random"}, [2, 5, 8]),
        ({"worker_id": "w1"}, [2, 3]),
        ({"worker_id": "!=w1"}, [5, 8]),
        ({"block": ["!=1", "!=2"]}, [8]),
        ({"block": ">1"}, [5, 8]),
        ({"block": ">=2.5"}, [8]),
        ({"block": "<2"}, [2, 3]),
        ({"block": [">=1", "<=2"]}, [2, 3, 5]),
        ({"block": [1, 3, "<3"]}, [2, 3]),
        ({"block": "=2"}, [5]),
        ({"sampleAlg": "=random", "block": ">1"}, [5, 8]),
    ],
)
def test_rows_are_selected_by_the_values_of_columns(written, where, lines):
    assert read_answers(written(STUDY), where=where).comparisons.lines.tolist() == lines


def test_rows_that_are_not_selected_are_counted_and_not_checked(written):
    answers = read_answers(
        written(STUDY + "a,,c,w3,odd,,4\nx,y,z,w3,odd,,4\n"), where={"block": [1, 2, 3]}, catch="drop"
    )
    assert answers.summary.dropped == {"excluded_by_where": 2, "catch_trials": 3}
    assert (answers.summary.n_rows, answers.summary.n_used) == (9, 4)
    assert answers.comparisons.names == ("a", "b", "c")
    assert answers.comparisons.person_names == ("w1", "w2")
    assert "9 read, 4 used, 5 dropped (2 excluded by where, 3 catch trials)" in str(answers.summary)


def test_an_error_in_a_selected_row_names_its_line(written):
    with pytest.raises(ValueError, match=r"line 9 \('a,,c,w3,odd,,4'\): a cell is empty"):
        read_answers(written(STUDY + "a,,c,w3,odd,,4\n"), where={"block": 4})


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ({"colour": "red"}, r"has no column 'colour' \(for where\); its columns are 'head', "),
        ({9: "red"}, r"has no column at position 9 \(for where\); it has 7, counted from 0: 'head', "),
        ({"block": 7}, "no row has '7' in 'block'; it holds '1', '2', '3'"),
        ({"block": 1, "worker_id": "w2"}, "no row satisfies block=1 and worker_id=w2$"),
        ({"block": ">3"}, "no row satisfies block>3$"),
        ({"block": [1, 2, ">2", "<=3"]}, "no row satisfies block=1,2 and block>2 and block<=3$"),
        ({"worker_id": "!=w9"}, "no row has 'w9' in 'worker_id'; it holds 'w1', 'w2'"),
        ({"worker_id": "<9"}, r"line 2 .*: 'worker_id' is 'w1', which is not a number; <9 does not apply"),
        ({"block": "<many"}, "'<many' in where is not a condition; < must be followed by a number"),
        ({"worker_id": ">w1"}, "'>w1' in where is not a condition; > must be followed by a number"),
        ({"block": "==1"}, "'==1' in where is not a condition; expected an operator \\(=, !=, <, <=, > or >=\\)"),
        ({"block": "<>1"}, "'<>1' in where is not a condition; expected an operator"),
        ({"block": []}, "a column in where has no values"),
    ],
)
def test_an_impossible_selection_is_an_error(written, where, problem):
    with pytest.raises(ValueError, match=problem):
        read_answers(written(STUDY), where=where)


def test_rows_are_selected_on_the_command_line(written):
    path = str(written(STUDY))
    result = CliRunner().invoke(app, ["info", path, "--where", "block=1,2", "--where", "sampleAlg=random"])
    assert "7 read, 2 used, 5 dropped (5 excluded by where)" in result.stdout
    for wrong in ("block", "=1", "block==1", "block<>1", "block=>1", "block=<1", "block!1", "block~1", "block<", "!=1"):
        refused = CliRunner().invoke(app, ["info", path, "--where", wrong])
        assert refused.exit_code == 2
        assert "expected COLUMN=VALUE" in refused.stderr
    twice = ["info", path, "--where", "block=1", "--where", "block=2"]
    assert "write block=a,b" in CliRunner().invoke(app, twice).stderr


@pytest.mark.parametrize(
    ("conditions", "n_used"),
    [
        (["worker_id!=w1"], 2),
        (["block!=1,2"], 1),
        (["block >= 2"], 2),
        (["block>1", "block<3"], 1),
        (["block<=2", "worker_id!=w2"], 2),
        (["6>2"], 1),
    ],
)
def test_conditions_on_the_command_line(written, conditions, n_used):
    words = [word for condition in conditions for word in ("--where", condition)]
    result = CliRunner().invoke(app, ["info", str(written(STUDY)), *words])
    assert f"7 read, {n_used} used" in result.stdout


def test_empty_cells_are_neither_below_nor_above_a_bound(written):
    text = "anchor,near,far,rt\na,b,c,100\nb,a,c,\nc,b,a,900\na,c,b,NA\n"
    assert read_answers(written(text), where={"rt": "<500"}).comparisons.lines.tolist() == [2]
    assert read_answers(written(text), where={"rt": ">=500"}).comparisons.lines.tolist() == [4]


# ---- catch trials ---------------------------------------------------------------------------------------------------


def test_catch_trials_are_left_out_and_counted(written):
    answers = read_answers(written(STUDY))
    assert answers.comparisons.lines.tolist() == [2, 3, 5, 8]
    assert answers.comparisons.names == ("a", "b", "c")
    assert answers.summary.dropped == {"catch_trials": 3}
    assert answers.checks == {"w1": (1, 1), "w2": (2, 1)}
    note = answers.summary.notes[0]
    assert note.startswith("rows in which 'sampleAlg' is check are catch trials and are left out; 2 of 3 were")
    assert answers.summary.not_used == ("sampleSet", "block")


@pytest.mark.parametrize("name", ["is_catchtrial", "catchtrial", "isCatchTrial", "attention_check", "validation"])
@pytest.mark.parametrize(("yes", "no"), [("True", "False"), ("1", "0"), ("yes", "")])
def test_a_flag_marks_catch_trials(written, name, yes, no):
    rows = ["a,b,c,w1", "b,a,c,w1", "c,a,c,w1", "a,c,b,w2", "b,b,c,w2", "c,b,a,w2"]
    flags = [no, no, yes, no, yes, no]
    lines = [f"{row},{flag}" for row, flag in zip(rows, flags, strict=True)]
    answers = read_answers(written("\n".join([f"anchor,near,far,worker,{name}", *lines]) + "\n"))
    assert answers.comparisons.lines.tolist() == [2, 3, 5, 7]
    assert answers.summary.dropped == {"catch_trials": 2}
    assert answers.checks == {"w1": (1, 0), "w2": (1, 1)}
    assert "1 of 2 were answered correctly" in answers.summary.notes[0]
    assert answers.summary.not_used == ()


def test_a_validation_column_may_mean_something_else(written):
    rows = ["a,b,c", "b,a,c", "c,a,b", "a,c,b"]
    for header, cells in (
        ("anchor,near,far,validation", ["1", "0", "0", "0"]),  # without people, it marks test answers
        ("anchor,near,far,worker,validation", ["w,1", "w,1", "w,1", "w,0"]),  # it marks most rows
        ("anchor,near,far,worker,validation", ["w,a", "w,b", "w,a", "w,b"]),  # not a flag
        ("anchor,near,far,worker,kind", ["w,validation", "w,random", "w,random", "w,random"]),  # real questions
    ):
        text = "\n".join([header, *(f"{row},{cell}" for row, cell in zip(rows, cells, strict=True))]) + "\n"
        assert read_answers(written(text)).summary.n_used == 4


ASKED = """anchor,near,far,worker,phase,odd_flag
a,b,c,w1,main,0
b,b,c,w1,trap,1
c,a,b,w2,main,0
c,a,c,w2,bait,1
a,c,b,w2,main,0
"""


@pytest.mark.parametrize("column", ["odd_flag", "odd_flag=1", "phase=trap,bait", "5=1", 5])
def test_the_column_of_catch_trials_can_be_named(written, column):
    answers = read_answers(written(ASKED), columns={"catch": column})
    assert answers.summary.dropped == {"catch_trials": 2}
    assert answers.checks == {"w1": (1, 1), "w2": (1, 0)}
    result = CliRunner().invoke(app, ["info", str(written(ASKED)), "--column", f"catch={column}"])
    assert "5 read, 3 used, 2 dropped (2 catch trials)" in result.stdout


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ("phase", r"'phase' holds 'main', 'trap', 'bait'; specify which of these mark catch trials, .*\"phase=main\""),
        ("phase=snare", "no row has 'snare' in 'phase'"),
        ("colour", r"has no column 'colour' \(for catch\)"),
        (["phase"], "one column is expected"),
        ("phase=main,trap,bait", "all rows are catch trials"),
    ],
)
def test_an_invalid_column_of_catch_trials_is_an_error(written, column, problem):
    with pytest.raises(ValueError, match=problem):
        read_answers(written(ASKED), columns={"catch": column})


def test_catch_trials_can_be_switched_off(written):
    text = STUDY.replace("d,d", "d,a").replace("c,d,", "c,b,")
    for answers in (read_answers(written(text), columns={"catch": None}), read_answers(written(text), catch="keep")):
        assert answers.summary.n_used == 7
    result = CliRunner().invoke(app, ["info", str(written(text)), "--column", "catch="])
    assert "7 read, 7 used" in result.stdout


# ---- unmarked checks ----


def self_pairs(n_passed, n_failed, worker=",worker", extra=""):
    rows = ["a,b,c,w1", "b,a,c,w1", "c,b,a,w2", "a,c,b,w2"]
    rows += [f"b,b,{'ac'[number % 2]},w{1 + number % 2}" for number in range(n_passed)]
    rows += ["c,a,c,w2"] * n_failed
    header = f"anchor,near,far{worker}"
    return "\n".join([header, *(row if worker else row[:5] for row in rows)]) + "\n" + extra


@pytest.mark.parametrize("self_pairs_are", ["error", "drop"])
def test_unmarked_questions_with_a_known_answer_are_catch_trials(written, self_pairs_are):
    answers = read_answers(written(self_pairs(6, 2)), self_pairs=self_pairs_are)
    assert answers.summary.n_used == 4
    assert answers.summary.dropped == {"catch_trials": 8}
    assert answers.checks == {"w1": (3, 3), "w2": (5, 3)}
    assert "8 answers compare an object with itself; they are taken to be catch trials" in answers.summary.notes[0]


@pytest.mark.parametrize("text", [self_pairs(2, 1), self_pairs(2, 8), self_pairs(6, 2, worker="")])
def test_other_self_pairs_are_errors(written, text):
    with pytest.raises(ValueError, match="is compared with itself"):
        read_answers(written(text))
    assert read_answers(written(text), self_pairs="drop").checks == {}


def test_two_equal_options_are_an_error_and_not_a_catch_trial(written):
    with pytest.raises(ValueError, match="object 'b' is compared with itself"):
        read_answers(written(self_pairs(6, 0, extra="a,b,b,w1\n")))


def test_catch_trials_of_other_questions_are_counted(written):
    odd = "item_1,item_2,item_3,odd,worker,is_catch\na,b,c,a,w1,0\na,a,b,b,w1,1\nc,a,a,a,w2,1\nb,c,a,c,w2,0\n"
    assert read_answers(written(odd)).checks == {"w1": (1, 1), "w2": (1, 0)}
    shown = "anchor,shown_1,shown_2,shown_3,chosen,worker,is_catch\na,b,c,d,b,w1,0\na,b,a,c,a,w1,1\nb,b,c,d,c,w2,1\n"
    assert read_answers(written(shown)).checks == {"w1": (1, 1), "w2": (1, 0)}
    sides = "anchor,left,right,winner,worker,is_catch\na,b,c,left,w1,0\nc,a,b,right,w2,0\n"
    sides += "a,a,c,left,w1,1\na,c,a,left,w2,1\na,c,a,,w2,1\n"  # the last question was not answered
    assert read_answers(written(sides)).checks == {"w1": (1, 1), "w2": (1, 0)}


@pytest.mark.filterwarnings("ignore:1 of 4 objects occur in no comparison")
def test_catch_trials_can_be_kept(written):
    answers = read_answers(written(STUDY), catch="keep", self_pairs="drop")
    assert answers.summary.dropped == {"self_pairs": 3}
    assert answers.checks == {}
    chosen = read_answers(written(STUDY.replace("d,d", "d,a").replace("c,d,", "c,b,")), where={"sampleAlg": "check"})
    assert chosen.comparisons.lines.tolist() == [4, 6, 7]
    with pytest.raises(ValueError, match='catch is 1; it must be "drop" or "keep"'):
        read_answers(written(STUDY), catch=1)


@pytest.mark.parametrize(
    ("title", "catch", "other"),
    [
        ("trial_type", "catch", "main"),
        ("trialType", "Attention Check", "main"),
        ("kind", "catch-trial", "triplet"),
        ("is_catch", "1", "0"),
        ("catch", "TRUE", "FALSE"),
        ("attention_check", "yes", ""),
    ],
)
def test_catch_trials_are_recognised(written, title, catch, other):
    answers = read_answers(written(f"anchor,near,far,{title}\na,b,c,{other}\nb,a,c,{catch}\nc,b,a,{other}\n"))
    assert answers.comparisons.lines.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("title", "cells"),
    [
        ("trial_type", ("html-button-response", "html-button-response")),
        ("condition", ("attention", "control")),
        ("check", ("passed", "failed")),
        ("is_catch", ("0", "0")),
        ("trial_type", ("check", "check")),
    ],
)
def test_other_columns_do_not_mark_catch_trials(written, title, cells):
    answers = read_answers(written("anchor,near,far,{}\na,b,c,{}\nb,a,c,{}\n".format(title, *cells)))
    assert (answers.summary.n_used, answers.summary.dropped) == (2, {})
    assert answers.summary.not_used == (title,)


def test_catch_trials_without_a_known_answer_are_not_counted(written):
    answers = read_answers(written("anchor,near,far,is_catch\na,b,c,0\nb,a,c,0\nb,a,d,1\n"))
    assert answers.checks == {}
    assert answers.summary.notes[0].endswith('and are left out; pass catch="keep" to keep them')
