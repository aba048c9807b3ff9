"""Sides: one person's preference is a sign of carelessness; a preference of all people is a property of the file."""

import csv

import numpy as np
import pytest

import closerthan as ct
from closerthan.comparisons.positions import without_artefacts

N_PEOPLE, PER_PERSON = 12, 40


def study(sides_of_a_person, seed=0):
    """Answers of careful people, whose chosen objects are on the left with the probability given for each person."""
    rng = np.random.default_rng(seed)
    n_people = len(sides_of_a_person)
    rows = ct.datasets.simulated(rng.standard_normal((15, 2)), n_people * PER_PERSON, noise="flip", level=0.1, seed=0)
    people = np.repeat(np.arange(n_people), PER_PERSON)
    sides = (rng.random(len(people)) >= np.asarray(sides_of_a_person)[people]).astype(int)
    return rows.rows, people, sides


def comparisons(sides_of_a_person, seed=0):
    rows, people, sides = study(sides_of_a_person, seed)
    return ct.Comparisons.from_triplets(rows, people=people, trials=ct.Trials(sides=sides))


def test_sides_are_ignored_if_all_people_prefer_the_same_one():
    for shared in (0.0, 0.01, 0.98, 1.0):
        answers, sentence = without_artefacts(comparisons([shared] * N_PEOPLE))
        assert answers.sides is None
        assert "sides are ignored" in sentence


def test_sides_are_kept_if_only_some_people_prefer_one():
    for shares in ([0.5] * N_PEOPLE, [1.0] + [0.5] * 11, [0.85] * N_PEOPLE, [1.0] * 9 + [0.5] * 3):
        answers = comparisons(shares)
        assert without_artefacts(answers) == (answers, "")


def test_sides_are_kept_if_the_preference_is_moderate():
    """With people, each of whom prefers the left, and without people."""
    rows, people, _ = study([0.5] * N_PEOPLE)
    for on_the_left, is_ignored in ((7, False), (9, False), (10, True)):
        sides = np.where(np.arange(len(rows)) % 10 < on_the_left, 0, 1)
        for columns in ({"people": people}, {}):
            answers = ct.Comparisons.from_triplets(rows, trials=ct.Trials(sides=sides), **columns)
            assert (without_artefacts(answers)[0].sides is None) == is_ignored


def test_one_careless_person_with_most_answers_does_not_make_the_file_one_sided():
    rows, _, _ = study([1.0] * 25)
    people = np.where(np.arange(1000) < 980, 0, 1 + np.arange(1000) % 2)
    sides = np.where(people == 0, 0, np.arange(1000) // 2 % 2)
    answers = ct.Comparisons.from_triplets(rows, people=people, trials=ct.Trials(sides=sides))
    assert without_artefacts(answers)[0] is answers


def test_a_few_answers_on_one_side_are_chance():
    rows, people, _ = study([1.0])
    answers = ct.Comparisons.from_triplets(rows[:19], people=people[:19], trials=ct.Trials(sides=[0] * 19))
    assert without_artefacts(answers)[0] is answers


def test_answers_are_counted_and_not_comparisons():
    rows, _, _ = study([0.5] * 4)
    # Two answers have 60 comparisons each, all on the left; forty others have one each, on the right.
    answer = np.concatenate([np.repeat([0, 1], 60), np.arange(2, 42)])
    sides = np.where(answer < 2, 0, 1)
    answers = ct.Comparisons.from_triplets(rows[:160], answers=answer, trials=ct.Trials(sides=sides))
    assert without_artefacts(answers)[0].sides is None
    assert "on the right in 95.2 %" in without_artefacts(answers)[1]


@pytest.fixture(params=["left is chosen", "a side column"])
def one_sided_file(request, tmp_path):
    rows, people, _ = study([1.0] * N_PEOPLE)
    path = tmp_path / "one_sided.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        if request.param == "left is chosen":
            writer.writerow(["worker", "Center", "Left", "Right", "Answer"])
            writer.writerows([[person, *row, row[1]] for person, row in zip(people, rows.tolist(), strict=True)])
        else:
            writer.writerow(["worker", "anchor", "near", "far", "side"])
            writer.writerows([[person, *row, "left"] for person, row in zip(people, rows.tolist(), strict=True)])
    return path


def test_a_one_sided_file_is_read_without_sides_and_says_so(one_sided_file):
    read = ct.files.read_answers(one_sided_file)
    assert read.comparisons.sides is None
    assert read.summary.share_left is None
    (note,) = [note for note in read.summary.notes if "sides are ignored" in note]
    assert "100.0 % of the answers" in note
    assert "side" not in read.summary.columns


def test_no_person_is_called_careless_because_of_a_one_sided_file():
    assessment = ct.assess_people(comparisons([1.0] * N_PEOPLE), loss="soe", penalty=0, seed=0)
    assert {person.verdict for person in assessment.people} <= {"fine", "unlike"}
    assert all(person.sides == 0 for person in assessment.people)
