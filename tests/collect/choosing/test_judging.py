import json

import numpy as np
import pytest
from studies import ANSWERS, N_OBJECTS, POINTS, answer_all, interview_of, joined

import closerthan as ct
from closerthan.collect.choosing.belief import fit_maps
from closerthan.collect.choosing.judging import accuracies, enough, in_words, live_curve
from closerthan.collect.study.description import Shares
from closerthan.comparisons import reversed_rows
from closerthan.comparisons.screen import Screen
from closerthan.losses import STE
from closerthan.uncertainty.learning_curve import LearningCurve
from closerthan.wording import percent


def live(answers):
    return answers, fit_maps(answers, 2, np.random.default_rng(0))[0]


def test_there_is_no_advice_before_five_answers_per_object():
    assert enough(*live(ANSWERS.take(slice(50)))).startswith("Too early to say: 50 answers for 12 objects")


def test_the_advice_is_that_of_the_learning_curve():
    answers, result = live(ct.datasets.simulated(POINTS, 600, noise="ste", seed=0))
    text = enough(answers, result)
    assert live_curve(answers, result).advice[1:] in text
    assert text.startswith("With all 600 answers, new answers are predicted with an error of")


def test_many_answers_are_not_called_enough_while_an_object_is_not_settled():
    line = np.linspace(0, 4, N_OBJECTS)[:, None]
    rows = ct.datasets.simulated(line, 3000, noise="ste", seed=0).rows
    has_third = (rows == 3).any(axis=1)
    rows = np.concatenate([rows[~has_third], rows[has_third][:2]])
    curve = live_curve(*live(ct.Comparisons.from_triplets(rows, n_objects=N_OBJECTS)))
    assert (curve.verdict, curve.n_unsettled) == ("unsettled", 1)
    assert "1 of 12 objects is not settled" in in_words(curve)


def test_answers_by_chance_are_never_enough():
    rows = ct.datasets.simulated(POINTS, 600, seed=0).rows.copy()
    coin = np.random.default_rng(0).random(600) < 0.5
    rows[coin] = reversed_rows(rows[coin])
    text = enough(*live(ct.Comparisons.from_triplets(rows)))
    assert text.startswith("No better than chance")
    assert "Check the question and the participants" in text


@pytest.mark.parametrize(("screen", "chance"), [(Screen.of("closer"), 1 / 2), (Screen.of("odd"), 1 / 3)])
def test_a_map_in_which_all_objects_coincide_is_as_good_as_guessing(tmp_path, screen, chance):
    interview, store = interview_of(tmp_path, kind=screen.kind, shares=Shares(0.6, 0, 0, 0))
    joined(interview)
    answer_all(interview)
    zeros = json.dumps(np.zeros((len(interview.study.objects), 2)).tolist())
    with store.writing():
        store.insert("maps", version=1, made_at=0.0, answers=0, places=zeros)
        store.change("UPDATE questions SET map = 1")
    assert accuracies(store, screen)[-1].accuracy == pytest.approx(chance)
    store.close()


@pytest.mark.parametrize(
    ("error", "spread", "how"), [(0.48, 0.03, "No"), (0.4, 0.1, "Not clearly"), (0.46, 0.01, "Hardly")]
)
def test_advice_without_a_clear_map_does_not_exaggerate(error, spread, how):
    numbers = np.array([10.0, 20.0, 40.0])
    curve = LearningCurve("answers", 100, numbers, np.full(3, error), np.full((3, 3), spread**2), (), None, STE())
    assert in_words(curve).startswith(f"{how} better than chance: the map predicts {percent(1 - error)} (95 %")


def test_objects_that_are_too_few_for_a_curve_are_reported():
    points = np.random.default_rng(0).normal(size=(4, 1))
    answers = ct.datasets.simulated(points, 200, noise="flip", level=0.1, seed=0)
    assert enough(answers, fit_maps(answers, 1, np.random.default_rng(0))[0]).startswith("Not measured: there are 4")


@pytest.mark.slow
def test_simulated_studies_get_no_premature_advice():
    from benchmarks.live_advice import simulate

    studies = [simulate(name, people, 9, 40) for name, people in (("cloud", "careful"), ("ring", "all guessed"))]
    assert not any(study.premature for study in studies)
    assert {look.verdict for look in studies[1].looks} <= {"chance", "more", "unclear"}
    assert studies[0].looks[-1].error < studies[0].looks[0].error
