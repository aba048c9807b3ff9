"""Visiting orders: complete, random, in whole batches, compact; and the expansion of their descriptions."""

import functools

import numpy as np
import pytest
from conftest import random_comparisons, visits_of
from hypothesis import given, settings
from hypothesis import strategies as st

from closerthan.losses import STE
from closerthan.objective.cpu.objective import CPUObjective
from closerthan.objective.protocol import StepSchedule
from closerthan.objective.visits import MOST_RUNS, ShuffledPass, UniformDraws, Visits
from closerthan.solvers.visiting_order import SAMPLINGS, legs, shuffled, visits


def whole(orders):
    """Concatenate all chunks."""
    return np.concatenate([chunk.indices() for chunk in orders])


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize(("n_terms", "batch_size"), [(10, 1), (100, 7), (5_000, 1), (5_000, 64), (100_003, 1_000)])
def test_chunks_consist_of_whole_batches_and_are_small(sampling, n_terms, batch_size):
    chunks = list(SAMPLINGS[sampling](np.random.default_rng(0), n_terms, n_terms, batch_size, 2048))
    orders = [chunk.indices() for chunk in chunks]
    assert [len(chunk) for chunk in chunks] == [len(order) for order in orders]
    assert all(len(order) % batch_size == 0 for order in orders)
    assert sum(map(len, orders)) == n_terms // batch_size * batch_size
    assert max(map(len, orders)) <= max(2048, batch_size)
    assert all(order.min() >= 0 and order.max() < n_terms for order in orders)


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
        for batch in chunk.indices().reshape(-1, 50):
            assert len(np.unique(batch // 1000)) > 5


def test_long_runs_are_spread_over_the_data():
    """If runs of many times 16 terms (here 160) were contiguous, only 64 places would be visited for a while."""
    order = whole(shuffled(np.random.default_rng(0), 300_000, 300_000, 1, 2048))
    for some in order[: 70 * 4096].reshape(70, 4096):
        assert len(np.unique(some // 1000)) > 130  # of 300; random places would give 174
        assert max(np.bincount(some // 30_000, minlength=10)) < 700  # about equally from all parts


def test_uniform_draws_are_uniform():
    order = whole(SAMPLINGS["uniform"](np.random.default_rng(0), 50, 50_000, 10, 2048))
    counts = np.bincount(order, minlength=50)
    assert 20 < np.sum((counts - 1000) ** 2 / 1000) < 90  # chi-squared, 49 degrees of freedom, p < 0.001
    pairs = np.bincount(order[::2] * 50 + order[1::2], minlength=2500)  # successive draws are independent
    assert 2270 < np.sum((pairs - 10) ** 2 / 10) < 2730  # chi-squared, 2,499 degrees of freedom


def test_passes_visit_each_term_once_for_any_chunk_size(rng):
    """This includes chunks that begin among the terms that belong to no run."""
    for _ in range(300):
        n_terms, memory, batch_size = (int(rng.integers(1, most)) for most in (12_000, 5_000, 8))
        order = whole(shuffled(rng, n_terms, 2 * n_terms * batch_size, batch_size, memory))
        for first in range(0, len(order), n_terms):
            assert (np.bincount(order[first : first + n_terms], minlength=n_terms) == 1).all(), (n_terms, memory)


def test_a_long_pass_has_a_short_description():
    """A pass over 10^9 terms is described by the starts of some thousand runs, and a few remaining terms."""
    first = next(shuffled(np.random.default_rng(0), 10**9, 10**9, 1, MOST_RUNS))
    (piece,) = first.pieces
    assert len(piece.runs) + len(piece.rest) < 10 * MOST_RUNS
    assert len(np.unique(first.indices())) == len(first)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("n_terms", "chunk", "stop", "lengths"),
    [(100, 40, 1, [40, 60]), (5_003, 900, 2_000, [2_700, 2_303]), (5_003, 900, 9_000, [5_003])],
)
def test_legs_are_a_shuffled_pass_in_chunks(n_terms, chunk, stop, lengths, weighted):
    objective, _ = objective_of(n_terms, weighted)
    pass_in_legs = list(legs(np.random.default_rng(5), objective, chunk, stop))
    pass_in_chunks = list(visits("shuffled", np.random.default_rng(5), objective, n_terms, 1, chunk))
    stretches = [stretch for leg in pass_in_legs for stretch in leg.stretches(chunk)]
    for stretch, part in zip(stretches, pass_in_chunks, strict=True):
        np.testing.assert_array_equal(objective.expand(stretch), objective.expand(part))
    assert [len(leg) for leg in pass_in_legs] == lengths


@pytest.mark.parametrize("weighted", [False, True])
def test_a_walk_visits_the_terms_of_its_legs_stretch_by_stretch(weighted, rng):
    objective, _ = objective_of(1_025, weighted)
    start, schedule = rng.standard_normal((8, 2)), StepSchedule(0.1, 80.0, 4.0)
    walk, expected = (objective.polyak_walk(start, schedule, 100) for _ in range(2))
    for leg in legs(rng, objective, 300, 500):
        walk.take(leg)
        for stretch in leg.stretches(100):
            expected.advance_age(len(stretch))
            expected.distance = expected.move(stretch) / (2 * len(stretch))
            expected.update_average()
    assert (walk.age, walk.n_maps, walk.step) == (expected.age, expected.n_maps, expected.step)
    np.testing.assert_array_equal(walk.rows, expected.rows)
    np.testing.assert_allclose(walk.mean, expected.mean, rtol=1e-12)


# ---- descriptions and their expansion --------------------------------------------------------------------------------


@functools.cache
def objective_of(n_terms, weighted):
    rng = np.random.default_rng(n_terms)
    answers = random_comparisons("triplets", rng, n_objects=8, n_rows=60).take(rng.integers(60, size=n_terms))
    if not weighted:
        return CPUObjective(answers, STE()), None
    weights = rng.lognormal(0, 2, n_terms) * (rng.random(n_terms) < 0.8)
    weights[n_terms // 2] = 1.0
    shares = np.cumsum(weights * (n_terms / weights.sum()))
    return CPUObjective(type(answers)(answers.rows, 8, weights=weights), STE()), shares


SIZES = st.sampled_from([1, 2, 3, 63, 64, 65, 100, 1_023, 1_024, 1_025, 1_040, 2_047, 4_096, 5_003])
CASES = {
    "n_terms": SIZES,
    "weighted": st.booleans(),
    "sampling": st.sampled_from(list(SAMPLINGS)),
    "passes": st.integers(1, 3),
    "chunk": st.integers(1, 5_000),
    "batch_size": st.integers(1, 9),
    "seed": st.integers(0, 2**32),
}


@settings(deadline=None, max_examples=150)
@given(**CASES, cuts=st.tuples(st.integers(-6_000, 6_000), st.integers(-6_000, 6_000)))
def test_a_device_expands_visits_and_their_slices_as_numpy_does(
    n_terms, weighted, sampling, passes, chunk, batch_size, seed, cuts
):
    objective, shares = objective_of(n_terms, weighted)
    batch_size, chunk = min(batch_size, n_terms), max(chunk, n_terms // 20)  # limits the number of parts
    rng = np.random.default_rng(seed)
    shares = shares if objective.weighted else None
    for part in visits(sampling, rng, objective, passes * n_terms, batch_size, chunk):
        order = part.indices(shares)
        np.testing.assert_array_equal(objective.expand(part), order)
        assert len(part) == len(order)
        cut = slice(*cuts)
        assert len(part[cut]) == len(order[cut])
        np.testing.assert_array_equal(part[cut].indices(shares), order[cut])
        np.testing.assert_array_equal(objective.expand(part[cut]), order[cut])
        again = slice(1, -1)
        np.testing.assert_array_equal(objective.expand(part[cut][again]), order[cut][again])


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**63 - 1), n_terms=st.integers(1, 10**9), first=st.integers(0, 10**12))
def test_draws_of_a_stream_do_not_depend_on_the_first_one(seed, n_terms, first):
    some = UniformDraws(seed, n_terms, first, 40).indices()
    assert some.min() >= 0
    assert some.max() < n_terms
    np.testing.assert_array_equal(UniformDraws(seed, n_terms, first + 7, 20).indices(), some[7:27])


def test_each_term_is_drawn_in_proportion_to_its_weight_in_every_pass():
    """Counts differ from their expectation by less than two visits, because positions are spread evenly."""
    objective, shares = objective_of(1_025, True)
    expected = np.diff(shares, prepend=0.0)
    for seed in range(20):
        parts = visits("shuffled", np.random.default_rng(seed), objective, 1_025, 1, 300)
        counts = np.bincount(np.concatenate([objective.expand(part) for part in parts]), minlength=1_025)
        assert (np.abs(counts - expected) < 2.0).all()
        assert not counts[expected == 0].any()


def test_visits_drawn_for_equal_weights_are_refused_if_weights_differ():
    objective, _ = objective_of(100, True)
    with pytest.raises(ValueError, match="drawn for terms of equal weight"):
        objective.expand(visits_of([0, 1]))


def test_slices_with_a_step_are_refused():
    with pytest.raises(ValueError, match="cannot be sliced with a step of 2"):
        visits_of(range(5))[::2]


def test_empty_visits_expand_to_an_empty_order():
    objective, _ = objective_of(100, False)
    for empty in (Visits(()), visits_of(range(5))[3:3], visits_of(range(5))[4:2]):
        assert len(empty) == 0
        assert objective.expand(empty).tolist() == empty.indices().tolist() == []


def test_64_runs_are_visited_in_turn_then_the_others_then_the_rest():
    runs, rest = np.arange(0, 140, 2)[::-1].copy(), np.array([141, 140])
    order = ShuffledPass(runs, 2, 2, rest, 0, 142).indices().tolist()
    wide, narrow = runs[:64].tolist(), runs[64:].tolist()
    assert order == [*wide, *(run + 1 for run in wide), *narrow, *(run + 1 for run in narrow), 141, 140]
