"""Accuracy of whole answers, with its interval, chance level and bits."""

import itertools

import numpy as np
import pytest

import closerthan as ct
from closerthan.evaluate.answer_accuracy import comparison_accuracy, imply_several_comparisons


def odd_one_out(triads, **columns):
    """Answers whose third object is the odd one."""
    rows = np.stack([triads, triads[:, [1, 0, 2]]], axis=1).reshape(-1, 3)
    return ct.Comparisons.from_triplets(rows, answers=np.repeat(np.arange(len(triads)), 2), **columns)


@pytest.fixture
def study(rng):
    """Noisy odd-one-out answers about points in a plane, and the points."""
    x = rng.normal(size=(15, 2))
    triads = []
    for _ in range(600):
        three = rng.permutation(15)[:3]
        pairs = list(itertools.combinations(three, 2))
        weights = np.exp([-2 * ((x[a] - x[b]) ** 2).sum() for a, b in pairs])
        a, b = pairs[rng.choice(3, p=weights / weights.sum())]
        triads.append([a, b, next(one for one in three if one not in (a, b))])
    return odd_one_out(np.array(triads)), x


def test_whole_answers_are_harder_than_their_comparisons(study):
    answers, x = study
    whole, single = ct.answer_accuracy(answers, x), comparison_accuracy(answers, x)
    assert whole.accuracy < single.accuracy == pytest.approx(1 - ct.triplet_error(answers, x))
    assert (whole.n_answers, single.n_answers) == (600, 1200)
    assert (whole.chance, single.chance) == (pytest.approx(1 / 3), 0.5)
    assert "600 whole answers" in str(whole)
    assert "1,200 comparisons" in str(single)


def test_the_interval_contains_the_accuracy_on_more_answers(study):
    answers, x = study
    parts = [answers.take(slice(start, start + 240)) for start in range(0, 1200, 240)]
    overall = ct.answer_accuracy(answers, x).accuracy
    inside = [one.low <= overall <= one.high for one in (ct.answer_accuracy(part, x) for part in parts)]
    assert sum(inside) >= 4


def test_a_map_that_says_nothing_is_at_chance(study):
    answers, x = study
    nothing = ct.answer_accuracy(answers, np.zeros_like(x))
    assert nothing.accuracy == pytest.approx(nothing.chance)
    assert nothing.bits == pytest.approx(nothing.guessing_bits) == pytest.approx(np.log2(3))


def test_bits_are_those_of_the_choice_rule(study):
    answers, x = study
    a, b, odd = answers.rows[::2].T
    similar = [-2 * ((x[one] - x[other]) ** 2).sum(axis=1) for one, other in ((a, b), (a, odd), (b, odd))]
    true_bits = np.mean(np.logaddexp.reduce(similar) - similar[0]) / np.log(2)
    assert ct.answer_accuracy(answers, x).bits == pytest.approx(true_bits, abs=0.01)


def test_fifty_answers_to_one_question_are_worth_few_independent_ones(rng):
    triads = np.array([rng.permutation(9)[:3] for _ in range(20)])
    repeated = ct.answer_accuracy(odd_one_out(np.repeat(triads, 50, axis=0)), rng.normal(size=(9, 2)))
    assert repeated.n_effective <= 20


def test_without_several_comparisons_per_answer_only_comparisons_are_mentioned():
    answers = ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [2, 0, 1]])
    accuracy = ct.answer_accuracy(answers, [[0.0], [1.0], [3.0]])
    assert not accuracy.has_several_comparisons
    assert not imply_several_comparisons(answers)
    assert "whole" not in str(accuracy)
    assert "of 3 comparisons" in str(accuracy)


def test_a_notebook_shows_every_number(study):
    answers, x = study
    table = ct.answer_accuracy(answers, x)._repr_html_()
    assert all(word in table for word in ("whole answers", "chance level", "33.3 %", "bits per answer", "independent"))


def test_kinds_and_widths_of_questions_work_together(rng):
    x = rng.normal(size=(9, 2))
    rows, numbers = [], []
    for answer in range(60):
        anchor, *shown = rng.permutation(9)[: 3 + answer % 4].tolist()
        shown.sort(key=lambda one: ((x[one] - x[anchor]) ** 2).sum())
        rows += [[anchor, shown[0], far] for far in shown[1:]]
        numbers += [answer] * (len(shown) - 1)
    answers = ct.Comparisons.from_triplets(rows, answers=numbers)
    accuracy = ct.answer_accuracy(answers, x)
    assert accuracy.accuracy == 1
    assert accuracy.chance == pytest.approx(np.mean([1 / 2, 1 / 3, 1 / 4, 1 / 5]))


def test_the_published_embedding_of_things_scores_its_published_accuracy(data_folder):
    answers = ct.read_comparisons(
        data_folder / "things_people.txt", kind="odd-one-out", columns={"participant": 3}, numbering="0-based"
    )
    x = ct.files.read_map(data_folder / "things_spose49.npy")[0]
    accuracy = ct.answer_accuracy(answers, x, similarity="dot")
    assert accuracy.accuracy == pytest.approx(0.6404, abs=0.001)
    assert comparison_accuracy(answers, x, similarity="dot").accuracy == pytest.approx(0.757, abs=0.001)
    between = accuracy.ceilings[-1]
    assert between.of == "different people"
    assert between.best_accuracy.low < accuracy.accuracy < between.best_accuracy.high
