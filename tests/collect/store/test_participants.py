import csv

import pytest
from studies import answer_all, answered_study, interview_of, joined

from closerthan.collect.choosing.participant_table import participant_lines
from closerthan.collect.choosing.quality import people
from closerthan.collect.store.access import Access
from closerthan.collect.store.answers import comparisons_of
from closerthan.collect.store.export import answer_lines
from closerthan.collect.store.keyed_codes import withdrawal_code
from closerthan.collect.store.participants import exclude, forget, include, n_recounts
from closerthan.collect.store.progress import progress
from closerthan.comparisons.screen import Screen
from closerthan.files import read_answers


@pytest.fixture
def answered(tmp_path):
    study, store = answered_study(tmp_path)
    yield study, store, Access(tmp_path)
    store.close()


def test_excluded_answers_are_kept_but_do_not_count_until_they_are_included_again(answered):
    _, store, access = answered
    assert comparisons_of(store, Screen.of("closer")).n_answers == 3 * 18
    name = exclude(store, access, "pid-1", " asked to ")
    assert name == access.pseudonym(2, "pid-1")
    assert comparisons_of(store, Screen.of("closer")).n_answers == 2 * 18
    assert store.value("SELECT count(*) FROM answers") == 3 * 22
    assert progress(store).excluded == 1
    include(store, access, name)
    assert comparisons_of(store, Screen.of("closer")).n_answers == 3 * 18
    assert n_recounts(store) == 2
    with pytest.raises(ValueError, match="already count"):
        include(store, access, name)


def test_an_exclusion_needs_a_reason_and_a_known_person(answered):
    _, store, access = answered
    with pytest.raises(ValueError, match="the reason for an exclusion is empty"):
        exclude(store, access, "pid-1", " ")
    with pytest.raises(ValueError, match="there is no participant 'pid-9'"):
        exclude(store, access, "pid-9", "reason")


def test_excluded_people_are_listed_but_do_not_vote_on_shared_questions(answered):
    study, store, access = answered
    before = {person.number: person.shared for person in people(store, study, access)}
    for number in (1, 2):
        exclude(store, access, f"pid-{number}", "reason")
    after = {person.number: person for person in people(store, study, access)}
    assert before[1] == (2, 2)
    assert after[1].shared == (0, 0)  # nobody else is left
    assert after[2].shared == (2, 2)  # compared with the first participant
    assert after[2].excluded == "reason"
    assert not after[2].needs_attention


def test_exports_mark_excluded_answers_and_fit_leaves_them_out(answered, tmp_path):
    study, store, access = answered
    name = exclude(store, access, "pid-1", "reason")
    path = tmp_path / "answers.csv"
    path.write_text("".join(answer_lines(store, study, access)))
    with open(path, newline="") as file:
        marks = {row["participant"]: row["excluded"] for row in csv.DictReader(file)}
    assert sorted(marks.values()) == ["no", "no", "yes"]
    assert marks[name] == "yes"
    answers = read_answers(path)
    assert name not in answers.comparisons.person_names
    assert answers.comparisons.n_people == 2
    assert answers.summary.dropped["marked_as_excluded"] == 20
    assert read_answers(path, where={"excluded": ["yes", "no"]}).comparisons.n_people == 3
    assert read_answers(path, where={"participant": f"!={name}"}).comparisons.n_people == 2


def test_questions_that_could_not_be_shown_are_no_answers(tmp_path):
    interview, store = interview_of(tmp_path)
    joined(interview)
    answer_all(interview, choose=lambda question: {"fault": [0]} if question["place"] % 2 else 0)
    (person,) = people(store, interview.study, Access(tmp_path))
    assert (person.answers, progress(store).answers) == (10, 10)
    store.close()


def test_the_table_of_participants_has_state_checks_verdict_and_reason(answered):
    study, store, access = answered
    exclude(store, access, "pid-1", '=HYPERLINK("https://x")')
    rows = list(csv.DictReader(participant_lines(store, study, access)))
    assert [row["participant"] for row in rows] == [access.pseudonym(n + 1, f"pid-{n}") for n in range(3)]
    second = rows[1]
    assert [second[name] for name in ("state", "answers", "checks_passed", "checks")] == ["complete", "20", "2", "2"]
    assert (second["excluded"], second["exclusion_reason"]) == ("yes", '\'=HYPERLINK("https://x")')
    assert second["started"] == second["ended"] == "1970-01-01T00:16:40+00:00"
    assert "pid-1" not in "".join(participant_lines(store, study, access))


def test_recruiters_ids_are_in_the_table_only_if_asked_for_and_are_safe_in_spreadsheets(answered):
    study, store, access = answered
    store.change("UPDATE identities SET value = '=cmd()' WHERE value = 'pid-1'")
    rows = list(csv.DictReader(participant_lines(store, study, access, identities=True)))
    assert [row["recruiter_person"] for row in rows] == ["pid-0", "'=cmd()", "pid-2"]
    lines = "".join(answer_lines(store, study, access, identities=True))
    assert "\n'=cmd()," in lines
    assert "\n=cmd()" not in lines


@pytest.mark.parametrize(
    "typed", ["as shown", "lower case with spaces", "without dashes", "wide letters", "look-alikes"]
)
def test_a_person_is_deleted_by_the_withdrawal_code_as_people_type_it(answered, typed):
    _, store, access = answered
    code = withdrawal_code(access.key, 2)
    changes = {
        "lower case with spaces": code.lower().replace("-", "  ") + "\n",
        "without dashes": code.replace("-", ""),
        "wide letters": code.translate({number: number + 0xFEE0 for number in range(0x21, 0x7F)}),
        "look-alikes": code.translate(str.maketrans("OISBZGL", "0158261")).replace("-", "\u2013"),
    }
    with pytest.raises(ValueError, match="there is no participant"):
        forget(store, access, code[:-1])
    assert forget(store, access, changes.get(typed, code)) == 22
    assert n_recounts(store) == 1
    assert store.value("SELECT group_concat(number) FROM participants") == "1,3"
