import json

import pytest
from studies import answer_all, answered_study, closer_by_number, interview_of, joined, study_folder, study_of

from closerthan.collect.choosing.refit import refit
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
    assert len(judgement["people"]) == 5
    assert max(person["lapse"] for person in judgement["people"].values()) < 0.3
    assert judgement["enough"].startswith(("Too few random", "The map predicts"))
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


def test_without_answers_the_queue_has_every_object_as_anchor(tmp_path):
    interview, store = interview_of(tmp_path)
    assert refit(study_of(tmp_path), store) is None
    assert store.value("SELECT count(DISTINCT first) FROM queue") == 10
    joined(interview)
    store.close()


@pytest.fixture
def folder(tmp_path):
    return study_folder(tmp_path)
