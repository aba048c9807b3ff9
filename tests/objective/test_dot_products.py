"""The likelihood of choices by dot products, on the CPU and in PyTorch."""

import numpy as np
import pytest

import closerthan as ct
from closerthan.accuracy import log_probabilities, pair_similarities
from closerthan.comparisons import Choices
from closerthan.compiled.threads import WorkerPool
from closerthan.objective.dot_products import DotProducts, ShownPairs

KINDS = ("triplet", "odd-one-out", "most-central", "nearest 1 of 4", "rank 2 of 4")


@pytest.fixture
def x():
    return np.random.default_rng(1).exponential(0.5, (12, 3))


@pytest.fixture(params=KINDS)
def answers(request, x):
    return ct.answers_from(x, 300, similarity="dot", question=request.param, temperature=1.0)


@pytest.fixture
def pool():
    with WorkerPool(1) as pool:
        yield pool


def sparse_and_dense(answers, pool):
    """The same answers with the usual number of objects, and with so many that no matrix of all pairs is made."""
    many = ct.Comparisons.of(answers.rows, n_objects=2000, unmentioned="ignore").replace(answers=answers.answers)
    shown = [ShownPairs.of(Choices.of(one)) for one in (answers, many)]
    assert [one.is_dense for one in shown] == [True, False]
    return [DotProducts(one, pool) for one in shown]


def test_the_value_is_that_of_the_choice_rule(answers, x, pool):
    choices = Choices.of(answers)
    expected = -log_probabilities(choices, pair_similarities(choices, x, "dot")).sum() / choices.n_choices
    for likelihood in sparse_and_dense(answers, pool):
        padded = np.vstack([x, np.zeros((likelihood.pairs.n_objects - len(x), x.shape[1]))])
        assert likelihood.at(padded)[0] == pytest.approx(expected, rel=1e-5)


def test_the_gradient_agrees_with_finite_differences(answers, x, pool):
    choices = Choices.of(answers)

    def loss(x):
        return -log_probabilities(choices, pair_similarities(choices, x, "dot")).sum() / choices.n_choices

    expected = np.empty_like(x)
    for place in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-5
        expected[place] = (loss(x + step) - loss(x - step)) / 2e-5
    for likelihood in sparse_and_dense(answers, pool):
        padded = np.vstack([x, np.zeros((likelihood.pairs.n_objects - len(x), x.shape[1]))])
        gradient = likelihood.at(padded)[1]
        assert np.allclose(gradient[: len(x)], expected, atol=2e-6)
        assert not gradient[len(x) :].any()


def test_an_answer_of_weight_two_counts_like_two_answers(x, pool):
    answers = ct.answers_from(x, 50, similarity="dot", question="odd-one-out", temperature=1.0)
    twice = np.concatenate([np.arange(50), np.arange(10)])
    choices = Choices.of(answers)
    weights = np.bincount(twice).astype(float)
    weighted = DotProducts(ShownPairs.of(choices), pool).weighted(weights).at(x)[0]
    logs = log_probabilities(choices, pair_similarities(choices, x, "dot"))
    assert weighted == pytest.approx(-logs[twice].mean(), rel=1e-5)


def test_large_dot_products_do_not_overflow(pool, x):
    answers = ct.answers_from(x, 50, similarity="dot", question="odd-one-out")
    value, gradient = DotProducts(ShownPairs.of(Choices.of(answers)), pool).at(100 * x)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_pytorch_computes_the_same(answers, x, pool):
    pytest.importorskip("torch")
    from closerthan.objective.gpu.dot_products import DotProductsOnGPU

    for likelihood in sparse_and_dense(answers, pool):
        other = DotProductsOnGPU(likelihood.pairs, "cpu")
        padded = np.vstack([x, np.zeros((likelihood.pairs.n_objects - len(x), x.shape[1]))])
        (value, gradient), (expected, expected_gradient) = other.at(padded), likelihood.at(padded)
        assert value == pytest.approx(expected, rel=1e-5)
        assert np.allclose(gradient, expected_gradient, atol=1e-6)
        zeros = np.zeros(len(likelihood.pairs.one), np.float32)
        assert np.allclose(other.by_pair(zeros)[1], likelihood.by_pair(zeros)[1], atol=1e-6)
