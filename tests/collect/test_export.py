import csv
import json
import random

import pytest
from studies import KEY, answer_all, interview_of, joined, study_folder, study_of
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.collect.choosing.belief import LOSS
from closerthan.collect.choosing.quality import people
from closerthan.collect.choosing.refit import refit
from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.store.export import answer_lines, forget
from closerthan.collect.store.progress import progress
from closerthan.collect.study.description import Shares
from closerthan.collect.study.recruiters import RECRUITERS
from closerthan.files import read_answers


def closer_by_number(question):
    """Answer as if objects with close numbers were similar."""
    numbers = [int(thing["text"].split()[1]) ** 1.37 for thing in (question["anchor"], *question["options"])]
    return int(abs(numbers[2] - numbers[0]) < abs(numbers[1] - numbers[0]))


def table(lines):
    return list(csv.DictReader(lines))


def answered_study(folder, n_people=3, **settings):
    settings = {"recruiter": RECRUITERS["prolific"], "shares": Shares(0.3, 0.1, 0.1, 0.1), **settings}
    interview, store = interview_of(folder, **settings)
    for number in range(n_people):
        joined(interview, KEY + str(number), PROLIFIC_PID=f"pid-{number}")
        answer_all(interview, KEY + str(number), choose=closer_by_number)
    return study_of(folder, **settings), store


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


def test_progress_counts_people_answers_and_dropouts(tmp_path):
    now = [10_000.0]
    interview, store = interview_of(tmp_path, clock=lambda: now[0], skip=True)
    joined(interview, "a" * 32)
    answer_all(interview, "a" * 32, choose=lambda question: "skip" if question["place"] == 5 else 1)
    joined(interview, "b" * 32)
    now[0] += 4000
    joined(interview, "c" * 32)
    interview.decline("d" * 32)
    counts = progress(store, now[0])
    names = ("started", "finished", "running", "dropped", "declined", "answers", "skipped", "last_hour", "median_ms")
    assert [getattr(counts, name) for name in names] == [3, 1, 1, 1, 1, 20, 1, 0, 500]
    assert sum(counts.by_hour) == 22
    assert counts.kinds["practice"] == 2
    store.close()


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
        "reversed": lambda question: 1 - careful(question) if kind == "closer" else (careful(question) + 1) % 3,
    }
    for name, choose in habits.items():
        joined(interview, (name * 24)[:24])
        answer_all(interview, (name * 24)[:24], choose=choose)
    study, access = study_of(tmp_path, **settings), Access(tmp_path)
    refit(study, store)
    live = {person.name: person for person in people(store, study, access)}
    (tmp_path / "answers.csv").write_text("".join(answer_lines(store, study, access)))
    exported = read_answers(tmp_path / "answers.csv")
    by_command = ct.assess_people(exported.comparisons, study.dimensions, checks=exported.checks, loss=LOSS)
    assert len({person.verdict for person in by_command.people}) > 1
    for person in by_command.people:
        shown = live[person.name]
        assert (shown.verdict, shown.checks) == (person.verdict, (person.checks_passed, person.checks))
        assert shown.lapse == pytest.approx(person.lapse_rate, abs=0.1)  # folds differ with the order of the answers
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


def run(*words):
    return CliRunner().invoke(app, ["collect", *map(str, words)])


def test_commands_on_a_study_without_answers_explain_how_to_start(folder):
    for command in (["export"], ["status"], ["backup"], ["forget"]):
        result = run(*command, folder, *(["x"] if command == ["forget"] else []))
        assert result.exit_code == 2
        assert "so there are no answers yet; start the study with: closerthan collect serve" in result.output


def test_export_status_backup_and_forget(folder):
    from closerthan.collect.study.description import read_study
    from closerthan.collect.web.interview import Interview

    study = read_study(folder)
    with Store(folder / FILE) as store:
        store.change("PRAGMA synchronous = OFF")
        interview = Interview(study, store, rng=random.Random(0))
        joined(interview)
        answer_all(interview, choose=closer_by_number)
    result = run("export", folder)
    assert result.exit_code == 0, result.output
    assert "60 answers" in result.output
    assert run("export", folder).exit_code == 2  # existing files are not replaced
    assert "1 started, 1 finished" in run("status", folder).output
    assert run("backup", folder, "--out", folder / "copy.sqlite").exit_code == 0
    with Store(folder / "copy.sqlite") as copy:
        assert copy.value("SELECT count(*) FROM answers") == 63
    assert "is the database of the study" in run("backup", folder, "--out", folder / FILE, "--force").output
    assert "is the database of the study" in run("export", folder, "--out", folder / FILE, "--force").output
    changed = (folder / "study.toml").read_text().replace('kind = "closer"', 'kind = "odd"')
    (folder / "study.toml").write_text(changed)
    # The answers would be interpreted as answers to other questions.
    for command in (("export", "--force"), ("status",)):
        assert 'there are answers of kind "closer"; change it back' in " ".join(run(*command, folder).output.split())
    (folder / "study.toml").write_text(changed.replace('kind = "odd"', 'kind = "closer"'))
    pseudonym = table((folder / "answers.csv").read_text().splitlines())[0]["participant"]
    assert "deleted: " in run("forget", folder, pseudonym).output
    with Store(folder / FILE) as store:
        assert store.value("SELECT count(*) FROM answers") == 0
