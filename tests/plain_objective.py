"""A second objective, in plain NumPy: the minimum that a device must provide for every solver.

It uses double precision, one thread, and one comparison at a time: slow, but short enough to verify by reading.
"""

import math

import numpy as np
import reference

from closerthan.objective.protocol import CAPABILITIES, Objective, Point


class PlainObjective(Objective):
    """Comparisons and a loss."""

    capabilities = frozenset(CAPABILITIES)
    device = "plain NumPy"

    def __init__(self, comparisons, loss, held_out=None):
        self.rows, self.loss, self.held_out = comparisons.rows, loss, held_out
        self.n_objects = comparisons.n_objects
        weights = comparisons.weights
        self.weighted = weights is not None and np.ptp(weights) > 0
        self.weights = weights * (len(weights) / weights.sum()) if self.weighted else np.ones(len(comparisons))
        self.cumulative_weights = np.cumsum(self.weights) if self.weighted else None
        self.collapsed_objective = loss.value(0.0, 0.0)

    @property
    def n_terms(self):
        return len(self.rows)

    def at(self, x):
        return Point(x, self._mean_loss(x), reference.gradient(self.loss, self.rows, x, self.weights), self._error(x))

    def held_out_error(self, x):
        if self.held_out is None:
            return math.nan
        near, far = reference.squared_distances(self.held_out.rows, x)
        return float(np.average(~(near < far), weights=self.held_out.weights))

    def walk(self, snapshot, batch_size):
        return PlainWalk(self, snapshot, batch_size)

    def descend(self, visits, x, batch_size, step):
        x[:] = reference.sgd_pass(self.loss, self.rows, x, self.order(visits), batch_size, step)

    def polyak_walk(self, x, schedule, length, state=None):
        return PlainPolyakWalk(self, x, schedule, length, state)

    lock_free_walk = polyak_walk  # there is only one thread

    def best_scale(self, x, scales, trust):
        return float(reference.best_scale(self.loss, self.rows, x, scales, trust, self.weights))

    def padded_width(self, n_dims):
        return -(-n_dims // 8) * 8  # as on the CPU

    def at_gram(self, gram):
        i, j, l, k = reference.four_columns(self.rows).T  # noqa: E741
        near = np.maximum(gram[i, i] - 2 * gram[i, j] + gram[j, j], 1e-12)
        far = np.maximum(gram[l, l] - 2 * gram[l, k] + gram[k, k], 1e-12)
        values = [self.loss.value(a, b) for a, b in zip(near, far, strict=True)]
        slopes = np.array([self.loss.slopes(a, b) for a, b in zip(near, far, strict=True)])
        gradient = np.zeros_like(gram)
        for (a, b), slope in (((i, j), slopes[:, 0]), ((l, k), slopes[:, 1])):
            share = slope * self.weights / self.n_terms
            for one, other, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
                np.add.at(gradient, (one, other), sign * share)
        return float(np.average(values, weights=self.weights)), gradient

    def order(self, visits):
        return visits.indices(self.cumulative_weights)

    def _mean_loss(self, x):
        return float(reference.value(self.loss, self.rows, x, self.weights))

    def _error(self, x):
        near, far = reference.squared_distances(self.rows, x)
        return float(np.average(~(near < far), weights=self.weights))


class PlainWalk:
    """SVRG's inner loop as it is printed."""

    def __init__(self, objective, snapshot, batch_size):
        self.x = snapshot.x.copy()
        self._objective, self._snapshot, self._batch_size = objective, snapshot, batch_size

    def take(self, visits, step):
        order, loss, anchor = self._objective.order(visits), self._objective.loss, self._snapshot
        for first in range(0, len(order), self._batch_size):
            batch = self._objective.rows[order[first : first + self._batch_size]]
            change = reference.gradient(loss, batch, self.x) - reference.gradient(loss, batch, anchor.x)
            self.x = self.x - step * (change + anchor.gradient)


class PlainPolyakWalk:
    """Polyak steps, one comparison after another, and their average."""

    def __init__(self, objective, x, schedule, length, state):
        self._objective, self._schedule, self._length = objective, schedule, length
        self.age, self.step, self._n_maps = 0.0, 0.0, 0
        if state is None:
            self._begin(x)
        else:
            self._x, self.mean, self._distance = state["x"].copy(), state["mean"].copy(), float(state["distance"])
            self.age, self._n_maps = float(state["age"]), int(state["n_maps"])

    def take(self, leg):
        loss = self._objective.loss
        for stretch in leg.stretches(self._length):
            part = self._objective.order(stretch)
            self.age += len(part)
            self._n_maps += 1
            slope = max(np.abs(loss.slopes(self._distance, self._distance)))
            bound = self._schedule.share / slope if slope > 0 else math.inf
            self.step = bound * min(1.0, self._schedule.reach / self.age) ** 0.5
            self._x, self._distance = reference.polyak_pass(loss, self._objective.rows, self._x, part, self.step)
            share = (self._schedule.lateness + 1) / (self._schedule.lateness + self._n_maps)
            self.mean += share * (self._x - self.mean)

    def rescale(self, scale):
        self._x, self.mean, self._distance = scale * self._x, scale * self.mean, scale**2 * self._distance

    def project(self, n_dims):
        centre = self.mean.mean(axis=0)
        axes = np.linalg.svd(self.mean - centre, full_matrices=False)[2][:n_dims].T
        self._x, self.mean = (self._x - centre) @ axes, (self.mean - centre) @ axes
        self._distance = 2 * np.mean(np.sum(self._x**2, axis=1))

    def restart(self, x):
        self._begin(x)

    def slow_down(self, times):
        self.age *= times

    def state(self):
        numbers = {"age": self.age, "n_maps": self._n_maps, "distance": self._distance}
        return {name: np.array(value) for name, value in ({"x": self._x, "mean": self.mean} | numbers).items()}

    def _begin(self, x):
        self.mean, self._x = x.copy(), x - x.mean(axis=0)
        self._distance = 2 * np.mean(np.sum(self._x**2, axis=1))
