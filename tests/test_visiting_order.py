"""Orders: complete, random, in whole batches, in little memory."""

import numpy as np
import pytest

from closerthan.solvers.visiting_order import SAMPLINGS, shuffled


def whole(orders):
    """All chunks, one after another; each may take the place of the one before."""
    return np.concatenate([chunk.copy() for chunk in orders])


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize(("n_terms", "batch_size"), [(10, 1), (100, 7), (5_000, 1), (5_000, 64), (100_003, 1_000)])
def test_chunks_are_whole_batches_within_memory(sampling, n_terms, batch_size):
    orders = SAMPLINGS[sampling](np.random.default_rng(0), n_terms, n_terms, batch_size, 2048)
    chunks = [chunk.copy() for chunk in orders]
    assert all(len(chunk) % batch_size == 0 for chunk in chunks)
    assert sum(map(len, chunks)) == n_terms // batch_size * batch_size
    assert max(map(len, chunks)) <= max(2048, batch_size)
    assert all(chunk.min() >= 0 and chunk.max() < n_terms for chunk in chunks)


@pytest.mark.parametrize("n_terms", [1, 10, 1023, 1024, 5_003, 100_000])
def test_a_shuffled_pass_visits_each_term_once(n_terms):
    order = whole(shuffled(np.random.default_rng(0), n_terms, n_terms, 1, 2048))
    assert np.array_equal(np.sort(order), np.arange(n_terms))


def test_two_shuffled_passes_visit_each_term_twice_in_different_orders():
    order = whole(shuffled(np.random.default_rng(0), 3_000, 6_000, 1, 2048))
    assert (np.bincount(order) == 2).all()
    assert not np.array_equal(order[:3_000], order[3_000:])


def test_a_shuffled_batch_is_spread_over_sorted_data():
    for chunk in shuffled(np.random.default_rng(0), 100_000, 100_000, 50, 2048):
        for batch in chunk.reshape(-1, 50):
            assert len(np.unique(batch // 1000)) > 5


def test_long_runs_do_not_stay_where_they_are():
    """Where runs are many times 16 terms long (here 160), 64 of them would be all that is seen for a while."""
    order = whole(shuffled(np.random.default_rng(0), 300_000, 300_000, 1, 2048))
    for some in order[: 70 * 4096].reshape(70, 4096):
        assert len(np.unique(some // 1000)) > 130  # of 300; at random places: 174
        assert max(np.bincount(some // 30_000, minlength=10)) < 700  # from all over, as many


def test_uniform_draws_are_uniform():
    order = np.concatenate(list(SAMPLINGS["uniform"](np.random.default_rng(0), 50, 50_000, 10, 2048)))
    counts = np.bincount(order, minlength=50)
    assert 20 < np.sum((counts - 1000) ** 2 / 1000) < 90  # chi-squared, 49 degrees of freedom, p < 0.001
    pairs = np.bincount(order[::2] * 50 + order[1::2], minlength=2500)  # what follows does not depend on what was
    assert 2270 < np.sum((pairs - 10) ** 2 / 10) < 2730  # chi-squared, 2,499 degrees of freedom


def test_passes_visit_each_term_once_however_they_are_cut(rng):
    """Also where a chunk begins among the terms that fill no run."""
    for _ in range(300):
        n_terms, memory, batch_size = rng.integers(1, 12_000), rng.integers(1, 5_000), rng.integers(1, 8)
        order = whole(shuffled(rng, n_terms, 2 * n_terms * batch_size, batch_size, memory))
        for first in range(0, len(order), n_terms):
            assert (np.bincount(order[first : first + n_terms], minlength=n_terms) == 1).all(), (n_terms, memory)
