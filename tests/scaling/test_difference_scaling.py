"""Difference scaling: scales of known observers, R's numbers, and bad input."""

import dataclasses
import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

import closerthan as ct

# What R's package MLDS gives for the 825 triads of data/mlds_triads.csv.
SCALE_BY_R = [0, 0.0203, 0.0658, 0.1426, 0.1758, 0.2587, 0.3697, 0.4686, 0.6344, 0.7298, 1]
SIGMA_BY_R, AIC_BY_R, ACCOUNTED_FOR_BY_R, RUNS_P_BY_R = 0.1597, 570.39, 0.519, 0.93


def observer(psi, sigma, n_answers, *, size=3, lapse_rate=0.0, seed=0):
    """Answers of an observer with a known scale to random triads or quadruples."""
    rng = np.random.default_rng(seed)
    kinds = np.array(list(itertools.combinations(range(len(psi)), size)))
    shown = kinds[rng.integers(len(kinds), size=n_answers)]
    low, high = (shown[:, :2], shown[:, 1:]) if size == 3 else (shown[:, :2], shown[:, 2:])
    difference = np.diff(psi[high], axis=1)[:, 0] - np.diff(psi[low], axis=1)[:, 0]
    larger = rng.random(n_answers) < lapse_rate / 2 + (1 - lapse_rate) * ndtr(difference / sigma)
    if size == 3:
        rows = np.where(larger[:, None], shown[:, [1, 0, 2]], shown[:, [1, 2, 0]])
        return ct.Comparisons.from_triplets(rows, n_objects=len(psi))
    rows = np.where(larger[:, None], shown, shown[:, [2, 3, 0, 1]])
    return ct.Comparisons.from_quadruplets(rows, n_objects=len(psi))


SQUARE = (np.arange(8) / 7) ** 2


@pytest.fixture
def triads_of_r():
    folder = os.environ.get("CLOSERTHAN_DATA")
    if not folder or not (Path(folder) / "mlds_triads.csv").exists():
        pytest.skip("set CLOSERTHAN_DATA to a folder with mlds_triads.csv")
    return Path(folder) / "mlds_triads.csv"


def test_it_agrees_with_r(triads_of_r):
    result = ct.scale(ct.read_comparisons(triads_of_r), n_replicates=2000)
    np.testing.assert_allclose(result.values, SCALE_BY_R, atol=1e-4)
    assert result.sigma == pytest.approx(SIGMA_BY_R, abs=1e-4)
    assert result.aic == pytest.approx(AIC_BY_R, abs=0.01)
    assert result.deviance_accounted_for == pytest.approx(ACCOUNTED_FOR_BY_R, abs=1e-3)
    assert result.runs_p == pytest.approx(RUNS_P_BY_R, abs=0.03)


@pytest.mark.parametrize("size", [3, 4])
def test_a_known_scale_is_recovered(size):
    result = ct.scale(observer(SQUARE, 0.15, 6000, size=size, seed=1), levels=np.arange(8.0))
    np.testing.assert_allclose(result.values, SQUARE, atol=0.03)
    assert result.sigma == pytest.approx(0.15, abs=0.015)
    assert result.deviance_p > 0.01
    assert result.runs_p > 0.01


def test_a_lapse_rate_is_recovered_and_its_absence_is_noticed():
    answers = observer(SQUARE, 0.08, 6000, lapse_rate=0.1)
    with_lapses = ct.scale(answers, fit_lapses=True)
    assert with_lapses.lapse_rate == pytest.approx(0.1, abs=0.03)
    assert with_lapses.sigma == pytest.approx(0.08, abs=0.02)
    assert with_lapses.lapse_gain == 0
    without = ct.scale(answers)
    assert any("lapse rate would lower the AIC" in sentence for sentence in without.advice)


def test_a_wrong_model_is_noticed():
    # The observer compares the intervals by a second scale whenever the lowest level is shown.
    one, two = observer(SQUARE, 0.05, 3000), observer(np.sqrt(SQUARE), 0.05, 3000, seed=1)
    rows = np.concatenate([one.rows[~(one.rows == 0).any(axis=1)], two.rows[(two.rows == 0).any(axis=1)]])
    result = ct.scale(rows, levels=np.arange(8.0), n_replicates=200)
    assert result.deviance_p < 0.05
    assert "deviate from the scale" in result.advice[0]
    with_lapses = dataclasses.replace(result, n_parameters=result.n_parameters + 1)
    assert ("lapses" in result.advice[0], "lapses" in with_lapses.advice[0]) == (True, False)


@pytest.mark.slow
def test_intervals_contain_the_truth_in_about_95_of_100_studies():
    inside, sigmas = [], []
    for seed in range(80):
        result = ct.scale(observer(SQUARE, 0.2, 250, seed=seed), n_replicates=200, seed=seed)
        inside.append((result.low[1:-1] <= SQUARE[1:-1]) & (SQUARE[1:-1] <= result.high[1:-1]))
        sigmas.append(result.sigma_interval[0] <= 0.2 <= result.sigma_interval[1])
    assert 0.90 <= np.mean(inside) <= 0.99
    assert 0.89 <= np.mean(sigmas) <= 1.0


def test_the_same_seed_gives_the_same_intervals():
    answers = observer(SQUARE, 0.15, 500)
    one, two, other = (ct.scale(answers, n_replicates=50, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.low, two.low)
    assert not np.array_equal(one.low, other.low)


def test_the_order_of_the_objects_does_not_matter():
    answers = observer(SQUARE, 0.15, 800)
    order = np.random.default_rng(0).permutation(8)
    shuffled = ct.Comparisons.from_triplets(order[answers.rows])
    levels = np.empty(8)
    levels[order] = np.arange(8)
    plain, other = ct.scale(answers, n_replicates=50), ct.scale(shuffled, levels=levels, n_replicates=50)
    np.testing.assert_allclose(plain.values, other.values, atol=1e-6)


def test_levels_may_be_numbers_in_names_that_are_written_differently():
    names = ["0.10", "0.1", "0.2", "0.3", "0.4"]
    rows = observer(SQUARE[[0, 2, 4, 7]], 0.2, 300).rows
    several = np.where((rows == 0) & (np.arange(300) % 2 == 0)[:, None], 0, rows + 1)
    result = ct.scale(ct.Comparisons.from_triplets(several, names=names), n_replicates=50)
    assert result.level_names == ("0.1", "0.2", "0.3", "0.4")


def test_ordered_names_are_levels():
    names = ["high", "low", "medium", "top"]
    answers = observer(SQUARE[[0, 2, 4, 7]], 0.2, 300)
    code = np.array([1, 2, 0, 3])
    named = ct.Comparisons.from_triplets(code[answers.rows], names=names)
    result = ct.scale(named, levels=["low", "medium", "high", "top"], n_replicates=50)
    assert result.level_names == ("low", "medium", "high", "top")
    np.testing.assert_allclose(result.values, ct.scale(answers, n_replicates=50).values, atol=1e-6)


def test_the_probability_of_a_judgement_follows_the_model():
    result = ct.scale(observer(SQUARE, 0.15, 4000), n_replicates=50)
    difference = (result.values[7] - result.values[5]) - (result.values[3] - result.values[0])
    assert result.difference_probability((0, 3), (5, 7)) == pytest.approx(float(ndtr(difference / result.sigma)))
    with pytest.raises(ValueError, match="between 0 and 7"):
        result.difference_probability((0, 3), (5, 9))


@pytest.mark.parametrize(
    ("answers", "options", "message"),
    [
        ([[1, 0, 2], [1, 0, 2], [1, 2, 0]], {"levels": [1, 2]}, "one finite number for each of the 3 objects"),
        ([[1, 0, 2], [1, 2, 0]], {"levels": [1, 1, 2]}, "about 2 levels; a scale needs at least 3"),
        ([["b", "a", "c"], ["b", "c", "a"]], {}, "the level 'a' is not a number; pass levels"),
        ([["b", "a", "c"], ["b", "c", "a"]], {"levels": ["a", "b"]}, "does not have c"),
        ([[1, 0, 2], [2, 1, 3], [1, 0, 2], [2, 3, 1]], {}, "2 questions cannot determine the scale of 4 levels"),
        ([[0, 1, 1, 2], [0, 1, 0, 2]], {}, "there is a scale without noise that no answer contradicts"),
        ([[1, 0, 2], [1, 2, 0]], {"n_replicates": 5}, "n_replicates is 5"),
    ],
)
def test_errors_say_what_to_do(answers, options, message):
    with pytest.raises(ValueError, match=message):
        ct.scale(ct.Comparisons.of(answers), **options)


def test_answers_in_the_opposite_sense_are_an_error():
    contrary = observer(SQUARE, 0.15, 800).rows[:, [0, 2, 1]]
    with pytest.raises(ValueError, match="does not rise from 0 to 7"):
        ct.scale(contrary)


def test_weights_are_refused():
    rows = observer(SQUARE, 0.15, 100).rows
    with pytest.raises(ValueError, match="weights"):
        ct.scale(ct.Comparisons.from_triplets(rows, weights=np.arange(1.0, 101.0)))


def test_figures_show_one_scale_or_several_by_name():
    one, two = (ct.scale(observer(SQUARE, 0.15, 500, seed=seed), n_replicates=50) for seed in (0, 1))
    ax = one.plot(unit="contrast").axes[0]
    assert ax.get_xlabel() == "contrast"
    assert ax.get_legend() is None
    both = ct.plotting.scale_figure({"$ann_": one, "bob": two}).axes[0]
    assert [text.get_text().split(" (")[0] for text in both.get_legend().get_texts()] == ["$ann_", "bob"]
    with pytest.raises(ValueError, match=r"it must be a result of closerthan\.scale"):
        ct.plotting.scale_figure({"ann": 5})


def test_it_is_written_as_a_table_and_shown_in_notebooks(tmp_path):
    result = ct.scale(observer(SQUARE, 0.15, 500), n_replicates=50)
    result.to_csv(tmp_path / "scale.csv")
    lines = (tmp_path / "scale.csv").read_text().splitlines()
    assert lines[0] == "level,value,scale,low,high"
    assert len(lines) == 9
    assert "<table>" in result._repr_html_()
    assert repr(result).startswith("Scale(8 levels from 0 to 7, 500 answers: sigma 0.")


def test_objects_that_are_numbered_in_any_order_are_refused():
    faces = ct.answers_from(np.random.default_rng(0).normal(size=(12, 2)), 300)
    with pytest.raises(ValueError, match="the objects may not be levels in the order of their numbers; if they are"):
        ct.scale(faces)
    named = ct.Comparisons.from_triplets([["satin", "matte", "glossy"], ["satin", "glossy", "matte"]])
    with pytest.raises(ValueError, match="the level 'glossy' is not a number; pass levels"):
        ct.scale(named)


@pytest.mark.parametrize("levels", [[1, "a", 2, 3], [[1, 2, 3, 4]], [1.0, np.nan, 2.0, 3.0], []])
def test_levels_that_are_neither_numbers_nor_names_are_refused(levels):
    with pytest.raises(ValueError, match="it must have one finite number for each of the 4 objects, or all be names"):
        ct.scale(observer(np.linspace(0, 1, 4), 0.2, 100), levels=levels)


def test_a_vague_sigma_is_reported():
    psi = (np.arange(5) / 4) ** 2
    few, many = (ct.scale(observer(psi, 0.2, size, seed=3), n_replicates=50) for size in (60, 2000))
    assert few.sigma_interval[1] > 3 * few.sigma_interval[0]
    assert any("hardly determine sigma" in sentence for sentence in few.advice)
    assert not any("hardly determine sigma" in sentence for sentence in many.advice)


@pytest.mark.filterwarnings("error")
def test_answers_by_chance_are_said_not_to_show_a_scale():
    chance = ct.scale(observer(np.zeros(6), 1.0, 100, seed=1), n_replicates=50)
    assert "The answers hardly show that the scale rises from 0 to 5" in chance.advice[0]


@pytest.mark.parametrize(
    ("levels", "axis"),
    [([0.1, 1, 10, 100], "log"), ([0, 1, 10, 100], "linear"), ([5, 10, 20, 30], "linear"), ([1, 2, 98, 99], "linear")],
)
def test_levels_far_from_evenly_spaced_have_a_logarithmic_axis(levels, axis):
    scale = ct.scale(observer(np.arange(4) / 3, 0.2, 100), levels=levels, n_replicates=50)
    assert scale.plot().axes[0].get_xscale() == axis


def test_lapses_of_few_answers_are_estimated_without_overflow():
    psi = (np.arange(5) / 4) ** 2
    result = ct.scale(observer(psi, 0.2, 60, seed=3), fit_lapses=True, n_replicates=50)
    assert np.isfinite(result.replicates).all()
