"""Kernels of the Polyak solver: steps along single comparisons, and the average of the maps along the walk."""

from typing import NamedTuple

import numpy as np

from closerthan.compiled.compiling import inlined, kernel, values_and_slopes
from closerthan.compiled.kernels.order import fill_by_weight, fill_pass
from closerthan.compiled.kernels.rows import STRETCH, ends, gather_rows, gradient_of, prefetch_ahead
from closerthan.compiled.pcg64 import generator
from closerthan.compiled.simd import summed


@summed(3)
def distances_and_product(factors, i, j, l, k):  # noqa: E741
    """Return the squared distances of the two pairs, and the inner product of their difference vectors."""
    return (i - j) * (i - j), (l - k) * (l - k), (i - j) * (l - k)


@inlined
def take_steps(loss, rows, order, block_size, longest, x):
    """Make one Polyak step of size at most ``longest`` for each comparison in ``order``, moving ``x`` in place.

    ``x`` has single precision and padded rows: rounding errors are far smaller than the noise of the steps.

    Polyak's step size ``loss / |gradient|^2`` would bring the loss of the comparison to 0 if the loss were linear.
    Where it is far from linear, such a step could throw objects across the map. The step size is therefore bounded so
    that neither pair's own slope shortens or lengthens its difference by more than half (an object that belongs to
    both pairs makes both moves). A negative loss, which no built-in loss has, gives no step size: then the largest
    one within these bounds is used.

    The steps of ``block_size`` comparisons are computed before the first of them is made. Returns the sum of the
    squared distances of all pairs visited.
    """
    nears, fars, products = np.empty(block_size), np.empty(block_size), np.empty(block_size)
    values, near_slopes, far_slopes = np.empty(block_size), np.empty(block_size), np.empty(block_size)
    near_moves, far_moves = np.empty(block_size), np.empty(block_size)
    distance_sum = 0.0
    stretch = STRETCH // block_size * block_size
    for begin in range(0, order.shape[0], stretch):
        here = gather_rows(rows, order[begin : begin + stretch])
        for first in range(0, here.table.shape[0], block_size):
            size = min(block_size, here.table.shape[0] - first)
            for member in range(size):
                prefetch_ahead(here, first + member, x)
                i, j, l, k = ends(here, first + member)  # noqa: E741
                near, far, product = distances_and_product(x, (i, j, l, k), ())
                # If the pairs share an object, the sign depends on whether it is at the same end of both.
                shared = (i == l) + (j == k) - (i == k) - (j == l)
                nears[member], fars[member], products[member] = near, far, shared * product
                distance_sum += near + far
            values_and_slopes(loss, nears, fars, size, values, near_slopes, far_slopes)
            for member in range(size):
                near, far, value = nears[member], fars[member], values[member]
                slope_near, slope_far = near_slopes[member], far_slopes[member]
                steepness = 8.0 * (slope_near * slope_near * near + slope_far * slope_far * far)
                steepness += 8.0 * slope_near * slope_far * products[member]
                bound = min(longest, 0.125 / max(abs(slope_near), abs(slope_far), 1e-300))
                step = value / steepness if 0.0 <= value < bound * steepness else bound
                finite = steepness < np.inf  # infinite or NaN slopes move nothing
                near_moves[member] = -2.0 * step * slope_near if finite else 0.0
                far_moves[member] = -2.0 * step * slope_far if finite else 0.0
            for member in range(size):
                objects = ends(here, first + member)
                gradient_of(x, objects, x, objects, (near_moves[member], far_moves[member]))
    return distance_sum


@inlined
def bound_of_steps(loss, schedule, distance, age):
    """Return the largest step size after ``age`` comparisons, given the mean squared distance of a pair."""
    tie, value, slope_near, slope_far = np.empty(1), np.empty(1), np.empty(1), np.empty(1)
    tie[0] = distance
    values_and_slopes(loss, tie, tie, 1, value, slope_near, slope_far)
    slope = max(abs(slope_near[0]), abs(slope_far[0]))
    bound = schedule.share / slope if slope > 0.0 else np.inf
    return bound * min(1.0, schedule.reach / age) ** 0.5


@inlined
def update_average(mean, x, schedule, n_maps):
    """Add ``x`` to the average ``mean`` as the map with number ``n_maps``; weights grow polynomially."""
    weight = (schedule.lateness + 1.0) / (schedule.lateness + n_maps)
    for row in range(mean.shape[0]):
        for c in range(mean.shape[1]):
            mean[row, c] += weight * (x[row, c] - mean[row, c])


@kernel
def add_walks(x, here, there, mean, schedule, n_maps):
    """Add the moves of two walks, which lead from ``x`` to ``here`` and to ``there``; then add ``x`` to ``mean``."""
    weight = (schedule.lateness + 1.0) / (schedule.lateness + n_maps)
    for row in range(x.shape[0]):
        for c in range(x.shape[1]):
            x[row, c] = here[row, c] + (there[row, c] - x[row, c])
        for c in range(mean.shape[1]):
            mean[row, c] += weight * (x[row, c] - mean[row, c])


class PassPart(NamedTuple):
    """Positions ``first`` to ``first + size`` of a shuffled pass, as in
    :func:`closerthan.compiled.kernels.order.fill_pass`.
    """

    runs: np.ndarray
    length: int
    neighbours: int
    side_by_side: int
    rest: np.ndarray
    first: int
    size: int


class Weighting(NamedTuple):
    """Weights by which terms are drawn: see :func:`closerthan.compiled.kernels.order.fill_by_weight`.

    Each seed determines ``interval`` draws.
    """

    cumulative_weights: np.ndarray
    last: int
    first_terms: np.ndarray
    seeds: np.ndarray
    interval: int


@kernel
def polyak_stretches(loss, rows, terms, weighting, length, block_size, schedule, progress, x, mean):
    """Make Polyak steps along a part of a pass; after each ``length`` terms, add the map to the average ``mean``.

    ``weighting`` is None if all weights are equal; else its interval is a multiple of ``length``.
    """
    age, n_maps, distance, step = progress
    order = np.empty(min(length, terms.size), np.int64)
    state = increment = np.uint64(0), np.uint64(0)
    for begin in range(0, terms.size, length):
        part = order[: min(length, terms.size - begin)]
        fill_pass(terms.runs, terms.length, terms.neighbours, terms.side_by_side, terms.rest, terms.first + begin, part)
        if weighting is not None:
            if begin % weighting.interval == 0:
                state, increment = generator(weighting.seeds[begin // weighting.interval])
            state = fill_by_weight(
                weighting.cumulative_weights, weighting.last, weighting.first_terms, state, increment, part
            )
        age += part.shape[0]
        n_maps += 1
        step = bound_of_steps(loss, schedule, distance, age)
        distance = take_steps(loss, rows, part, block_size, step, x) / (2 * part.shape[0])
        update_average(mean, x, schedule, n_maps)
    return age, n_maps, distance, step


# The same functions for callers in Python. Inside another kernel, inlined functions compile faster than kernels.


@kernel
def longest_step(loss, schedule, distance, age):
    """See :func:`bound_of_steps`."""
    return bound_of_steps(loss, schedule, distance, age)


@kernel
def polyak_steps(loss, rows, order, block_size, longest, x):
    """See :func:`take_steps`."""
    return take_steps(loss, rows, order, block_size, longest, x)
