"""More dimensions for a random start: when it has them, and what it keeps of them."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import closerthan as ct
from closerthan.compiled import simd
from closerthan.objective.cpu import Objective
from closerthan.solvers import Polyak, extra_dimensions


@pytest.fixture(scope="module")
def line():
    """300 objects in a row."""
    return ct.datasets.synthetic(300, 1, 6_000, 2_000, seed=4, flipped=0.1)


@pytest.fixture
def widths(monkeypatch):
    """How many comparisons were walked in maps of which width, in order."""
    walked = []
    walk = Objective.descend_by_polyak

    def noting(self, order, length, pace, way, x, mean):
        if len(order) > 1:  # one is walked before the clock starts
            walked.append((mean.shape[1], len(order)))
        return walk(self, order, length, pace, way, x, mean)

    monkeypatch.setattr(Objective, "descend_by_polyak", noting)
    return walked


def fit(answers, n_dims, **options):
    usual = {"loss": "ste", "epochs": 2, "solver": "polyak"}
    return ct.embed(answers, n_dims, seed=0, tolerance=None, **usual | options)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_a_wide_start_is_the_start_and_as_much_again_in_each_further_dimension(offset, rng):
    start = 0.3 * rng.standard_normal((500, 2))
    wide = extra_dimensions.widened(start + offset, rng)
    np.testing.assert_allclose(wide[:, :2], start - start.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(wide[:, 2:].std(axis=0), 0.3, rtol=0.15)
    assert abs(np.corrcoef(wide.T) - np.eye(8)).max() < 0.2


def test_what_is_kept_are_the_widest_directions_of_the_mean(rng):
    mean = rng.standard_normal((40, 8)) @ rng.standard_normal((8, 8)) + 5.0
    x = mean + 0.1 * rng.standard_normal((40, 8))
    narrow_x, narrow_mean = extra_dimensions.narrowed(simd.padded(x), mean, 3)
    axes = np.linalg.svd(mean - mean.mean(axis=0))[2][:3].T
    assert simd.is_padded(narrow_x)
    assert narrow_mean.flags.c_contiguous
    np.testing.assert_allclose(pdist(narrow_mean), pdist(mean @ axes), rtol=1e-10)
    np.testing.assert_allclose(pdist(narrow_x), pdist(x @ axes), rtol=1e-4)
    np.testing.assert_allclose(narrow_mean.mean(axis=0), 0.0, atol=1e-12)
    # Both are turned alike.
    np.testing.assert_allclose(np.abs(narrow_x[:, :3] - narrow_mean).max(), np.abs((x - mean) @ axes).max(), rtol=1e-3)


@pytest.mark.parametrize("broken", [np.nan, np.inf, 1e200])
def test_a_map_that_cannot_be_measured_is_no_map_afterwards(broken, rng):
    mean = rng.standard_normal((10, 8))
    mean[3] = broken
    narrow_x, narrow_mean = extra_dimensions.narrowed(simd.padded(mean), mean, 2)
    assert narrow_mean.shape == (10, 2)
    assert not np.isfinite(narrow_x).all()


@pytest.mark.parametrize(
    ("n_answers", "options", "wide"),
    [(6_000, {"roomy": None}, 0), (40_000, {"roomy": 5.0}, 15_000), (40_000, {"roomy": 10.0}, 30_000),
     (6_000, {"roomy": 4.0}, 12_000), (6_000, {"roomy": 6.0}, 18_000), (6_000, {"roomy": 1e9}, 48_000),
     (9_000, {}, 36_000)],
    ids=["never", "as long as is asked for", "in whole pieces", "for an epoch", "for more", "for eight passes",
         "by default for 28,800"],
)  # fmt: skip
@pytest.mark.parametrize(("n_dims", "n_objects", "n_wide"), [(1, 600, 4), (2, 300, 8), (6, 150, 16)])
def test_how_long_a_start_is_wide(n_answers, options, wide, n_dims, n_objects, n_wide, widths):
    """In 2,400 coordinates; orders are drawn for 15,000 comparisons here, or for a pass of fewer."""
    answers = ct.datasets.synthetic(n_objects, n_dims, n_answers, 10, seed=0).train
    result = fit(answers, n_dims, solver=Polyak(**options))
    first = max(wide, 2 * n_answers)  # epoch
    assert result.embedding.shape == (n_objects, n_dims)
    assert sum(length for width, length in widths if width == n_wide) == wide
    assert sum(length for width, length in widths if width == n_dims) == first + 2 * n_answers - wide
    assert sorted(widths, key=lambda walked: -walked[0]) == widths  # never wide again
    np.testing.assert_array_equal(np.diff(result.history.gradients), [first + n_answers, 3 * n_answers])


@pytest.mark.parametrize(
    ("n_answers", "n_dims", "size"), [(14_399, 2, 0.01), (14_400, 2, 0.1), (5_000, 3, 0.01), (5_000, 4, 0.1)]
)
def test_where_it_is_wide_for_more_than_an_epoch_it_begins_smaller(n_answers, n_dims, size, monkeypatch):
    """With four dimensions, as many further ones are not enough for that."""
    starts = []
    walk = Objective.descend_by_polyak

    def noting(self, order, length, pace, way, x, mean):
        if len(order) > 1 and not way.age:
            starts.append((x.std(), way.distance))
        return walk(self, order, length, pace, way, x, mean)

    monkeypatch.setattr(Objective, "descend_by_polyak", noting)
    fit(ct.datasets.synthetic(300, n_dims, n_answers, 10, seed=0).train, n_dims)
    assert starts == [(pytest.approx(size, rel=0.1), pytest.approx(2 * 8 * size**2, rel=0.1))]


@pytest.mark.parametrize("loss", ct.losses.LOSSES)
@pytest.mark.parametrize("flipped", [0.0, 0.2])
def test_a_map_of_too_few_dimensions_is_not_left_too_large(loss, flipped):
    """What was right in four dimensions has contradictions in one; at its old size it would be worse than no map."""
    answers = ct.datasets.synthetic(100, 3, 3_000, 10, seed=0, flipped=flipped).train
    history = fit(answers, 1, loss=loss, epochs=1).history
    assert history.objective[1] < 0.95 * history.objective[0]


@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0])
def test_a_start_that_knows_something_is_left_alone(line, widths, size):
    """Whatever its size: far from its best one, a good map may well have a higher loss than none."""
    good = fit(line.train, 1).embedding
    widths.clear()
    fit(line.train, 1, start=size * good)
    assert {width for width, _ in widths} == {1}


def test_with_very_many_dimensions_there_is_room_enough(widths):
    answers = ct.datasets.synthetic(30, 2, 1_000, 10, seed=0).train
    for n_dims in (64, 65):
        fit(answers, n_dims)
    assert {width for width, _ in widths} == {72, 64, 65}


def test_a_start_whose_objects_are_in_one_place_stays_there(line):
    np.testing.assert_array_equal(fit(line.train, 1, loss="ste", start=np.zeros((300, 1))).embedding, 0.0)


def mean_errors(data, n_dims, loss):
    """With more dimensions at first, and without."""
    return [np.mean([ct.triplet_error(data.test, ct.embed(data.train, n_dims, loss=loss, seed=seed, solver=ct.Relay(
        first=Polyak(roomy=roomy))).embedding) for seed in range(4)]) for roomy in (12.0, None)]  # fmt: skip


@pytest.mark.parametrize("loss", ["tste", "ckl", "soe"])
def test_objects_on_a_line_find_their_places(line, loss):
    """In one dimension they would have to go through each other."""
    roomy, narrow = mean_errors(line, 1, loss)
    assert roomy < 0.75 * narrow


@pytest.mark.parametrize("loss", ["gnmds", "ste", "ckl", "soe"])
def test_few_answers_are_understood_better(loss):
    """Four a coordinate: a pass in more dimensions would be worth nothing."""
    roomy, narrow = mean_errors(ct.datasets.synthetic(300, 2, 2_400, 2_000, seed=7), 2, loss)
    assert roomy < 0.9 * narrow
