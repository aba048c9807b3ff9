"""Psych-DS datasets, checked against the rules that its documentation states."""

import csv
import dataclasses
import json
import re

import pytest
from studies import KEY, answer_all, answered_study, interview_of, joined, study_folder
from typer.testing import CliRunner

from closerthan.cli import app
from closerthan.collect.store.access import Access
from closerthan.collect.store.participants import exclude
from closerthan.collect.store.psych_ds import write_psych_ds
from closerthan.collect.study.questionnaire import Item
from closerthan.collect.study.recruiters import RECRUITERS
from closerthan.files import read_answers

FILE_NAME = re.compile(r"([a-z]+-[a-zA-Z0-9]+)(_[a-z]+-[a-zA-Z0-9]+)*_data\.csv")


def violations(folder):
    """Return how a folder breaks the rules of Psych-DS."""
    about = json.loads((folder / "dataset_description.json").read_text(encoding="utf-8"))
    required = ("name", "description", "variableMeasured")
    wrong = [f"{name} is missing" for name in required if not about.get(name)]
    if about.get("@context") not in ("https://schema.org", "http://schema.org/"):
        wrong.append("the vocabulary is not that of schema.org")
    if about.get("@type") != "Dataset":
        wrong.append("the type is not Dataset")
    variables = about.get("variableMeasured", [])
    if any(isinstance(one, dict) and one.get("@type") != "PropertyValue" for one in variables):
        wrong.append("a variable is not a PropertyValue")
    described = {one if isinstance(one, str) else one["name"] for one in variables}
    paths, columns = sorted((folder / "data").rglob("*")), set()
    if not paths:
        wrong.append("there is no data file")
    for path in paths:
        if not FILE_NAME.fullmatch(path.name):
            wrong.append(f"{path.name} has no keywords")
        with open(path, encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        columns |= set(header)
        if len(set(header)) < len(header) or "" in header:
            wrong.append(f"{path.name} has columns without a name of their own")
        wrong += [f"{path.name} has the column {name}, which is not described" for name in set(header) - described]
        wrong += [f"{path.name} has a row of another length" for row in rows if len(row) != len(header)]
        if "row_id" in header and len({row[header.index("row_id")] for row in rows}) < len(rows):
            wrong.append(f"row_id is not unique in {path.name}")
    return wrong + [f"{name} is described, but in no file" for name in described - columns]


@pytest.mark.parametrize(("kind", "several"), [("closer", False), ("odd", False), ("nearest", True), ("rank", True)])
def test_a_dataset_follows_the_rules_and_describes_every_column(tmp_path, kind, several):
    items = (Item(name="age", when="before", kind="number", text="How old are you?"),)
    settings = {"kind": kind, "recruiter": RECRUITERS["prolific"]} | ({"shown": 5, "picks": 2} if several else {})
    interview, store = interview_of(tmp_path, **settings)
    for number in range(2):
        joined(interview, KEY + str(number), PROLIFIC_PID=f"pid-{number}")
        answer_all(interview, KEY + str(number), choose=lambda question: [1, 0] if several else 1)
    study = dataclasses.replace(interview.study, questionnaire=items)
    exclude(store, Access(tmp_path), "pid-1", 'said, "no"')
    write_psych_ds(store, study, Access(tmp_path), tmp_path / "dataset")
    store.close()
    assert violations(tmp_path / "dataset") == []
    about = json.loads((tmp_path / "dataset" / "dataset_description.json").read_text())
    assert not [one["name"] for one in about["variableMeasured"] if one["description"].startswith("The column")]
    assert "How old are you?" in {one["description"].removeprefix("Answer to: ") for one in about["variableMeasured"]}
    assert {path.name for path in (tmp_path / "dataset").iterdir()} == {
        "CHANGES.md", "README.md", "data", "dataset_description.json", "documentation"
    }  # fmt: skip
    assert "pid-" not in "".join(path.read_text() for path in (tmp_path / "dataset").rglob("*.*"))


def test_violations_are_found(tmp_path):
    study, store = answered_study(tmp_path, n_people=1)
    folder = tmp_path / "dataset"
    write_psych_ds(store, study, Access(tmp_path), folder)
    store.close()
    (folder / "data" / "more.csv").write_text("row_id,row_id\n1\n")
    text = (folder / "dataset_description.json").read_text()
    (folder / "dataset_description.json").write_text(text.replace("https://schema.org", "https://example.org"))
    assert len(violations(folder)) >= 4


def test_the_table_of_answers_can_be_fitted(tmp_path):
    study, store = answered_study(tmp_path)
    write_psych_ds(store, study, Access(tmp_path), tmp_path / "dataset")
    store.close()
    (path,) = (tmp_path / "dataset" / "data").glob("*description-answers_data.csv")
    assert len(read_answers(path).comparisons) == 54


def test_the_command_refuses_identities_and_existing_folders(tmp_path):
    folder = study_folder(tmp_path)
    answered_study(folder, n_people=1, n_objects=10)[1].close()
    words = ["collect", "export", str(folder), "--psych-ds"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert violations(folder / "psych-ds") == []
    assert CliRunner().invoke(app, words).exit_code != 0
    assert CliRunner().invoke(app, [*words, "--force"]).exit_code == 0
    assert CliRunner().invoke(app, [*words, "--force", "--identities"]).exit_code != 0
