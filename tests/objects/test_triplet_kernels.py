from itertools import product

import numpy as np
import pytest

import closerthan as ct


@pytest.fixture(scope="module")
def answers():
    points = np.random.default_rng(0).normal(size=(8, 2))
    given = ct.datasets.simulated(points, 200, noise="flip", level=0.2, seed=0)
    weights = np.random.default_rng(1).integers(1, 3, size=len(given))
    return ct.Comparisons.from_triplets(given.rows, weights=weights)


def plain_kernel(answers, kind):
    """Long vectors, written out as the paper defines them, and their cosines."""
    n_objects = answers.n_objects
    vectors = np.zeros((n_objects, n_objects, n_objects))
    for (i, j, k), weight in zip(answers.rows.tolist(), answers.weights, strict=True):
        if kind == "k1":
            vectors[i, min(j, k), max(j, k)] += weight if j < k else -weight
        else:
            vectors[j, i, k] += weight
            vectors[k, i, j] -= weight
    flat = vectors.reshape(n_objects, -1)
    found = np.empty((n_objects, n_objects))
    for a, b in product(range(n_objects), repeat=2):
        found[a, b] = flat[a] @ flat[b] / (np.linalg.norm(flat[a]) * np.linalg.norm(flat[b]))
    return found


@pytest.mark.parametrize("kind", ["k1", "k2"])
def test_a_kernel_is_the_cosine_of_the_answers(answers, kind):
    np.testing.assert_allclose(ct.triplet_kernel(answers, kind), plain_kernel(answers, kind), atol=1e-12)


def test_both_is_the_mean_and_a_kernel(answers):
    both = ct.triplet_kernel(answers)
    np.testing.assert_allclose(both, (plain_kernel(answers, "k1") + plain_kernel(answers, "k2")) / 2, atol=1e-12)
    assert np.linalg.eigvalsh(both).min() > -1e-12
    np.testing.assert_allclose(np.diagonal(both), 1.0)


def test_close_objects_are_alike():
    points = np.random.default_rng(2).normal(size=(40, 2))
    apart = np.sqrt(((points[:, None] - points) ** 2).sum(axis=-1))
    kernel = ct.triplet_kernel(ct.datasets.simulated(points, 20_000, noise="flip", seed=0))
    upper = np.triu_indices(40, 1)
    assert np.corrcoef(apart[upper], kernel[upper])[0, 1] < -0.8


def test_an_object_without_answers_is_similar_to_none():
    kernel = ct.triplet_kernel([[0, 1, 2], [1, 0, 2]], "k1")
    assert not kernel[2].any()
    assert kernel[0, 0] == 1


@pytest.mark.parametrize(
    ("rows", "kind", "message"),
    [
        ([[0, 1, 2]], "k3", "kind is 'k3'; it can be k1, k2, both"),
        ([[0, 1, 2, 3]], "k1", "for quadruplets use"),
    ],
)
def test_bad_input_is_an_error(rows, kind, message):
    with pytest.raises(ValueError, match=message):
        ct.triplet_kernel(rows, kind)
