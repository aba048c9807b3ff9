"""The error to expect on new answers is that of fits that did not see them."""

import numpy as np
import pytest

import closerthan as ct
from closerthan.evaluate.cross_validation import folds

SETTINGS = {"loss": "ste", "penalty": 0, "epochs": 20}


def people_who_differ(n_people, each, seed, n_objects=15, differences=0.5):
    """Answers of people who weight the dimensions of one map differently."""
    rng = np.random.default_rng(seed)
    points = np.random.default_rng(1).standard_normal((n_objects, 2))
    weights = np.exp(differences * rng.standard_normal((n_people, 1, 2)))
    parts = [ct.datasets.simulated(points * weight, each, noise="ste", seed=rng).rows for weight in weights]
    people = np.repeat(np.arange(n_people), each)
    return ct.Comparisons.from_triplets(np.concatenate(parts), n_objects=n_objects, people=people, unmentioned="ignore")


@pytest.fixture(scope="module")
def study():
    return people_who_differ(12, 50, seed=0)


@pytest.mark.parametrize("by", ["answers", "people"])
def test_equal_weights_have_no_effect(study, by):
    """A fit with weights must not see more answers than one without."""
    plain = ct.held_out_error(study, by=by, **SETTINGS)
    weighted = ct.held_out_error(study, by=by, weights=np.ones(len(study)), **SETTINGS)
    assert weighted.error == plain.error


@pytest.mark.parametrize("by", ["answers", "people"])
def test_held_out_answers_are_not_fitted_whatever_their_weights(study, by, rng):
    """If they were fitted, random answers would be predicted better than by chance."""
    rows = study.rows.copy()
    flipped = rng.random(len(rows)) < 0.5
    rows[flipped] = rows[flipped][:, [0, 2, 1]]
    noise = ct.Comparisons.from_triplets(rows, n_objects=15, people=study.people, unmentioned="ignore")
    measured = ct.held_out_error(noise, 8, by=by, fraction=0.4, weights=rng.exponential(size=len(rows)), **SETTINGS)
    assert measured.high > 0.5


def test_the_weights_are_those_of_the_fit(study, rng):
    weights = rng.exponential(size=len(study))
    train, _ = study.weighted(weights).split(0.1, np.random.default_rng(3))
    _, test = study.split(0.1, np.random.default_rng(3))
    expected = ct.triplet_error(test, ct.embed(train, seed=3, **SETTINGS).embedding)
    assert ct.held_out_error(study, seed=3, weights=weights, **SETTINGS).error == expected


def test_by_people_every_person_is_held_out_once(study):
    measured = ct.held_out_error(study, by="people", **SETTINGS)
    assert measured.n_comparisons == len(study)
    assert measured.n_fits == 5
    n_wrong = 0.0
    for train, test in folds(study, 5, 0, by="people"):
        n_wrong += len(test) * ct.triplet_error(test, ct.embed(train, seed=0, **SETTINGS).embedding)
    assert measured.error == pytest.approx(n_wrong / len(study))


def test_by_people_there_are_no_more_fits_than_people():
    assert ct.held_out_error(people_who_differ(3, 60, seed=0), by="people", **SETTINGS).n_fits == 3
    with pytest.raises(ValueError, match="all answers are from one person"):
        ct.held_out_error(people_who_differ(1, 60, seed=0), by="people", **SETTINGS)


def test_by_people_the_loss_is_chosen_once(study):
    measured = ct.held_out_error(study, by="people", epochs=3)
    assert measured.calibration is not None


@pytest.mark.slow
@pytest.mark.parametrize("n_people", [8, 30])
def test_the_interval_over_people_covers_the_error_on_new_people(n_people):
    n_runs, hits = 24, 0
    for seed in range(n_runs):
        study = people_who_differ(n_people, 60, seed=seed)
        new = people_who_differ(300, 60, seed=1_000 + seed)
        measured = ct.held_out_error(study, by="people", loss="ste", penalty=0, n_starts=2, n_threads=1)
        x = ct.embed(study, loss="ste", penalty=0, n_starts=2, seed=0, n_threads=1).embedding
        hits += measured.low <= ct.triplet_error(new, x) <= measured.high
    assert hits >= 0.85 * n_runs
