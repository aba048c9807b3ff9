"""Questionnaires, the question about the instructions, and practice with feedback, as the server sees them."""

import csv
import dataclasses

import pytest
from studies import KEY, answer_all, interview_of, joined

from closerthan.collect.choosing.participant_table import participant_lines
from closerthan.collect.store.access import Access
from closerthan.collect.store.admission import set_state
from closerthan.collect.study.description import Codes
from closerthan.collect.study.questionnaire import Comprehension, Item
from closerthan.collect.web.interview import Interview, Refused

ITEMS = (
    Item("age", "before", "number", "How old are you?", least=18, most=120),
    Item("hands", "after", "several", "Which hands?", options=("left", "right")),
    Item("remarks", "after", "text", "Remarks?", required=False),
)
QUESTION = Comprehension("What is the task?", ("choose the far one", "choose the near one"), 1, attempts=2)


@pytest.fixture
def study(tmp_path):
    interview, store = interview_of(
        tmp_path,
        number=3,
        practice=1,
        questionnaire=ITEMS,
        comprehension=QUESTION,
        debriefing="It was about *distances*.",
        codes=Codes("DONE", "NO", "FAILED"),
    )
    yield interview, store
    store.close()


def test_the_forms_come_in_order_and_end_up_in_the_table_of_participants(study, tmp_path):
    interview, store = study
    assert joined(interview)["stage"] == "before"
    assert interview.state(KEY)["stage"] == "before"
    assert interview.respond(KEY, "before", {"age": 30})["stage"] == "comprehension"
    assert interview.respond(KEY, "comprehension", {"answer": 1})["stage"] == "questions"
    assert answer_all(interview)["stage"] == "after"
    ended = interview.respond(KEY, "after", {"hands": ["right", "left"], "remarks": "=1+1"})
    assert (ended["stage"], ended["code"], ended["debriefing"]) == ("complete", "DONE", "It was about *distances*.")
    (row,) = csv.DictReader(participant_lines(store, interview.study, Access(tmp_path)))
    assert row["response_age"] == "30"
    assert row["response_hands"] == "left; right"
    assert row["response_remarks"] == "'=1+1"
    assert row["response_comprehension"] == "passed after 1 attempt"


def test_an_invalid_response_is_refused_and_nothing_is_stored(study):
    interview, store = study
    joined(interview)
    for values in ({}, {"age": 3}, {"age": "30"}, None, []):
        with pytest.raises(Refused) as refused:
            interview.respond(KEY, "before", values)
        assert refused.value.status == 422
    assert store.value("SELECT count(*) FROM responses") == 0


def test_a_repeated_response_gets_the_same_reply_and_changes_nothing(study):
    interview, store = study
    joined(interview)
    first = interview.respond(KEY, "before", {"age": 30})
    assert interview.respond(KEY, "before", {"age": 40}) == first
    assert store.value("SELECT value FROM responses") == "30"


def test_no_question_is_asked_before_the_forms_are_filled_in(study):
    interview, store = study
    joined(interview)
    assert store.value("SELECT count(*) FROM questions") == 0
    assert interview.respond(KEY, "comprehension", {"answer": 1})["stage"] == "before"  # out of turn


def test_too_many_wrong_answers_about_the_instructions_end_the_interview(study):
    interview, _ = study
    joined(interview)
    interview.respond(KEY, "before", {"age": 30})
    wrong = interview.respond(KEY, "comprehension", {"answer": 0})
    assert (wrong["stage"], wrong["wrong"]) == ("comprehension", True)
    ended = interview.respond(KEY, "comprehension", {"answer": None})
    assert (ended["stage"], ended["code"]) == ("failed", "FAILED")


def test_an_attempt_that_is_sent_again_is_counted_once(study):
    interview, _ = study
    joined(interview)
    assert interview.respond(KEY, "before", {"age": 30})["attempt"] == 1
    for _ in range(3):  # the reply to the first attempt got lost
        state = interview.respond(KEY, "comprehension", {"answer": 0, "attempt": 1})
        assert (state["stage"], state["attempt"], state["wrong"]) == ("comprehension", 2, True)
    assert interview.respond(KEY, "comprehension", {"answer": 1, "attempt": 2})["stage"] == "questions"


def test_responses_are_stored_while_the_study_is_paused(study):
    interview, store = study
    joined(interview)
    set_state(store, "paused")
    assert interview.respond(KEY, "before", {"age": 30})["stage"] == "paused"
    assert interview.respond(KEY, "comprehension", {"answer": 1})["stage"] == "paused"
    set_state(store, "open")
    assert answer_all(interview)["stage"] == "after"


def test_no_response_is_stored_before_consent_to_a_changed_text(study):
    interview, store = study
    joined(interview)
    later = Interview(dataclasses.replace(interview.study, consent="You agree to more."), store)
    for form, values in (("before", {"age": 30}), ("comprehension", {"answer": 1})):
        assert later.respond(KEY, form, values)["stage"] == "consent"
    assert store.value("SELECT count(*) FROM responses") == store.value("SELECT count(*) FROM questions") == 0
    assert joined(later)["stage"] == "before"
    assert later.respond(KEY, "before", {"age": 30})["stage"] == "comprehension"


def test_responses_to_items_that_were_removed_are_still_exported(study, tmp_path):
    interview, store = study
    joined(interview)
    interview.respond(KEY, "before", {"age": 30})
    later = dataclasses.replace(interview.study, questionnaire=ITEMS[1:])
    (row,) = csv.DictReader(participant_lines(store, later, Access(tmp_path)))
    assert row["response_age"] == "30"


def test_practice_with_feedback_names_the_expected_option(tmp_path):
    for kind in ("closer", "odd"):
        (tmp_path / kind).mkdir()
        interview, store = interview_of(tmp_path / kind, practice=2, feedback=True, kind=kind)
        state = joined(interview)
        for question in state["questions"]:
            texts = [option["text"] for option in question["options"]]
            expected = texts[question["expected"]]
            if kind == "closer":
                assert expected == question["anchor"]["text"]
            else:
                assert texts.count(expected) == 1
        answer_all(interview)
        assert store.value("SELECT count(*) FROM questions WHERE kind = 'practice'") == 2
        store.close()


def test_other_questions_do_not_reveal_an_expected_option(tmp_path):
    interview, store = interview_of(tmp_path, practice=0, feedback=True)
    assert all("expected" not in question for question in joined(interview)["questions"])
    store.close()
