"""Where it is known which questions were random, the held-out error is that on random questions."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.evaluate.facts import facts
from closerthan.evaluate.held_out import HeldOutSplit
from closerthan.wording import percent

SETTINGS = {"loss": "tste", "penalty": 0.01}
N_OBJECTS = 40
POINTS = np.random.default_rng(3).standard_normal((N_OBJECTS, 2))


def answered(rows, rng):
    """Return the questions with the chosen option first, answered by people who are unsure about close calls."""
    near, far = (np.linalg.norm(POINTS[rows[:, 0]] - POINTS[rows[:, column]], axis=1) for column in (1, 2))
    is_reversed = rng.random(len(rows)) >= 1 / (1 + np.exp(-4 * (far - near)))
    return np.where(is_reversed[:, np.newaxis], rows[:, [0, 2, 1]], rows)


def random_rows(number, rng):
    return rng.permuted(np.tile(np.arange(N_OBJECTS), (number, 1)), axis=1)[:, :3]


def adaptive_study(n_rounds, seed, fraction=0.2, size=400):
    """Answers to rounds of questions, most of them chosen by the answers before."""
    rng = np.random.default_rng(seed)
    rows, random = answered(random_rows(size, rng), rng), np.ones(size, bool)
    for _ in range(n_rounds):
        n_random = round(fraction * size)
        chosen = ct.choose_questions(rows, size - n_random, n_objects=N_OBJECTS, random_fraction=0.0, seed=seed)
        rows = np.concatenate([rows, answered(np.concatenate([chosen, random_rows(n_random, rng)]), rng)])
        random = np.concatenate([random, np.arange(size) >= size - n_random])
    return ct.Comparisons.from_triplets(rows, n_objects=N_OBJECTS, trials=ct.Trials(random=random))


@pytest.fixture(scope="module")
def study():
    return adaptive_study(14, seed=0)


@pytest.fixture(scope="module")
def true_error(study):
    """The error on many new answers to random questions."""
    rng = np.random.default_rng(7)
    new = answered(random_rows(20_000, rng), rng)
    return ct.triplet_error(new, ct.embed(study, seed=0, **SETTINGS).embedding)


def test_the_error_is_that_on_new_random_questions(study, true_error):
    measured = ct.held_out_error(study, fraction=0.2, seed=0, **SETTINGS)
    assert measured.only_random
    assert measured.low <= true_error <= measured.high


def test_without_knowing_the_random_questions_it_would_be_too_high(study, true_error):
    measured = ct.held_out_error(study.replace(trials=None), fraction=0.2, seed=0, **SETTINGS)
    assert not measured.only_random
    assert measured.low > true_error


def test_by_people_only_random_questions_are_scored(study):
    people = np.arange(len(study), dtype=np.int32) % 10
    measured = ct.held_out_error(
        study.replace(people=people, person_names=tuple("abcdefghij")), by="people", **SETTINGS
    )
    assert measured.n_comparisons == study.random.sum()
    assert "random questions" in measured.amount


def test_no_held_out_question_is_fitted(study):
    split = HeldOutSplit.of(study, 0.1, seed=1)
    fitted = {tuple(sorted(row)) for row in split.train.rows.tolist()}
    assert split.held_out.random.all()
    assert not fitted & {tuple(sorted(row)) for row in split.held_out.rows.tolist()}
    assert len(split.train) == pytest.approx(0.9 * len(study), rel=0.01)


def test_the_fit_keeps_some_of_few_random_questions(study):
    few = study.random & (np.arange(len(study)) % 10 == 0)
    split = HeldOutSplit.of(study.replace(trials=ct.Trials(random=few)), 0.2, seed=1)
    assert 0.4 * few.sum() <= len(split.held_out) <= 0.6 * few.sum()


def test_whole_blocks_with_random_questions_are_held_out(study):
    blocks = np.arange(len(study), dtype=np.int32) // 10
    split = HeldOutSplit.of(study.replace(blocks=blocks), 0.1, seed=1)
    assert not set(split.train.blocks.tolist()) & set(split.held_out.blocks.tolist())
    assert split.held_out.random.all()
    assert len(split.train) == pytest.approx(0.9 * len(study), rel=0.05)


def test_if_all_questions_are_random_nothing_changes(study):
    everything = study.replace(trials=ct.Trials(random=np.ones(len(study), bool)))
    split, plain = HeldOutSplit.of(everything, 0.1, seed=1), HeldOutSplit.of(study.replace(trials=None), 0.1, seed=1)
    assert not split.only_random
    assert np.array_equal(split.train.rows, plain.train.rows)


@pytest.mark.parametrize("option", ["answers", "people"])
def test_the_command_says_on_which_questions_the_error_was_measured(tmp_path, study, option):
    path = tmp_path / "answers.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["participant", "anchor", "near", "far", "kind"])
        for number, (row, is_random) in enumerate(zip(study.rows[:2000].tolist(), study.random.tolist(), strict=False)):
            writer.writerow([f"p{number % 8}", *(f"o{one}" for one in row), "random" if is_random else "chosen"])
    words = ["fit", str(path), "--out", str(tmp_path / "out"), "--loss", "tste", "--penalty", "0", "--by", option]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "random questions" in " ".join(result.output.split())


def test_cross_validation_scores_random_questions_only(study):
    scores = ct.cross_validate(study, seed=0, **SETTINGS)
    of_all = ct.cross_validate(ct.Comparisons(study.rows, study.n_objects), seed=0, **SETTINGS)
    assert scores.only_random
    assert not of_all.only_random
    assert scores.weight.sum() == np.count_nonzero(study.random)
    assert scores.mean < of_all.mean


def test_an_error_on_a_test_set_is_that_on_its_random_questions(study):
    result = ct.embed(study, seed=0, epochs=1, **SETTINGS)
    [fact] = [fact for fact in facts(result, study, study) if fact.name == "Held-out error"]
    error = ct.triplet_error(study.take(study.random), result.embedding)
    assert ct.HeldOutError.of(study, result.embedding).error == error
    assert fact.value.startswith(percent(error))
    assert "all from random questions" in fact.note
