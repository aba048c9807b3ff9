"""Faults that a reader found: each test showed one of them first."""

import dataclasses

import numpy as np
import pytest

import closerthan as ct

ROWS = ct.datasets.synthetic(12, 2, 300, 300, seed=0)
NAMES = [f"n{number:02}" for number in range(12)]


@dataclasses.dataclass(frozen=True)
class OwnStep:
    size: float = 0.01

    def __call__(self, epoch, draws, now, before):
        return self.size


def named(rows):
    return np.array(NAMES)[rows]


def test_a_validation_set_of_names_is_numbered_as_the_comparisons_are():
    train = ct.Comparisons.of(named(ROWS.train.rows))
    some = ROWS.test.rows[(ROWS.test.rows != 0).all(axis=1)]  # one object is missing
    numbers = ct.Comparisons.of(some, n_objects=12, unmentioned="ignore")
    expected = ct.embed(train, loss="ste", seed=0, validation=numbers)
    found = ct.embed(train, loss="ste", seed=0, validation=named(some))
    assert np.array_equal(found.history.validation_error, expected.history.validation_error)
    with pytest.raises(ValueError, match="other names"):
        ct.embed(train, loss="ste", validation=ct.Comparisons.of(named(some)))


def test_a_result_of_our_solver_with_a_users_step_is_saved_and_read(tmp_path):
    solver = ct.solvers.SVRG(step=OwnStep())
    ct.embed(ROWS.train, loss="ste", solver=solver, seed=0, epochs=2).save(tmp_path / "fit.npz")
    again = ct.Result.load(tmp_path / "fit.npz")
    assert again.settings.solver.parameters["step"].name == "OwnStep"


@pytest.mark.parametrize("share", [0.1, 0.3, 0.4, 0.9])
def test_the_held_out_error_is_of_the_share_asked_for(share):
    measured = ct.held_out_error(ROWS.train, loss="ste", share=share, epochs=1)
    assert int(measured.amount.split()[0]) == pytest.approx(300 * share, abs=8)


def test_auto_leaves_out_what_weighs_nothing():
    weights = np.tile([1.0, 0.0, 0.0, 0.0, 0.0], 60)
    answers = ct.Comparisons.from_triplets(ROWS.train.rows, weights=weights)
    assert ct.embed(answers, seed=0).candidates


def test_groups_that_are_no_whole_numbers_stay_apart():
    groups = np.tile([0.1, 0.2, 0.3], 100)
    for train, test in ct.AnswerKFold(n_splits=3, by="people").split(ROWS.train.rows, groups=groups):
        assert not set(groups[train]) & set(groups[test])
    with pytest.raises(ValueError, match="row 1: a group is NaN"):
        list(ct.AnswerKFold(n_splits=2).split(ROWS.train.rows[:3], groups=[0.1, np.nan, 0.3]))


def test_a_perfect_map_that_was_judged_by_few_is_not_called_a_guess():
    answers = [[0, 1, 2], [2, 1, 0]]
    result = ct.embed(answers, loss="ste", seed=0)
    assert not any("guessing" in line for line in ct.advice(result, answers))
