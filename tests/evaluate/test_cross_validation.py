"""Cross-validation: honest folds, and the choice of a size."""

import numpy as np
import pytest
from scipy import stats

import closerthan as ct
from closerthan.evaluate.cross_validation import OVERLAP, Scores, folds, gain
from closerthan.evaluate.losses import LossComparison


def test_each_comparison_is_held_out_once(answers):
    held_out = np.concatenate([test.rows for _, test in folds(answers, 4)])
    assert sorted(held_out.tolist()) == sorted(answers.rows.tolist())
    for train, test in folds(answers, 4):
        assert len(train) + len(test) == len(answers)


def test_objects_that_were_asked_about_together_stay_together():
    comparisons = ct.datasets.eurodist().comparisons()
    for train, test in folds(comparisons, 5, seed=2):
        seen = {frozenset(row) for row in train.rows.tolist()}
        assert not any(frozenset(row) in seen for row in test.rows.tolist())


def test_the_seed_decides_the_folds(answers):
    one, same, other = (next(folds(answers, 3, seed))[1].rows.tolist() for seed in (1, 1, 2))
    assert one == same
    assert one != other


@pytest.mark.parametrize("n_folds", [1, 1000])
def test_there_must_be_enough_to_hold_out(n_folds, answers):
    with pytest.raises(ValueError, match=f"n_folds is {n_folds}; it must be at least 2"):
        next(folds(answers, n_folds))


def test_the_splitter_names_its_own_parameter():
    with pytest.raises(ct.ParameterError, match="n_splits is 7; it must be at least 2"):
        next(ct.AnswerKFold(7).split([[0, 1, 2], [1, 0, 2], [2, 0, 1], [0, 1, 3]]))


def test_the_scores_are_those_of_fits_to_the_folds(problem):
    scores = ct.cross_validate(problem.train, 2, n_folds=3, seed=4, loss="soe", penalty=0, epochs=10)
    n_wrong = 0.0
    for error, (train, test) in zip(scores.held_out, folds(problem.train, 3, 4), strict=True):
        assert error == ct.triplet_error(test, ct.embed(train, 2, seed=4, loss="soe", penalty=0, epochs=10).embedding)
        n_wrong += error * len(test)
    assert scores.mean == pytest.approx(n_wrong / len(problem.train))
    assert scores.weight.sum() == len(problem.train)


def test_repeats_have_other_folds_and_average_over_them(problem):
    quick = {"n_folds": 3, "loss": "soe", "penalty": 0, "epochs": 5}
    one, other = (ct.cross_validate(problem.train, 2, seed=seed, **quick) for seed in (0, 1))
    both = ct.cross_validate(problem.train, 2, seed=0, n_repeats=2, **quick)
    assert both.held_out.tolist() == [*one.held_out, *other.held_out]
    assert both.wrong == pytest.approx((one.wrong + other.wrong) / 2)


def test_a_time_limit_is_that_of_all_fits_together(problem):
    with pytest.raises(ValueError, match="time limit was reached after 0 of 5 fits; raise time_limit"):
        ct.cross_validate(problem.train, 2, loss="ste", penalty=0, tolerance=None, time_limit=1e-6)


def scores_of(errors, weight=1.0):
    """The errors of units of equal weight."""
    wrong = weight * np.array(errors)
    return Scores(np.array(errors), np.array(errors), 0.0, wrong, np.full(len(wrong), weight))


BEFORE = (0.30, 0.32, 0.28, 0.31, 0.29)


def test_a_constant_gain_is_significant_and_a_variable_one_is_not():
    assert gain(scores_of(BEFORE), scores_of([0.25, 0.27, 0.24, 0.26, 0.24])).is_significant
    assert not gain(scores_of(BEFORE), scores_of([0.20, 0.40, 0.20, 0.38, 0.20])).is_significant


def test_an_error_that_all_units_share_is_no_more_certain_than_their_number_allows():
    low, high = scores_of([0.0, 0.0, 0.0]).interval
    assert low == 0
    assert high > 0.5
    assert scores_of(np.zeros(3000)).interval.high < 0.01


@pytest.mark.parametrize(("n_units", "is_significant"), [(3, False), (8, True)])
def test_a_gain_that_all_units_share_is_significant_only_if_there_are_enough(n_units, is_significant):
    found = gain(scores_of(np.ones(n_units)), scores_of(np.zeros(n_units)))
    assert found.is_significant == is_significant
    assert (found.p_value < 0.05) == is_significant


@pytest.mark.parametrize("weight", [1.0, 50.0])
def test_a_gain_is_tested_over_units_however_many_comparisons_each_has(weight):
    after = (0.29, 0.30, 0.28, 0.28, 0.28)
    found = gain(scores_of(BEFORE, weight), scores_of(after, weight))
    differences = np.array(BEFORE) - after
    plain = stats.ttest_1samp(differences, 0)
    interval = plain.confidence_interval()
    assert found.mean == pytest.approx(differences.mean())
    assert (found.high - found.low) / (interval.high - interval.low) == pytest.approx(np.sqrt(OVERLAP))
    expected = 2 * stats.t.sf(plain.statistic / np.sqrt(OVERLAP), 4)
    assert found.p_value == pytest.approx(expected)


def test_a_gain_needs_the_same_units():
    with pytest.raises(ValueError, match="3 and 2 units"):
        gain(scores_of([0.1, 0.2, 0.3]), scores_of([0.1, 0.2]))


def test_a_person_with_many_answers_is_one_unit(rng):
    """The standard error of a held-out error by people is over people."""
    answers = ct.datasets.simulated(rng.standard_normal((12, 2)), 600, noise="ste", seed=rng)
    people = rng.integers(6, size=600)
    known = ct.Comparisons.from_triplets(answers.rows, n_objects=12, people=people)
    scores = ct.cross_validate(known, 2, by="people", n_folds=3, loss="soe", penalty=0, epochs=5)
    assert scores.weight.tolist() == np.bincount(people).tolist()


def held_out_people(parts, people):
    """The people of each held-out part; each comparison is in one part."""
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(people)))
    return [set(people[part].tolist()) for part in parts]


def test_the_splitter_by_people_holds_out_each_person_once_as_a_whole(rng):
    rows = np.array([rng.permutation(8)[:3] for _ in range(200)])
    people, others = rng.integers(10, size=200), rng.integers(15, size=200)
    known = ct.Comparisons.from_triplets(rows, people=people)
    splitter = ct.AnswerKFold(5, by="people")
    for X, groups, expected in ((rows, people, people), (known, None, people), (known, others, others)):
        parts = [test for _, test in splitter.split(X, groups=groups)]
        held_out = held_out_people(parts, expected)
        assert [len(part) for part in held_out] == [len(set(expected.tolist())) // 5] * 5
        assert sum(map(len, held_out)) == len(set.union(*held_out))
        for train, test in splitter.split(X, groups=groups):
            assert not set(expected[train].tolist()) & set(expected[test].tolist())


@pytest.mark.parametrize(("error", "is_said"), [(0.2, False), (0.49, True)])
def test_a_comparison_of_losses_says_if_none_is_better_than_chance(error, is_said):
    scores = scores_of(np.tile([error - 0.05, error + 0.05], 5))
    verdict = LossComparison({"ste": scores}, "people", 5, 1).sentences[0]
    assert ("no loss predicts clearly better than chance" in verdict) == is_said
