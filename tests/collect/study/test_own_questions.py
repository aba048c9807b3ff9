"""The researcher's own list of questions: reading it, and asking from it."""

import dataclasses
import random
import re
from collections import Counter

import numpy as np
import pytest
from studies import KEY, answer_all, joined, study_folder, study_of

import closerthan as ct
from closerthan.collect.choosing.refit import refit
from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.store.export import answer_lines
from closerthan.collect.study.description import Shares, read_study
from closerthan.collect.study.plan import SimulatedPeople, simulate
from closerthan.collect.web.interview import Interview
from closerthan.comparisons.screen import Screen

LIST = "anchor,left,right\nword 0,word 1,word 2\nword 3,word 4,word 5\nword 0,word 7,word 8\n"
SECTION = '[own]\nfile = "questions.csv"\norder = "listed"\n'


def described(folder, settings="own = 0.05", table=LIST, own=SECTION):
    """Return the folder of a study whose description has an own list."""
    place = study_folder(folder)
    text = (place / "study.toml").read_text()
    text = text.replace("own = 0.0 ", f"{settings} ").replace("[checks]", f"{own}[checks]", 1)
    (place / "study.toml").write_text(text)
    (place / "questions.csv").write_text(table)
    return place


def test_a_list_is_read_with_the_study(tmp_path):
    study = read_study(described(tmp_path))
    assert study.own_questions[1] == ("word 3", "word 4", "word 5")
    assert (len(study.own_questions), study.own_order, study.count_of("own")) == (3, "listed", 3)


def test_questions_that_the_program_writes_can_be_the_list(tmp_path):
    place = described(tmp_path)
    rows = ct.choose_questions(None, 5, n_objects=10, seed=0)
    lines = [",".join(f"word {number}" for number in row) for row in rows.tolist()]
    (place / "questions.csv").write_text("\n".join(["anchor,left,right", *lines]))
    assert len(read_study(place).own_questions) == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": "anchor,left\na,b\n"}, "line 1: the column right is missing; expected anchor, left, right"),
        ({"table": "anchor,left,right\nword 0,word 1,dog\n"}, "line 2: right is 'dog'; it must be the name of an"),
        ({"table": "anchor,left,right\nword 0,word 1,word 0\n"}, "line 2: an object occurs twice"),
        ({"table": LIST + "word 0,word 2,word 1\n"}, "line 5: this question is also in line 2"),
        ({"table": "anchor,left,right\nword 0,word 1,word 2,word 3\n"}, "line 2: the number of cells differs"),
        ({"table": "anchor,left,right\nword 0,word 1\n"}, "line 2: the number of cells differs"),
        ({"table": "anchor,left,right\n"}, "has no questions"),
        ({"settings": "own = 0.0"}, "none of these questions would be asked; raise own"),
        ({"settings": "own = 0.2"}, "own gives everybody 12 questions from a list of only 3; lower own"),
        ({"own": ""}, "own needs a list of questions"),
        ({"own": '[own]\nfile = "list.csv"\n'}, "list.csv does not exist"),
        ({"own": '[own]\nfile = "../list.csv"\n'}, "../list.csv is outside"),
        ({"own": SECTION.replace("listed", "sorted")}, "it must be one of random, listed"),
    ],
)
def test_mistakes_in_the_list_are_explained(tmp_path, change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_study(described(tmp_path, **change))


def own_study(folder, kind="closer", number=20, **settings):
    screen, rng = Screen.of(kind, 4, 2), random.Random(0)
    questions = rng.sample([objects for objects in screen.all(range(8)) if objects[0] < 3], 12)
    names = tuple(tuple(f"object {number}" for number in objects) for objects in questions)
    shares = settings.pop("shares", Shares(0.2, 0.1, 0.1, 0.1, own=0.3))
    study = study_of(folder, 8, kind=kind, shown=4, picks=2, shares=shares, number=number, **settings)
    return dataclasses.replace(study, own_questions=names)


def asked(study, n_people):
    """Let people answer, and return the content of the questions from the own list that each of them got."""
    with Store(study.folder / FILE) as store:
        interview = Interview(study, store, clock=lambda: 1000.0, rng=random.Random(1))
        for number in range(n_people):
            joined(interview, KEY + str(number))
            answer_all(interview, KEY + str(number), choose=lambda _: [0, 1] if study.screen.picks_several else 0)
        rows = store.rows("SELECT participant, content FROM questions WHERE kind = 'own' ORDER BY participant, place")
    return [[row["content"] for row in rows if row["participant"] == 1 + number] for number in range(n_people)]


@pytest.mark.parametrize("kind", ["closer", "odd", "nearest", "rank"])
def test_everybody_gets_a_fixed_fraction_and_questions_asked_least_often_come_first(tmp_path, kind):
    lists = asked(own_study(tmp_path, kind), 5)
    assert [len(one) for one in lists] == [6] * 5
    assert all(len(set(one)) == 6 for one in lists)
    times = Counter(content for one in lists for content in one)
    assert len(times) == 12
    assert set(times.values()) <= {1, 2, 3, 4}  # 30 questions from a list of 12; chance would leave some out
    assert len({tuple(one) for one in lists}) > 1


def test_listed_questions_come_in_the_same_order_for_everybody(tmp_path):
    study = own_study(tmp_path, own_order="listed")
    number_of = {stimulus.name: number for number, stimulus in enumerate(study.objects)}
    expected = [study.screen.content([number_of[name] for name in names]) for names in study.own_questions[:6]]
    assert asked(study, 3) == [expected] * 3


def test_a_study_can_ask_nothing_but_its_list(tmp_path):
    study = own_study(tmp_path, number=12, shares=Shares(0, 0, 0, 0, own=1.0), own_order="listed", practice=0)
    assert [len(one) for one in asked(study, 2)] == [12, 12]
    with Store(study.folder / FILE) as store:
        assert refit(study, store) == 1
    steps = list(simulate(study, SimulatedPeople(), 2, np.random.default_rng(0)))
    assert [step.answers for step in steps] == [12, 24]


def test_answers_to_own_questions_are_exported_with_their_kind_and_fitted(tmp_path):
    study = own_study(tmp_path)
    asked(study, 4)
    path = tmp_path / "answers.csv"
    with Store(study.folder / FILE) as store:
        path.write_text("".join(answer_lines(store, study, Access(tmp_path))))
    answers = ct.files.read_answers(path)
    only = ct.files.read_answers(path, where={"kind": "own"})
    assert answers.comparisons.n_answers == 4 * 18  # without checks
    assert only.comparisons.n_answers == 4 * 6
