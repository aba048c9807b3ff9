"""Interviews with several picks: what is stored, exported, counted as a check, and compared between people."""

import csv
import io

import pytest
from studies import KEY, answer_all, interview_of, joined, study_of

import closerthan as ct
from closerthan.collect.choosing.quality import people
from closerthan.collect.choosing.refit import refit
from closerthan.collect.store.access import Access
from closerthan.collect.store.answers import comparisons_of
from closerthan.collect.store.export import answer_lines
from closerthan.collect.study.description import Shares
from closerthan.collect.web.interview import Refused

KINDS = ["nearest", "rank"]
SHARES = Shares(random=0.3, shared=0.2, repeat=0.2, check=0.2)


def nearest_by_number(question):
    """Pick the two options whose numbers are closest to that of the anchor, the closest first."""
    anchor, *options = (int(thing["text"].split()[1]) for thing in (question["anchor"], *question["options"]))
    return sorted(range(len(options)), key=lambda place: abs(options[place] - anchor + 0.1))[:2]


def answered(folder, kind, n_people=3, choose=nearest_by_number, **settings):
    settings = {"kind": kind, "shown": 5, "picks": 2, "shares": SHARES, **settings}
    interview, store = interview_of(folder, **settings)
    for number in range(n_people):
        joined(interview, KEY + str(number))
        answer_all(interview, KEY + str(number), choose=choose)
    return study_of(folder, **settings), store


@pytest.mark.parametrize("kind", KINDS)
def test_the_export_is_read_as_the_same_comparisons(tmp_path, kind):
    study, store = answered(tmp_path, kind)
    with store:
        path = tmp_path / "answers.csv"
        path.write_text("".join(answer_lines(store, study, Access(tmp_path))))
        expected = comparisons_of(store, study.screen)
        names = {row["number"]: row["name"] for row in store.rows("SELECT number, name FROM objects")}
    answers = ct.files.read_answers(path)
    comparisons = answers.comparisons
    assert answers.summary.kind == kind
    assert comparisons.n_answers == expected.n_answers
    assert (comparisons.n_people, len(answers.checks)) == (3, 3)
    assert comparisons.random.sum() == expected.random.sum() > 0

    def by_name(rows, name_of):
        return sorted(tuple(name_of[number] for number in row) for row in rows.tolist())

    assert by_name(comparisons.rows, comparisons.names) == by_name(expected.rows, names)
    # Two of five: 2 x 3 comparisons with the others, and one between the picks of a ranking.
    assert len(comparisons) == comparisons.n_answers * (6 + (kind == "rank"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_folder_of_the_study_is_read_like_its_export(tmp_path, kind):
    study, store = answered(tmp_path, kind)
    with store:
        path = tmp_path / "answers.csv"
        path.write_text("".join(answer_lines(store, study, Access(tmp_path))))
    assert (
        ct.files.read_answers(tmp_path).comparisons.rows.tolist()
        == ct.files.read_answers(path).comparisons.rows.tolist()
    )


@pytest.mark.parametrize("choice", [0, [0], [0, 1, 2], [0, 0], [0, 5], [-1, 0], [0, "1"], [True, 0], "tie", None, {}])
def test_impossible_picks_are_refused(tmp_path, choice):
    interview, store = interview_of(tmp_path, kind="rank", shown=5, picks=2)
    with store, pytest.raises(Refused, match="a list of 2 different numbers from 0 to 4") as refused:
        interview.answer(KEY, joined(interview)["questions"][0]["id"], choice, 1)
    assert refused.value.status == 422


def test_repeated_picks_get_the_same_reply_and_other_ones_are_refused(tmp_path):
    interview, store = interview_of(tmp_path, kind="rank", shown=5, picks=2)
    with store:
        question = joined(interview)["questions"][0]["id"]
        first = interview.answer(KEY, question, [3, 1], 700)
        assert interview.answer(KEY, question, [3, 1], 900) == first
        with pytest.raises(Refused, match="already has a different answer"):
            interview.answer(KEY, question, [1, 3], 700)
        assert [tuple(row) for row in store.rows("SELECT choice, more FROM answers")] == [(3, "1")]


@pytest.mark.parametrize("kind", KINDS)
def test_checks_repeats_and_shared_questions_are_counted(tmp_path, kind):
    study, store = answered(tmp_path, kind)
    with store:
        for person in people(store, study, Access(tmp_path)):
            assert person.checks == (4, 4)  # the anchor itself is the closest
            assert person.repeats[0] == person.repeats[1] >= 4 * 3
            assert person.shared[0] == person.shared[1] > 0
            assert person.state == "complete"


@pytest.mark.parametrize("kind", KINDS)
def test_people_who_always_pick_the_last_options_fail_the_checks(tmp_path, kind):
    study, store = answered(tmp_path, kind, choose=lambda _: [4, 3], number=40)
    with store:
        for person in people(store, study, Access(tmp_path)):
            assert person.checks[0] < person.checks[1]
            assert (person.state, person.left) == ("failed", 0.0)
            assert "0 % in the first position" in person.reasons


@pytest.mark.parametrize("kind", KINDS)
def test_a_refit_fills_the_queue_with_wide_questions_that_are_asked(tmp_path, kind):
    study, store = answered(tmp_path, kind)
    with store:
        assert refit(study, store) == 1
        assert {row["more"].count(":") for row in store.rows("SELECT more FROM queue")} == {2}
        assert store.latest_judgement()["drawn"]
    interview, store = interview_of(tmp_path, kind=kind, shown=5, picks=2, shares=SHARES)
    with store:
        joined(interview)
        answer_all(interview, choose=nearest_by_number)
        chosen = store.rows("SELECT * FROM questions WHERE kind = 'chosen'")
        assert chosen
        assert all(row["score"] > 0 and row["map"] == 1 for row in chosen)


def test_an_export_of_everything_keeps_skipped_rankings(tmp_path):
    study, store = answered(tmp_path, "rank", 1, choose=lambda _: "skip", skip=True)
    with store:
        lines = list(answer_lines(store, study, Access(tmp_path), everything=True))
    row = next(csv.DictReader(io.StringIO("".join(lines))))
    assert (row["said"], row["rank_1"], row["rank_2"]) == ("skip", "", "")
    assert row["shown_5"]
