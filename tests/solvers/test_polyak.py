"""The default solver shortens its steps after an epoch with little progress, and undoes one without any."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import random_comparisons
from plain_objective import PlainObjective

from closerthan.losses import LOSSES
from closerthan.solvers import Polyak

N_TERMS = 60


class ScriptedObjective(PlainObjective):
    """An objective that reports prescribed values, one after another; everything else is computed."""

    def __init__(self, values, collapsed):
        super().__init__(random_comparisons("triplets", np.random.default_rng(0)), LOSSES["ste"]())
        self.collapsed_objective = collapsed
        self.values = iter(values)

    def value(self, x):
        return replace(super().at(x), value=next(self.values))


class Recorder:
    """A monitor that keeps the objective and the state after each epoch."""

    def __init__(self, n_epochs):
        self.n_epochs, self.objectives, self.states = n_epochs, [], []

    def __call__(self, now, *, state=None, **_):
        self.objectives.append(now.value)
        if state is not None:
            self.states.append(state())
        return len(self.states) == self.n_epochs

    def must_end(self):
        return False

    @property
    def ages(self):
        """The age after each epoch, in passes."""
        return [float(state["age"]) / N_TERMS for state in self.states]


def run(values, collapsed=1.0, reach=1e9):
    """Run epochs of one pass each; each must gain a tenth of the total gain so far."""
    recorder = Recorder(len(values) - 1 - (not np.isfinite(collapsed)))
    start = np.random.default_rng(1).standard_normal((12, 2))
    solver = Polyak(passes=1, extra_dimensions=None, worthwhile=0.1, reach=reach)
    solver.run(ScriptedObjective(values, collapsed), start, np.random.default_rng(2), recorder)
    return recorder


def test_an_epoch_with_little_progress_halves_the_steps():
    recorder = run([0.9, 0.5, 0.44, 0.43, 0.1])  # gains of .4, .06, .01, .33; .05, .056, .057, .09 are required
    assert recorder.ages == [1, 2, (2 + 1) * 4, 13]


def test_the_required_gain_decreases_with_the_length_of_the_steps():
    recorder = run([0.9, 0.5, 0.46, 0.44, 0.42], reach=N_TERMS / 12)  # a pass, for 12 objects
    # Gains of .05, .054 / sqrt(2), .056 / sqrt(3) and .058 / sqrt(13) are required.
    assert recorder.ages == [1, 2, (2 + 1) * 4, 13]


@pytest.mark.parametrize("value", [0.5, 0.6, 3.0, np.inf, np.nan])
def test_an_epoch_without_progress_is_also_undone(value):
    recorder = run([0.9, 0.5, value, 0.2])
    assert recorder.ages == [1, (1 + 1) * 4, 9]
    assert recorder.objectives == [0.9, 0.5, 0.5, 0.2]
    np.testing.assert_array_equal(recorder.states[1]["mean"], recorder.states[0]["mean"])


def test_gains_are_relative_to_the_start_if_a_collapsed_map_has_no_objective():
    recorder = run([0.9, 0.9, 0.5, 0.47, 0.2], collapsed=np.inf)
    assert recorder.ages == [1, (1 + 1) * 4, 9]
