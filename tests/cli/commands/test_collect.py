"""The commands of `closerthan collect`."""

import csv
import random
import re

import pytest
from studies import answer_all, closer_by_number, joined, study_folder
from typer.testing import CliRunner

from closerthan.cli import app
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.study.description import read_study
from closerthan.collect.web.interview import Interview


@pytest.fixture
def folder(tmp_path):
    return study_folder(tmp_path)


def run(*words):
    return CliRunner().invoke(app, ["collect", *map(str, words)])


def test_collect_new_prints_the_next_steps_and_replaces_nothing(tmp_path):
    words = tmp_path / "words.csv"
    words.write_text("text\na\nb\nc\nd\n")
    command = ("new", tmp_path / "study", "--objects", words, "--title", 'A "new" study')
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert "a study about 4 objects: 4 texts" in result.output
    assert "closerthan collect serve" in result.output
    study = read_study(tmp_path / "study")
    assert (study.title, study.number) == ('A "new" study', 9)  # four objects make twelve questions
    again = run(*command)
    assert again.exit_code == 2
    assert "already exists; choose another name" in again.output


def test_commands_on_a_study_without_answers_explain_how_to_start(folder):
    for command in (["export"], ["status"], ["backup"], ["forget"]):
        result = run(*command, folder, *(["x"] if command == ["forget"] else []))
        assert result.exit_code == 2
        assert "so there are no answers yet; start the study with: closerthan collect serve" in result.output


def test_export_status_backup_and_forget(folder):
    study = read_study(folder)
    with Store(folder / FILE) as store:
        store.change("PRAGMA synchronous = OFF")
        interview = Interview(study, store, rng=random.Random(0))
        joined(interview)
        answer_all(interview, choose=closer_by_number)
    result = run("export", folder)
    assert result.exit_code == 0, result.output
    assert "60 answers" in result.output
    assert run("export", folder).exit_code == 2  # existing files are not replaced
    assert "1 started, 1 finished" in run("status", folder).output
    assert run("backup", folder, "--out", folder / "copy.sqlite").exit_code == 0
    with Store(folder / "copy.sqlite") as copy:
        assert copy.value("SELECT count(*) FROM answers") == 63
    assert "is the database of the study" in run("backup", folder, "--out", folder / FILE, "--force").output
    assert "is the database of the study" in run("export", folder, "--out", folder / FILE, "--force").output
    changed = (folder / "study.toml").read_text().replace('kind = "closer"', 'kind = "odd"')
    (folder / "study.toml").write_text(changed)
    # The answers would be interpreted as answers to other questions.
    for command in (("export", "--force"), ("status",)):
        assert "but there are answers to questions of the kind closer; change it back" in " ".join(
            run(*command, folder).output.split()
        )
    (folder / "study.toml").write_text(changed.replace('kind = "odd"', 'kind = "closer"'))
    with open(folder / "answers.csv", newline="") as file:
        pseudonym = next(csv.DictReader(file))["participant"]
    assert run("pause", folder).output.startswith("paused")
    assert "state        paused" in run("status", folder).output
    assert run("close", folder).output.startswith("closed")
    assert run("resume", folder).output.startswith("open")
    assert "state  " not in run("status", folder).output
    settings = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(settings.replace("participants = 0", "participants = 1"))
    assert "but the study is full or over" in run("resume", folder).output
    (folder / "study.toml").write_text(settings)
    result = run("exclude", folder, pseudonym, "--reason", "fell asleep")
    assert f"excluded: {pseudonym}" in result.output
    assert "1 excluded" in " ".join(run("status", folder).output.split())
    assert run("export", folder, "--force").exit_code == 0
    assert ",yes,fell asleep," in (folder / "participants.csv").read_text()
    assert f"included: {pseudonym}" in run("include", folder, pseudonym).output
    assert "already count" in run("include", folder, pseudonym).output
    assert "choose another name" in run("export", folder, "--out", folder / "participants.csv").output
    objects = folder / "objects.csv"
    objects.write_text(objects.read_text().replace("word 0,,word 0,", "word 0,objects/gone.png,,"))
    for command, *words in (("export", "--force"), ("status",), ("exclude", pseudonym, "--reason", "x")):
        assert run(command, folder, *words).exit_code == 0  # only the server needs the pictures
    assert "line 2: the file objects/gone.png does not exist" in " ".join(run("serve", folder).output.split())
    assert "deleted: " in run("forget", folder, pseudonym).output
    with Store(folder / FILE) as store:
        assert store.value("SELECT count(*) FROM answers") == 0


@pytest.mark.slow
def test_the_command_reports_how_many_people_are_needed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study_folder(tmp_path, n_objects=5)
    sure = ("plan", "study", "--level", "0", "--lapses", "0")
    result = run(*sure, "--goal", "0.7")
    assert result.exit_code == 0, result.output
    assert re.search(r"questions each reach(es)? 70\.0 %", result.output)
    assert "median of 5 runs (lowest to highest)" in result.output
    result = run(*sure, "--goal", "1", "--lapses", "1", "--most", "1")
    assert "1 person does not reach 100.0 %" in result.output


def test_a_study_in_another_language_begins_with_a_file_to_translate(folder):
    assert run("translate", folder, "eo").exit_code == 0
    assert "already exists" in run("translate", folder, "eo").output
    assert "not a language tag" in run("translate", folder, "Esperanto!").output
    description = folder / "study.toml"
    description.write_text(description.read_text().replace('language = "en"', 'language = "eo"'))
    assert read_study(folder).texts["start"] == "Start"
    (folder / "eo.toml").unlink()
    with pytest.raises(ValueError, match=r'line 6: there are no words for "eo"'):
        read_study(folder)
