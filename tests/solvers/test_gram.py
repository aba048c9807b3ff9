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
    """Keeps all Gram matrices at which it was evaluated, with values and gradients."""

    def at_gram(self, gram_matrix):
        value, gradient = super().at_gram(gram_matrix)
        self.evaluations.append((gram_matrix.copy(), value, gradient.copy()))
        return value, gradient


@pytest.fixture(params=[1e-3, 10.0, 300.0])
def run(request):
    """All evaluations of a run, and its history."""
    data = datasets.synthetic(15, 2, 600, 10, seed=3)
    objective = RecordingObjective(data.train, STE())
    objective.evaluations = []
    monitor = Monitor(objective, Limits(12))
    start = np.random.default_rng(0).normal(size=(15, 2))
    Gram(first_step=request.param).run(objective, start, np.random.default_rng(0), monitor)
    return objective.evaluations, monitor.history


def epochs_of(run):
    """For each epoch: the evaluation before it, its step, and the evaluations in it, the accepted one last."""
    evaluations, history = run
    counts = np.diff(history.gradients) // 600
    ends = np.cumsum([1, *counts.astype(int)])
    for epoch, (begin, end) in enumerate(itertools.pairwise(ends)):
        yield evaluations[begin - 1], float(history.step[epoch + 1]), evaluations[begin:end]


def decreases_enough(before, after, step):
    """f(after) <= f(before) + <gradient, move> + |move|^2 / (2 step), as for any projected gradient."""
    (gram, value, gradient), (proposed, proposed_value, _) = before, after
    move = proposed - gram
    return proposed_value <= value + np.sum(gradient * move) + np.sum(move**2) / (2 * step)


def test_a_step_is_halved_until_the_objective_decreases_enough_and_no_further(run):
    for before, step, proposals in epochs_of(run):
        halvings = range(len(proposals) - 1, -1, -1)
        accepted = [decreases_enough(before, one, step * 2**n) for n, one in zip(halvings, proposals, strict=True)]
        assert accepted == [False] * (len(proposals) - 1) + [True]


def test_after_each_epoch_the_next_step_tried_is_half_as_long_again(run):
    steps = [(step, step * 2 ** (len(proposals) - 1)) for _, step, proposals in epochs_of(run)]
    for (taken, _), (_, tried) in itertools.pairwise(steps):
        assert tried == pytest.approx(1.5 * taken, rel=1e-12)
