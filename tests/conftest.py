"""Problems and registries that many tests share."""

import os
import signal
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from closerthan import Comparisons, datasets
from closerthan.arrays import frozen
from closerthan.comparisons.on_disk import TemporaryRows
from closerthan.objective.visits import Leg, ShuffledPass, Visits
from closerthan.solvers import Polyak

# In a read-only checkout Hypothesis keeps its examples where temporary files go.
if not os.access(Path.cwd(), os.W_OK):
    _examples = tempfile.TemporaryDirectory(prefix="hypothesis-")  # until the tests end
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", _examples.name)


def pytest_sessionstart():
    """Make Ctrl-C work even in background jobs of a shell and in workers of pytest-xdist, which ignore it."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def data_folder():
    """Return the folder with real data that may not be shipped; skip the test where there is none."""
    folder = Path(os.environ.get("CLOSERTHAN_DATA") or "no folder")
    if not folder.is_dir():
        pytest.skip("CLOSERTHAN_DATA does not name a folder with the data")
    return folder


@pytest.fixture(params=["triplets", "quadruplets"])
def kind(request):
    return request.param


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def random_comparisons(kind, rng, n_objects=12, n_rows=60, weighted=False):
    """Answers at random; quadruplets share an object between their pairs in every position."""
    rows = []
    columns = 3 if kind == "triplets" else 4
    while len(rows) < n_rows:
        row = rng.integers(n_objects, size=columns)
        near, far = (row[[0, 1]], row[[0, 2]]) if columns == 3 else (row[[0, 1]], row[[2, 3]])
        if near[0] != near[1] and far[0] != far[1] and set(near) != set(far):
            rows.append(row)
    weights = rng.uniform(0.5, 2.0, n_rows) if weighted else None
    make = Comparisons.from_triplets if columns == 3 else Comparisons.from_quadruplets
    return make(rows, weights=weights, n_objects=n_objects)


def in_files(comparisons):
    """The same comparisons with all that belongs to them in temporary files, which count as large."""
    found = {}
    for name in ("rows", "weights", "answers", "people"):
        column = getattr(comparisons, name)
        if column is not None:
            copy = TemporaryRows(column.shape, None, column.dtype)
            copy.write(0, column)
            found[name] = frozen(copy)
    return comparisons.replace(**found)


@pytest.fixture
def answers(kind, rng):
    return random_comparisons(kind, rng)


@pytest.fixture
def problem(kind):
    """A small problem with a known solution."""
    return datasets.synthetic(15, 2, 600, 200, quadruplets=kind == "quadruplets", seed=3)


def visits_of(order, weight_seed=None):
    """Visits that stand for just this order (or, with a seed, for what it means for terms with weights)."""
    nothing = np.empty(0, np.int64)
    given = ShuffledPass(nothing, 1, 1, np.asarray(order, np.int64), 0, len(order))
    return Visits((given,), weight_seed)


def leg_of(order, *weight_seeds):
    """A leg of a Polyak walk along just this order; with weights, all stretches of the same length have a seed."""
    (terms,) = visits_of(order).pieces
    return Leg(terms, weight_seeds or None, -(-len(order) // max(len(weight_seeds), 1)))


@dataclass(frozen=True)
class InterruptedPolyak(Polyak):
    """The default solver, with Ctrl-C at the beginning of a run, after this many runs."""

    after: int = 0
    runs: list = field(default_factory=list, compare=False, repr=False)

    def run(self, *args, **more):
        self.runs.append(1)
        if len(self.runs) == self.after + 1:
            signal.raise_signal(signal.SIGINT)
        return super().run(*args, **more)
