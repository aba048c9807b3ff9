import pytest
from studies import KEY, answer_all, interview_of, joined

from closerthan.collect.store.access import Access
from closerthan.collect.store.admission import admission, places_taken, set_state
from closerthan.collect.store.answers import comparisons_of
from closerthan.collect.store.keyed_codes import pilot_ticket
from closerthan.collect.store.participants import exclude
from closerthan.collect.store.progress import AWAY, progress
from closerthan.collect.study.description import Codes
from closerthan.collect.study.recruiters import RECRUITERS
from closerthan.comparisons.screen import Screen

CODES = Codes("DONE", "NO", "FAILED", "FULL")
KEYS = [letter * 32 for letter in "abcdef"]


@pytest.fixture
def study(tmp_path):
    """Interviews with two places, their store, and a clock that a test can set."""
    now = [1000.0]
    interview, store = interview_of(
        tmp_path, clock=lambda: now[0], places=2, number=4, practice=0, codes=CODES, recruiter=RECRUITERS["prolific"]
    )
    yield interview, store, now
    store.close()


def join(interview, number):
    return joined(interview, KEYS[number], PROLIFIC_PID=f"pid-{number}")


def test_a_full_study_turns_people_away_with_a_code_and_stores_nothing(study):
    interview, store, _ = study
    for number in (0, 1):
        assert join(interview, number)["stage"] == "questions"
        answer_all(interview, KEYS[number])
    turned_away = join(interview, 2)
    assert (turned_away["stage"], turned_away["code"]) == ("full", "FULL")
    assert turned_away["redirect"] == "https://app.prolific.com/submissions/complete?cc=FULL"
    assert interview.arrive({"PROLIFIC_PID": "pid-2"}) == turned_away
    assert store.value("SELECT count(*) FROM participants") == 2
    assert join(interview, 0)["stage"] == "complete"  # who has taken part sees the own code again


def test_a_place_is_free_again_after_a_dropout_a_failure_or_an_exclusion(study, tmp_path):
    interview, store, now = study
    join(interview, 0)
    join(interview, 1)
    assert join(interview, 2)["stage"] == "full"
    now[0] += AWAY + 1
    assert places_taken(store, now[0]) == 0
    assert join(interview, 2)["stage"] == "questions"
    answer_all(interview, KEYS[2])
    answer_all(interview, KEYS[0])
    assert places_taken(store, now[0]) == 2
    exclude(store, Access(tmp_path), "pid-2", "reason")
    assert places_taken(store, now[0]) == 1
    store.change("UPDATE participants SET state = 'failed' WHERE number = 1")
    assert places_taken(store, now[0]) == 0


def test_nobody_joins_after_the_last_day(tmp_path):
    interview, store = interview_of(tmp_path, until=999.0)
    assert joined(interview)["stage"] == "full"
    store.close()


def test_a_paused_study_keeps_answers_but_asks_no_questions(study):
    interview, store, _ = study
    state = join(interview, 0)
    set_state(store, "paused")
    assert interview.arrive({"PROLIFIC_PID": "new"})["stage"] == "paused"
    assert join(interview, 1)["stage"] == "paused"
    assert interview.answer(KEYS[0], state["questions"][0]["id"], 1, 500) == {
        **interview.state(KEYS[0]),
        "stage": "paused",
        "questions": [],
    }
    assert store.value("SELECT count(*) FROM answers") == 1
    set_state(store, "open")
    assert interview.state(KEYS[0])["questions"][0]["id"] == state["questions"][1]["id"]


def test_in_a_closed_study_those_who_began_can_finish(study):
    interview, store, _ = study
    join(interview, 0)
    set_state(store, "closed")
    assert join(interview, 1)["stage"] == "full"
    assert answer_all(interview, KEYS[0])["stage"] == "complete"
    assert admission(interview.study, store) == "full"
    with pytest.raises(ValueError, match="it can be open, paused, closed"):
        set_state(store, "shut")


def test_answers_of_pilots_never_count_and_two_pilots_are_two_people(study):
    interview, store, _ = study
    set_state(store, "closed")  # a pilot may try a study that is not open yet
    ticket = pilot_ticket(b"")
    for number in (0, 1):
        assert joined(interview, KEYS[number], pilot=ticket, PROLIFIC_PID="TEST")["pilot"]
        final = answer_all(interview, KEYS[number])
        assert (final["stage"], final["code"], final["redirect"]) == ("complete", "DONE", "")
    assert store.value("SELECT count(*) FROM participants") == 2
    assert store.value("SELECT count(*) FROM identities") == 0
    assert comparisons_of(store, Screen.of("closer")) is None
    counts = progress(store)
    assert (counts.started, counts.answers, counts.pilots) == (0, 0, 2)
    assert places_taken(store, 1000.0) == 0


def test_a_forged_ticket_makes_no_pilot(study):
    interview, store, _ = study
    joined(interview, KEYS[0], pilot="yes", PROLIFIC_PID="pid-0")
    assert store.value("SELECT pilot FROM participants") == 0


def test_a_pilot_leaves_the_queue_of_questions_as_it_is(tmp_path):
    interview, store = interview_of(tmp_path, number=4, practice=0)
    for number in range(8):
        store.insert("queue", first=number, second=number + 1, third=(number + 2) % 10, map=0)
    joined(interview, KEY, pilot=pilot_ticket(b""))
    answer_all(interview)
    assert store.value("SELECT count(*) FROM questions WHERE kind = 'chosen'") > 0
    assert store.value("SELECT count(*) FROM queue") == 8
    store.close()


def test_a_withdrawal_deletes_everything_but_the_count(study):
    interview, store, _ = study
    code = join(interview, 0)["withdrawal"]
    join(interview, 1)
    answer_all(interview, KEYS[0])
    assert interview.state(KEYS[0])["withdrawal"] == code != interview.state(KEYS[1])["withdrawal"]
    assert interview.withdraw(KEYS[0]) == {"stage": "withdrawn", "questions": []}
    assert store.value("SELECT count(*) FROM answers") == 0
    assert store.value("SELECT count(*) FROM participants") == 1
    assert progress(store).withdrawn == 1
