import random

import pytest
from studies import KEY, answer_all, answered_study, closer_by_number, interview_of, joined, study_of

import closerthan as ct
from closerthan.collect.choosing.quality import Page, n_people, people
from closerthan.collect.choosing.refit import refit
from closerthan.collect.store.access import Access
from closerthan.collect.store.export import answer_lines
from closerthan.collect.store.participants import exclude
from closerthan.collect.study.description import Shares
from closerthan.files import read_answers


def test_a_careless_participant_is_flagged_and_kept(tmp_path):
    shares = Shares(random=0.1, shared=0.2, repeat=0.2, check=0.2)
    interview, store = interview_of(tmp_path, number=30, shares=shares, n_objects=12)
    for number in range(5):
        joined(interview, KEY + str(number))
        answer_all(interview, KEY + str(number), choose=closer_by_number)
    joined(interview, "careless" * 3)
    answer_all(interview, "careless" * 3, choose=lambda question: 0)
    study, access = study_of(tmp_path, number=30, shares=shares, n_objects=12), Access(tmp_path)
    careless, *others = people(store, study, access)
    assert (careless.verdict, careless.needs_attention) == ("not assessed yet", True)
    assert "100 % on the left" in careless.reasons
    assert careless.checks[0] < careless.checks[1] == 6
    for person in others:
        assert (person.reasons, person.checks, person.repeats) == ("", (6, 6), (6, 6))
        assert person.shared[0] == person.shared[1] > 0
    refit(study, store)
    careless, *others = people(store, study, access)
    assert (careless.verdict, careless.needs_attention) == ("careless", True)
    assert {person.verdict for person in others} == {"fine"}
    assert store.value("SELECT count(*) FROM participants") == 6
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["closer", "odd"])
def test_the_live_page_and_the_command_give_the_same_verdicts_on_the_same_answers(tmp_path, kind):
    def odd_by_number(question):
        numbers = [int(thing["text"].split()[1]) ** 1.37 for thing in question["options"]]
        return max(
            range(3), key=lambda one: min(abs(numbers[one] - other) for other in numbers if other != numbers[one])
        )

    settings = {"kind": kind, "number": 50, "shares": Shares(0.4, 0.1, 0.1, 0.1), "n_objects": 12}
    interview, store = interview_of(tmp_path, **settings)
    rng = random.Random(0)
    careful = closer_by_number if kind == "closer" else odd_by_number
    habits = {
        **dict.fromkeys("abcde", careful),
        "guesses": lambda question: rng.randrange(len(question["options"])),
    }
    if kind == "closer":
        habits["reversed"] = lambda question: 1 - careful(question)
    for name, choose in habits.items():
        joined(interview, (name * 24)[:24])
        answer_all(interview, (name * 24)[:24], choose=choose)
    (tmp_path / Access.FILES[1]).write_text("a" * 64)  # pseudonyms determine the order of people
    study, access = study_of(tmp_path, **settings), Access(tmp_path)
    refit(study, store)
    live = {person.name: person for person in people(store, study, access)}
    (tmp_path / "answers.csv").write_text("".join(answer_lines(store, study, access)))
    exported = read_answers(tmp_path / "answers.csv")
    by_command = ct.assess_people(exported.comparisons, study.dimensions, checks=exported.checks)
    assert len({person.verdict for person in by_command.people}) > 1
    for person in by_command.people:
        shown = live[person.name]
        assert (shown.verdict, shown.checks) == (person.verdict, (person.checks_passed, person.checks))
        assert shown.lapse == pytest.approx(person.lapse_rate, abs=0.15)  # folds differ with the order of the answers
    store.close()


def test_answers_below_a_third_of_a_second_are_a_reason_to_look_closely(tmp_path):
    shares = Shares(random=1, shared=0, repeat=0, check=0)
    interview, store = interview_of(tmp_path, number=24, shares=shares, n_objects=12)
    for name, milliseconds in (("slow", 350), ("fast", 250)):
        joined(interview, name * 8)
        state = interview.state(name * 8)
        while state["stage"] == "questions":
            question = state["questions"][0]
            state = interview.answer(name * 8, question["id"], closer_by_number(question), milliseconds)
    participants = people(store, study_of(tmp_path, number=24, shares=shares, n_objects=12), Access(tmp_path))
    assert sorted((person.median_ms, person.fast, person.needs_attention) for person in participants) == [
        (250, 1.0, True),
        (350, 0.0, False),
    ]
    store.close()


def test_questions_that_could_not_be_shown_count_neither_as_answers_nor_in_the_median(tmp_path):
    interview, store = interview_of(tmp_path, practice=0)
    state = joined(interview)
    for choice, milliseconds in ((0, 500), ({"fault": [1]}, 60_000), ({"fault": [2]}, 60_000)):
        state = interview.answer(KEY, state["questions"][0]["id"], choice, milliseconds)
    (person,) = people(store, interview.study, Access(tmp_path))
    assert (person.answers, person.median_ms) == (1, 500)
    store.close()


def test_agreement_with_the_others_excludes_the_participants_own_answer(tmp_path):
    """Two people who contradict each other never agree with "most of the others"."""
    shares = Shares(random=0.5, shared=0.5, repeat=0, check=0)
    interview, store = interview_of(tmp_path, number=20, shares=shares, n_objects=12)
    for name, choose in (("one", closer_by_number), ("two", lambda question: 1 - closer_by_number(question))):
        joined(interview, name * 8)
        answer_all(interview, name * 8, choose=choose)
    participants = people(store, study_of(tmp_path, number=20, shares=shares, n_objects=12), Access(tmp_path))
    assert [person.shared[0] for person in participants] == [0, 0]
    assert all(person.shared[1] >= 5 for person in participants)
    store.close()


def test_pages_of_the_table_hold_the_same_people_as_the_whole_table(tmp_path):
    study, store = answered_study(tmp_path, n_people=7)
    access = Access(tmp_path)
    exclude(store, access, "pid-2", "asleep")
    everybody = people(store, study, access)
    pages = [people(store, study, access, Page(begin, 3)) for begin in (0, 3, 6, 9)]
    assert [len(page) for page in pages] == [3, 3, 1, 0]
    assert [person for page in pages for person in page] == everybody
    assert [person.excluded for person in people(store, study, access, Page(only="excluded"))] == ["asleep"]
    assert [n_people(store, Page(only=only)) for only in ("", "check", "excluded")] == [7, 0, 1]
    store.close()


def test_people_who_failed_the_checks_are_to_be_looked_at_whatever_their_verdict(tmp_path):
    study, store = answered_study(tmp_path, n_people=2)
    access = Access(tmp_path)
    store.change("UPDATE participants SET state = 'failed' WHERE number = 1")
    for number in (1, 2):
        store.insert("assessments", participant=number, lapse=None, verdict="few", reasons="2 of 3 checks failed")
    assert {person.number: person.needs_attention for person in people(store, study, access)} == {1: True, 2: False}
    assert [person.number for person in people(store, study, access, Page(only="check"))] == [1]
    assert n_people(store, Page(only="check")) == 1
    store.close()
