"""The bootstrap: schemes of resampling, by answers and by people."""

import dataclasses

import numpy as np
import pytest

import closerthan as ct
from closerthan.uncertainty.bootstrap import SCHEMES, bootstrap

ROWS = ct.datasets.simulated(np.random.default_rng(0).normal(size=(15, 2)), 900, noise="ste", seed=0).rows


def answers(**columns):
    return ct.Comparisons.from_triplets(ROWS, n_objects=15, **columns)


def drawn(comparisons, scheme, by="answers", seed=0):
    return bootstrap(comparisons, np.random.default_rng(seed), by=by, scheme=scheme)


def test_rows_of_one_answer_share_a_weight():
    weights = drawn(answers(answers=np.arange(900) // 2), "bayesian").weights
    assert (weights[::2] == weights[1::2]).all()


def test_rows_of_one_person_share_a_weight():
    weights = drawn(answers(people=np.arange(900) % 6), "bayesian", "people").weights
    assert all(len(np.unique(weights[person::6])) == 1 for person in range(6))


def test_bayesian_weights_differ_from_unit_to_unit():
    assert len(np.unique(drawn(answers(answers=np.arange(900) // 2), "bayesian").weights)) == 450


def test_random_weights_multiply_those_of_the_answers():
    plain = answers()
    heavy = dataclasses.replace(plain, weights=np.full(900, 3.0))
    np.testing.assert_allclose(drawn(heavy, "bayesian").weights, 3 * drawn(plain, "bayesian").weights)


def test_answers_are_drawn_with_replacement_each_with_all_its_rows():
    resampled = drawn(answers(answers=np.arange(900) // 2, weights=np.tile([1.0, 2.0], 450)), "multinomial")
    times = np.bincount(resampled.answers, minlength=450)
    assert times.sum() == 900  # rows, two of each answer
    assert (times % 2 == 0).all()
    assert 0.33 < (times == 0).mean() < 0.41
    assert resampled.weights.sum() == 450 * 3.0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_same_seed_draws_the_same_answers(scheme):
    one, again, other = (drawn(answers(), scheme, seed=seed) for seed in (0, 0, 1))

    def content(resampled):
        return resampled.rows.tolist(), None if resampled.weights is None else resampled.weights.tolist()

    assert content(one) == content(again) != content(other)


def test_an_unknown_scheme_is_refused():
    with pytest.raises(ValueError, match="scheme is 'jackknife'; it can be bayesian, multinomial"):
        drawn(answers(), "jackknife")
