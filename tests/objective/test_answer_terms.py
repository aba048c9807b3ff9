"""The model of an answer with terms besides the map: its probabilities, derivatives, positions and repetitions."""

import itertools

import numpy as np
import pytest

import closerthan as ct
from closerthan.accuracy import log_probabilities
from closerthan.losses import CKL, STE, TSTE, Penalized
from closerthan.objective.answer_terms import AnswerModel, Design, PlacedAnswers, Terms, outcomes

N_OBJECTS, N_PEOPLE = 8, 4
PLACES = ((2, 0), (2, 1), (3, 0), (3, 1), (3, 2))
ALL = Terms(True, True, True, True)
SPREADS = Terms(0.5, 0.6, 0.7, 0.8)


def answers_of_all_kinds(n_answers=60, seed=0):
    """Two alternatives, some of which are ties, odd ones out and most central objects, at random positions."""
    rng = np.random.default_rng(seed)
    rows, positions, answer, people, is_tie = [], [], [], [], []
    for number in range(n_answers):
        a, b, c = rng.permutation(N_OBJECTS)[:3]
        kind, person = rng.integers(3), rng.integers(N_PEOPLE)
        one, two, three = rng.permutation(3)
        if kind == 0:
            left = rng.integers(2)
            new, places = [(a, b, c)], [(left, 1 - left)]
        elif kind == 1:
            new, places = [(a, b, c), (b, a, c)], [(two, three), (one, three)]
        else:
            new, places = [(a, c, b), (b, c, a)], [(three, two), (three, one)]
        rows += new
        positions += places
        answer += [number] * len(new)
        people += [person] * len(new)
        is_tie += [kind == 0 and rng.random() < 0.3] * len(new)
    trials = ct.Trials(positions=np.array(positions))
    options = {"answers": answer, "people": people, "trials": trials, "n_objects": N_OBJECTS}
    return PlacedAnswers.of(ct.Comparisons.from_triplets(np.array(rows), **options), np.array(is_tie))


def effects_of(terms, rng):
    design = Design.of(terms, PLACES)
    return rng.normal(size=(N_PEOPLE, design.n_parameters)) @ design.basis


@pytest.mark.parametrize("terms", [Terms(), ALL, Terms(positions=True, lapses=True), Terms(ties=True)])
@pytest.mark.parametrize("loss", [STE(), CKL(), TSTE(2.0)], ids=str)
@pytest.mark.parametrize("is_fixed", [True, False])
def test_gradients_are_those_of_finite_differences(terms, loss, is_fixed):
    rng = np.random.default_rng(1)
    design, x = Design.of(terms, PLACES), rng.normal(size=(N_OBJECTS, 2))
    answers = answers_of_all_kinds()
    model = AnswerModel(answers, design, SPREADS, Penalized(loss, 0.1), n_dims=2, fixed=x if is_fixed else None)
    point = model.vector(x, rng.normal(size=design.n_parameters), rng.normal(size=(N_PEOPLE, design.n_parameters)))
    moves = 1e-6 * np.eye(len(point))[:, :, None]
    slopes = [(model.at(point + move).value - model.at(point - move).value) / 2e-6 for move in moves]
    assert np.allclose(model.at(point).gradient[:, 0], slopes, atol=1e-8)


@pytest.mark.parametrize("terms", [Terms(), ALL, Terms(lapses=True), Terms(ties=True), Terms(ties=True, lapses=True)])
def test_the_probabilities_of_all_answers_to_a_question_sum_to_1(terms):
    rng = np.random.default_rng(2)
    effects, rates = effects_of(terms, rng), rng.uniform(0.1, 0.5, N_PEOPLE)
    for n_pairs, with_tie in ((2, True), (3, False)):
        pairs = list(itertools.combinations(range(3), 2))[:n_pairs]
        scores, total = rng.normal(size=n_pairs), 0.0
        for chosen in [*range(n_pairs), *(["tie"] if with_tie else [])]:
            order = sorted(range(n_pairs), key=lambda pair: pair != chosen)
            rows = [[*pairs[order[0]], *pairs[other]] for other in order[1:]]
            comparisons = ct.Comparisons.from_quadruplets(rows, answers=[0] * len(rows))
            one = PlacedAnswers.of(comparisons, np.full(len(rows), chosen == "tie"))
            one.allows_tie[:] = with_tie
            in_order = np.array([scores[pairs.index(tuple(sorted(pair)))] for pair in one.choices.pairs.tolist()])
            total += np.exp(outcomes(one, in_order, effects, terms, rates).logs[0])
        assert total == pytest.approx(1.0)


def test_without_terms_the_model_is_luce_s_choice_rule():
    answers = answers_of_all_kinds()
    answers.is_tie[:] = answers.allows_tie[:] = False
    x = np.random.default_rng(3).normal(size=(N_OBJECTS, 2))
    design = Design.of(Terms(), PLACES)
    model = AnswerModel(answers, design, Terms(), STE(), n_dims=2)
    squares = np.sum((x[answers.choices.pairs[:, 0]] - x[answers.choices.pairs[:, 1]]) ** 2, axis=1)
    expected = -log_probabilities(answers.choices, -squares).mean()
    assert model.at(model.vector(x, np.empty(0), np.empty((N_PEOPLE, 0)))).value == pytest.approx(expected)


def test_ties_have_davidson_s_probability():
    comparisons = ct.Comparisons.from_triplets([[0, 1, 2]])
    tie = PlacedAnswers.of(comparisons, np.array([True]))
    effects, scores = np.zeros((1, 4)), np.array([0.3, -1.1])
    effects[0, -3] = np.log(0.6)
    g = np.exp(scores)
    equal = 0.6 * np.sqrt(g[0] * g[1])
    found = outcomes(tie, scores, effects, Terms(ties=True), np.zeros(1)).logs
    assert np.exp(found) == pytest.approx(equal / (g.sum() + equal))


def test_a_map_cannot_explain_ties_unless_they_are_a_term():
    answers = answers_of_all_kinds()
    found = outcomes(answers, np.zeros(len(answers.positions)), np.zeros((N_PEOPLE, 9)), Terms(), answers.tie_rates)
    is_tie = answers.is_tie[answers.answer_of_pair]
    assert not found.by_score[is_tie].any()
    assert np.allclose(np.exp(found.logs[answers.is_tie]), answers.tie_rates[answers.people[answers.is_tie]])


def test_repetition_follows_the_order_of_each_person_s_trials():
    rows, people = [[0, 1, 2], [1, 0, 2], [0, 2, 1], [2, 0, 1]], [0, 1, 0, 0]
    trials = ct.Trials(sides=["left", "right", "right", "right"], lines=[2, 3, 5, 4])
    answers = PlacedAnswers.of(ct.Comparisons.from_triplets(rows, people=people, trials=trials))
    assert answers.follows.tolist() == [False, False, True, True]
    # person 0 chose left, right (line 4) and right (line 5)
    assert answers.repeats.reshape(4, 2).tolist() == [[False, False], [False, False], [True, False], [False, True]]


def test_a_tie_does_not_change_the_position_chosen_last():
    trials = ct.Trials(sides=["left", "right", "left"])
    rows = [[0, 1, 2], [1, 0, 2], [0, 2, 1]]
    placed = PlacedAnswers.of(
        ct.Comparisons.from_triplets(rows, people=[0, 0, 0], trials=trials), np.array([False, True, False])
    )
    assert placed.follows.tolist() == [False, True, True]
    assert placed.repeats[placed.choices.starts[:-1]].tolist() == [False, False, True]


def test_selected_answers_keep_what_came_before_them():
    answers = answers_of_all_kinds()
    part = answers.take(np.arange(10, 30))
    assert np.array_equal(part.repeats, answers.repeats[answers.choices.pairs_of_answers(np.arange(10, 30))])
    assert part.n_people == N_PEOPLE


def test_preferences_for_positions_are_contrasts():
    basis = Design.of(Terms(positions=True), PLACES).basis
    assert np.allclose(basis @ basis.T, np.eye(3))
    assert np.allclose(basis[:, :2].sum(axis=1), 0)
    assert np.allclose(basis[:, 2:5].sum(axis=1), 0)


def test_without_differences_between_people_only_the_means_are_uncertain():
    design = Design.of(Terms(repetition=True), PLACES)
    model = AnswerModel(answers_of_all_kinds(), design, Terms(), STE(), n_dims=2, fixed=np.zeros((N_OBJECTS, 2)))
    means, people = model.covariances(model.vector(np.zeros((N_OBJECTS, 2)), np.zeros(1), np.zeros((N_PEOPLE, 1))))
    assert np.allclose(people, means)
    assert means[0, 0] > 0
