"""From scores to probabilities."""

import numpy as np
import pytest

from closerthan.calibration import Calibration, tenths


def answers_of(curve, n_answers, seed=0):
    rng = np.random.default_rng(seed)
    score = 2 * rng.standard_normal(n_answers)
    return score * np.where(rng.random(n_answers) < curve.probability(score), 1, -1)


@pytest.mark.parametrize(("slope", "power"), [(0.5, 1.0), (3.0, 1.0), (1.0, 0.5), (1.0, 1.6)])
def test_the_curve_that_made_the_answers_is_found(slope, power):
    found = Calibration.fitted(answers_of(Calibration(slope, power), 40_000))
    assert found.slope == pytest.approx(slope, rel=0.15)
    assert found.power == pytest.approx(power, rel=0.15)
    assert all(abs(tenth.said - tenth.right) < 0.03 for tenth in found.tenths)


def test_the_unit_of_scores_does_not_matter():
    scores = answers_of(Calibration(2.0), 3000)
    said = [Calibration.fitted(unit * scores).probability(unit * scores) for unit in (1.0, 1e-3, 1e4)]
    np.testing.assert_allclose(said[1], said[0], atol=1e-3)
    np.testing.assert_allclose(said[2], said[0], atol=1e-3)


def test_weights_count_as_repeated_answers():
    scores = answers_of(Calibration(2.0, 0.8), 2000)
    weights = np.arange(2000) % 3
    twice = Calibration.fitted(np.repeat(scores, weights))
    once = Calibration.fitted(scores, weights)
    np.testing.assert_allclose(once.probability([0.5, 1, 2]), twice.probability([0.5, 1, 2]), atol=1e-3)


def test_answers_without_a_single_error_leave_some_doubt():
    found = Calibration.fitted(np.linspace(0.1, 1, 50))
    assert 0.9 < found.probability([0.5])[0] < 1


def test_scores_of_nothing_are_a_half():
    assert Calibration.fitted(np.zeros(10)).probability([0.0])[0] == 0.5


def test_no_answers_are_an_error():
    with pytest.raises(ValueError, match="no answers to calibrate"):
        Calibration.fitted([])


def test_tenths_say_how_often_predictions_were_right():
    given = np.array([0.55, 0.45, 0.95, 0.95, 0.95, 0.05])
    low, high = tenths(given)
    assert (low.said, low.right, low.number) == (pytest.approx(0.55), 0.5, 2)
    assert (high.said, high.right, high.number) == (pytest.approx(0.95), 0.75, 4)


def test_data_of_a_calibration_makes_it_again():
    found = Calibration.fitted(answers_of(Calibration(2.0), 500))
    assert Calibration.from_data(found.to_data()) == found
