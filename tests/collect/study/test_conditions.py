"""Experimental conditions: their description, balanced assignment, and maps and questions of their own."""

import csv
import dataclasses
import io
import json
import random
import re
import zipfile
from collections import Counter

import pytest
from studies import KEY, answer_all, closer_by_number, joined, study_folder, study_of

import closerthan as ct
from closerthan.collect.choosing.participant_table import participant_lines
from closerthan.collect.choosing.quality import people
from closerthan.collect.choosing.refit import refit
from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.store.export import answer_lines, map_lines, write_study
from closerthan.collect.store.psych_ds import write_psych_ds
from closerthan.collect.study.conditions import Condition
from closerthan.collect.study.description import Shares, read_study
from closerthan.collect.web.interview import Interview

SECTIONS = """
[[condition]]
name = "colour"
question = "Which has a similar colour?"
objects = "few.csv"

[[condition]]
name = "shape"
"""
FEW = "name\n" + "".join(f"word {number}\n" for number in range(6))


def described(folder, sections=SECTIONS, few=FEW):
    place = study_folder(folder)
    text = (place / "study.toml").read_text().replace("number = 60", "number = 40")
    (place / "study.toml").write_text(text + sections)
    (place / "few.csv").write_text(few)
    return place


def test_conditions_are_read_with_the_study(tmp_path):
    study = read_study(described(tmp_path))
    assert study.condition_names == ("colour", "shape")
    colour, shape = (study.of_condition(name) for name in study.condition_names)
    assert (colour.question, len(colour.objects)) == ("Which has a similar colour?", 6)
    assert (shape.question, len(shape.objects)) == (study.question, 10)
    assert study.lists == ("few.csv",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sections": '[[condition]]\nname = "a"\n'}, "there is only one condition"),
        ({"sections": '[[condition]]\nname = "a"\n' * 2}, "two conditions have the name 'a'"),
        ({"sections": '[[condition]]\nquestion = "a"\n' * 2}, "a condition has no name"),
        ({"sections": '[[condition]]\nname = "a b"\n' * 2}, "must have a name of letters, digits, - and _"),
        ({"sections": '[[condition]]\nname = "-a"\n' * 2}, "it cannot begin with -"),  # a formula in spreadsheets
        ({"sections": SECTIONS + 'colour = "red"\n'}, "condition shape: colour is unknown; use name, question"),
        ({"sections": '[condition]\nname = "a"\n'}, "in double brackets"),
        ({"few": "name\nword 1\ndog\n"}, "there is no object 'dog' in objects.csv"),
        ({"few": "name\nword 1\nword 2\nword 3\nword 4\n"}, "but 4 objects allow 12"),
        ({"few": "word\nword 1\n"}, "few.csv, line 1: the column name is missing"),
        ({"sections": SECTIONS.replace("few", "../few")}, "../few.csv is outside"),
    ],
)
def test_mistakes_in_conditions_are_explained(tmp_path, change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_study(described(tmp_path, **change))


def with_conditions(folder, **settings):
    """A study of ten objects, of which the first condition has six; both share most of their texts."""
    few = tuple(f"object {number}" for number in range(6))
    conditions = (Condition("few", "Which has a similar colour?", objects=few), Condition("all"))
    shares = settings.pop("shares", Shares(0.3, 0.2, 0.1, 0.1))
    return dataclasses.replace(study_of(folder, shares=shares, **settings), conditions=conditions)


@pytest.fixture
def answered(tmp_path):
    """A study with two conditions, in which seven people have answered; and what they were shown."""
    study = with_conditions(tmp_path)
    seen = {}
    with Store(tmp_path / FILE) as store:
        interview = Interview(study, store, clock=lambda: 1000.0, rng=random.Random(0))
        for number in range(7):
            seen[number] = joined(interview, KEY + str(number))
            answer_all(interview, KEY + str(number), choose=closer_by_number)
        yield study, store, seen


def test_conditions_are_balanced_and_decide_what_people_see(answered):
    _, store, seen = answered
    names = [row["condition"] for row in store.rows("SELECT condition FROM participants ORDER BY number")]
    assert all(set(names[place : place + 2]) == {"few", "all"} for place in (0, 2, 4))
    for number, name in enumerate(names):
        question = {"few": "Which has a similar colour?", "all": "Which is closer?"}[name]
        assert seen[number]["texts"] == {"question": question, "instructions": "Look."}
    used = store.rows(
        """SELECT DISTINCT condition, first, second, third FROM questions
        JOIN participants ON number = participant WHERE condition = 'few'"""
    )
    assert {number for row in used for number in tuple(row)[1:]} == set(range(6))


def test_excluded_people_and_pilots_do_not_count_for_the_balance(tmp_path):
    study = with_conditions(tmp_path)
    with Store(tmp_path / FILE) as store:
        interview = Interview(study, store, clock=lambda: 1000.0, rng=random.Random(0))
        for number in range(4):
            joined(interview, KEY + str(number))
        store.change("INSERT INTO exclusions SELECT number, 'why', 1 FROM participants WHERE condition = 'few'")
        for number in range(4, 6):
            joined(interview, KEY + str(number))
        names = Counter(row["condition"] for row in store.rows("SELECT condition FROM participants"))
    assert names == {"few": 4, "all": 2}


def test_each_condition_has_a_map_and_a_queue_of_its_own(answered):
    study, store, _ = answered
    assert refit(study, store) == 2
    queued = store.rows("SELECT condition, first, second, third FROM queue")
    assert {row["condition"] for row in queued} == {"few", "all"}
    assert max(max(tuple(row)[1:]) for row in queued if row["condition"] == "few") == 5
    assert max(max(tuple(row)[1:]) for row in queued if row["condition"] == "all") == 9
    places = {row["condition"]: json.loads(row["places"]) for row in store.rows("SELECT * FROM maps")}
    assert [place[0] == place[0] for place in places["few"]] == [True] * 6 + [False] * 4
    assert [len(list(map_lines(store, name))) for name in ("few", "all")] == [7, 11]
    assert store.latest_judgement("few")["objects"] == list(range(6))
    assert len(store.latest_judgement("all")["drawn"]) == 10
    refit(study, store)  # a second time, with the judgements of before
    assert {row["condition"] for row in store.rows("SELECT condition FROM queue")} == {"few", "all"}


def test_chosen_questions_come_from_the_queue_of_the_condition(answered):
    study, store, _ = answered
    refit(study, store)
    interview = Interview(study, store, clock=lambda: 1000.0, rng=random.Random(5))
    for number in range(10, 14):
        joined(interview, KEY + str(number))
        answer_all(interview, KEY + str(number), choose=closer_by_number)
    rows = store.rows(
        """SELECT participants.condition, first, second, third, maps.condition AS of_map FROM questions
        JOIN participants ON number = participant JOIN maps ON version = map WHERE kind = 'chosen'"""
    )
    assert {row["condition"] for row in rows} == {"few", "all"}
    assert all(row["condition"] == row["of_map"] for row in rows)
    assert max(max(tuple(row)[1:4]) for row in rows if row["condition"] == "few") <= 5


def test_the_condition_is_exported_and_selects_answers(answered, tmp_path):
    study, store, _ = answered
    path = tmp_path / "answers.csv"
    path.write_text("".join(answer_lines(store, study, Access(tmp_path))))
    both = ct.files.read_answers(path)
    assert any("from 2 conditions (all, few); pass where=" in note for note in both.summary.notes)
    only = ct.files.read_answers(path, where={"condition": "few"})
    assert not any("conditions" in note for note in only.summary.notes)
    everything, few = both.comparisons, only.comparisons
    assert everything.n_people == 7
    assert few.n_people in (3, 4)
    assert few.n_objects == 6
    rows = csv.DictReader(io.StringIO("".join(participant_lines(store, study, Access(tmp_path)))))
    assert Counter(row["condition"] for row in rows).keys() == {"few", "all"}


def test_exports_of_the_whole_study_have_the_map_of_each_condition(answered, tmp_path):
    study, store, _ = answered
    refit(study, store)
    for name in ("study.toml", "objects.csv", "few.csv"):
        (tmp_path / name).write_text("")
    access = Access(tmp_path)
    write_study(store, dataclasses.replace(study, lists=("few.csv",)), access, tmp_path / "study.zip")
    assert {"few.csv", "map-few.csv", "map-all.csv"} <= set(zipfile.ZipFile(tmp_path / "study.zip").namelist())
    write_psych_ds(store, study, access, tmp_path / "dataset")
    names = sorted(path.name for path in (tmp_path / "dataset" / "data").glob("*map*"))
    assert [name.split("description-")[1] for name in names] == ["mapall_data.csv", "mapfew_data.csv"]


def test_people_are_compared_with_those_of_their_condition(answered, tmp_path):
    study, store, _ = answered
    # Everybody answers by the same rule, so that shared questions agree within each condition.
    for person in people(store, study, Access(tmp_path)):
        assert person.condition in ("few", "all")
        assert person.shared[0] == person.shared[1] > 0


def test_people_of_a_condition_that_is_gone_see_the_study_itself(tmp_path):
    study = with_conditions(tmp_path)
    with Store(tmp_path / FILE) as store:
        joined(Interview(study, store, clock=lambda: 1000.0, rng=random.Random(0)))
        plain = dataclasses.replace(study, conditions=())
        interview = Interview(plain, store, clock=lambda: 1000.0, rng=random.Random(0))
        assert "texts" not in interview.state(KEY)
        assert answer_all(interview)["stage"] == "complete"
