"""Simulated answers follow their noise model."""

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import pdist

import closerthan as ct
from closerthan.datasets import simulated
from closerthan.datasets.simulated import NOISES
from closerthan.losses import LOSSES

POINTS = np.random.default_rng(0).standard_normal((12, 3))


def test_without_noise_all_answers_are_right(kind):
    answers = simulated(POINTS, 500, quadruplets=kind == "quadruplets", seed=1)
    assert ct.triplet_error(answers, POINTS) == 0.0
    assert all(len(set(row)) == len(row) for row in answers.rows.tolist())


def test_the_requested_fraction_of_answers_is_flipped(kind):
    answers = simulated(POINTS, 20_000, noise="flip", level=0.3, quadruplets=kind == "quadruplets", seed=1)
    assert ct.triplet_error(answers, POINTS) == pytest.approx(0.3, abs=0.015)


@pytest.mark.parametrize("noise", ["ste", "tste", "ckl"])
def test_the_noise_of_a_loss_is_its_likelihood(noise, rng):
    # These losses are negative log likelihoods: a wrong answer has the probability exp(-loss) of the swapped distances.
    near, far = np.sort(rng.uniform(0, 9, (2, 50)), axis=0)
    loss = LOSSES[noise]().in_dims(3)
    expected = [np.exp(-loss.value(b, a)) for a, b in zip(near, far, strict=True)]
    assert np.allclose(NOISES[noise](near, far, 0.0, 3), expected)


def test_perceived_distances_have_normal_errors(rng):
    near, far = np.array([1.0]), np.array([4.0])
    wrong = rng.normal(1.0, 0.5, 200_000) > rng.normal(2.0, 0.5, 200_000)
    assert NOISES["distance"](near, far, 0.5, 2)[0] == pytest.approx(wrong.mean(), abs=0.003)


@pytest.mark.parametrize("scale", [0.1, 10.0])
def test_the_level_of_distance_noise_is_relative_to_the_root_mean_square_distance(scale):
    points = scale * POINTS
    answers = simulated(points, 40_000, noise="distance", level=0.3, seed=4)
    standard_deviation = 0.3 * np.sqrt(np.mean(pdist(points) ** 2))
    near, far = ct.metrics.distances(answers, points)
    chance = stats.norm.cdf(-np.abs(far - near) / (np.sqrt(2) * standard_deviation))
    assert (near > far).mean() == pytest.approx(chance.mean(), abs=0.01)


def test_close_comparisons_are_wrong_more_often():
    answers = simulated(POINTS, 20_000, noise="distance", level=0.2, seed=2)
    margins = ct.metrics.margins(answers, POINTS)
    wrong = margins < 0
    assert 0.02 < wrong.mean() < 0.3
    assert np.abs(margins[wrong]).mean() < 0.5 * np.abs(margins[~wrong]).mean()


def test_test_answers_are_never_flipped():
    data = ct.datasets.synthetic(20, 2, 5_000, 5_000, flipped=0.3, seed=0)
    assert ct.triplet_error(data.train, data.points) == pytest.approx(0.3, abs=0.03)
    assert ct.triplet_error(data.test, data.points) == 0


def test_the_same_seed_gives_the_same_answers():
    one, two = (simulated(POINTS, 100, noise="flip", seed=3).rows for _ in range(2))
    assert (one == two).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_answers": 0}, "n_answers is 0"),
        ({"noise": "pink"}, "unknown noise 'pink'; choose from: none, flip"),
        ({"noise": "flip", "level": 0.6}, "level is 0.6"),
        ({"noise": "ckl", "level": 0.1}, "has no level"),
        ({"points": POINTS[:3], "quadruplets": True}, "a question is about 4 different ones"),
        ({"points": [[np.nan]] * 5}, "points must be a table of finite numbers, one row per object"),
    ],
)
def test_invalid_arguments_are_errors(options, message):
    with pytest.raises(ValueError, match=message):
        simulated(**{"points": POINTS, "n_answers": 10, **options})
