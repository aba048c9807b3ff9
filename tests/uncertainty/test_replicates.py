"""Replicates: many maps of resampled answers."""

import dataclasses

import numpy as np
import pytest
from conftest import InterruptedPolyak

import closerthan as ct
from closerthan.calibration import Calibration
from closerthan.comparisons import reversed_rows
from closerthan.datasets import simulated
from closerthan.losses import LOSSES
from closerthan.metrics import log_odds, procrustes
from closerthan.report.findings import Findings
from closerthan.result import Start
from closerthan.uncertainty import resampling
from closerthan.uncertainty.neighbours import NeighbourCalibration, neighbour_probability

POINTS = np.random.default_rng(0).standard_normal((15, 2))
ANSWERS = simulated(POINTS, 900, noise="ste", seed=0)
QUESTIONS = [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def with_people(n_people):
    people = np.arange(len(ANSWERS)) % n_people
    return ct.Comparisons.from_triplets(ANSWERS.rows, n_objects=15, people=people)


@pytest.fixture(scope="module")
def found():
    return ct.replicate(ANSWERS, n_replicates=30, loss="ste", penalty=0, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_has_replicates_that_say_something(loss):
    found = ct.replicate(ANSWERS, n_replicates=6, loss=loss, penalty=0, seed=0)
    assert found.maps.shape == (6, 15, 2)
    assert np.isfinite(found.maps).all()
    assert len(np.unique(found.maps, axis=0)) == 6
    rows = ANSWERS.rows[:50]
    probability = found.probability(rows)
    assert ((probability > 0) & (probability < 1)).all()
    np.testing.assert_allclose(probability + found.probability(reversed_rows(rows)), 1)
    assert (probability > 0.5).mean() > 0.75
    assert found.ellipses().contain(found.result.embedding).all()
    near = found.neighbour_probability(3)
    assert ((near >= 0) & (near <= 1)).all()
    np.testing.assert_array_equal(near > 0, neighbour_probability(found.maps, 3) > 0)
    np.testing.assert_allclose(found.agreement(rows) + found.agreement(reversed_rows(rows)), 1)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(found):
    again = ct.replicate(ANSWERS, n_replicates=30, loss="ste", penalty=0, seed=0, n_threads=3)
    assert (again.maps == found.maps).all()
    assert again.calibration == found.calibration
    other = ct.replicate(ANSWERS, n_replicates=30, loss="ste", penalty=0, seed=1)
    assert not (other.maps == found.maps).any()


def test_the_result_is_that_of_a_plain_fit(found):
    result = ct.embed(ANSWERS, loss="ste", penalty=0, seed=0)
    assert (found.result.embedding == result.embedding).all()


def test_replicates_lie_over_the_fitted_map(found):
    _, off = procrustes(found.maps.mean(axis=0), found.result.embedding, scaling=False)
    as_it_is = np.sum((found.maps.mean(axis=0) - found.result.embedding) ** 2)
    centred = found.result.embedding - found.result.embedding.mean(axis=0)
    assert as_it_is / np.sum(centred**2) == pytest.approx(off, abs=0.01)


def test_ellipses_hold_the_true_places_of_people_who_answer_as_the_loss_assumes(found):
    truth = procrustes(POINTS, found.result.embedding, scaling=False).aligned
    assert found.ellipses(0.95).contain(truth).mean() >= 0.8
    assert found.ellipses(0.1).contain(truth).mean() <= 0.5


def test_more_is_decided_with_more_answers(found):
    few = ct.replicate(ANSWERS.take(slice(200)), n_replicates=30, loss="ste", penalty=0, seed=0)
    assert few.share_decided < found.share_decided
    assert len(few.unsettled) > len(found.unsettled)


@pytest.mark.slow
def test_people_are_resampled_where_five_are_known():
    assert ct.replicate(with_people(6), n_replicates=4, loss="ste", penalty=0, seed=0).by == "people"
    assert ct.replicate(with_people(4), n_replicates=4, loss="ste", penalty=0, seed=0).by == "answers"
    asked = ct.replicate(with_people(6), n_replicates=4, loss="ste", penalty=0, seed=0, by="answers")
    assert (asked.by, asked.n_units) == ("answers", 900)


def test_a_committee_predicts_by_maps_of_its_own(found):
    assert len(found.committee.maps) == 10 * resampling.MAPS_PER_FOLD
    shapes = [procrustes(x, found.result.embedding).distance for x in found.committee.maps]
    assert len(np.unique(shapes)) == len(shapes)
    odds = found.committee.mean_log_odds(found.result.questions(QUESTIONS), found.result.loss)
    np.testing.assert_allclose(found.probability(QUESTIONS), found.calibration.probability(odds))


def test_simulated_answers_are_lapses_as_often_as_the_committee_says(found):
    lapsing = Calibration(slope=5.0, lapse=0.2)
    committee = dataclasses.replace(found.committee, calibration=lapsing)
    expected = committee.probability(ANSWERS, found.result.loss)
    calibration = resampling.calibration_on_map(found.result, ANSWERS, committee)
    drawn_with = calibration.probability(log_odds(ANSWERS, found.result.embedding, found.result.loss))
    clear = expected > np.quantile(expected, 0.7)
    assert drawn_with.max() <= 0.9
    np.testing.assert_allclose(drawn_with[clear], expected[clear], atol=0.02)


def test_without_all_parts_of_the_committee_replicates_predict():
    solver = InterruptedPolyak(after=1 + 14)  # the first fit, and 14 more
    found = ct.replicate(ANSWERS, n_replicates=10, loss="ste", penalty=0, seed=0, n_threads=1, solver=solver)
    assert (len(found), len(found.committee.maps), found.calibration) == (10, 10, None)


@pytest.mark.parametrize(
    ("answers", "by", "words"),
    [
        (with_people(1), "people", "all answers are from one person"),
        (ANSWERS, "people", "it is not known who gave the answers"),
        (ANSWERS, "comparisons", 'replicates resample "people", "blocks" or "answers"'),
    ],
)
def test_answers_that_cannot_be_resampled_are_an_error_that_says_why(answers, by, words):
    with pytest.raises(ValueError, match=words):
        ct.replicate(answers, n_replicates=4, loss="ste", penalty=0, by=by)


def test_an_invalid_number_of_replicates_is_an_error():
    with pytest.raises(ValueError, match="n_replicates is 0"):
        ct.replicate(ANSWERS, n_replicates=0, loss="ste", penalty=0)


def test_too_few_replicates_for_ellipses_are_an_error_that_says_how_many():
    found = ct.replicate(ANSWERS, n_replicates=3, loss="ste", penalty=0, seed=0)
    with pytest.raises(ValueError, match="need at least 4"):
        found.ellipses()


@pytest.mark.parametrize("wrong", [0.0, 1.0, 95])
def test_an_invalid_level_is_an_error(found, wrong):
    with pytest.raises(ValueError, match="level is"):
        found.ellipses(wrong)


def test_answers_about_other_objects_are_an_error(found):
    with pytest.raises(ValueError, match="the map of result has 15"):
        ct.replicate(simulated(POINTS[:10], 100, seed=0), result=found.result)
    with pytest.raises(ValueError, match="15"):
        found.probability([[0, 1, 15]])


def test_the_losses_race_once_and_replicates_use_the_winner():
    found = ct.replicate(ANSWERS, n_replicates=3, seed=0)
    assert found.result.loss_name == found.result.candidates[0].loss
    again = ct.replicate(ANSWERS, n_replicates=3, seed=0, result=found.result)
    assert (again.maps == found.maps).all()


def test_a_given_fit_is_used_and_its_settings_are_those_of_the_replicates(found):
    again = ct.replicate(ANSWERS, n_replicates=30, result=found.result)
    assert again.result is found.result
    assert (again.maps == found.maps).all()


@pytest.mark.parametrize("settings", [None, ct.settings.Settings(loss="ste", epochs=20)])
def test_settings_and_options_say_the_same(settings):
    one = ct.replicate(ANSWERS, n_replicates=3, settings=ct.settings.Settings(loss="ste", penalty=0, epochs=20))
    other = ct.replicate(ANSWERS, n_replicates=3, settings=settings, loss="ste", penalty=0, epochs=20)
    assert (one.maps == other.maps).all()


def test_a_fit_in_other_dimensions_is_refused(found):
    with pytest.raises(ValueError, match="n_dims is 3; the map of result has 2 dimensions; leave it out"):
        ct.replicate(ANSWERS, 3, result=found.result)


def test_early_stopping_holds_nothing_out_of_a_replicate():
    found = ct.replicate(ANSWERS, n_replicates=3, loss="ste", penalty=0, validation=0.2, seed=0)
    assert len(found) == 3


def test_ctrl_c_keeps_the_replicates_that_are_done(found):
    solver = InterruptedPolyak(after=1 + 12)
    kept = ct.replicate(ANSWERS, n_replicates=30, loss="ste", penalty=0, seed=0, n_threads=1, solver=solver)
    assert kept.interrupted
    assert len(kept) == 12
    shapes = [procrustes(x, y, scaling=False).distance for x, y in zip(kept.maps, found.maps, strict=False)]
    np.testing.assert_allclose(shapes, 0, atol=1e-12)


def test_ctrl_c_before_there_are_two_replicates_is_raised():
    with pytest.raises(KeyboardInterrupt):
        ct.replicate(
            ANSWERS, n_replicates=30, loss="ste", penalty=0, n_threads=1, solver=InterruptedPolyak(after=1 + 1)
        )


def test_saved_replicates_are_read_back(found, tmp_path):
    found.save(tmp_path / "replicates.npz")
    again = ct.Replicates.load(tmp_path / "replicates.npz")
    assert repr(again) == repr(found)
    assert (again.maps == found.maps).all()
    assert (again.probability(QUESTIONS) == found.probability(QUESTIONS)).all()
    assert (again.neighbour_probability(1) == found.neighbour_probability(1)).all()
    assert again.result.settings == found.result.settings
    assert again.seed == found.seed is not None


def test_a_file_that_holds_no_replicates_is_an_error(found, tmp_path):
    found.result.save(tmp_path / "result.npz")
    with pytest.raises(ValueError, match="is not a file of replicates"):
        ct.Replicates.load(tmp_path / "result.npz")


def test_a_file_of_an_earlier_version_says_what_to_do(found, tmp_path):
    found.save(tmp_path / "new.npz")
    with np.load(tmp_path / "new.npz") as saved:
        earlier = {name: saved[name] for name in saved.files if name not in ("committee", "spreads")}
    np.savez(tmp_path / "old.npz", **earlier)
    with pytest.raises(ValueError, match=r"earlier version.* create it again with closerthan fit --replicates"):
        ct.Replicates.load(tmp_path / "old.npz")


@pytest.mark.filterwarnings("ignore:1 of 16 objects occur")
def test_there_are_no_statements_about_an_object_without_answers():
    answers = ct.Comparisons.from_triplets(ANSWERS.rows, n_objects=16)
    found = ct.replicate(answers, n_replicates=20, loss="ste", penalty=0, seed=0)
    assert np.isnan(found.ellipses().half_axes()[15]).all()
    assert found.probability([[15, 0, 1], [0, 15, 1]]).tolist() == [0.5, 0.5]
    assert not found.decided([[15, 0, 1], [0, 15, 1]]).any()
    assert 15 in found.unsettled
    assert found.neighbour_probability(3)[:15, 15].max() == 0


def test_objects_are_unsettled_if_less_than_half_of_their_triplets_are_decided(found):
    rng = np.random.default_rng(0)
    sizes = np.linspace(0.0, 0.4, 15)[:, np.newaxis]  # the later an object, the less certain its place
    noisy = dataclasses.replace(found, maps=found.maps + sizes * rng.standard_normal(found.maps.shape))
    shares = noisy.decided_by_object
    assert ((shares > 0.25) & (shares < 0.5)).any()
    assert (shares > 0.5).any()
    assert sorted(noisy.unsettled.tolist()) == np.flatnonzero(shares < 0.5).tolist()


def test_an_object_is_placed_by_as_many_comparisons_as_its_place_has_bits(found):
    """A place among 15 in each of two dimensions takes 2 log2(15) = 7.8 comparisons."""
    mentions = np.repeat([7, 8, 9], 5)
    assert dataclasses.replace(found, mentions=mentions).placed.tolist() == (mentions >= 8).tolist()


@pytest.mark.parametrize("n_answers", [1, 3])
def test_an_object_with_next_to_no_answers_is_not_settled(n_answers):
    # Weights cannot change what one answer leaves open: all replicates leave the object where the fit placed it.
    few = [[15, 0, 1], [2, 15, 3], [4, 5, 15]][:n_answers]
    answers = ct.Comparisons.from_triplets(np.concatenate([ANSWERS.rows, few]), n_objects=16)
    found = ct.replicate(answers, n_replicates=20, loss="ste", penalty=0, seed=0)
    assert found.unsettled[0] == 15
    assert not found.decided([[15, 0, 1], [0, 15, 1]]).any()
    assert np.isnan(found.ellipses().half_axes()[15]).all()
    assert found.placed.tolist() == [True] * 15 + [False]
    near = found.neighbour_probability(3)
    assert near[15].max() == near[:, 15].max() == 0
    assert (found.neighbour_probability(3, of=[15, 2]) == near[[15, 2]]).all()
    assert 15 not in [pair.object for pair in Findings(found).neighbours]
    said = {fact.name: fact for fact in Findings(found).facts()}["Not settled"]
    assert said.value.startswith("15")


def test_repeating_a_few_questions_settles_no_object():
    # Twenty questions leave most of the map open, however often they are answered: a third of the triplets on which
    # replicates agree, because all start at the fitted map, would be wrong.
    few = np.repeat(simulated(POINTS, 20, seed=3).rows, 60, axis=0)
    answers = ct.Comparisons.from_triplets(few, n_objects=15, people=np.tile(np.arange(60), 20), unmentioned="ignore")
    found = ct.replicate(answers, n_replicates=10, loss="ste", penalty=0, seed=0)
    assert not found.placed.any()
    assert found.share_decided == 0
    assert len(found.unsettled) == 15


def test_statements_of_replicates_are_qualified_where_starts_lead_to_different_maps(found):
    start = Start(0.3, 0.1, 0.3, "tolerance", 0.9)
    other = dataclasses.replace(found, result=dataclasses.replace(found.result, starts=(start, start), best_start=0))
    assert other.result.different_starts
    plain, qualified = (
        next(fact.note for fact in Findings(one).facts() if fact.name == "Decided") for one in (found, other)
    )
    assert "in simulations" in plain
    assert "in simulations" not in qualified
    assert "other starts lead to different maps" in qualified


def test_few_answers_of_one_question_cannot_be_held_out_and_are_not_calibrated():
    answers = ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 1, 2]])
    found = ct.replicate(answers, 1, n_replicates=5, loss="ste", penalty=0, seed=0)
    assert found.calibration is None
    assert 0.5 < found.probability([[0, 1, 2]])[0] <= 1


def test_quadruplets_and_names_are_understood():
    names = [f"thing {number}" for number in range(15)]
    answers = simulated(POINTS, 900, noise="ste", quadruplets=True, names=names, seed=0)
    found = ct.replicate(answers, n_replicates=5, loss="ste", penalty=0, seed=0)
    named = found.probability([["thing 0", "thing 1", "thing 2", "thing 3"]])
    assert named.tolist() == found.probability([[0, 1, 2, 3]]).tolist()


def test_findings_name_what_is_not_settled():
    noisy = simulated(0.3 * POINTS, 300, noise="ste", seed=0)
    few = Findings(ct.replicate(noisy, n_replicates=20, loss="ste", penalty=0, seed=0))
    said = {fact.name: fact.value for fact in few.facts()}
    assert few.names[few.replicates.unsettled[0]] in said["Not settled"]
    assert "collect more answers" in few.facts()[-1].note
    assert {pair.object for pair in few.neighbours} == set(range(15))


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_the_most_confident_predictions_of_replicates_are_calibrated(rate):
    """A fraction of the answers are guesses; predictions must not be more confident than that allows."""
    rng = np.random.default_rng(3)
    points = 2.0 * rng.standard_normal((25, 2))

    def answers(number, seed):
        rows = ct.datasets.simulated(points, number, noise="ste", seed=seed).rows.copy()
        lapses = rng.random(number) < rate / 2  # half of the random answers are right by luck
        rows[lapses] = reversed_rows(rows[lapses])
        return ct.Comparisons.from_triplets(rows, n_objects=25)

    found = ct.replicate(answers(2_000, 1), n_replicates=2, loss="ste", penalty=0, seed=0)
    probability = found.probability(answers(20_000, 2))
    surest = np.maximum(probability, 1 - probability) > np.quantile(np.maximum(probability, 1 - probability), 0.9)
    said = np.maximum(probability, 1 - probability)[surest].mean()
    assert abs(said - (probability[surest] > 0.5).mean()) < 0.02


@pytest.mark.slow
def test_probabilities_of_neighbours_are_right_where_groups_are_narrow():
    centres = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.8]])[np.arange(30) % 3]
    said, raw, right = [], [], []
    for seed in range(5):
        truth = centres + 0.25 * np.random.default_rng(seed).standard_normal((30, 2))
        found = ct.replicate(
            simulated(truth, 1500, noise="ste", seed=seed), n_replicates=40, loss="ste", penalty=0, seed=seed
        )
        fraction, near = neighbour_probability(found.maps, 1), neighbour_probability(truth[np.newaxis], 1)
        likely = fraction >= 0.5
        raw.append(fraction[likely])
        said.append(found.neighbour_probability(1)[likely])
        right.append(near[likely])
    raw, said, right = (np.concatenate(parts).mean() for parts in (raw, said, right))
    assert raw - right > 0.1  # replicates alone are too sure
    assert abs(said - right) < 0.1


def test_calibrated_neighbours_are_never_surer_than_replicates_and_keep_their_order(found):
    fraction, said = neighbour_probability(found.maps, 2), found.neighbour_probability(2)
    order = np.argsort(fraction, axis=None)
    assert (np.diff(said.ravel()[order]) >= -1e-12).all()
    assert (said <= fraction).all()
    assert (said[fraction == 0] == 0).all()
    assert (found.neighbour_probability(14)[~np.eye(15, dtype=bool)] == 1).all()


def test_a_calibration_without_errors_to_learn_from_changes_little():
    truth = 9.0 * np.arange(8.0)[:, np.newaxis] ** 1.5
    curve = NeighbourCalibration.fitted(np.broadcast_to(truth, (4, 25, 8, 1)), truth, 1)
    assert curve.probability(np.array([1.0]), 25)[0] > 0.95


def test_ctrl_c_during_the_simulated_studies_keeps_the_replicates_uncalibrated():
    solver = InterruptedPolyak(after=1 + 10 + 10 * resampling.MAPS_PER_FOLD + 5)
    found = ct.replicate(ANSWERS, n_replicates=10, loss="ste", penalty=0, seed=0, n_threads=1, solver=solver)
    assert (len(found), found.simulated, found.interrupted) == (10, None, True)
    assert found.cut == "interrupted before all probabilities were calibrated"
    np.testing.assert_array_equal(found.neighbour_probability(1), neighbour_probability(found.maps, 1))
