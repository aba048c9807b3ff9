import csv

import pytest
from studies import answer_all, answered_study, interview_of, joined, study_of
from typer.testing import CliRunner

from closerthan.cli import app
from closerthan.collect.choosing.quality import people
from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE
from closerthan.collect.store.export import answer_lines
from closerthan.collect.store.participants import forget
from closerthan.collect.study.recruiters import RECRUITERS
from closerthan.files import read_answers


def table(lines):
    return list(csv.DictReader(lines))


def test_exported_answers_can_be_read_with_people_and_kinds(tmp_path):
    study, store = answered_study(tmp_path)
    path = tmp_path / "answers.csv"
    path.write_text("".join(answer_lines(store, study, Access(tmp_path))))
    answers = read_answers(path)
    assert answers.summary.kind == "triplet"
    assert answers.comparisons.n_people == 3
    assert len(answers.comparisons) == 3 * 18  # 2 of 20 are checks
    assert answers.checks == dict.fromkeys(set(answers.comparisons.person_names), (2, 2))
    assert answers.comparisons.times.tolist() == [0.5] * 54
    assert set(answers.comparisons.sides.tolist()) == {0, 1}
    rows = table(path.read_text().splitlines())
    assert {row["kind"] for row in rows} == {"random", "shared", "repeat", "check"}
    for row in rows:
        numbers = [int(row[column].split()[1]) ** 1.37 for column in ("anchor", "near", "far")]
        assert abs(numbers[1] - numbers[0]) <= abs(numbers[2] - numbers[0])
        assert row["near_side"] in ("left", "right")
        assert row["rt_ms"] == "500"
    store.close()


def test_the_side_of_the_near_object_is_where_it_was_shown(tmp_path):
    study, store = answered_study(tmp_path)
    rows = table(answer_lines(store, study, Access(tmp_path), everything=True))
    answered = [row for row in rows if row["said"] == "choice" and row["left"] != row["right"]]
    assert {row["near_side"] for row in answered} == {"left", "right"}
    for row in answered:
        other = {"left": "right", "right": "left"}[row["near_side"]]
        assert (row["near"], row["far"]) == (row[row["near_side"]], row[other])
    store.close()


@pytest.mark.slow
def test_exported_answers_can_be_fitted(tmp_path):
    study, store = answered_study(tmp_path)
    (tmp_path / "answers.csv").write_text("".join(answer_lines(store, study, Access(tmp_path))))
    store.close()
    result = CliRunner().invoke(
        app, ["fit", str(tmp_path / "answers.csv"), "--out", str(tmp_path / "map"), "--no-report"]
    )
    assert result.exit_code == 0, result.output
    assert "catch trials" in result.output
    assert (tmp_path / "map" / "map.csv").exists()


def test_an_export_of_everything_includes_practice_and_skips(tmp_path):
    study, store = answered_study(tmp_path, n_people=1, skip=True)
    interview, other = interview_of(tmp_path, recruiter=RECRUITERS["prolific"], skip=True)
    joined(interview, "z" * 32, PROLIFIC_PID="skipper")
    answer_all(interview, "z" * 32, choose=lambda question: "skip")
    rows = table(answer_lines(store, study, Access(tmp_path), everything=True))
    assert {row["kind"] for row in rows} >= {"practice", "check", "random", "shared"}
    assert {row["said"] for row in rows} == {"choice", "skip"}
    assert all(row["near"] == "" for row in rows if row["said"] == "skip")
    store.close()
    other.close()


@pytest.mark.parametrize("kind", ["closer", "odd"])
def test_an_export_of_everything_is_fitted_like_the_usual_one(tmp_path, kind):
    interview, store = interview_of(tmp_path, kind=kind, skip=True)
    joined(interview)
    answer_all(interview, choose=lambda question: "skip" if question["place"] % 5 == 0 else 0)
    usual, complete = tmp_path / "answers.csv", tmp_path / "all.csv"
    for path in (usual, complete):
        lines = answer_lines(store, interview.study, Access(tmp_path), everything=path == complete)
        path.write_text("".join(lines))
    store.close()
    answers = read_answers(complete)
    names = [[one.comparisons.names[number] for number in one.comparisons.rows.ravel()]
             for one in (answers, read_answers(usual))]  # fmt: skip
    assert names[0] == names[1]
    assert answers.summary.dropped["practice_or_without_a_choice"] == 6  # 2 practice questions, 4 skips
    selected = read_answers(complete, where={"kind": "practice"})
    assert selected.comparisons.n_answers == 2


def test_recruiters_ids_are_keyed_hashes_by_default(tmp_path):
    study, store = answered_study(tmp_path)
    hashed = "".join(answer_lines(store, study, Access(tmp_path)))
    assert "pid-0" not in hashed
    assert len({row["participant"] for row in table(hashed.splitlines())}) == 3
    named = "".join(answer_lines(store, study, Access(tmp_path), identities=True))
    assert {row["participant"] for row in table(named.splitlines())} == {"pid-0", "pid-1", "pid-2"}
    (tmp_path / "pseudonym-key.txt").unlink()
    assert "".join(answer_lines(store, study, Access(tmp_path))) != hashed  # another key gives other hashes
    store.close()


def test_exported_odd_one_out_answers_are_recognised(tmp_path):
    interview, store = interview_of(tmp_path, kind="odd")
    joined(interview)
    answer_all(interview, choose=lambda question: 2)
    path = tmp_path / "answers.csv"
    path.write_text("".join(answer_lines(store, study_of(tmp_path, kind="odd"), Access(tmp_path))))
    answers = read_answers(path)
    assert answers.summary.kind == "odd-one-out"
    row = table(path.read_text().splitlines())[0]
    assert row["odd"] == row["item_3"]
    store.close()


@pytest.mark.parametrize("by_id", [True, False])
def test_a_deleted_person_leaves_no_bytes_in_the_file(tmp_path, by_id):
    study, store = answered_study(tmp_path)
    access = Access(tmp_path)
    pseudonym = access.pseudonym(2, "pid-1")
    assert forget(store, access, "pid-1" if by_id else pseudonym) == 22
    assert store.value("SELECT count(*) FROM answers") == 2 * 22
    for file in tmp_path.glob(f"{FILE}*"):
        assert b"pid-1" not in file.read_bytes()
    with pytest.raises(ValueError, match="there is no participant 'pid-1'"):
        forget(store, access, "pid-1")
    assert [person.name for person in people(store, study, access)] == [
        access.pseudonym(3, "pid-2"),
        access.pseudonym(1, "pid-0"),
    ]
    store.close()
