"""Polyak steps along single comparisons, and the average of the maps along the walk."""

import numpy as np

from closerthan.compiled.compiling import inlined, kernel, values_and_slopes
from closerthan.compiled.rows import STRETCH, ends, fetched, gradient_of, prefetch_ahead
from closerthan.compiled.simd import summed


@summed(3)
def distances_and_product(factors, i, j, l, k):  # noqa: E741
    """The squared distances of the two pairs, and the inner product of their differences."""
    return (i - j) * (i - j), (l - k) * (l - k), (i - j) * (l - k)


@inlined
def take_steps(loss, rows, order, together, longest, x):
    """Walk ``order`` in Polyak's steps of at most ``longest``, one for each comparison; ``x`` moves in place.

    ``x`` is of single precision, its rows padded: what is rounded off is far less than the noise of such steps.

    Polyak's step, ``loss / |gradient|^2``, goes as far as it takes to bring the loss of this comparison to 0, were the
    loss linear. Where it is far from that the step could throw objects across the map, so by its own slope no pair
    loses more than half of its difference, or gains more than half (what both do to a common object comes on top). A
    loss below 0 (none of ours) has no such end: its steps are as long as those two bounds allow.

    How far to go is worked out for ``together`` comparisons before the first of them moves. Returns the sum of the
    squared distances met.
    """
    nears, fars, products = np.empty(together), np.empty(together), np.empty(together)
    values, near_slopes, far_slopes = np.empty(together), np.empty(together), np.empty(together)
    near_moves, far_moves = np.empty(together), np.empty(together)
    met = 0.0
    stretch = STRETCH // together * together
    for begin in range(0, order.shape[0], stretch):
        here = fetched(rows, order[begin : begin + stretch])
        for first in range(0, here.table.shape[0], together):
            size = min(together, here.table.shape[0] - first)
            for member in range(size):
                prefetch_ahead(here, first + member, x)
                i, j, l, k = ends(here, first + member)  # noqa: E741
                near, far, both = distances_and_product(x, (i, j, l, k), ())
                # Objects in both pairs: at opposite ends they subtract.
                shared = (i == l) + (j == k) - (i == k) - (j == l)
                nears[member], fars[member], products[member] = near, far, shared * both
                met += near + far
            values_and_slopes(loss, nears, fars, size, values, near_slopes, far_slopes)
            for member in range(size):
                near, far, value = nears[member], fars[member], values[member]
                slope_near, slope_far = near_slopes[member], far_slopes[member]
                steepness = 8.0 * (slope_near * slope_near * near + slope_far * slope_far * far)
                steepness += 8.0 * slope_near * slope_far * products[member]
                bound = min(longest, 0.125 / max(abs(slope_near), abs(slope_far), 1e-300))
                step = value / steepness if 0.0 <= value < bound * steepness else bound
                measurable = steepness < np.inf  # slopes that are infinite or no numbers move nothing
                near_moves[member] = -2.0 * step * slope_near if measurable else 0.0
                far_moves[member] = -2.0 * step * slope_far if measurable else 0.0
            for member in range(size):
                objects = ends(here, first + member)
                gradient_of(x, objects, x, objects, (near_moves[member], far_moves[member]))
    return met


@inlined
def bound_of_steps(loss, schedule, distance, age):
    """What a step is at most after ``age`` comparisons, with pairs of objects this far apart."""
    tie, value, slope_near, slope_far = np.empty(1), np.empty(1), np.empty(1), np.empty(1)
    tie[0] = distance
    values_and_slopes(loss, tie, tie, 1, value, slope_near, slope_far)
    slope = max(abs(slope_near[0]), abs(slope_far[0]))
    bound = schedule.share / slope if slope > 0.0 else np.inf
    return bound * min(1.0, schedule.reach / age) ** 0.5


@inlined
def update_average(mean, x, schedule, n_maps):
    """Let ``x`` be the last one of so many maps in ``mean``, whose weights grow polynomially."""
    share = (schedule.lateness + 1.0) / (schedule.lateness + n_maps)
    for row in range(mean.shape[0]):
        for c in range(mean.shape[1]):
            mean[row, c] += share * (x[row, c] - mean[row, c])


@kernel
def add_walks(x, here, there, mean, schedule, n_maps):
    """Two walks began at ``x`` and came to ``here`` and ``there``: ``x`` makes both moves and enters ``mean``."""
    share = (schedule.lateness + 1.0) / (schedule.lateness + n_maps)
    for row in range(x.shape[0]):
        for c in range(x.shape[1]):
            x[row, c] = here[row, c] + (there[row, c] - x[row, c])
        for c in range(mean.shape[1]):
            mean[row, c] += share * (x[row, c] - mean[row, c])


@kernel
def polyak_stretches(loss, rows, order, length, together, schedule, progress, x, mean):
    """Walk ``order`` in Polyak's steps, so many comparisons at a time; each stretch adds its map to ``mean``."""
    age, n_maps, distance, step = progress
    for begin in range(0, order.shape[0], length):
        part = order[begin : begin + length]
        age += part.shape[0]
        n_maps += 1
        step = bound_of_steps(loss, schedule, distance, age)
        distance = take_steps(loss, rows, part, together, step, x) / (2 * part.shape[0])
        update_average(mean, x, schedule, n_maps)
    return age, n_maps, distance, step


# The same for callers in Python. Inside another kernel, functions that are inlined compile faster than kernels.


@kernel
def longest_step(loss, schedule, distance, age):
    """See :func:`bound_of_steps`."""
    return bound_of_steps(loss, schedule, distance, age)


@kernel
def polyak_steps(loss, rows, order, together, longest, x):
    """See :func:`take_steps`."""
    return take_steps(loss, rows, order, together, longest, x)
