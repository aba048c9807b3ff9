"""Calibration of scores to probabilities."""

import numpy as np
import pytest

import closerthan as ct
from closerthan.accuracy import pair_similarities
from closerthan.calibration import (
    MOST_FROM_ALL_STARTS,
    Calibration,
    ChoiceCalibration,
    Tenth,
    reliability,
    tenths,
    unreliable,
)
from closerthan.comparisons import Choices


def answers_of(curve, n_answers, seed=0):
    rng = np.random.default_rng(seed)
    score = 2 * rng.standard_normal(n_answers)
    return score * np.where(rng.random(n_answers) < curve.probability(score), 1, -1)


@pytest.mark.parametrize(("slope", "power"), [(0.5, 1.0), (3.0, 1.0), (1.0, 0.5), (1.0, 1.6)])
def test_the_true_curve_is_recovered(slope, power):
    fitted = Calibration.fitted(answers_of(Calibration(slope, power), 40_000))
    assert fitted.slope == pytest.approx(slope, rel=0.15)
    assert fitted.power == pytest.approx(power, rel=0.15)
    assert all(abs(tenth.predicted - tenth.right) < 0.03 for tenth in fitted.tenths)


@pytest.mark.parametrize("curve", [Calibration(2.0, 1.0, lapse=0.2), Calibration(0.7, 0.6), Calibration(1.0, 1.4)])
def test_many_answers_recover_the_curve_precisely(curve):
    scores = answers_of(curve, 3 * MOST_FROM_ALL_STARTS)
    places = np.linspace(-4, 4, 41)
    expected = curve.probability(places)
    fitted = Calibration.fitted(scores)
    assert fitted.n_answers == len(scores)
    np.testing.assert_allclose(fitted.probability(places), expected, atol=0.006)


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
    fitted = Calibration.fitted(np.linspace(0.1, 1, 50))
    assert 0.9 < fitted.probability([0.5])[0] < 1


def test_a_score_of_zero_has_probability_one_half():
    assert Calibration.fitted(np.zeros(10)).probability([0.0])[0] == 0.5


def test_no_answers_are_an_error():
    with pytest.raises(ValueError, match="no answers to calibrate"):
        Calibration.fitted([])


def test_tenths_give_the_fraction_of_right_predictions():
    given = np.array([0.55, 0.45, 0.95, 0.95, 0.95, 0.05])
    low, high = tenths(given)
    assert (low.predicted, low.right, low.number) == (pytest.approx(0.55), 0.5, 2)
    assert (high.predicted, high.right, high.number) == (pytest.approx(0.95), 0.75, 4)


def test_a_calibration_survives_a_round_trip_through_data():
    fitted = Calibration.fitted(answers_of(Calibration(2.0), 500))
    assert Calibration.from_data(fitted.to_data()) == fitted


def test_data_without_a_lapse_rate_are_read_as_having_none():
    old = {"slope": 2.0, "power": 0.9, "n_answers": 500, "tenths": [[0.55, 0.54, 100], [0.95, 0.96, 400]]}
    fitted = Calibration.from_data(old)
    assert fitted.lapse == 0
    assert [tenth.effective_number for tenth in fitted.tenths] == [100, 400]
    np.testing.assert_allclose(fitted.probability([0.5]), 1 / (1 + np.exp(-2 * 0.5**0.9)))


@pytest.mark.parametrize("lapse", [0.0, 0.05, 0.1, 0.2, 0.4])
@pytest.mark.parametrize("n_answers", [1_000, 20_000])
def test_the_lapse_rate_bounds_the_probabilities(lapse, n_answers):
    truth = Calibration(3.0, lapse=lapse)
    fitted = Calibration.fitted(answers_of(truth, n_answers))
    scores = np.array([1.0, 2.0, 5.0, 20.0])
    off = np.abs(fitted.probability(scores) - truth.probability(scores))
    assert off.max() < (0.045 if n_answers == 1_000 else 0.015)


def test_answers_without_lapses_give_a_lapse_rate_near_zero():
    scores = answers_of(Calibration(2.0), 5_000)
    fitted = Calibration.fitted(scores)
    assert fitted.lapse < 0.01
    assert fitted.probability([100.0])[0] > 0.995


def test_reversing_a_question_gives_the_complement():
    fitted = Calibration(1.3, 0.8, lapse=0.2)
    scores = np.linspace(-9, 9, 37)
    np.testing.assert_allclose(fitted.probability(scores) + fitted.probability(-scores), 1)


@pytest.mark.parametrize(("number", "is_unreliable"), [(450, False), (800, True)])
def test_probabilities_are_doubted_where_a_99_per_cent_interval_is_five_points_away(number, is_unreliable):
    """Ten points off: the upper limit of the 95 % interval is .694 with 450 answers, that of the 99 % interval .707."""
    assert bool(unreliable([Tenth(0.75, 0.65, number)])) == is_unreliable


def test_a_handful_of_answers_does_not_condemn_the_probabilities():
    """One tenth of 4 comparisons among 70,000 once did."""
    measured = [Tenth(0.55, 0.0, 4), Tenth(0.75, 0.74, 30_000), Tenth(0.95, 0.955, 40_000)]
    assert unreliable(measured) == ()
    assert "use the probabilities as they are" in reliability(measured)
    assert "Too few answers" in reliability(measured[:1])


def test_comparisons_of_one_person_count_as_one_where_they_are_right_or_wrong_together():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(40), 50)
    right = (rng.random(40) < 0.7)[person]  # each person is always right, or always wrong
    [tenth] = tenths(np.where(right, 0.85, 0.15), units=person)
    assert tenth.number == 2_000
    assert 35 < tenth.effective_number < 45
    [alone] = tenths(np.where(right, 0.85, 0.15))
    assert alone.effective_number == pytest.approx(2_000, rel=0.01)


def test_calibrated_probabilities_are_seldom_called_unreliable():
    """The rule has a false alarm in at most 5 % of data sets; with its margin of five points, in next to none."""
    alarms = 0
    for seed in range(100):
        scores = answers_of(Calibration(1.5, lapse=0.1), 400, seed)
        alarms += bool(unreliable(tenths(Calibration(1.5, lapse=0.1).probability(scores))))
    assert alarms <= 2


def test_overconfident_probabilities_are_detected():
    scores = answers_of(Calibration(1.5, lapse=0.3), 5_000)
    measured = tenths(Calibration(1.5).probability(scores))
    assert unreliable(measured)[-1].predicted > 0.9
    assert "as a ranking only" in reliability(measured)


def odd_one_out(x, slope, lapse, number, rng):
    """Answers that follow Luce's rule with minus squared distances times a slope, and a lapse rate."""
    rows = []
    for _ in range(number):
        three = rng.permutation(len(x))[:3]
        pairs = np.array([three[[1, 2]], three[[0, 2]], three[[0, 1]]])
        weights = np.exp(-slope * ((x[pairs[:, 0]] - x[pairs[:, 1]]) ** 2).sum(axis=1))
        odd = rng.choice(3, p=lapse / 3 + (1 - lapse) * weights / weights.sum())
        (a, b), o = pairs[odd], three[odd]
        rows += [[a, b, o], [b, a, o]]
    return ct.Comparisons.from_triplets(rows, answers=np.repeat(np.arange(number), 2), n_objects=len(x))


@pytest.mark.parametrize(("slope", "lapse"), [(0.5, 0.0), (4.0, 0.2)])
def test_slope_and_lapse_rate_of_whole_answers_are_recovered(slope, lapse, rng):
    x = rng.normal(size=(20, 2))
    choices = Choices.of(odd_one_out(x, slope, lapse, 4000, rng))
    found = ChoiceCalibration.fitted(choices, pair_similarities(choices, x))
    assert found.slope == pytest.approx(slope, rel=0.15)
    assert found.lapse == pytest.approx(lapse, abs=0.04)
    assert found.n_answers == 4000


def test_the_slope_stays_finite_where_every_answer_is_right():
    choices = Choices.of(ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], answers=[0, 0]))
    found = ChoiceCalibration.fitted(choices, pair_similarities(choices, [[0.0], [1.0], [5.0]]))
    assert np.isfinite(found.slope)
    assert found.log_probability(choices, np.array([5.0, 0.0, 0.0]))[0] < 0


@pytest.mark.parametrize("question", ["nearest 2 of 5", "rank 2 of 5"])
def test_lapses_are_found_whatever_an_answer_consists_of(question, rng):
    x = rng.normal(size=(20, 2))
    options = {"similarity": "dot", "question": question, "temperature": 0.4}
    attentive, guesses = (
        ct.answers_from(scale * x, 400, seed=seed, **options) for seed, scale in ((1, 1.0), (2, 1e-6))
    )
    parts = attentive.take(attentive.answers >= 120), guesses.take(guesses.answers < 120)
    rows, numbers = (np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "answers"))
    choices = Choices.of(ct.Comparisons.from_triplets(rows, answers=numbers, n_objects=20))
    found = ChoiceCalibration.fitted(choices, pair_similarities(choices, x, "dot"))
    assert found.slope == pytest.approx(2.5, rel=0.25)
    assert found.lapse == pytest.approx(0.3, abs=0.1)


def test_an_answer_of_weight_two_calibrates_like_two_answers(rng):
    x = rng.normal(size=(20, 2))
    answers = odd_one_out(x, 2.0, 0.1, 300, rng)
    number = answers.answers
    twice = ct.Comparisons.from_triplets(
        np.concatenate([answers.rows, answers.rows[number < 100]]),
        answers=np.concatenate([number, 300 + number[number < 100]]),
        n_objects=20,
    )
    choices = [Choices.of(one) for one in (answers.weighted(np.where(number < 100, 2.0, 1.0)), twice)]
    weighted, repeated = (ChoiceCalibration.fitted(one, pair_similarities(one, x)) for one in choices)
    assert weighted.lapse == pytest.approx(repeated.lapse, abs=1e-3)
    # The slope is relative to a typical difference of similarities, which depends a little on the weights.
    assert weighted.slope == pytest.approx(repeated.slope, rel=1e-2)


def test_only_differences_of_log_similarities_matter_for_choices():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(9, 2))
    answers = ct.answers_from(x, 300, similarity="euclidean", question="odd-one-out", temperature=1.0)
    choices = Choices.of(answers)
    similarities = pair_similarities(choices, x)
    calibrated = [
        ChoiceCalibration.fitted(choices, one).log_probability(choices, one)
        for one in (similarities, similarities + 1e9)
    ]
    np.testing.assert_allclose(*calibrated, atol=1e-4)
