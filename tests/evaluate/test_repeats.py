"""Repeated questions: agreement, majorities, and the bracket of the best possible accuracy."""

import numpy as np
import pytest

import closerthan as ct
from closerthan.evaluate.repeats import answer_ceilings, noise_ceilings


def odd_one_out(triads, odd, **columns):
    """Answers that choose the object at a position of each triad as the odd one."""
    rows = []
    for three, place in zip(triads, odd, strict=True):
        a, b = np.delete(three, place)
        rows += [[a, b, three[place]], [b, a, three[place]]]
    columns = {name: np.repeat(column, 2) for name, column in columns.items()}
    return ct.Comparisons.from_triplets(rows, answers=np.repeat(np.arange(len(odd)), 2), **columns)


@pytest.mark.parametrize("seed", range(3))
def test_the_bracket_contains_the_best_possible_accuracy(seed):
    """1,000 questions with 20 answers each, as in the published noise ceiling of THINGS."""
    rng = np.random.default_rng(seed)
    triads = np.array([rng.permutation(300)[:3] for _ in range(1000)])
    probabilities = rng.dirichlet([1.2, 0.8, 0.5], size=1000)
    odd = (rng.random((1000, 20, 1)) > probabilities.cumsum(axis=1)[:, None]).sum(axis=2)
    answers = odd_one_out(np.repeat(triads, 20, axis=0), odd.ravel(), people=np.tile(np.arange(20), 1000))
    between = answer_ceilings(answers)[-1]
    best = probabilities.max(axis=1).mean()
    assert between.best_accuracy.low < best < between.best_accuracy.high
    assert between.best_accuracy.high - between.best_accuracy.low < 0.05
    assert between.agreement < between.best_accuracy.low
    assert (between.n_options, between.unit) == (3, "whole answers")


def test_a_vote_does_not_help_its_own_majority():
    rng = np.random.default_rng(0)
    triads = np.repeat([rng.permutation(60)[:3] for _ in range(200)], 5, axis=0)
    odd = rng.integers(0, 3, size=1000)
    (ceiling,) = answer_ceilings(odd_one_out(triads, odd))
    agreeing = 0.0
    for votes in odd.reshape(200, 5):
        for place, vote in enumerate(votes):
            counts = np.bincount(np.delete(votes, place), minlength=3)
            agreeing += (counts[vote] == counts.max()) / np.count_nonzero(counts == counts.max())
    assert ceiling.others_majority.mean == pytest.approx(agreeing / 1000)
    assert ceiling.others_majority.mean < 0.4 < ceiling.majority.mean


def test_the_order_of_the_objects_does_not_change_the_question():
    triads, odd = [[0, 1, 2], [2, 0, 1], [1, 2, 0]], [2, 0, 1]  # object 2 each time
    (ceiling,) = answer_ceilings(odd_one_out(np.array(triads), odd))
    assert (ceiling.agreement, ceiling.n_questions) == (1.0, 1)


def test_different_kinds_of_questions_about_the_same_objects_are_different_questions():
    rows = [[0, 1, 2], [1, 0, 2], [0, 1, 2], [0, 2, 1], [2, 0, 1]]  # odd one out, two alternatives, odd one out
    answers = ct.Comparisons.from_triplets(rows, answers=[0, 0, 1, 2, 2])
    (ceiling,) = answer_ceilings(answers)
    assert (ceiling.agreement, ceiling.n_questions) == (0.0, 1)
    central = ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [0, 2, 1], [1, 2, 0]], answers=[0, 0, 1, 1])
    assert answer_ceilings(central) == []


def test_rankings_agree_only_if_their_order_does():
    def ranking(*order):
        return [[0, near, far] for place, near in enumerate(order) for far in order[place + 1 :]]

    rows = [*ranking(1, 2, 3), *ranking(1, 2, 3), *ranking(1, 3, 2)]
    (ceiling,) = answer_ceilings(ct.Comparisons.from_triplets(rows, answers=np.repeat([0, 1, 2], 3)))
    assert ceiling.agreement == pytest.approx(1 / 3)
    assert ceiling.n_options == 6


def test_with_two_alternatives_whole_answers_are_comparisons(rng):
    rows = rng.permuted(np.tile(np.arange(6), (300, 1)), axis=1)[:, :3]
    answers = ct.Comparisons.from_triplets(rows, people=rng.integers(0, 9, 300))
    for whole, single in zip(answer_ceilings(answers), noise_ceilings(answers), strict=True):
        assert (whole.agreement, whole.majority, whole.n_questions) == (
            single.agreement, single.majority, single.n_questions,
        )  # fmt: skip


def test_words_name_the_unit():
    triads, odd = np.tile([[0, 1, 2]], (40, 1)), [2] * 30 + [1] * 10
    answers = odd_one_out(triads, odd)
    assert "whole answers" in str(answer_ceilings(answers)[0])
    assert all("whole" not in str(ceiling) for ceiling in noise_ceilings(answers))
