"""Predictions for questions with several candidates."""

import itertools

import numpy as np
import pytest

import closerthan as ct
from closerthan.accuracy import correct_choices, log_probabilities, pair_similarities
from closerthan.comparisons import Choices, Comparisons
from closerthan.evaluate.choices import predicted_choices
from closerthan.losses import STE
from closerthan.metrics import log_odds

PLACES = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 0.0], [2.2, 0.0]])


def luce(rows):
    """Probabilities of triplets that follow from one weight per pair."""
    squared = ((PLACES[:, None] - PLACES) ** 2).sum(-1) / 8
    near, far = squared[rows[:, 0], rows[:, 1]], squared[rows[:, 0], rows[:, 2]]
    return 1 / (1 + np.exp(near - far))


def one_answer(*rows):
    return Comparisons.from_triplets(rows, n_objects=4, answers=[0] * len(rows), unmentioned="ignore")


@pytest.mark.parametrize("probability", [None, luce])
@pytest.mark.parametrize(
    ("kind", "rows", "chosen", "as_written"),
    [
        ("odd-one-out", [[0, 1, 2], [1, 0, 2]], (2,), True),
        ("odd-one-out", [[0, 2, 1], [2, 0, 1]], (2,), False),
        ("most-central", [[0, 1, 2], [2, 1, 0]], (1,), True),
        ("nearest", [[0, 1, 2], [0, 1, 3]], (1,), True),
        ("nearest", [[0, 3, 1], [0, 3, 2]], (1,), False),
        ("nearest", [[0, 1, 2], [0, 3, 2]], (1, 3), True),
        ("rank", [[0, 1, 3], [0, 1, 2], [0, 3, 2]], (1, 3, 2), True),
        ("rank", [[0, 3, 1], [0, 3, 2], [0, 1, 2]], (1, 3, 2), False),
    ],
)
def test_the_choice_is_the_one_that_the_distances_say(kind, rows, chosen, as_written, probability):
    (found,) = predicted_choices(kind, one_answer(*rows), PLACES, probability)
    assert found.chosen == chosen
    assert found.as_written is as_written
    assert (found.margin > 0) is as_written


def test_probabilities_are_those_of_luces_choice():
    (found,) = predicted_choices("odd-one-out", one_answer([0, 1, 2], [1, 0, 2]), PLACES, luce)
    weights = np.exp([-1 / 8, -16 / 8, -25 / 8])  # of the pair that each leaves: 2, 0 and 1 odd
    assert found.probability == pytest.approx(weights[0] / weights.sum())


def rows_of(kind, objects, number):
    """Return the comparisons of an answer: of the first object, with its nearest ones next, or the odd one first."""
    first, *others = objects
    if kind == "odd-one-out":
        return [[a, b, first] for a, b in itertools.permutations(others, 2)]
    if kind == "most-central":
        return [[others[0], first, others[1]], [others[1], first, others[0]]]
    return [
        [first, near, far]
        for place, near in enumerate(others[:number])
        for far in (others[place + 1 :] if kind == "rank" else others[number:])
    ]


@pytest.mark.parametrize(
    ("kind", "width", "number"),
    [
        ("odd-one-out", 3, 1),
        ("odd-one-out", 5, 1),
        ("most-central", 3, 1),
        *[("nearest", 5, number) for number in (1, 2, 3)],
        *[("rank", 5, number) for number in (1, 2, 3)],
    ],
)
def test_predictions_and_probabilities_are_those_of_whole_answers(kind, width, number):
    rng = np.random.default_rng(0)
    x = 0.7 * rng.standard_normal((9, 2))
    parts = [rows_of(kind, rng.permutation(9)[:width].tolist(), number) for _ in range(60)]
    numbers = np.repeat(np.arange(60), [len(part) for part in parts])
    answers = Comparisons.from_triplets(np.concatenate(parts), answers=numbers)
    choices = Choices.of(answers)
    similarities = pair_similarities(choices, x)
    right = correct_choices(choices, similarities) == 1
    for probability in (None, lambda rows: 1 / (1 + np.exp(-log_odds(Comparisons.of(rows), x, STE())))):
        found = predicted_choices(kind, answers, x, probability)
        assert [one.as_written for one in found] == right.tolist()
        assert {len(one.objects) for one in found} == {width}
    assert 0 < right.sum() < 60
    said = np.array([one.probability for one in found])[right]
    assert said == pytest.approx(np.exp(log_probabilities(choices, similarities))[right], rel=1e-6)


def test_one_question_is_one_prediction_in_the_order_of_the_file():
    rng = np.random.default_rng(0)
    objects = np.stack([rng.permutation(12)[:3] for _ in range(50)])
    rows = np.concatenate([objects, objects[:, [1, 0, 2]]])
    answers = Comparisons.from_triplets(rows, n_objects=12, answers=np.tile(np.arange(50), 2), unmentioned="ignore")
    found = predicted_choices("odd-one-out", answers, rng.standard_normal((12, 2)))
    assert [one.row for one in found] == list(range(50))
    assert [one.objects for one in found] == [tuple(sorted(row)) for row in objects.tolist()]


def test_predicted_choices_are_right_as_often_as_their_probability():
    rng = np.random.default_rng(0)
    x = 1.3 * rng.standard_normal((15, 2))
    squared = ((x[:, None] - x) ** 2).sum(-1)

    def answered(number):
        rows = []
        for _ in range(number):
            three = rng.permutation(15)[:3]
            weights = np.exp([-squared[three[(at + 1) % 3], three[(at + 2) % 3]] for at in range(3)])
            odd = rng.choice(3, p=weights / weights.sum())
            a, b = np.delete(three, odd)
            rows += [[a, b, three[odd]], [b, a, three[odd]]]
        return Comparisons.from_triplets(rows, n_objects=15, answers=np.repeat(np.arange(number), 2))

    fitted = answered(2000)
    result = ct.embed(fitted, loss="ste", penalty=0, seed=0)
    found = predicted_choices("odd-one-out", answered(2000), result.embedding, result.probability)
    said, right = np.array([one.probability for one in found]), np.array([one.as_written for one in found])
    assert abs(said.mean() - right.mean()) < 0.03
    for low, high in ((0.3, 0.6), (0.6, 0.9), (0.9, 1.0)):
        inside = (said > low) & (said <= high)
        assert abs(said[inside].mean() - right[inside].mean()) < 0.06
