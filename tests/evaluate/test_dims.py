"""The number of dimensions: one rule, one verdict, the same loss in all fits."""

import json
import signal

import numpy as np
import pytest

import closerthan as ct
from closerthan.evaluate.cross_validation import Scores
from closerthan.evaluate.dims import DimsChoice

QUICK = {"n_repeats": 1, "loss": "soe", "penalty": 0, "n_threads": 1}


def units(error, spread=0.01, n_units=20):
    """Scores of units whose errors differ by a little, each in its own way for each error."""
    noise = spread * np.random.default_rng(int(1e6 * error)).standard_normal(n_units)
    wrong = error + noise - noise.mean()
    return Scores(np.array([error]), np.array([error]), 0.0, wrong, np.ones(n_units))


def choice_of(*errors, most=10, stopped_by="", **options):
    scores = {number: units(error, **options) for number, error in enumerate(errors, 1)}
    return DimsChoice(scores, "people", 5, 4, "ste", True, most, stopped_by)


def solid(n_dims, n_answers=4_000, seed=0, n_objects=20):
    points = np.random.default_rng(seed).standard_normal((n_objects, n_dims))
    return ct.datasets.simulated(points, n_answers, noise="ste", seed=seed)


@pytest.mark.parametrize(
    ("errors", "chosen"),
    [
        ((0.2, 0.2, 0.2), 1),
        ((0.3, 0.2, 0.2, 0.2), 2),
        ((0.4, 0.3, 0.2, 0.2, 0.21), 3),
        ((0.3, 0.3, 0.2, 0.2, 0.2), 3),  # the second dimension helps with the third alone
        ((0.3, 0.299, 0.298, 0.2), 1),  # three more are too far ahead
        ((0.3, 0.2), 2),
        ((0.3,), 1),
    ],
)
def test_the_number_goes_up_while_one_or_two_more_predict_better(errors, chosen):
    assert choice_of(*errors).chosen == chosen


@pytest.mark.parametrize("errors", [(0.2, 0.2, 0.2), (0.3, 0.2, 0.2, 0.2), (0.3, 0.3, 0.2, 0.2, 0.2), (0.3, 0.2)])
def test_the_verdict_agrees_with_the_choice(errors):
    choice = choice_of(*errors)
    assert choice.verdict.startswith(f"{choice.chosen} dimension")
    ahead = [str(number) for number in (choice.chosen + 1, choice.chosen + 2) if number <= len(errors)]
    assert all(f" {number} " in choice.verdict for number in ahead)
    assert choice.verdict.count("significantly better") == (1 if ahead else 0)
    assert ("lower than with" in choice.verdict) == (choice.chosen > 1)


def test_answers_that_no_map_predicts_support_none():
    assert "not clearly better than chance" in choice_of(0.5, 0.505, 0.502).verdict


def test_it_says_if_the_limit_was_reached_or_the_search_was_cut():
    assert any("try most=4" in sentence for sentence in choice_of(0.3, 0.2, most=2).sentences)
    assert not any("most=" in sentence for sentence in choice_of(0.3, 0.2, 0.2, 0.2).sentences)
    cut = choice_of(0.3, 0.2, stopped_by="interrupted").sentences
    assert any("interrupted after 2 dimensions" in sentence for sentence in cut)


def test_the_search_ends_two_dimensions_above_the_choice():
    choice = ct.choose_dims(solid(2), **QUICK)
    assert (choice.chosen, sorted(choice.scores)) == (2, [1, 2, 3, 4])


def test_a_choice_can_be_written_as_json_and_csv(tmp_path):
    choice = choice_of(0.3, 0.2, 0.2, 0.2)
    assert json.loads(json.dumps(choice.to_data()))["chosen"] == 2
    choice.to_csv(tmp_path / "dims.csv")
    header, *rows = (tmp_path / "dims.csv").read_text().splitlines()
    assert header == "dims,error,low,high,standard_error,training_error,gain,gain_low,gain_high,p_value,chosen"
    assert [row.split(",")[-1] for row in rows] == ["0", "1", "0", "0"]


@pytest.mark.parametrize(("n_people", "by"), [(10, "people"), (9, "answers")])
def test_people_are_the_units_where_there_are_enough(n_people, by):
    rows = solid(1, 400).rows
    known = ct.Comparisons.from_triplets(rows, n_objects=20, people=np.arange(400) % n_people)
    choice = ct.choose_dims(known, most=1, epochs=2, **QUICK)
    assert choice.by == by
    assert len(choice.scores[1].weight) == (10 if by == "people" else known.groups().max() + 1)


def test_all_fits_have_the_loss_that_was_chosen_once():
    answers = solid(1, 800)
    seen = set()
    shared = {"penalty": 0.1, "epochs": 3, "n_threads": 1}
    choice = ct.choose_dims(answers, most=2, n_repeats=1, **shared)
    for n_dims, score in choice.scores.items():
        same = ct.cross_validate(answers, n_dims, loss=choice.loss, n_starts=2, **shared)
        seen.add(same.mean == score.mean)
    assert seen == {True}
    assert choice.loss_is_chosen
    assert any(f"the loss {choice.loss}, chosen once" in sentence for sentence in choice.sentences)


def test_ctrl_c_keeps_the_dimensions_that_are_done():
    def press(record, x):
        if x.shape[1] == 2:
            signal.raise_signal(signal.SIGINT)

    choice = ct.choose_dims(solid(2, 500), callback=press, epochs=2, **QUICK)
    assert (sorted(choice.scores), choice.stopped_by) == ([1], "interrupted")

    def press_at_once(record, x):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        ct.choose_dims(solid(2, 500), callback=press_at_once, epochs=2, **QUICK)


def test_a_time_limit_before_the_first_result_is_an_error():
    with pytest.raises(ValueError, match="time limit was reached after 0 of 5 fits"):
        ct.choose_dims(solid(2, 500), time_limit=1e-6, tolerance=None, **QUICK)


@pytest.mark.slow
def test_five_dimensions_are_found_and_not_six():
    rng = np.random.default_rng(2)
    chosen = []
    for _ in range(3):
        answers = ct.datasets.simulated(rng.standard_normal((30, 5)), 6_000, noise="ste", seed=rng)
        chosen.append(ct.choose_dims(answers, most=7, loss="ste", penalty=0, n_threads=1).chosen)
    assert sum(number == 5 for number in chosen) >= 2
    assert max(chosen) == 5


@pytest.mark.slow
@pytest.mark.parametrize("n_people", [0, 20])
def test_a_dimension_that_is_not_there_is_hardly_ever_chosen(n_people):
    rng = np.random.default_rng(3)
    n_sets, too_many = 6, 0
    for _ in range(n_sets):
        points = rng.standard_normal((20, 2))
        answers = ct.datasets.simulated(points, 1_200, noise="flip", level=0.15, seed=rng)
        if n_people:
            people = np.arange(1_200) % n_people
            answers = ct.Comparisons.from_triplets(answers.rows, n_objects=20, people=people)
        too_many += ct.choose_dims(answers, most=4, loss="ste", penalty=0, n_threads=1, n_repeats=2).chosen > 2
    assert too_many <= 1
