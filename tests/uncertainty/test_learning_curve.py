"""Learning curves: errors of growing subsets, and the predicted gain of more answers."""

import csv
import dataclasses
import math

import numpy as np
import pytest
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.comparisons import reversed_rows
from closerthan.evaluate.repeats import NoiseCeiling
from closerthan.uncertainty.learning_curve import LearningCurve
from closerthan.uncertainty.part_errors import PartErrors
from closerthan.uncertainty.power_law import PowerLaw

NUMBERS = np.array([500.0, 1000.0, 2000.0, 3600.0])
FLAT = LearningCurve(
    "answers", 4000, NUMBERS, 0.2 + 2 / NUMBERS, 1e-6 * np.eye(4), (), None, None, shape=(20, 2), n_answers=4000
)
QUICK = {"loss": "soe", "penalty": 0, "seed": 0, "n_folds": 4}


def simulated(number=1500, seed=0):
    points = np.random.default_rng(seed).standard_normal((20, 2))
    return ct.datasets.simulated(points, number, noise="flip", level=0.1, seed=seed)


@pytest.fixture(scope="module")
def curve():
    return ct.learning_curve(simulated(), **QUICK)


def test_errors_fall_with_the_number_of_answers(curve):
    assert (np.diff(curve.numbers) > 0).all()
    assert curve.errors[0] > curve.errors[-1] + 0.05
    assert curve.errors.shape == (7,)
    assert curve.covariance.shape == (7, 7)
    assert curve.total == 1500
    low, high = curve.intervals
    assert ((low < curve.errors) & (curve.errors < high)).all()


def test_twice_as_many_are_predicted(curve):
    more = simulated(3000)
    test = ct.datasets.simulated(
        np.random.default_rng(0).standard_normal((20, 2)), 20_000, noise="flip", level=0.1, seed=9
    )
    measured = ct.triplet_error(test, ct.embed(more, loss="soe", penalty=0, seed=0).embedding)
    assert curve.twice.number == 3000
    assert abs(curve.twice.error - measured) < 0.04
    assert curve.twice.low <= measured <= curve.twice.high


def test_a_wanted_error_has_its_number(curve):
    wanted = (curve.now.error + curve.law.floor) / 2
    needed = curve.needed(wanted)
    assert needed.number > curve.total
    assert curve.expected(needed.number).error == pytest.approx(wanted)
    assert needed.low <= needed.number <= needed.high
    assert curve.needed(0.01).number == np.inf
    with pytest.raises(ValueError, match=r"between 0 and 0\.5"):
        curve.needed(0.5)


def test_sentences(curve):
    text = " ".join(curve.sentences(0.01))
    assert "with all 1,500 answers" in text
    assert "with twice as many answers the error would be" in text
    assert "holds for further answers from the same people" in text
    assert "out of reach" in text
    assert "no question was asked twice" in text or "agree" in text
    assert "has already been reached" in " ".join(curve.sentences(0.4))


def test_the_same_seed_gives_the_same_curve_for_any_number_of_threads(curve):
    again = ct.learning_curve(simulated(), n_threads=1, **QUICK)
    assert (again.errors == curve.errors).all()
    assert again.law == curve.law


def test_people_can_be_counted():
    answers = simulated(1200)
    answers = ct.Comparisons.from_triplets(answers.rows, people=np.arange(1200) // 60)
    found = ct.learning_curve(answers, by="people", **QUICK)
    assert found.total == 20
    assert found.numbers[-1] == 15
    assert "with all 20 people" in found.sentences()[0]


def test_a_law_never_rises_and_its_floor_is_not_negative():
    law = PowerLaw.fitted([100, 200, 400, 800], [0.2, 0.22, 0.21, 0.23], 1e-4 * np.eye(4))
    assert law(1600) <= law(100)
    law = PowerLaw.fitted([100, 200, 400, 800], [0.4, 0.2, 0.1, 0.05], 1e-4 * np.eye(4))
    assert law.floor >= 0
    assert 0 <= law(1e9) <= law(1600) < 0.05


@pytest.mark.slow
def test_replicates_determine_the_decided_triplets():
    found = ct.learning_curve(simulated(600), n_replicates=10, **QUICK)
    assert 0 < found.share_decided < 1
    assert "of all triplets are decided" in found.sentences()[-1]


def test_repeated_questions_give_the_noise(curve):
    answers = simulated(600)
    twice = ct.Comparisons.from_triplets(np.concatenate([answers.rows, answers.rows]))
    found = ct.learning_curve(twice, **QUICK)
    assert found.ceilings[0].agreement > 0.8
    assert isinstance(curve, LearningCurve)


@pytest.mark.parametrize(
    ("answers", "settings", "message"),
    [
        ([[0, 1, 2]] * 50, {}, "all answers are about the same objects, so none can be held out"),
        ([[0, 1, 2], [1, 2, 3], [0, 2, 3]], {}, "at least 10"),
        ([[0, 1, 2]] * 50, {"by": "people"}, "it is not known who gave the answers"),
        ([[0, 1, 2]] * 50, {"by": "comparisons"}, 'it can be "auto", "answers", "blocks" or "people"'),
    ],
)
def test_too_few_answers_are_an_error(answers, settings, message):
    with pytest.raises(ValueError, match=message):
        ct.learning_curve(answers, **settings, **QUICK)


def test_random_answers_get_the_verdict_chance():
    rng = np.random.default_rng(5)
    rows = [rng.permutation(10)[:3] for _ in range(300)]
    found = ct.learning_curve(ct.Comparisons.from_triplets(rows, n_objects=10), **QUICK)
    said = found.sentences(0.1)
    assert "are not predicted clearly better than by chance" in said[0]
    assert "too few answers, or the answers are mostly noise" in said[1]
    assert not any("worth asking" in one or "levels off" in one or "10.0 %" in one for one in said)


def test_the_command_prints_and_writes(tmp_path):
    rows = simulated(600).rows.tolist()
    path = tmp_path / "study.csv"
    path.write_text("\n".join(["anchor,near,far", *(f"{i},{j},{k}" for i, j, k in rows)]) + "\n")
    words = [
        "enough",
        str(path),
        "--loss",
        "soe",
        "--penalty",
        "0",
        "--folds",
        "3",
        "--replicates",
        "0",
        "--error",
        "0.05",
    ]
    result = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "twice as many" in result.output
    table = list(csv.DictReader((tmp_path / "out" / "learning-curve.csv").read_text().splitlines()))
    assert table[-1]["answers"] == "1200"
    assert (tmp_path / "out" / "learning-curve.png").stat().st_size > 1000


@pytest.mark.slow
def test_the_interval_of_a_curve_over_people_counts_how_people_differ():
    # Half of the people answer all questions right, half by a coin: ten times as many answers of each tell little.
    rng = np.random.default_rng(0)
    points, widths = rng.standard_normal((10, 2)), []
    for each in (20, 200):
        rows = ct.datasets.simulated(points, 20 * each, seed=0).rows.copy()
        people = np.repeat(np.arange(20), each)
        swapped = (people % 2 == 0) & (rng.random(len(rows)) < 0.5)
        rows[swapped] = reversed_rows(rows[swapped])
        answers = ct.Comparisons.from_triplets(rows, people=people)
        found = ct.learning_curve(answers, by="people", **QUICK)
        widths.append(float(np.sqrt(found.covariance[-1, -1])))
    assert widths[1] > 0.7 * widths[0]
    by_answers = ct.learning_curve(answers, **QUICK)
    assert np.sqrt(by_answers.covariance[-1, -1]) < widths[1] / 3


def test_errors_of_all_sizes_are_too_high_or_too_low_together(curve):
    spread = np.sqrt(curve.covariance.diagonal())
    correlation = curve.covariance / spread / spread[:, np.newaxis]
    assert correlation[-2, -1] > 0.6
    assert correlation[0, -1] < correlation[-2, -1]


def judged(rng, number, chance_wrong):
    """The calibrated and the counted error of a map on some answers; ``chance_wrong`` is a function of the margin."""
    margin = rng.exponential(size=number)
    wrong = rng.random(number) < chance_wrong(margin)
    found = PartErrors(np.arange(number), None, 1)
    found.add(0, np.zeros(0, dtype=np.int64), np.where(wrong, -margin, margin))
    return found.errors()[0][0], wrong.mean()


@pytest.mark.slow
def test_probabilities_leave_less_to_chance_than_counting():
    rng = np.random.default_rng(0)

    def logistic(margin):
        return 1 / (1 + np.exp(2 * margin))

    truth = logistic(rng.exponential(size=10**6)).mean()
    expected, counted = np.array([judged(rng, 500, logistic) for _ in range(100)]).T
    assert abs(expected.mean() - truth) < 0.003
    assert expected.std() < 0.97 * counted.std()


def test_with_many_answers_the_error_is_the_counted_one_whatever_their_noise():
    # No calibration curve has this form: only clear answers are wrong.
    expected, counted = judged(np.random.default_rng(0), 200_000, lambda margin: 0.4 * (margin > 1))
    assert abs(expected - counted) < 0.001


def test_answers_without_an_error_have_a_curve():
    points = np.random.default_rng(0).standard_normal((12, 1))
    found = ct.learning_curve(ct.datasets.simulated(points, 3000, seed=0), 1, **QUICK)
    assert 0 <= found.twice.low <= found.twice.error <= found.now.error < 0.01


class Steep(ct.Loss):
    """Log odds of this loss can be larger than any number of single precision."""

    def value(self, near, far):
        return math.exp(min(near - far, 700.0))

    def slopes(self, near, far):
        slope = math.exp(min(near - far, 700.0))
        return slope, -slope


@pytest.mark.slow
def test_a_map_in_which_all_objects_coincide_is_as_good_as_guessing():
    parts = PartErrors(np.arange(50), None, 1)
    parts.add(0, np.arange(10), np.zeros(50))
    assert parts.errors()[0] == pytest.approx(0.5)


@pytest.mark.slow
def test_unbounded_log_odds_do_no_harm():
    points = np.random.default_rng(0).standard_normal((20, 2))
    answers = ct.datasets.simulated(points, 2_000, seed=0)
    curve = ct.learning_curve(answers, loss=Steep(), penalty=0, n_folds=4, n_replicates=0, seed=0)
    assert curve.now.error < 0.1
    assert (np.diff(curve.errors) < 0.02).all()


def test_the_verdict_combines_the_curve_and_the_settled_objects():
    assert FLAT.verdict == "enough"
    assert "hardly worth collecting more" in FLAT.advice
    unsettled = dataclasses.replace(FLAT, n_unsettled=16)
    assert unsettled.verdict == "unsettled"
    assert "16 of 20 objects are not settled: collect more answers about these" in unsettled.advice
    assert not any("hardly worth" in sentence for sentence in unsettled.sentences())
    assert "hardly worth" not in unsettled.summary
    steep = dataclasses.replace(FLAT, errors=0.1 + 100 / FLAT.numbers, n_unsettled=1)
    assert steep.verdict == "more"
    assert "worth collecting more; 1 of 20 objects is not settled" in steep.advice


def test_the_answers_are_enough_only_if_the_interval_excludes_a_gain_that_matters():
    numbers = np.linspace(2000, 3600, 4)  # so close to each other that the slope of the curve is uncertain
    noisy = dataclasses.replace(FLAT, numbers=numbers, errors=0.2 + 2 / numbers, covariance=2e-4 * np.eye(4))
    assert noisy.gain.decrease < 0.005
    assert noisy.gain.low == 0
    assert noisy.gain.high > 0.01
    assert noisy.verdict == "unclear"
    assert "percentage points, so collect more before you decide" in noisy.advice
    assert "not clear yet" in noisy.summary
    sparse = dataclasses.replace(FLAT, shape=(400, 2))
    assert sparse.verdict == "unclear"
    assert "there are only 5.0 answers per object and dimension, so collect more" in sparse.advice


def test_errors_are_measured_on_random_questions_where_these_are_known():
    # Questions that are not random were answered by a coin.
    rows = simulated(1600).rows.copy()
    random = np.arange(1600) % 2 == 0
    coin = ~random & (np.random.default_rng(0).random(1600) < 0.5)
    rows[coin] = reversed_rows(rows[coin])
    of_all = ct.learning_curve(ct.Comparisons.from_triplets(rows), **QUICK)
    marked = ct.Comparisons.from_triplets(rows, trials=ct.Trials(random=random))
    of_random = ct.learning_curve(marked, **QUICK)
    assert (of_random.only_random, of_all.only_random) == (True, False)
    assert of_random.now.error < of_all.now.error - 0.05
    assert "measured on random questions only" in of_random.sentences()[0]
    few = ct.Comparisons.from_triplets(rows, trials=ct.Trials(random=np.arange(1600) < 99))
    assert not ct.learning_curve(few, **QUICK).only_random


def test_a_prediction_from_few_answers_per_coordinate_says_that_it_was_not_checked():
    assert not any("faster than predicted" in sentence for sentence in FLAT.sentences())
    sparse = dataclasses.replace(FLAT, shape=(400, 2))
    assert any("(here 5.0) errors often fall faster than predicted" in sentence for sentence in sparse.sentences())


def test_the_interval_allows_for_a_fall_that_is_twice_or_half_as_large():
    steep = dataclasses.replace(FLAT, errors=0.1 + 60 / FLAT.numbers)
    fall = steep.law(steep.numbers[-1]) - steep.twice.error
    assert fall > 0.005
    assert steep.twice.high - steep.twice.low > 3.5 * fall


def test_the_figure_draws_the_noise_as_a_band_and_hides_no_point():
    ceilings = (NoiseCeiling("a person", 0.8, 0.55, 0.92, 18), NoiseCeiling("different people", 0.7, 0.69, 0.71, 900))
    curve = dataclasses.replace(FLAT, ceilings=ceilings, errors=0.4 + 2 / FLAT.numbers)
    figure = ct.plotting.learning_curve_figure(curve)
    figure.draw_without_rendering()
    [ax] = figure.axes
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "noise within people: too few repeats" in texts
    assert "noise between people: 95 % interval" in texts
    assert not ax.get_legend().get_window_extent().overlaps(ax.get_window_extent())
    [firm] = [line for line in ax.lines if line.get_linestyle() in ("--", ":")]
    assert firm.get_ydata()[0] == ceilings[1].least_error
    assert "percentage points" in ax.get_xlabel()


def test_the_noise_is_written_with_its_intervals(tmp_path):
    ceilings = (NoiseCeiling("a person", 0.82, 0.68, 0.92, 18),)
    dataclasses.replace(FLAT, ceilings=ceilings).noise_to_csv(tmp_path / "noise.csv")
    [row] = csv.DictReader((tmp_path / "noise.csv").read_text().splitlines())
    assert (row["answers_of"], row["questions"]) == ("a person", "18")
    assert float(row["least_error_low"]) < float(row["least_error"]) < float(row["least_error_high"])


def test_whole_answers_are_counted_where_an_answer_makes_several_comparisons(tmp_path):
    points = np.random.default_rng(0).standard_normal((15, 2))
    answers = ct.answers_from(points, 600, similarity="euclidean", question="odd-one-out", temperature=0.5)
    curve = ct.learning_curve(answers, loss="ste", n_folds=4, seed=0)
    held_out = ct.cross_validate(answers, loss="ste", n_folds=4, seed=0).answers
    assert abs(curve.accuracies[-1] - held_out.accuracy) < 0.04
    assert curve.accuracies[0] < curve.accuracies[-1]
    assert curve.answer_chance == pytest.approx(1 / 3)
    assert abs(curve.bits[-1] - held_out.bits) < 0.06
    assert curve.bits[-1] < curve.bits[0] < curve.guessing_bits == pytest.approx(np.log2(3))
    assert any("bits per answer; chance is 33.3 %" in sentence for sentence in curve.sentences())
    assert {len(row) for row in curve.table()} == {len(curve.titles)} == {6}
    curve.to_csv(tmp_path / "curve.csv")
    assert (tmp_path / "curve.csv").read_text().splitlines()[0].endswith(",answer_accuracy,bits_per_answer")
