"""closerthan.files: which columns and which rows of a table are read."""

import os

import pytest
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


@pytest.fixture
def written(tmp_path):
    def write(content, name="answers.csv"):
        path = tmp_path / name
        path.write_text(content)
        return path

    return write


def said(comparisons):
    return [tuple(comparisons.names[number] for number in row) for row in comparisons.rows.tolist()]


# ---- winner and loser -----------------------------------------------------------------------------------------------


def test_winner_and_loser_are_preferred_to_left_and_right(written):
    answers = read_answers(written("anchor,left,right,winner,loser\na,b,c,c,b\nb,a,c,a,c\n"))
    assert said(answers.comparisons) == [("a", "c", "b"), ("b", "a", "c")]
    assert answers.summary.columns["far"] == "loser"


def test_a_vague_name_is_not_preferred(written):
    answers = read_answers(written("anchor,left,right,winner,other\na,b,c,right,x\nb,a,c,left,y\n"))
    assert said(answers.comparisons) == [("a", "c", "b"), ("b", "a", "c")]


def test_left_and_right_can_be_asked_for(written):
    text = "head,winner,loser,Center,Left,Right,Answer\n0,1,2,ant,bee,cat,bee\n1,2,0,bee,ant,cat,cat\n"
    columns = {"anchor": "Center", "left": "Left", "right": "Right", "winner": "Answer"}
    assert said(read_answers(written(text), columns=columns).comparisons) == [
        ("ant", "bee", "cat"),
        ("bee", "cat", "ant"),
    ]


@pytest.mark.skipif(DATA is None, reason="CLOSERTHAN_DATA does not point at the data")
def test_a_table_of_a_real_study_is_read_at_the_first_attempt():
    done = CliRunner().invoke(app, ["info", f"{DATA}/cfd36_people.csv"], env={"COLUMNS": "200"})
    assert done.exit_code == 0
    assert "anchor = head, near = winner, far = loser, participant = worker_id, time = rt, side = Left" in done.stdout
    assert "39,468 read, 37,234 used, 2,234 dropped (2,234 catch trials)" in done.stdout
    assert "2,152 of 2,234 were answered rightly; pass --catch keep" in done.stdout


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
    ],
)
def test_rows_are_chosen_by_the_values_of_columns(written, where, lines):
    assert read_answers(written(STUDY), where=where).comparisons.lines.tolist() == lines


def test_what_was_not_chosen_is_counted_and_not_looked_at(written):
    answers = read_answers(
        written(STUDY + "a,,c,w3,odd,,4\nx,y,z,w3,odd,,4\n"), where={"block": [1, 2, 3]}, catch="drop"
    )
    assert answers.summary.dropped == {"not_chosen": 2, "catch_trials": 3}
    assert (answers.summary.n_rows, answers.summary.n_used) == (9, 4)
    assert answers.comparisons.names == ("a", "b", "c")
    assert answers.comparisons.person_names == ("w1", "w2")
    assert "9 read, 4 used, 5 dropped (2 not chosen, 3 catch trials)" in str(answers.summary)


def test_an_error_in_a_chosen_row_names_its_line(written):
    with pytest.raises(ValueError, match=r"line 9 \('a,,c,w3,odd,,4'\): a cell is empty"):
        read_answers(written(STUDY + "a,,c,w3,odd,,4\n"), where={"block": 4})


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ({"colour": "red"}, r"has no column 'colour' \(for where\); its columns are 'head', "),
        ({9: "red"}, "has no column 9"),
        ({"block": 7}, "no row has '7' in 'block'; it holds '1', '2', '3'"),
        ({"block": 1, "worker_id": "w2"}, "no row has the wanted values in 'block' and 'worker_id' together"),
    ],
)
def test_what_cannot_be_chosen_is_an_error(written, where, problem):
    with pytest.raises(ValueError, match=problem):
        read_answers(written(STUDY), where=where)


def test_rows_are_chosen_on_the_command_line(written):
    path = str(written(STUDY))
    done = CliRunner().invoke(app, ["info", path, "--where", "block=1,2", "--where", "sampleAlg=random"])
    assert "7 read, 2 used, 5 dropped (5 not chosen)" in done.stdout
    for wrong, problem in (["block", "expected COLUMN=VALUE"], ["=1", "expected COLUMN=VALUE"]):
        assert problem in CliRunner().invoke(app, ["info", path, "--where", wrong]).stderr
    twice = ["info", path, "--where", "block=1", "--where", "block=2"]
    assert "write block=a,b" in CliRunner().invoke(app, twice).stderr


# ---- catch trials ---------------------------------------------------------------------------------------------------


def test_catch_trials_are_left_out_and_counted(written):
    answers = read_answers(written(STUDY))
    assert answers.comparisons.lines.tolist() == [2, 3, 5, 8]
    assert answers.comparisons.names == ("a", "b", "c")
    assert answers.summary.dropped == {"catch_trials": 3}
    assert answers.checks == {"w1": (1, 1), "w2": (2, 1)}
    assert "rows in which 'sampleAlg' is check are catch trials, and left out; 2 of 3 were" in answers.summary.notes[0]
    assert answers.summary.not_used == ("sampleSet", "block")


@pytest.mark.filterwarnings("ignore:1 of 4 objects occur in no comparison")
def test_catch_trials_can_be_kept(written):
    kept = read_answers(written(STUDY), catch="keep", self_pairs="drop")
    assert kept.summary.dropped == {"self_pairs": 3}
    assert kept.checks == {}
    chosen = read_answers(written(STUDY.replace("d,d", "d,a").replace("c,d,", "c,b,")), where={"sampleAlg": "check"})
    assert chosen.comparisons.lines.tolist() == [4, 6, 7]
    with pytest.raises(ValueError, match='catch is 1; it can be "drop" or "keep"'):
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
def test_other_columns_are_not_taken_for_catch_trials(written, title, cells):
    answers = read_answers(written("anchor,near,far,{}\na,b,c,{}\nb,a,c,{}\n".format(title, *cells)))
    assert (answers.summary.n_used, answers.summary.dropped) == (2, {})
    assert answers.summary.not_used == (title,)


def test_checks_whose_right_answer_nobody_knows_are_not_marked(written):
    answers = read_answers(written("anchor,near,far,is_catch\na,b,c,0\nb,a,c,0\nb,a,d,1\n"))
    assert answers.checks == {}
    assert answers.summary.notes[0].endswith('and left out; pass catch="keep" to keep them')
