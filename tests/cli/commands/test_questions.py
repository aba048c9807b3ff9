"""The command `closerthan questions`."""

import csv
from pathlib import Path

import pytest
from studies import ANSWERS
from studies import N_OBJECTS as N
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app


def closerthan(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result.output


def test_a_table_of_questions_with_answers_can_be_fitted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "names.txt").write_text("ant\nbee\ncat\ndog\n")
    assert "12 questions" in closerthan("questions", "--names", "names.txt", "--count", 12, "--out", "first.csv")
    with open("first.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert set(table[0]) == {"anchor", "left", "right"}
    (tmp_path / "objects.csv").write_text('name,file,text,alt\n"cat, black",,"a\nb",\nbee,,,\nowl,,,\n')
    closerthan("questions", "--names", "objects.csv", "--count", 3, "--out", "second.csv")
    with open("second.csv", newline="") as file:
        assert {row["anchor"] for row in csv.DictReader(file)} == {"cat, black", "bee", "owl"}
    with open("answered.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, ["anchor", "left", "right", "answer"])
        writer.writeheader()
        writer.writerows({**row, "answer": row["left"]} for row in table[:8])
    assert ct.read_comparisons("answered.csv").n_answers == 8
    closerthan("questions", "answered.csv", "--count", 4)
    with open("answered-questions.csv", newline="") as file:
        others = list(csv.DictReader(file))
    assert {(row["anchor"], *sorted((row["left"], row["right"]))) for row in others} == {
        (row["anchor"], *sorted((row["left"], row["right"]))) for row in table[8:]
    }


def test_pending_questions_are_excluded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    odd = ("questions", "--objects", 5, "--ask", "odd")
    closerthan(*odd, "--count", 6, "--out", "first.csv")
    closerthan(*odd, "--count", 4, "--exclude", "first.csv", "--out", "second.csv")
    lines = [line for name in ("first.csv", "second.csv") for line in (tmp_path / name).read_text().splitlines()[1:]]
    assert len({tuple(sorted(line.split(","))) for line in lines}) == 10


@pytest.mark.parametrize("named", [True, False])
def test_the_command_asks_about_an_object_without_answers(tmp_path, monkeypatch, named):
    monkeypatch.chdir(tmp_path)
    names = [f"town {number}" for number in range(N)] if named else [str(number) for number in range(N)]
    new = "elsewhere" if named else str(N)
    lines = [",".join(names[one] for one in row) for row in ANSWERS.rows.tolist()]
    (tmp_path / "answers.csv").write_text("\n".join(["anchor,near,far", *lines]))
    output = closerthan("questions", "answers.csv", "--count", 6, "--about", new, "--about", names[3])
    assert f"{new}: new, without answers so far" in output
    with open("answers-questions.csv", newline="") as file:
        assert {row["anchor"] for row in csv.DictReader(file)} == {new, names[3]}


def test_the_number_of_a_new_object_follows_the_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = closerthan("questions", "--objects", 5, "--count", 3, "--about", "zebra", code=2)
    assert "objects have numbers from 0 to 4; a new one must be 5" in " ".join(output.split())


def test_wrong_options_are_explained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "pass --objects NUMBER or --names FILE" in closerthan("questions", code=2)
    (tmp_path / "waiting.csv").write_text("anchor,left,right\n0,1,zebra\n")
    output = closerthan("questions", "--objects", 5, "--count", 3, "--exclude", "waiting.csv", code=2)
    assert "waiting.csv, line 2: there is no object 'zebra'" in output
    (tmp_path / "waiting.csv").write_text("anchor,left\n0,1\n")
    output = closerthan("questions", "--objects", 5, "--count", 3, "--exclude", "waiting.csv", code=2)
    assert "no column 'right'" in output
    assert "5 objects make 30 questions" in closerthan("questions", "--objects", 5, code=2)


def test_too_many_questions_are_reported_with_the_option_and_its_limit(tmp_path):
    result = CliRunner().invoke(app, ["questions", "--objects", "4", "--out", str(tmp_path / "questions.csv")])
    assert result.exit_code == 2
    message = "--count is 100; 4 objects make 12 questions, and 0 are excluded; pass --count 12 or less"
    assert message in result.stderr


def test_questions_with_several_picks_are_written_and_read_with_their_answers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    closerthan("questions", "--objects", 9, "--ask", "rank", "--shown", 5, "--picks", 2, "--count", 9)
    header, *lines = Path("questions.csv").read_text().splitlines()
    assert header == "anchor,shown_1,shown_2,shown_3,shown_4,shown_5"
    answered = [f"{line},{line.split(',')[3]},{line.split(',')[1]}" for line in lines]
    Path("answers.csv").write_text("\n".join([f"{header},rank_1,rank_2", *answered]))
    assert len(ct.files.read_answers("answers.csv").comparisons) == 9 * 7
    Path("questions.csv").unlink()
    assert "--shown is 12; it must be larger than the number of picks" in " ".join(
        closerthan("questions", "--objects", 9, "--ask", "nearest", "--shown", 12, code=2).split()
    )
