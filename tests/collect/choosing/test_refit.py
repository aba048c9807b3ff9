import json

import numpy as np
import pytest
from studies import answer_all, answered_study, closer_by_number, interview_of, joined, study_folder, study_of

from closerthan.collect.choosing.belief import fit_maps
from closerthan.collect.choosing.refit import queue_length, refit
from closerthan.collect.store.access import Access
from closerthan.collect.store.answers import comparisons_of
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.store.export import map_lines
from closerthan.collect.store.participants import exclude, include
from closerthan.collect.study.description import Shares
from closerthan.collect.study.recruiters import RECRUITERS


@pytest.mark.slow
def test_a_refit_writes_a_map_a_queue_and_a_judgement(tmp_path):
    shares = Shares(0.3, 0.1, 0.1, 0.1)
    study, store = answered_study(tmp_path, n_people=2, number=40, shares=shares)
    assert refit(study, store) == 1
    interview, other = interview_of(tmp_path, seed=1, number=40, recruiter=RECRUITERS["prolific"], shares=shares)
    for number in range(3):
        joined(interview, f"later {number}" * 4, PROLIFIC_PID=f"later-{number}")
        answer_all(interview, f"later {number}" * 4, choose=closer_by_number)
    chosen = store.rows("SELECT * FROM questions WHERE kind = 'chosen'")
    assert len(chosen) > 20
    assert all(row["score"] is not None and row["map"] == 1 for row in chosen)
    assert refit(study, store) == 2
    judgement = json.loads(store.value("SELECT judgement FROM maps WHERE version = 2"))
    assert len(judgement["drawn"]) == len(judgement["spread"]) == 10
    assert judgement["accuracy"][-1][2] > 0.7  # predicted by the first map, which was fitted without them
    assert store.value("SELECT count(*) FROM assessments") == 5
    assert store.value("SELECT max(lapse) FROM assessments") < 0.3
    loss, penalty, n_answers = judgement["criterion"]  # of the next map
    assert n_answers == 180
    assert refit(study, store) == 3
    best = fit_maps(comparisons_of(store, study.screen), 2, np.random.default_rng(0), loss, penalty)[0]
    places = json.loads(store.value("SELECT places FROM maps WHERE version = 3"))
    assert places == best.embedding.round(6).tolist()
    assert judgement["enough"].startswith("With all 180 answers, new answers are predicted with an error of")
    store.close()
    other.close()


@pytest.mark.parametrize("dimensions", [1, 9])
@pytest.mark.slow
def test_maps_of_any_dimension_are_drawn_in_two_dimensions(tmp_path, dimensions):
    study, store = answered_study(tmp_path, dimensions=dimensions)
    refit(study, store)
    judgement = json.loads(store.value("SELECT judgement FROM maps"))
    assert {len(place) for place in judgement["drawn"]} == {2}
    assert {len(ellipse) for ellipse in judgement["spread"]} == {3}
    store.close()


def test_exclusions_and_inclusions_change_the_map(tmp_path):
    study, store = answered_study(tmp_path, n_people=2, n_objects=5)
    access = Access(tmp_path)
    refit(study, store)
    assert store.latest_judgement()["assessed_at"] == 36
    exclude(store, access, "pid-0", "fell asleep")
    refit(study, store)
    assert store.latest_judgement()["assessed_at"] == 18
    exclude(store, access, "pid-1", "fell asleep")
    for _ in range(2):
        assert refit(study, store) is None
        assert "".join(map_lines(store)) == "name,x1,x2\n"  # not the map of those who no longer count
        assert store.latest_judgement() == {}
    assert store.value("SELECT count(*) FROM maps") == 3
    include(store, access, "pid-0")
    refit(study, store)
    assert store.value("SELECT group_concat(answers) FROM maps") == "36,18,0,18"
    store.close()


def test_without_answers_the_queue_has_every_object_as_anchor(tmp_path):
    interview, store = interview_of(tmp_path)
    assert refit(study_of(tmp_path), store) is None
    assert store.value("SELECT count(DISTINCT first) FROM queue") == 10
    joined(interview)
    store.close()


@pytest.fixture
def folder(tmp_path):
    return study_folder(tmp_path)


@pytest.mark.parametrize(
    ("n_answers", "per_minute", "expected"),
    [(0, 0, 1000), (0, 60, 1000), (0, 6000, 9000), (0, 100_000, 25_000), (300_000, 0, 6000), (10_000_000, 0, 25_000)],
)
def test_the_queue_lasts_until_the_next_refit(tmp_path, n_answers, per_minute, expected):
    now = 6_000_000.0
    with Store(tmp_path / FILE) as store:
        for version, before in enumerate((75, 30, 20), 1):  # the longest refit took 45 seconds
            store.insert("maps", version=version, made_at=now - before, answers=1, places="[]")
        store.insert("minutes", minute=now // 60 - 1, answers=2 * per_minute, practice=0)
        assert queue_length(store, 500, n_answers, now - 10, now) == expected


def test_a_refit_replaces_the_queue(tmp_path):
    _, store = interview_of(tmp_path, n_objects=20)
    study = study_of(tmp_path, n_objects=20)
    refit(study, store)
    first = store.value("SELECT max(number) FROM queue")
    assert store.value("SELECT count(*) FROM queue") == 1000
    refit(study, store)
    assert store.value("SELECT min(number) FROM queue") == first + 1
    assert store.value("SELECT count(*) FROM queue") == 1000
    store.close()
