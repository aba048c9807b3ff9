"""Monitor: which map is the best one, and that it stays so."""

import math

import numpy as np
import pytest
from plain_objective import PlainObjective

from closerthan import Comparisons
from closerthan.fit.monitor import Monitor
from closerthan.fit.stopping import Limits
from closerthan.losses import LOSSES


class Judged(PlainObjective):
    """An objective whose held-out errors are given."""

    def __init__(self, errors):
        super().__init__(Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]]), LOSSES["ste"]())
        self._errors = iter(errors)

    def held_out_error(self, x):
        return next(self._errors)


@pytest.mark.parametrize(
    ("errors", "best"),
    [([0.0, 0.4, 0.3, 0.35], 2), ([0.0, 0.4], 1), ([0.3, 0.3, 0.3], 2), ([0.2], 0), ([math.nan, math.nan], 1)],
)
def test_a_start_that_is_good_by_luck_is_not_the_best_map(errors, best):
    monitor = Monitor(Judged(errors), Limits(100))
    for number in range(len(errors)):
        monitor(np.array([[0.0], [1.0], [2.0 + number]]))  # the objective falls
    assert monitor.best_epoch == best
    assert monitor.best[2, 0] == 2.0 + best


def test_the_best_map_does_not_move_with_the_solver():
    monitor = Monitor(Judged([math.nan] * 2), Limits(100))
    x = np.array([[0.0], [1.0], [2.0]])
    monitor(x)
    x[:] = [[0.0], [2.0], [1.0]]  # worse, and in the same array
    monitor(x)
    assert monitor.best.tolist() == [[0.0], [1.0], [2.0]]


def test_a_fit_continues_while_it_improves_even_if_its_start_was_better_by_chance():
    errors = [0.05, 0.45, 0.4, 0.35, 0.3, 0.25]
    monitor = Monitor(Judged(errors), Limits(100, patience=2))
    ended = [bool(monitor(np.array([[0.0], [1.0], [2.0 + number]]))) for number in range(len(errors))]
    assert not any(ended)
    assert monitor.best_epoch == len(errors) - 1
