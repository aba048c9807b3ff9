import dataclasses

import pytest
from studies import KEY, answer_all, interview_of, joined

from closerthan.collect.store.keyed_codes import pilot_ticket
from closerthan.collect.study.description import Codes, Shares
from closerthan.collect.study.recruiters import RECRUITERS
from closerthan.collect.web.interview import Interview, Refused

OTHER = "b" * 32


@pytest.fixture
def participant(tmp_path):
    """An interview, its store, and the state of a participant who has joined."""
    interview, store = interview_of(tmp_path, skip=True)
    yield interview, store, joined(interview)
    store.close()


def refusal(call, *arguments):
    with pytest.raises(Refused) as refused:
        call(*arguments)
    return refused.value.status


def test_a_repeated_answer_is_stored_once_and_gets_the_same_reply(participant):
    interview, store, state = participant
    question = state["questions"][0]["id"]
    first = interview.answer(KEY, question, 1, 700)
    assert interview.answer(KEY, question, 1, 900) == first
    assert [tuple(row) for row in store.rows("SELECT choice, rt_ms FROM answers")] == [(1, 700)]


def test_another_answer_to_the_same_question_is_refused(participant):
    interview, store, state = participant
    question = state["questions"][0]["id"]
    interview.answer(KEY, question, 1, 700)
    assert refusal(interview.answer, KEY, question, 0, 700) == 409
    assert refusal(interview.answer, KEY, question, "skip", 700) == 409
    assert store.value("SELECT count(*) FROM answers") == 1


def test_forged_and_foreign_answers_are_refused(participant):
    interview, store, state = participant
    question = state["questions"][0]["id"]
    joined(interview, OTHER)
    assert refusal(interview.answer, OTHER, question, 0, 1) == 403
    assert refusal(interview.answer, KEY, "no-such-id", 0, 1) == 404
    assert refusal(interview.answer, "nobody", question, 0, 1) == 401
    assert store.value("SELECT count(*) FROM answers") == 0


@pytest.mark.parametrize("choice", [2, -1, "tie", "left", None, 0.0, True, [0], "0"])
def test_an_impossible_answer_is_refused(participant, choice):
    interview, _, state = participant
    assert refusal(interview.answer, KEY, state["questions"][0]["id"], choice, 1) == 422


@pytest.mark.parametrize("rt_ms", [-1, 1.5, "10", True, 10**12])
def test_an_impossible_time_is_refused(participant, rt_ms):
    interview, _, state = participant
    assert refusal(interview.answer, KEY, state["questions"][0]["id"], 0, rt_ms) == 422


def test_a_question_out_of_turn_is_refused(participant):
    interview, _, state = participant
    assert refusal(interview.answer, KEY, state["questions"][1]["id"], 0, 1) == 409


def test_a_late_answer_is_refused_but_a_repeated_last_answer_is_not(participant):
    interview, store, _ = participant
    answer_all(interview)
    last = store.value("SELECT id FROM questions WHERE place = 20")
    assert interview.answer(KEY, last, 0, 1)["stage"] == "complete"
    store.change("DELETE FROM answers WHERE question = ?", last)
    assert refusal(interview.answer, KEY, last, 0, 1) == 410


def test_after_a_reload_the_participant_continues(participant):
    interview, _, state = participant
    state = interview.answer(KEY, state["questions"][0]["id"], 1, 700)
    assert interview.state(KEY) == state == joined(interview)


def test_the_number_of_questions_is_counted_on_the_server(participant):
    interview, store, _ = participant
    assert answer_all(interview)["stage"] == "complete"
    assert store.value("SELECT count(*) FROM questions") == 22  # 2 of them for practice


def test_the_page_receives_neither_names_nor_kinds_nor_numbers_of_objects(participant):
    _, _, state = participant
    for question in state["questions"]:
        assert set(question) == {"id", "anchor", "options", "place", "of", "practice"}
        for thing in (question["anchor"], *question["options"]):
            assert set(thing) == {"form", "text"}


def test_practice_comes_before_the_numbered_questions(participant):
    interview, store, state = participant
    first = state["questions"][0]
    assert (first["practice"], first["place"], first["of"]) == (True, 1, 2)
    state = interview.answer(KEY, first["id"], 0, 1)
    assert (state["questions"][1]["practice"], state["questions"][1]["place"]) == (False, 1)
    assert store.value("SELECT count(*) FROM questions WHERE kind = 'practice'") == 2


def test_kinds_follow_the_shares_and_no_participant_sees_a_question_twice(tmp_path):
    shares = Shares(random=0.2, shared=0.1, repeat=0.1, check=0.1)
    interview, store = interview_of(tmp_path, number=40, shares=shares)
    for number in range(5):
        joined(interview, KEY + str(number))
        answer_all(interview, KEY + str(number))
        count = "SELECT kind, count(*) FROM questions WHERE participant = ? AND place > 0 GROUP BY kind"
        kinds = dict(map(tuple, store.rows(count, number + 1)))
        # The queue is empty here, so random questions replace the chosen ones.
        assert kinds == {"random": 28, "shared": 4, "repeat": 4, "check": 4}
    rows = store.rows("SELECT participant, content FROM questions WHERE kind IN ('random', 'shared')")
    assert len(set(map(tuple, rows))) == len(rows)
    same = store.rows("SELECT place, content FROM questions WHERE kind = 'shared' GROUP BY place, content")
    assert len(same) == 4  # at the same places for all participants
    store.close()


def test_a_repeat_is_the_same_question_with_its_sides_swapped(tmp_path):
    interview, store = interview_of(tmp_path, shares=Shares(repeat=0.2))
    joined(interview)
    answer_all(interview)
    pairs = store.rows(
        """SELECT a.first, a.second, a.third, b.first, b.second, b.third FROM questions a
        JOIN questions b ON b.id = a.repeats"""
    )
    assert len(pairs) == 4
    for first, second, third, *before in map(tuple, pairs):
        assert [first, third, second] == before
    store.close()


def test_the_last_five_questions_are_not_repeated(tmp_path):
    interview, store = interview_of(tmp_path, shares=Shares(random=0.6, repeat=0.4), number=30)
    joined(interview)
    answer_all(interview)
    questions = store.rows("SELECT id, place, kind, repeats FROM questions WHERE place >= 1 ORDER BY place")
    repeats = [row for row in questions if row["kind"] == "repeat"]
    assert len(repeats) == 12
    for repeat in repeats:
        repeated = {row["repeats"] for row in questions if row["place"] < repeat["place"]}
        possible = [
            row["id"]
            for row in questions
            if row["place"] < repeat["place"] and row["kind"] in ("chosen", "random") and row["id"] not in repeated
        ]
        assert repeat["repeats"] in possible[: max(1, len(possible) - 5)]
    store.close()


def test_a_question_of_the_queue_is_asked_once_and_keeps_its_score(tmp_path):
    interview, store = interview_of(tmp_path, practice=0, shares=Shares(0, 0, 0, 0))
    store.insert("queue", first=3, second=5, third=7, score=0.4, probability=1.0, map=6)
    joined(interview)
    row = store.row("SELECT * FROM questions WHERE place = 1")
    assert (row["kind"], row["score"], row["map"], row["first"]) == ("chosen", 0.4, 6, 3)
    assert {row["second"], row["third"]} == {5, 7}
    assert store.value("SELECT count(*) FROM queue") == 0
    joined(interview, OTHER)
    assert store.value("SELECT count(*) FROM questions WHERE kind = 'chosen'") == 1
    store.close()


def test_random_questions_store_their_probability(tmp_path):
    interview, store = interview_of(tmp_path, practice=0, shares=Shares(1, 0, 0, 0))
    joined(interview)
    possible = 10 * 36
    probabilities = [row["probability"] for row in store.rows("SELECT probability FROM questions ORDER BY place")]
    assert probabilities == pytest.approx([1 / possible, 1 / (possible - 1)])
    store.close()


def test_sides_are_random(tmp_path):
    interview, store = interview_of(tmp_path, number=100, shares=Shares(1, 0, 0, 0))
    joined(interview)
    answer_all(interview)
    swapped = store.value("SELECT avg(second > third) FROM questions")
    assert 0.3 < swapped < 0.7
    store.close()


def correct(store):
    """Answer check questions correctly."""

    def choose(question):
        row = store.row("SELECT * FROM questions WHERE id = ?", question["id"])
        return 0 if row["second"] == row["first"] else 1

    return choose


def test_codes_distinguish_complete_failed_and_declined(tmp_path):
    settings = {
        "codes": Codes("DONE", "NO", "FAILED"),
        "recruiter": RECRUITERS["prolific"],
        "shares": Shares(check=0.3),
    }
    interview, store = interview_of(tmp_path, **settings)
    back = "https://app.prolific.com/submissions/complete?cc="
    joined(interview, PROLIFIC_PID="careful")
    careful = answer_all(interview, choose=correct(store))
    joined(interview, OTHER, PROLIFIC_PID="careless")
    careless = answer_all(interview, OTHER, choose=lambda question: 1 - correct(store)(question))
    declined = interview.decline("c" * 32)
    endings = [(state["stage"], state["code"], state["redirect"]) for state in (careful, careless, declined)]
    expected = [("complete", "DONE"), ("failed", "FAILED"), ("declined", "NO")]
    assert endings == [(stage, code, back + code) for stage, code in expected]
    store.close()


def test_a_skipped_check_is_neither_passed_nor_failed(tmp_path):
    interview, store = interview_of(tmp_path, shares=Shares(check=0.3), skip=True)
    joined(interview)
    kind = "SELECT kind FROM questions WHERE id = ?"
    state = answer_all(interview, choose=lambda question: "skip" if store.value(kind, question["id"]) == "check" else 0)
    assert store.value("SELECT count(*) FROM questions WHERE kind = 'check'") >= 3
    assert state["stage"] == "complete"
    store.close()


def test_declining_stores_only_a_count(tmp_path):
    interview, store = interview_of(tmp_path, recruiter=RECRUITERS["prolific"])
    assert interview.decline(KEY) == interview.decline(KEY)
    assert store.value("SELECT count(*) FROM participants WHERE state = 'declined'") == 1
    assert store.value("SELECT count(*) FROM identities") == store.value("SELECT count(*) FROM questions") == 0
    store.close()


def test_the_same_person_of_a_recruiter_is_the_same_participant_on_another_device(tmp_path):
    interview, store = interview_of(tmp_path, recruiter=RECRUITERS["prolific"])
    state = joined(interview, PROLIFIC_PID="5f1")
    assert joined(interview, OTHER, PROLIFIC_PID="5f1") == state
    assert joined(interview, "d" * 32, PROLIFIC_PID="5f2") != state
    assert store.value("SELECT count(*) FROM participants") == 2
    store.close()


def test_a_preview_and_an_old_consent_are_refused(tmp_path):
    interview, store = interview_of(tmp_path, recruiter=RECRUITERS["mturk"])
    preview = {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}
    assert refusal(interview.join, KEY, interview.study.consent_version, preview) == 403
    assert refusal(interview.join, KEY, "older", {"workerId": "A1"}) == 409
    assert store.value("SELECT count(*) FROM participants") == 0
    store.close()


def test_consent_is_stored_with_its_text_and_time(tmp_path):
    interview, store = interview_of(tmp_path, clock=lambda: 12345.0)
    joined(interview)
    row = store.row("SELECT text, joined_at FROM participants JOIN consents ON consent = version")
    assert tuple(row) == ("You agree.", 12345.0)
    store.close()


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        " ",
        "{{%PROLIFIC_PID%}}",
        "%7B%7B%25PROLIFIC_PID%25%7D%7D",
        "${e://Field/PROLIFIC_PID}",
        "%SURVEY_CODE%",
        "...",
        "undefined",
    ],
)
def test_a_recruiters_id_is_required(tmp_path, value):
    interview, store = interview_of(tmp_path, recruiter=RECRUITERS["prolific"])
    address = {} if value is None else {"PROLIFIC_PID": value}
    assert interview.arrive(address)["stage"] == "unidentified"
    with pytest.raises(Refused, match="the parameter PROLIFIC_PID of the address has no id") as refused:
        joined(interview, **address)
    assert refused.value.status == 422
    assert interview.arrive({"PROLIFIC_PID": "5f1"})["stage"] == "open"
    assert interview.arrive({"pilot": pilot_ticket(b"")})["stage"] == "open"
    assert refusal(joined, interview) == 422
    store.close()


def test_other_ids_of_a_recruiter_may_be_missing_but_not_be_placeholders(tmp_path):
    interview, store = interview_of(tmp_path, recruiter=RECRUITERS["prolific"])
    assert interview.arrive({"PROLIFIC_PID": "5f1", "STUDY_ID": "{{%STUDY_ID%}}"})["stage"] == "unidentified"
    assert interview.arrive({"PROLIFIC_PID": "5f1", "STUDY_ID": "65"})["stage"] == "open"
    store.close()


def test_a_changed_consent_text_is_asked_again_and_both_versions_are_stored(tmp_path):
    interview, store = interview_of(tmp_path, clock=lambda: 10.0)
    state = joined(interview)
    changed = dataclasses.replace(interview.study, consent="You agree to more.")
    later = Interview(changed, store, clock=lambda: 20.0)
    assert later.state(KEY)["stage"] == "consent"
    # An answer to a question from before the change is stored, but there is no further question without consent.
    assert later.answer(KEY, state["questions"][0]["id"], 0, 1)["stage"] == "consent"
    assert refusal(later.join, KEY, interview.study.consent_version, {}) == 409
    assert later.join(KEY, changed.consent_version, {})["questions"][0]["id"] == state["questions"][1]["id"]
    assert joined(later)["stage"] == "questions"
    texts = store.rows("SELECT text, at FROM agreements JOIN consents USING (version) ORDER BY at")
    assert list(map(tuple, texts)) == [("You agree.", 10.0), ("You agree to more.", 20.0)]
    assert store.value("SELECT consent FROM participants") == changed.consent_version
    store.close()


def test_those_who_have_finished_are_not_asked_for_consent_again(tmp_path):
    interview, store = interview_of(tmp_path)
    joined(interview)
    answer_all(interview)
    later = Interview(dataclasses.replace(interview.study, consent="You agree to more."), store)
    assert later.state(KEY)["stage"] == joined(later)["stage"] == "complete"
    assert store.value("SELECT count(*) FROM agreements") == 1
    store.close()


@pytest.mark.parametrize("practice", [0, 1, 5])
def test_a_change_of_the_practice_concerns_only_those_who_have_not_begun(tmp_path, practice):
    interview, store = interview_of(tmp_path, practice=3)
    before = joined(interview)["questions"]
    later = Interview(dataclasses.replace(interview.study, practice=practice), store)
    assert later.state(KEY)["questions"] == before
    places = []
    state = later.state(KEY)
    for _ in range(4):
        question = state["questions"][0]
        places.append((question["practice"], question["place"], question["of"]))
        assert state["answered"] == len(places) - 1
        state = later.answer(KEY, question["id"], 0, 1)
    assert places == [(True, 1, 3), (True, 2, 3), (True, 3, 3), (False, 1, 20)]
    joined(later, OTHER)
    count = "SELECT count(*) FROM questions WHERE participant = 2 AND place < 1"
    assert store.value(count) == min(practice, 2)  # only two questions are drawn ahead
    store.close()


@pytest.mark.parametrize("kind", ["closer", "odd"])
@pytest.mark.parametrize("n_left", [9, 4])
def test_objects_can_be_removed_while_people_answer(tmp_path, kind, n_left):
    shares = Shares(0.3, 0.1, 0.1, 0.1)
    interview, store = interview_of(tmp_path, kind=kind, number=40, shares=shares)
    state = joined(interview)
    for _ in range(10):
        state = interview.answer(KEY, state["questions"][0]["id"], 0, 1)
    study = dataclasses.replace(interview.study, objects=interview.study.objects[10 - n_left :])
    later = Interview(study, store)
    # The question on the screen can still be answered, since its objects were shown before.
    state = later.answer(KEY, state["questions"][0]["id"], 0, 1)
    left = {thing.text for thing in study.objects}
    while state["stage"] == "questions":
        for question in state["questions"]:
            shown = [*question["options"], *([question["anchor"]] if question["anchor"] else [])]
            assert left.issuperset(thing["text"] for thing in shown)
        state = later.answer(KEY, state["questions"][0]["id"], 0, 1)
    # With four objects there are too few different questions, so the interview ends early.
    assert state["stage"] in ("complete", "failed")
    n_answered = store.value("SELECT count(*) FROM answers JOIN questions ON question = id WHERE place > 0")
    assert n_answered == 40 if n_left == 9 else n_answered < 40
    store.close()


def test_odd_one_out_questions_have_three_options_and_checks_with_a_duplicate(tmp_path):
    interview, store = interview_of(tmp_path, kind="odd", shares=Shares(check=0.5))

    def odd(question):
        row = store.row("SELECT * FROM questions WHERE id = ?", question["id"])
        objects = [row["first"], row["second"], row["third"]]
        assert question["anchor"] is None
        assert len(question["options"]) == 3
        return min(range(3), key=lambda place: objects.count(objects[place]))

    joined(interview)
    assert answer_all(interview, choose=odd)["stage"] == "complete"
    assert store.value("SELECT count(*) FROM questions WHERE kind = 'check'") == 10
    store.close()


def test_with_four_objects_every_participant_can_answer_all_questions(tmp_path):
    interview, store = interview_of(tmp_path, n_objects=4, number=12, practice=0, shares=Shares(0.15, 0.1, 0, 0))
    for key in (KEY, OTHER):
        joined(interview, key)
        assert answer_all(interview, key)["stage"] == "complete"
    assert store.value("SELECT count(DISTINCT content) FROM questions") == 12
    store.close()


def test_keys_of_participants_are_not_in_the_file(participant, tmp_path):
    _, store, _ = participant
    store.tidy()
    assert KEY.encode() not in (tmp_path / "answers.sqlite").read_bytes()


def test_the_kind_of_question_cannot_change_once_there_are_answers(tmp_path):
    interview, store = interview_of(tmp_path)
    store.close()
    interview, store = interview_of(tmp_path, kind="odd")  # there are no answers yet
    joined(interview)
    answer_all(interview)
    store.close()
    with pytest.raises(
        ValueError,
        match="the kind of question is closer, but there are answers to questions of the kind odd; change it back",
    ):
        interview_of(tmp_path)
