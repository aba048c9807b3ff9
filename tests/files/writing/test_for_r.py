"""Comparisons written for packages of R."""

import csv

import pytest
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.files import read_answers, write_for

ROWS = [["cat", "ant", "bee, or wasp"], ["ant", "bee, or wasp", "cat"], ["bee, or wasp", "cat", "ant"]]


@pytest.fixture
def answers():
    trials = ct.Trials(times=[1.2, float("nan"), 2.5], sides=[1, 0, -1])
    return ct.Comparisons.from_triplets(ROWS, people=["w1", "w2", "w1"], trials=trials)


def table(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_file_for_triplet_tools_has_its_columns(answers, tmp_path):
    notes = write_for("tripletTools", answers, tmp_path / "a.csv")
    first, second, third = table(tmp_path / "a.csv")
    assert first == {
        "head": "2", "winner": "0", "loser": "1", "worker_id": "w1", "rt": "1200.0", "Center": "cat",
        "Left": "bee, or wasp", "Right": "ant", "Answer": "ant", "sampleAlg": "", "sampleSet": "train",
    }  # fmt: skip
    assert (second["rt"], second["Left"], second["Right"]) == ("", "bee, or wasp", "cat")
    assert third["Left"] == third["Answer"] == "cat"
    assert notes == ["the near object is written as the left one if its side is unknown"]


def test_a_file_for_triplet_tools_is_read_back_unchanged(answers, tmp_path):
    write_for("tripletTools", answers, tmp_path / "a.csv")
    again = read_answers(tmp_path / "a.csv")
    assert "an export of tripletTools" in again.summary.format
    assert again.comparisons.names == answers.names
    assert again.comparisons.rows.tolist() == answers.rows.tolist()
    assert again.comparisons.person_names == answers.person_names
    assert again.comparisons.times[[0, 2]].tolist() == [1.2, 2.5]
    assert again.comparisons.sides.tolist() == [1, 0, 0]


@pytest.mark.filterwarnings("ignore:.*occur in no comparison:UserWarning")
def test_objects_that_occur_are_numbered_alphabetically(tmp_path):
    answers = ct.Comparisons.from_triplets([[3, 1, 2]], n_objects=4, names=["zoo", "y", "x", "w"])
    write_for("tripletTools", answers, tmp_path / "a.csv")
    (row,) = table(tmp_path / "a.csv")
    assert [row[name] for name in ("head", "winner", "loser")] == ["0", "2", "1"]
    write_for("tripletTools", ct.Comparisons.from_triplets([["10", "2", "1"]]), tmp_path / "b.csv")
    (row,) = table(tmp_path / "b.csv")
    assert [row[name] for name in ("head", "winner", "loser")] == ["2", "1", "0"]


def test_quadruplets_cannot_be_written_for_triplet_tools(tmp_path):
    with pytest.raises(ValueError, match="supports only triplets"):
        write_for("tripletTools", ct.Comparisons.from_quadruplets([[0, 1, 2, 3]]), tmp_path / "a.csv")
    assert list(tmp_path.iterdir()) == []


def test_the_file_for_loe_counts_from_1_and_names_are_written_to_another_file(answers, tmp_path):
    notes = write_for("loe", answers, tmp_path / "cm.csv")
    assert (tmp_path / "cm.csv").read_text().splitlines() == ["i,j,k,l", "3,1,3,2", "1,2,1,3", "2,3,2,1"]
    assert [row["name"] for row in table(tmp_path / "cm-objects.csv")] == list(answers.names)
    assert notes == ["the file does not contain: people, times, sides"]
    again = read_answers(tmp_path / "cm.csv").comparisons
    assert again.rows.tolist() == [[2, 0, 1, 2], [0, 1, 2, 0], [1, 2, 0, 1]]  # d(l, k) equals d(k, l)


def test_quadruplets_for_loe_are_unchanged(tmp_path):
    write_for("loe", ct.Comparisons.from_quadruplets([[0, 1, 2, 3], [3, 1, 0, 2]]), tmp_path / "cm.csv")
    assert (tmp_path / "cm.csv").read_text() == "i,j,k,l\n1,2,3,4\n4,2,1,3\n"
    assert [path.name for path in tmp_path.iterdir()] == ["cm.csv"]


@pytest.mark.parametrize(("program", "name", "problem"), [
    ("smacof", "a.csv", "unknown program 'smacof'; choose from: tripletTools, loe"),
    ("loe", "a.parquet", r"for loe, comparisons are written as \.csv"),
])  # fmt: skip
def test_another_program_or_suffix_is_an_error(answers, tmp_path, program, name, problem):
    with pytest.raises(ValueError, match=problem):
        write_for(program, answers, tmp_path / name)


def test_the_command_converts_for_r(tmp_path):
    (tmp_path / "a.csv").write_text("anchor,near,far,worker\na,b,c,w1\nb,c,a,w2\n")
    result = CliRunner().invoke(app, ["convert", str(tmp_path / "a.csv"), str(tmp_path / "cm.csv"), "--for", "loe"])
    assert result.exit_code == 0
    assert "note: the file does not contain: people" in result.stderr
    assert (tmp_path / "cm.csv").read_text() == "i,j,k,l\n1,2,1,3\n2,3,2,1\n"
