import numpy as np
import pytest

from closerthan import Comparisons
from closerthan.accuracy import log_probabilities
from closerthan.comparisons import Choices
from closerthan.losses import STE, TSTE, Penalized
from closerthan.objective.individuals import IndividualObjective, Individuals, Spread
from closerthan.people.held_out_weights import by_person, personal_answers

SPREAD = Spread(0.5, 0.3)


def mixed_answers(rng, n_people=5, weighted=True):
    """Rankings, odd-one-out answers and single comparisons of several people."""
    rows, answer, person = [], [], []
    for number in range(60):
        i, j, k, m = rng.permutation(8)[:4]
        part = {0: [(i, j, k), (j, i, k)], 1: [(i, j, k)], 2: [(i, j, k), (i, j, m), (i, k, m)]}[number % 3]
        rows += part
        answer += [number] * len(part)
        person += [int(rng.integers(n_people))] * len(part)
    weights = rng.uniform(0.5, 2.0, 60)[answer] if weighted else None
    answers = Comparisons.from_triplets(rows, answers=answer, people=person, weights=weights, n_objects=8)
    return by_person(answers)


def minus_log_posterior(answers, rule, individuals, latent, weight=0.0):
    """The objective, person by person and in plain NumPy."""
    total = 0.5 * np.sum(latent**2)
    for person in range(len(latent)):
        own = answers.take(np.flatnonzero(answers.people == person))
        choices = Choices.of(own)
        y = individuals.x * np.exp(individuals.log_weights[person] / 2)
        squared = np.sum((y[choices.pairs[:, 0]] - y[choices.pairs[:, 1]]) ** 2, axis=1)
        logs = np.array([rule.log_similarity(d) for d in squared])
        total -= choices.weights @ log_probabilities(choices, logs)
    choices = Choices.of(answers)
    typical = individuals.x * np.exp(individuals.log_weights.mean(axis=0) / 2)
    squared = np.sum((typical[choices.pairs[:, 0]] - typical[choices.pairs[:, 1]]) ** 2, axis=1)
    mean = np.add.reduceat(squared, choices.starts[:-1]) / choices.sizes
    total += 2 * weight * choices.weights[choices.answers] @ mean
    return total / choices.weights.sum()


@pytest.mark.parametrize("rule", [STE(), Penalized(TSTE(2.0), 0.05)], ids=["ste", "penalized tste"])
def test_the_objective_is_that_of_each_person_on_a_map_of_their_own(rng, rule):
    answers = mixed_answers(rng)
    objective = IndividualObjective(personal_answers(answers, 5), rule, SPREAD, n_dims=3)
    point = rng.standard_normal((8 + 5, 3))
    individuals = objective.individuals(point)
    weight = rule.weight if isinstance(rule, Penalized) else 0.0
    expected = minus_log_posterior(answers, rule, individuals, point[8:], weight)
    assert objective.at(point).value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("is_fixed", [False, True])
def test_the_gradient_is_that_of_finite_differences(rng, is_fixed):
    answers = personal_answers(mixed_answers(rng), 5)
    fixed = rng.standard_normal((8, 3)) if is_fixed else None
    objective = IndividualObjective(answers, Penalized(TSTE(2.0), 0.05), SPREAD, n_dims=3, fixed=fixed)
    x = rng.standard_normal((5 if is_fixed else 13, 3))
    expected = np.empty_like(x)
    for place in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-5
        expected[place] = (objective.at(x + step).value - objective.at(x - step).value) / 2e-5
    assert np.allclose(objective.at(x).gradient, expected, atol=1e-8)


def test_blocks_and_threads_change_neither_value_nor_gradient(rng):
    answers = personal_answers(mixed_answers(rng), 5)
    x = rng.standard_normal((13, 2))
    whole = IndividualObjective(answers, STE(), SPREAD, n_dims=2).at(x)
    parts = IndividualObjective(answers, STE(), SPREAD, n_dims=2, n_threads=2, block_rows=10)
    assert len(parts.blocks) > 2
    assert parts.at(x).value == pytest.approx(whole.value, rel=1e-12)
    assert np.allclose(parts.at(x).gradient, whole.gradient, atol=1e-13)


def test_people_without_answers_do_not_matter(rng):
    answers = mixed_answers(rng)
    x = rng.standard_normal((8, 2))
    start = Individuals(x, np.zeros((5, 2)))
    one = IndividualObjective(personal_answers(answers, 5), STE(), SPREAD, n_dims=2)
    more = IndividualObjective(personal_answers(answers, 9), STE(), SPREAD, n_dims=2)
    assert more.start(start._replace(log_weights=np.zeros((9, 2)))).value == pytest.approx(one.start(start).value)
    assert more.answers.is_present.sum() == 5


def test_normalised_weights_keep_all_distances(rng):
    individuals = Individuals(rng.standard_normal((6, 2)), rng.standard_normal((4, 2)))
    same = individuals.normalized(np.ones(4, dtype=bool))
    assert np.allclose(np.exp(same.log_weights).mean(axis=0), 1.0)
    for person in range(4):
        first, second = (one.x * np.exp(one.log_weights[person] / 2) for one in (individuals, same))
        assert np.allclose(first - first[0], second - second[0])


def test_standard_deviations_are_those_of_the_exact_posterior_of_one_weight():
    # One person and one dimension: the posterior is a function of one number, which is integrated numerically.
    rng = np.random.default_rng(0)
    x = rng.standard_normal((9, 1))
    rows = np.array([rng.permutation(9)[:3] for _ in range(4000)])
    near, far = (np.sum((x[rows[:, 0]] - x[rows[:, k]]) ** 2, axis=1) for k in (1, 2))
    swap = rng.random(4000) > 1 / (1 + np.exp(near - far))
    rows[swap] = rows[swap][:, [0, 2, 1]]
    answers = by_person(Comparisons.from_triplets(rows, people=np.zeros(4000, dtype=int)))
    spread = Spread(0.7, 0.0)
    objective = IndividualObjective(personal_answers(answers, 1), STE(), spread, n_dims=1, fixed=x)
    grid = np.linspace(-0.5, 0.5, 401)
    log_density = np.array([-4000 * objective.at(np.array([[log / 0.7]])).value for log in grid])
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    mean = density @ grid
    deviation = np.sqrt(density @ (grid - mean) ** 2)
    found = objective.standard_deviations(Individuals(x, np.array([[grid[density.argmax()]]])))
    assert found[0, 0] == pytest.approx(deviation, rel=0.03)


def test_the_factor_squared_is_the_covariance_of_log_weights():
    factor = Spread(0.4, 0.2).factor(3)
    assert np.allclose(factor @ factor, 0.04 * (np.eye(3) - 1 / 3) + 0.16)
    assert np.allclose(Spread().factor(3), 0)


def test_personal_objects_are_only_those_that_a_person_was_asked_about(rng):
    answers = mixed_answers(rng)
    personal = personal_answers(answers, 5)
    for person in range(5):
        mentioned = np.unique(answers.rows[answers.people == person])
        assert np.array_equal(personal.objects[personal.people == person], mentioned)


def test_the_odd_one_of_four_counts_as_one_answer(rng):
    rows = [(a, b, 3) for a in range(3) for b in range(3) if a != b]
    answers = personal_answers(Comparisons.from_triplets(rows, answers=[0] * 6, people=[0] * 6), 1)
    x = rng.standard_normal((4, 2))
    value = IndividualObjective(answers, STE(), Spread(), n_dims=2).start(Individuals(x, np.zeros((1, 2)))).value
    choices = answers.choices
    squared = np.sum((x[choices.pairs[:, 0]] - x[choices.pairs[:, 1]]) ** 2, axis=1)
    trios = np.exp(-squared).reshape(3, 3)  # the pair that belongs together comes first
    assert value == pytest.approx(-np.log(trios[:, 0] / trios.sum(axis=1)).mean())
