"""Accuracy and probability of whole answers."""

import itertools
import math

import numpy as np
import pytest

from closerthan.accuracy import (
    SIMILARITIES,
    chance_levels,
    correct_choices,
    log_probabilities,
    log_probability_of_sets,
    pair_scores,
    pair_similarities,
    similarities_of_pairs,
)
from closerthan.comparisons import Choices, Comparisons
from closerthan.evaluate.answer_accuracy import answer_accuracy
from closerthan.losses import CKL, LOSSES, STE, TSTE, loss_named
from closerthan.metrics import log_odds


def screen(order: tuple[int, ...], number: int, *, ranked: bool) -> Choices:
    """Return the answer that the first objects of an order are nearest to object 0."""
    rows = [
        [0, near, far]
        for place, near in enumerate(order[:number])
        for far in (order[place + 1 :] if ranked else order[number:])
    ]
    return Choices.of(Comparisons.from_triplets(rows, answers=[0] * len(rows), n_objects=len(order) + 1))


@pytest.mark.parametrize("ranked", [True, False])
@pytest.mark.parametrize(("number", "size"), [(1, 2), (1, 4), (2, 4), (2, 5), (3, 5)])
def test_the_probabilities_of_all_possible_answers_sum_to_one(ranked, number, size):
    utility = np.random.default_rng(0).normal(size=size + 1)
    objects = range(1, size + 1)
    selected = itertools.permutations(objects, number) if ranked else itertools.combinations(objects, number)
    total = chance = 0.0
    for chosen in selected:
        choices = screen((*chosen, *(one for one in objects if one not in chosen)), number, ranked=ranked)
        total += math.exp(log_probabilities(choices, utility[choices.pairs[:, 1]])[0])
        chance += chance_levels(choices)[0]
    assert total == pytest.approx(1.0)
    assert chance == pytest.approx(1.0)


@pytest.mark.parametrize("ranked", [True, False])
@pytest.mark.parametrize(("number", "size"), [(1, 3), (2, 4), (3, 5)])
def test_a_map_that_cannot_tell_pairs_apart_is_right_by_chance(ranked, number, size):
    choices = screen(tuple(range(1, size + 1)), number, ranked=ranked)
    assert correct_choices(choices, np.zeros(len(choices.pairs))) == pytest.approx(chance_levels(choices))


@pytest.mark.parametrize("ranked", [True, False])
def test_ties_at_the_edge_of_an_answer_are_split(ranked):
    choices = screen((1, 2, 3, 4), 2, ranked=ranked)
    similarity = np.array([0.0, 3.0, 2.0, 2.0, 1.0])
    assert correct_choices(choices, similarity[choices.pairs[:, 1]]).tolist() == [0.5]


def test_the_most_central_object_is_opposite_the_least_similar_pair():
    central = Comparisons.from_triplets([[0, 2, 1], [1, 2, 0]], answers=[0, 0])
    assert answer_accuracy(central, [[0.0], [4.0], [2.0]]).accuracy == 1.0
    assert answer_accuracy(central, [[0.0], [2.0], [4.0]]).accuracy == 0.0


def test_accuracy_of_odd_one_out_agrees_with_a_plain_count():
    rng = np.random.default_rng(0)
    triads = np.array([rng.permutation(12)[:3] for _ in range(300)])
    rows = np.concatenate([triads, triads[:, [1, 0, 2]]])
    answers = Comparisons.from_triplets(rows, answers=np.tile(np.arange(300), 2))
    x = rng.normal(size=(12, 3))
    count = 0
    for a, b, odd in triads:
        similar = [x[b] @ x[odd], x[a] @ x[odd], x[a] @ x[b]]
        count += int(np.argmax(similar) == 2)
    assert answer_accuracy(answers, x, similarity="dot").accuracy == pytest.approx(count / 300)


def test_cosine_ignores_lengths():
    choices = Choices.of(Comparisons.from_triplets([[0, 1, 2]]))
    x = np.array([[1.0, 0.0], [5.0, 5.0], [0.0, 0.0]])
    assert pair_similarities(choices, x, "cosine").tolist() == pytest.approx([math.sqrt(0.5), 0.0])


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e5])
def test_equal_distances_tie_far_from_the_origin_too(offset):
    pairs = np.column_stack(np.triu_indices(10, 1))
    similar = similarities_of_pairs(pairs, offset + 0.1 * np.arange(10.0)[:, None], "euclidean")
    assert len(np.unique(similar)) == 9


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_the_order_of_the_features_breaks_no_ties(similarity):
    x = np.random.default_rng(0).normal(size=(200, 30))
    pairs = np.column_stack(np.triu_indices(200, 1))
    orders = [similarities_of_pairs(pairs, x[:, order], similarity) for order in (slice(None), slice(None, None, -1))]
    assert np.array_equal(*orders)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_rounding_keeps_the_order_of_distances_that_differ(offset):
    x = np.random.default_rng(0).normal(size=(20, 2))
    pairs = np.column_stack(np.triu_indices(20, 1))
    similar = similarities_of_pairs(pairs, np.column_stack([x, np.full(20, offset)]), "euclidean")
    distances = np.linalg.norm(x[pairs[:, 0]] - x[pairs[:, 1]], axis=1)
    assert np.array_equal(np.argsort(similar), np.argsort(-distances))


def test_an_unknown_similarity_is_refused_by_name():
    with pytest.raises(ValueError, match="similarity is 'cosin'; it must be one of euclidean, dot, cosine"):
        answer_accuracy([[0, 1, 2]], np.zeros((3, 1)), similarity="cosin")
    assert SIMILARITIES == ("euclidean", "dot", "cosine")


def test_a_map_with_too_few_rows_is_refused():
    with pytest.raises(ValueError, match="a row for each of 3 objects"):
        answer_accuracy([[0, 1, 2]], np.zeros((2, 1)))


def test_a_map_with_missing_coordinates_is_refused():
    with pytest.raises(ValueError, match="embedding has NaN or infinity; all coordinates must be finite"):
        answer_accuracy([[0, 1, 2]], [[0.0], [np.nan], [1.0]])


@pytest.mark.parametrize("loss", [STE(), TSTE(alpha=3.0), TSTE(alpha=2.5), TSTE(alpha=3.0).in_kernels(), CKL()])
def test_with_two_pairs_luces_rule_is_the_loss(loss):
    choices = Choices.of(Comparisons.from_triplets([[0, 1, 2]]))
    for near, far in [(1.0, 1.0), (0.3, 2.0), (4.0, 0.1)]:
        logs = np.array([loss.log_similarity(near), loss.log_similarity(far)])
        assert -log_probabilities(choices, logs)[0] == pytest.approx(loss.value(near, far))


@pytest.mark.parametrize("name", LOSSES)
def test_the_slope_of_a_similarity_is_its_derivative(name):
    loss = loss_named(name).in_dims(3)
    if not loss.is_choice_rule:
        pytest.skip(f"{name} is not a choice rule")
    for squared in (0.2, 1.0, 7.0):
        numeric = (loss.log_similarity(squared + 1e-6) - loss.log_similarity(squared - 1e-6)) / 2e-6
        assert loss.similarity_slope(squared) == pytest.approx(numeric, rel=1e-6)


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("number", [1, 2, 4])
def test_the_probability_of_a_set_is_the_sum_over_all_orders(scale, number):
    rng = np.random.default_rng(0)
    members, others = scale * rng.normal(size=(20, number)), scale * rng.normal(size=20)
    for own, other, log_probability in zip(members, others, log_probability_of_sets(members, others), strict=True):
        orders = []
        for order in itertools.permutations(own):
            left = [np.logaddexp.reduce([*order[place:], other]) for place in range(number)]
            orders.append(sum(order) - sum(left))
        assert log_probability == pytest.approx(np.logaddexp.reduce(orders), rel=1e-9, abs=1e-12)


def odd_of_many(objects: list[int], odd: int) -> list[list[int]]:
    rest = [one for one in objects if one != odd]
    return [[a, b, odd] for a, b in itertools.permutations(rest, 2)]


def test_the_odd_one_of_many_leaves_the_most_similar_group():
    rng = np.random.default_rng(0)
    x, rows, numbers, expected = rng.normal(size=(9, 2)), [], [], []
    similar = -((x[:, None] - x) ** 2).sum(axis=-1)
    for answer in range(50):
        objects = rng.permutation(9)[: rng.integers(4, 7)].tolist()
        part = odd_of_many(objects, objects[0])
        rows, numbers = rows + part, numbers + [answer] * len(part)
        groups = [
            [similar[a, b] for a, b in itertools.combinations(objects, 2) if odd not in (a, b)] for odd in objects
        ]
        means = np.array([np.mean(group) for group in groups])
        expected.append([means.argmax() == 0, means[0] - np.logaddexp.reduce(means), 1 / len(objects)])
    choices = Choices.of(Comparisons.from_triplets(rows, answers=numbers))
    similarities = pair_similarities(choices, x)
    found = (correct_choices(choices, similarities), log_probabilities(choices, similarities), chance_levels(choices))
    assert np.allclose(np.transpose(found), np.array(expected, dtype=float))


@pytest.mark.parametrize("loss", [STE(), TSTE(alpha=2.0), CKL()])
@pytest.mark.parametrize("kind", ["ranking", "set", "odd one of five"])
def test_scores_from_log_odds_give_the_probabilities_of_the_similarity(loss, kind):
    x = np.random.default_rng(0).normal(size=(6, 2))
    choices = screen((1, 2, 3, 4), 2, ranked=kind == "ranking")
    if kind == "odd one of five":
        rows = odd_of_many([1, 2, 3, 4, 5], 3)
        choices = Choices.of(Comparisons.from_triplets(rows, answers=[0] * len(rows), unmentioned="ignore"))
    scores = pair_scores(choices, lambda questions: log_odds(questions, x, loss))
    squared = ((x[choices.pairs[:, 0]] - x[choices.pairs[:, 1]]) ** 2).sum(axis=1)
    logs = np.array([loss.log_similarity(one) for one in squared])
    assert log_probabilities(choices, scores) == pytest.approx(log_probabilities(choices, logs))
