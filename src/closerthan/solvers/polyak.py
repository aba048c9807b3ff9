"""Stochastic Polyak steps, averaged: the fast way down."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from closerthan.objective import Array
from closerthan.sampling import visits
from closerthan.solvers.base import Monitor, Solver, State, whole
from closerthan.steps import positive

__all__ = ["Polyak"]

SNAPSHOTS = 16  # maps that a pass contributes to the mean: fewer where there are few answers or many objects


@dataclass(frozen=True)
class Polyak(Solver):
    """Stochastic gradient descent whose steps need no tuning.

    One comparison after another, ``x <- x - eta * grad f_q(x)`` with Polyak's step ``eta = f_q(x) / |grad f_q(x)|^2``,
    which would bring the loss of this comparison to 0 were it linear. Answers contradict each other, so steps must also
    become short: after t comparisons ``eta`` is at most ``min(longest, reach * n_objects / t)``, where t stands still
    in epochs (but the first) that lower the objective by a share of ``least``. What is reported after each epoch is the
    mean of some maps along its last pass, in which the noise of single steps cancels out. An epoch that does not lower
    the objective is taken back, and t made four times as large.

    Parameters
    ----------
    longest
        The longest step along a single comparison.
    reach
        How slowly steps become shorter.
    passes
        Over the comparisons in an epoch. With two, an epoch costs as much as one of SVRG.
    least
        What an epoch must achieve for steps to stay as long as they are.

    Examples
    --------
    >>> Polyak(passes=1).longest
    0.2
    """

    longest: float = 0.2
    reach: float = 50.0
    passes: int = 2
    least: float = 0.005

    def __post_init__(self) -> None:
        positive(longest=self.longest, reach=self.reach, least=self.least)
        whole("passes", self.passes)

    def prepare(self, objective: Any, start: Array) -> None:
        objective.descend_by_polyak(np.empty(0, np.int64), start.copy(), float(self.longest))

    def run(
        self, objective: Any, start: Array, rng: np.random.Generator, monitor: Monitor, state: State | None = None
    ) -> None:
        n_terms = objective.n_terms
        chunk = max(512, n_terms // SNAPSHOTS, start.size // 8)
        self.prepare(objective, start)
        state = state or {"x": start, "mean": start, "age": np.array(0)}
        x, now, age = state["x"].copy(), objective.at(state["mean"]), int(state["age"])
        stop = monitor(now)
        while not stop:
            older = age
            for _ in range(self.passes):
                total, weight = np.zeros_like(x), 0
                for order in visits("shuffled", rng, objective, n_terms, 1, chunk):
                    older += len(order)
                    step = float(min(self.longest, self.reach * len(x) / older))
                    objective.descend_by_polyak(order, x, step)
                    total += x
                    weight += 1
            after = objective.at(total / weight)
            if not after.value < now.value:
                x, age = now.x.copy(), min(4 * older, 2**60)
            else:
                if age == 0 or after.value > now.value - self.least * abs(now.value):
                    age = older
                now = after
            state = {"x": x.copy(), "mean": now.x, "age": np.array(age)}
            stop = monitor(now, step=step, gradients=(self.passes + 1) * n_terms, state=state)
