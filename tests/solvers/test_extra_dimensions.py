"""Extra dimensions for random starts: which starts get them, for how long, and their benefit."""

import dataclasses

import numpy as np
import pytest

import closerthan as ct
from closerthan.objective.cpu.objective import CPU, CPUObjective
from closerthan.objective.cpu.walks import AveragedWalk
from closerthan.solvers import Polyak, extra_dimensions


@pytest.fixture(scope="module")
def line():
    """300 objects on a line."""
    return ct.datasets.synthetic(300, 1, 6_000, 2_000, seed=4, flipped=0.1)


@dataclasses.dataclass(frozen=True)
class Noting(CPU):
    """A device that records walks as (width of the map, comparisons) and starts as (spread, distance)."""

    walks: list = dataclasses.field(default_factory=list)
    starts: list = dataclasses.field(default_factory=list)

    def objective(self, comparisons, loss, held_out=None):
        objective = NotingObjective(comparisons, loss, held_out)
        objective.notes = self
        return objective


class NotingObjective(CPUObjective):
    def polyak_walk(self, x, schedule, length, state=None):
        walk = NotingWalk(self, x, schedule, length, state)
        walk.notes = self.notes
        self.notes.starts.append((x.std(), float(walk.state()["distance"])))
        return walk


class NotingWalk(AveragedWalk):
    def take(self, leg):
        self.notes.walks.append((self.mean.shape[1], len(leg)))
        super().take(leg)


def fit(answers, n_dims, **options):
    usual = {"loss": "ste", "penalty": 0, "epochs": 2, "solver": "polyak"}
    return ct.embed(answers, n_dims, seed=0, tolerance=None, **usual | options)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_a_wide_start_has_the_same_spread_in_each_extra_dimension(offset, rng):
    start = 0.3 * rng.standard_normal((500, 2))
    wide = extra_dimensions.widen(start + offset, 8, rng)
    np.testing.assert_allclose(wide[:, :2], start - start.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(wide[:, 2:].std(axis=0), 0.3, rtol=0.15)
    assert abs(np.corrcoef(wide.T) - np.eye(8)).max() < 0.2


@pytest.mark.parametrize(
    ("n_answers", "extra", "wide"),
    [(6_000, None, 0), (40_000, 5.0, 15_000), (40_000, 10.0, 30_000), (6_000, 4.0, 12_000), (6_000, 6.0, 18_000),
     (9_000, 12.0, 36_000)],
    ids=["never", "as requested", "rounded up to chunks", "for an epoch", "for more", "by default for 28,800"],
)  # fmt: skip
@pytest.mark.parametrize(("n_dims", "n_objects", "n_wide"), [(1, 300, 8), (2, 300, 8), (9, 150, 16)])
def test_a_start_is_wide_for_the_requested_number_of_comparisons(n_answers, extra, wide, n_dims, n_objects, n_wide):
    """The wide map has 2,400 coordinates; orders come in chunks of 15,000 comparisons here, or of a shorter pass."""
    answers = ct.datasets.synthetic(n_objects, n_dims, n_answers, 10, seed=0).train
    device = Noting()
    result = fit(answers, n_dims, solver=Polyak(extra_dimensions=extra), device=device)
    walks = device.walks
    first_epoch = max(wide, 2 * n_answers)
    assert result.embedding.shape == (n_objects, n_dims)
    assert sum(length for width, length in walks if width == n_wide) == wide
    assert sum(length for width, length in walks if width == n_dims) == first_epoch + 2 * n_answers - wide
    assert sorted(walks, key=lambda walk: -walk[0]) == walks  # never wide again
    np.testing.assert_array_equal(np.diff(result.history.gradients), [first_epoch + n_answers, 3 * n_answers])


@pytest.mark.parametrize(
    ("n_answers", "n_dims", "size"), [(14_399, 2, 0.01), (14_400, 2, 0.1), (5_000, 3, 0.01), (5_000, 4, 0.1)]
)
def test_a_start_that_is_wide_for_more_than_an_epoch_is_smaller(n_answers, n_dims, size):
    """This applies only if there are more extra dimensions than dimensions, so not to four dimensions."""
    device = Noting()
    fit(ct.datasets.synthetic(300, n_dims, n_answers, 10, seed=0).train, n_dims, device=device)
    assert device.starts == [(pytest.approx(size, rel=0.1), pytest.approx(2 * 8 * size**2, rel=0.1))]


@pytest.mark.parametrize("loss", ct.losses.LOSSES)
@pytest.mark.parametrize("flipped", [0.0, 0.2])
def test_a_map_is_shrunk_when_its_extra_dimensions_are_dropped(loss, flipped):
    """A map that fits in more dimensions contradicts answers in one; at its old size it would be worse than no map."""
    answers = ct.datasets.synthetic(100, 3, 3_000, 10, seed=0, flipped=flipped).train
    history = fit(answers, 1, loss=loss, epochs=1).history
    assert history.objective[1] < 0.95 * history.objective[0]


@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0])
def test_a_start_that_is_better_than_chance_gets_no_extra_dimensions(line, size):
    """This holds for any size: a good map far from its best size may have a higher loss than a collapsed one."""
    good = fit(line.train, 1).embedding
    device = Noting()
    fit(line.train, 1, start=size * good, device=device)
    assert {width for width, _ in device.walks} == {1}


def test_a_collapsed_start_stays_collapsed(line):
    np.testing.assert_array_equal(fit(line.train, 1, loss="ste", start=np.zeros((300, 1))).embedding, 0.0)


def mean_errors(data, n_dims, loss):
    """Return the mean errors with and without extra dimensions."""
    means = []
    for wide in (12.0, None):
        how = {"loss": loss, "penalty": 0, "solver": Polyak(extra_dimensions=wide)}
        maps = [ct.embed(data.train, n_dims, seed=seed, **how).embedding for seed in range(4)]
        means.append(np.mean([ct.triplet_error(data.test, one) for one in maps]))
    return means


@pytest.mark.parametrize("loss", ["tste", "ckl", "soe"])
def test_extra_dimensions_reduce_the_error_on_a_line(line, loss):
    """In one dimension, objects would have to pass through each other."""
    wide, narrow = mean_errors(line, 1, loss)
    assert wide < 0.75 * narrow


@pytest.mark.parametrize("loss", ["gnmds", "ste", "ckl", "soe"])
def test_extra_dimensions_reduce_the_error_with_few_answers(loss):
    """With four answers per coordinate, a single pass in more dimensions would not help."""
    wide, narrow = mean_errors(ct.datasets.synthetic(300, 2, 2_400, 2_000, seed=7), 2, loss)
    assert wide < 0.9 * narrow


def test_projecting_a_map_reads_no_uninitialised_memory(line, monkeypatch):
    walk = AveragedWalk(CPUObjective(line.train, ct.losses.SOE()), np.eye(300, 3), (0.1, 1.0, 1.0), 100, None)
    signalling = np.array([0x7FF0000000000001], np.uint64).view(np.float64)  # as uninitialised memory may contain
    monkeypatch.setattr(np, "empty", lambda shape: np.broadcast_to(signalling, shape).copy())
    with np.errstate(invalid="raise"):
        walk.project(1)
    assert np.isfinite(walk.rows).all()
