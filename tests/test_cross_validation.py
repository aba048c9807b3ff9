"""Cross-validation: honest folds, and the choice of a size."""

import numpy as np
import pytest
from scipy import stats

import closerthan as ct
from closerthan.evaluate.cross_validation import Scores, folds, gain, one_standard_error_choice


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
    with pytest.raises(ValueError, match=f"{n_folds} folds are asked for; it takes at least 2"):
        next(folds(answers, n_folds))


def test_the_scores_are_those_of_fits_to_the_folds(problem):
    scores = ct.cross_validate(problem.train, 2, n_folds=3, seed=4, loss="soe", epochs=10)
    for error, (train, test) in zip(scores.held_out, folds(problem.train, 3, 4), strict=True):
        assert error == ct.triplet_error(test, ct.embed(train, 2, seed=4, loss="soe", epochs=10).embedding)
    assert scores.mean == scores.held_out.mean()
    assert scores.standard_error == pytest.approx(scores.held_out.std(ddof=1) / np.sqrt(3))


def test_the_choice_is_the_smallest_within_one_standard_error():
    def spread(mean, half):
        return Scores(np.array([mean - half, mean + half]), np.zeros(2), 0.0)

    # The standard error of two values m - h and m + h is h.
    scores = [spread(0.5, 0.0), spread(0.13, 0.3), spread(0.10, 0.02), spread(0.09, 0.02)]
    assert one_standard_error_choice([1, 2, 3, 4], scores) == 3
    assert one_standard_error_choice([4, 3, 2, 1], scores[::-1]) == 3


def scores_of(*errors):
    return Scores(np.array(errors), np.array(errors), 0.0)


def test_a_gain_on_every_fold_is_sure_and_one_that_varies_is_not():
    before = scores_of(0.30, 0.32, 0.28, 0.31, 0.29)
    assert gain(before, scores_of(0.25, 0.27, 0.24, 0.26, 0.24)).is_sure
    assert not gain(before, scores_of(0.20, 0.40, 0.20, 0.38, 0.20)).is_sure


def test_the_interval_of_a_gain_is_wider_than_that_of_a_plain_paired_test():
    before, after = scores_of(0.30, 0.32, 0.28, 0.31, 0.29), scores_of(0.29, 0.30, 0.28, 0.28, 0.28)
    found = gain(before, after)
    differences = before.held_out - after.held_out
    plain = stats.ttest_1samp(differences, 0).confidence_interval()
    # 1 / J + 1 / (J - 1) instead of 1 / J
    assert (found.high - found.low) / (plain.high - plain.low) == pytest.approx(1.5)
    assert found.mean == pytest.approx(differences.mean())


def test_a_gain_needs_the_same_folds():
    with pytest.raises(ValueError, match="3 and 2 folds"):
        gain(scores_of(0.1, 0.2, 0.3), scores_of(0.1, 0.2))
