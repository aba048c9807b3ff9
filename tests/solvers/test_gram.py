"""The line search of projected gradient descent on the Gram matrix."""

import itertools

import numpy as np
import pytest

from closerthan import datasets
from closerthan.fit.monitor import Monitor
from closerthan.fit.stopping import Limits
from closerthan.losses import STE
from closerthan.objective.cpu.objective import CPUObjective
from closerthan.solvers import Gram


class RecordingObjective(CPUObjective):
    """An objective that records all Gram matrices at which it is evaluated, with values and gradients."""

    def at_gram(self, gram_matrix):
        value, gradient = super().at_gram(gram_matrix)
        self.evaluations.append((gram_matrix.copy(), value, gradient.copy()))
        return value, gradient


@pytest.fixture(params=[1e-3, 10.0, 300.0])
def run(request):
    """Return all evaluations of a run, and its history."""
    data = datasets.synthetic(15, 2, 600, 10, seed=3)
    objective = RecordingObjective(data.train, STE())
    objective.evaluations = []
    monitor = Monitor(objective, Limits(12))
    start = np.random.default_rng(0).normal(size=(15, 2))
    Gram(first_step=request.param).run(objective, start, np.random.default_rng(0), monitor)
    return objective.evaluations, monitor.history


def epochs_of(run):
    """Yield, for each epoch, the evaluation before it, its step, and its own evaluations, the accepted one last."""
    evaluations, history = run
    counts = np.diff(history.gradients) // 600
    ends = np.cumsum([1, *counts.astype(int)])
    for epoch, (begin, end) in enumerate(itertools.pairwise(ends)):
        yield evaluations[begin - 1], float(history.step[epoch + 1]), evaluations[begin:end]


def decreases_enough(before, after, step):
    """Check f(after) <= f(before) + <gradient, move> + |move|^2 / (2 step), the sufficient decrease."""
    (gram, value, gradient), (proposed, proposed_value, _) = before, after
    move = proposed - gram
    return proposed_value <= value + np.sum(gradient * move) + np.sum(move**2) / (2 * step)


def test_a_step_is_halved_until_the_objective_decreases_enough_and_no_further(run):
    for before, step, proposals in epochs_of(run):
        halvings = range(len(proposals) - 1, -1, -1)
        accepted = [decreases_enough(before, one, step * 2**n) for n, one in zip(halvings, proposals, strict=True)]
        assert accepted == [False] * (len(proposals) - 1) + [True]


def test_each_epoch_first_tries_a_step_one_and_a_half_times_as_long_as_the_last(run):
    steps = [(step, step * 2 ** (len(proposals) - 1)) for _, step, proposals in epochs_of(run)]
    for (accepted, _), (_, first) in itertools.pairwise(steps):
        assert first == pytest.approx(1.5 * accepted, rel=1e-12)
