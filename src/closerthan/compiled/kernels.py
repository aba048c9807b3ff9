"""Every compiled loop: arrays in, arrays out. Nearly all of them go over comparisons.

A comparison (i, j, l, k) says that the pair (i, j) is closer than the pair (l, k). With
``near = |x_i - x_j|^2``, ``far = |x_l - x_k|^2`` and the loss's two slopes, the row gradients are

    x_i: +2 slope_near (x_i - x_j)      x_l: +2 slope_far (x_l - x_k)
    x_j: -2 slope_near (x_i - x_j)      x_k: -2 slope_far (x_l - x_k)

Each kernel is written for quadruplets. For triplets ``l`` *is* ``i`` when the compiler looks at it, so that it
folds the two rows into one. Weights are relative to their mean; ``None`` (all equal) costs nothing.

To Python a kernel returns numbers and plain tuples: making anything else runs Python code in which Ctrl-C may strike,
and numba does not survive that.

Random choices are never made here: which comparisons are visited, in which order, is an argument. Where comparisons
have weights, that order visits heavy ones more often, so that single steps need no weights.
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from closerthan.compiled.compiling import inlined, kernel, looked_at, prefetch, settled, slopes, value
from closerthan.compiled.simd import added, summed

AHEAD = 8  # how many comparisons ahead rows are prefetched
NEIGHBOURS = 16  # comparisons read close in time: a cache line of them is then read once, not once for each
BLOCK = 32  # comparisons whose losses are worked out together, in vector code
STRETCH = 1024  # comparisons of an order that are brought together before they are walked


class Triplets(NamedTuple):
    """Rows (i, j, k): the pair (i, j) is closer than the pair (i, k)."""

    table: np.ndarray


class Quadruplets(NamedTuple):
    """Rows (i, j, l, k): the pair (i, j) is closer than the pair (l, k)."""

    table: np.ndarray


def ends(rows: Any, q: int) -> Any:
    """The four objects of comparison ``q``. Numbers are unsigned, which spares a test for negative indices."""
    raise NotImplementedError("only for compiled code")


@overload(ends)
def _ends(rows: Any, q: Any) -> Any:
    kind = getattr(rows, "instance_class", None)
    if kind is Triplets:

        def read(rows: Any, q: Any) -> Any:
            place = np.uint64(q)
            i, j, k = np.uint32(rows.table[place, 0]), np.uint32(rows.table[place, 1]), np.uint32(rows.table[place, 2])
            return i, j, i, k

    elif kind is Quadruplets:

        def read(rows: Any, q: Any) -> Any:
            place = np.uint64(q)
            i, j = np.uint32(rows.table[place, 0]), np.uint32(rows.table[place, 1])
            l, k = np.uint32(rows.table[place, 2]), np.uint32(rows.table[place, 3])  # noqa: E741 - the paper's letters
            return i, j, l, k

    else:
        return None
    return read


def fetched(rows: Any, order: Any) -> Any:
    """Copies of the comparisons in ``order``, one after another: reading them there waits for nothing else."""
    raise NotImplementedError("only for compiled code")


@overload(fetched)
def _fetched(rows: Any, order: Any) -> Any:
    kind: Any = getattr(rows, "instance_class", None)
    if kind not in (Triplets, Quadruplets):
        return None
    width = 3 if kind is Triplets else 4

    def copy(rows: Any, order: Any) -> Any:
        table = np.empty((order.shape[0], width), rows.table.dtype)
        for t in range(order.shape[0]):
            for c in range(width):
                table[t, c] = rows.table[np.uint64(order[t]), c]
        return kind(table)

    return copy


@inlined
def weight_of(weights, q):
    """How much comparison ``q`` counts; ``None`` is resolved when the kernel is compiled."""
    if weights is None:
        return 1.0
    return weights[q]


@summed(2)
def distances(factors, i, j, l, k):  # noqa: E741
    """The squared distances of the two pairs."""
    return (i - j) * (i - j), (l - k) * (l - k)


@summed(3)
def distances_and_product(factors, i, j, l, k):  # noqa: E741
    """The squared distances of the two pairs, and the inner product of their differences."""
    return (i - j) * (i - j), (l - k) * (l - k), (i - j) * (l - k)


@added
def gradient_of(factors, i, j, l, k):  # noqa: E741
    """One comparison's gradient; the factors are twice its slopes."""
    near, far = factors
    pull, push = near * (i - j), far * (l - k)
    return pull, push, -pull, -push


@inlined
def look_ahead(rows, q, array):
    """Ask for what a walk over the rows will read soon after comparison ``q``."""
    if q + AHEAD < rows.table.shape[0]:
        for later in ends(rows, q + AHEAD):
            prefetch(array, later)


@inlined
def measure(rows, first, size, x, nears, fars):
    """The squared distances of the pairs of ``size`` comparisons from ``first`` on."""
    for member in range(size):
        look_ahead(rows, first + member, x)
        nears[member], fars[member] = distances(x, ends(rows, first + member), ())


@kernel
def gradient(loss, rows, weights, x, out):
    """Add the gradient of all comparisons to ``out``; return the sum of losses and the weight of right answers."""
    n_rows = rows.table.shape[0]
    nears, fars, values = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    near_slopes, far_slopes = np.empty(BLOCK), np.empty(BLOCK)
    total = 0.0
    right = 0.0
    for first in range(0, n_rows, BLOCK):
        size = min(BLOCK, n_rows - first)
        measure(rows, first, size, x, nears, fars)
        for member in range(size):
            values[member] = value(loss, nears[member], fars[member])
            near_slopes[member], far_slopes[member] = slopes(loss, nears[member], fars[member])
        for member in range(size):
            q = first + member
            look_ahead(rows, q, out)
            weight = weight_of(weights, q)
            total += weight * values[member]
            right += weight * (nears[member] < fars[member])  # without a branch; NaN is not right
            near, far = 2.0 * weight * near_slopes[member], 2.0 * weight * far_slopes[member]
            objects = ends(rows, q)
            gradient_of(x, objects, out, objects, (near, far))
    return total, right


@kernel
def loss_sum(loss, rows, weights, x):
    """The sum of losses and the weight of right answers: what ``gradient`` returns, in less than half its time."""
    n_rows = rows.table.shape[0]
    nears, fars, values = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    total = 0.0
    right = 0.0
    for first in range(0, n_rows, BLOCK):
        size = min(BLOCK, n_rows - first)
        measure(rows, first, size, x, nears, fars)
        for member in range(size):
            values[member] = value(loss, nears[member], fars[member])
        for member in range(size):
            weight = weight_of(weights, first + member)
            total += weight * values[member]
            right += weight * (nears[member] < fars[member])
    return total, right


@kernel
def loss_sums_scaled(loss, rows, weights, x, scales, totals):
    """Put into ``totals`` the sums of losses of the map ``scale * x``, for each of the scales."""
    n_rows = rows.table.shape[0]
    nears, fars, values = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    totals[:] = 0.0
    for first in range(0, n_rows, BLOCK):
        size = min(BLOCK, n_rows - first)
        measure(rows, first, size, x, nears, fars)
        for s in range(scales.shape[0]):
            squared = scales[s] * scales[s]
            for member in range(size):
                values[member] = value(loss, squared * nears[member], squared * fars[member])
            for member in range(size):
                totals[s] += weight_of(weights, first + member) * values[member]


@kernel
def best_scale(loss, rows, weights, x, scales, as_it_is, inertia, trust, collapsed):
    """Which one of the scales to give to the map, judged by these comparisons.

    ``scales[as_it_is]`` is 1, and of another one more is asked for: its ``inertia`` times the mean loss now, or times
    what the map has gained so far if that is less. Enlarged, it is so far that it gains the share ``trust`` of what the
    best scale does.
    """
    means = np.empty(scales.shape[0])
    loss_sums_scaled(loss, rows, weights, x, scales, means)
    means /= rows.table.shape[0] if weights is None else weights.sum()
    now = means[as_it_is]
    # In this order: where ``collapsed`` is no number, the first one counts.
    asked = min(abs(now), abs(collapsed - now)) * inertia
    best = as_it_is
    for s in range(scales.shape[0]):  # what is not a number is never less
        if means[s] + asked[s] < means[best] + asked[best]:
            best = s
    # A map that is worse than none at all, whatever its size, has other troubles than that.
    if not means[best] < now < np.inf or means[best] >= collapsed:
        return 1.0
    if best < as_it_is:
        return scales[best]
    gains = now - means[as_it_is : best + 1]
    for s in range(1, gains.shape[0]):
        gains[s] = max(gains[s - 1], gains[s]) if gains[s] == gains[s] else gains[s - 1]
    return np.interp(trust * gains[-1], gains, scales[as_it_is : best + 1])


@summed(4)
def distances_at_both(factors, i, j, l, k):  # noqa: E741
    """The squared distances of the two pairs, at each of two maps."""
    near, far, anchor_near, anchor_far = i[0] - j[0], l[0] - k[0], i[1] - j[1], l[1] - k[1]
    return near * near, far * far, anchor_near * anchor_near, anchor_far * anchor_far


@added
def change_of_gradient(factors, i, j, l, k):  # noqa: E741
    """One comparison's gradient at the first map minus that at the second."""
    near, far, anchor_near, anchor_far = factors
    pull = near * (i[0] - j[0]) - anchor_near * (i[1] - j[1])
    push = far * (l[0] - k[0]) - anchor_far * (l[1] - k[1])
    return pull, push, -pull, -push


@kernel
def gradient_change(loss, rows, order, x, anchor, out):
    """Add, for the comparisons in ``order``, the gradient at ``x`` minus the gradient at ``anchor`` to ``out``."""
    for begin in range(0, order.shape[0], STRETCH):
        here = fetched(rows, order[begin : begin + STRETCH])
        for q in range(here.table.shape[0]):
            look_ahead(here, q, x)
            look_ahead(here, q, anchor)
            look_ahead(here, q, out)
            objects = ends(here, q)
            near, far, anchor_near, anchor_far = distances_at_both((x, anchor), objects, ())
            near, far = slopes(loss, near, far)
            anchor_near, anchor_far = slopes(loss, anchor_near, anchor_far)
            twice = (2.0 * near, 2.0 * far, 2.0 * anchor_near, 2.0 * anchor_far)
            change_of_gradient((x, anchor), objects, out, objects, twice)


@kernel
def dense_step(x, step, changes, share, gradient):
    """``x -= step * (share * sum(changes) + gradient)``, in one pass over memory."""
    for row in range(x.shape[0]):
        for c in range(x.shape[1]):
            change = 0.0
            for part in changes:
                change += part[row, c]
            x[row, c] -= step * (share * change + gradient[row, c])


@kernel
def inner(a, b):
    """The inner product of two vectors."""
    total = 0.0
    for place in range(a.shape[0]):
        total += a[place] * b[place]
    return total


@kernel
def covariance(x, centre, out):
    """Put the mean of all rows into ``centre``, and n times their covariance into the lower triangle of ``out``."""
    centre[:] = 0.0
    out[:] = 0.0
    for row in range(x.shape[0]):
        for a in range(x.shape[1]):
            centre[a] += x[row, a]
    centre /= x.shape[0]
    for row in range(x.shape[0]):
        for a in range(x.shape[1]):
            along = x[row, a] - centre[a]
            for b in range(a + 1):
                out[a, b] += along * (x[row, b] - centre[b])


@kernel
def projection(x, centre, axes, out):
    """Put the projection of the rows of a map, minus a centre, on some axes into ``out``."""
    for row in range(x.shape[0]):
        for c in range(axes.shape[0]):
            along = 0.0
            for a in range(axes.shape[1]):
                along += axes[c, a] * (x[row, a] - centre[a])
            out[row, c] = along


def differences(debt, i, j, l, k):  # noqa: E741
    """Of the two pairs, here and at the snapshot; the rows are (stored place, snapshot, full gradient there)."""
    near = (i[0] - debt * i[2]) - (j[0] - debt * j[2])
    far = (l[0] - debt * l[2]) - (k[0] - debt * k[2])
    return near, far, i[1] - j[1], l[1] - k[1]


@summed(4)
def svrg_distances(factors, i, j, l, k):  # noqa: E741
    """The squared distances of the two pairs, here and at the snapshot."""
    return [gap * gap for gap in differences(*factors, i, j, l, k)]


@added
def svrg_move(factors, i, j, l, k):  # noqa: E741
    """Move against one comparison's gradient here, and along its gradient at the snapshot."""
    debt, near, far, anchor_near, anchor_far = factors
    near_gap, far_gap, anchor_near_gap, anchor_far_gap = differences(debt, i, j, l, k)
    pull = near * near_gap - anchor_near * anchor_near_gap
    push = far * far_gap - anchor_far * anchor_far_gap
    return -pull, -push, pull, push


@kernel
def svrg_steps(loss, rows, order, step, done, state):
    """Walk ``order`` in variance-reduced steps of one comparison each, touching only its rows.

    Within an epoch the full gradient at the snapshot and the step are constant, so after ``t`` steps every row owes
    ``t * step * gradient[row]``. What is stored is the place *without* that debt; the place itself is read as
    ``stored - t * step * gradient``. A step thus costs O(n_dims), however many objects there are.

    ``state[row]`` is (stored place, snapshot, full gradient at the snapshot), side by side in memory; ``done`` is
    the number of steps taken earlier in this epoch.
    """
    scale = 2.0 * step
    for begin in range(0, order.shape[0], STRETCH):
        here = fetched(rows, order[begin : begin + STRETCH])
        for q in range(here.table.shape[0]):
            debt = (done + begin + q) * step
            look_ahead(here, q, state)
            objects = ends(here, q)
            near, far, anchor_near, anchor_far = svrg_distances(state, objects, (debt,))
            near, far = slopes(loss, near, far)
            anchor_near, anchor_far = slopes(loss, anchor_near, anchor_far)
            moves = (scale * near, scale * far, scale * anchor_near, scale * anchor_far)
            svrg_move(state, objects, state, objects, (debt, *moves))


@kernel
def sgd_steps(loss, rows, order, batch_size, step, x):
    """Walk ``order`` in plain stochastic gradient steps of ``batch_size`` comparisons each; ``x`` moves in place."""
    n_dims = x.shape[1]
    moves = np.empty((batch_size, 2, n_dims))
    scale = 2.0 * step / batch_size
    stretch = max(STRETCH // batch_size, 1) * batch_size
    for begin in range(0, order.shape[0], stretch):
        here = fetched(rows, order[begin : begin + stretch])
        for first in range(0, here.table.shape[0] // batch_size * batch_size, batch_size):
            for member in range(batch_size):
                look_ahead(here, first + member, x)
                objects = ends(here, first + member)
                near, far = distances(x, objects, ())
                slope_near, slope_far = slopes(loss, near, far)
                slope_near, slope_far = settled(scale * slope_near), settled(scale * slope_far)
                if batch_size == 1:
                    gradient_of(x, objects, x, objects, (-slope_near, -slope_far))
                    continue
                i, j, l, k = objects  # noqa: E741
                for c in range(n_dims):
                    moves[member, 0, c] = slope_near * (x[i, c] - x[j, c])
                    moves[member, 1, c] = slope_far * (x[l, c] - x[k, c])
            if batch_size == 1:
                continue
            for member in range(batch_size):
                i, j, l, k = ends(here, first + member)  # noqa: E741
                for c in range(n_dims):
                    pull = moves[member, 0, c]
                    push = moves[member, 1, c]
                    x[i, c] -= pull
                    x[l, c] -= push
                    x[j, c] += pull
                    x[k, c] += push


@kernel
def polyak_steps(loss, rows, order, together, longest, x):
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
    near_moves, far_moves = np.empty(together), np.empty(together)
    met = 0.0
    stretch = STRETCH // together * together
    for begin in range(0, order.shape[0], stretch):
        here = fetched(rows, order[begin : begin + stretch])
        for first in range(0, here.table.shape[0], together):
            size = min(together, here.table.shape[0] - first)
            for member in range(size):
                look_ahead(here, first + member, x)
                i, j, l, k = ends(here, first + member)  # noqa: E741
                near, far, both = distances_and_product(x, (i, j, l, k), ())
                # Objects in both pairs: at opposite ends they subtract.
                shared = (i == l) + (j == k) - (i == k) - (j == l)
                nears[member], fars[member], products[member] = near, far, shared * both
                met += near + far
            for member in range(size):
                near, far = nears[member], fars[member]
                height = value(loss, near, far)
                slope_near, slope_far = slopes(loss, near, far)
                steepness = 8.0 * (slope_near * slope_near * near + slope_far * slope_far * far)
                steepness += 8.0 * slope_near * slope_far * products[member]
                bound = min(longest, 0.125 / max(abs(slope_near), abs(slope_far), 1e-300))
                step = height / steepness if 0.0 <= height < bound * steepness else bound
                measurable = steepness < np.inf  # slopes that are infinite or no numbers move nothing
                near_moves[member] = -2.0 * step * slope_near if measurable else 0.0
                far_moves[member] = -2.0 * step * slope_far if measurable else 0.0
            for member in range(size):
                objects = ends(here, first + member)
                gradient_of(x, objects, x, objects, (near_moves[member], far_moves[member]))
    return met


class StepSchedule(NamedTuple):
    """How long Polyak's steps are, and what maps along the walk weigh in their average."""

    share: float  # of 1 / slope, the loss's slope at a tie: what a step is at most
    reach: float  # comparisons after which steps become shorter
    lateness: float  # the weight of the k-th map grows like its power of k


class Progress(NamedTuple):
    """How far a walk in Polyak's steps has come."""

    age: float  # comparisons walked; more than that after an epoch that was taken back
    n_maps: int  # in the average
    distance: float  # the mean squared distance of the pairs in the last stretch
    step: float  # the longest there


@kernel
def longest_step(loss, schedule, distance, age):
    """What a step is at most after ``age`` comparisons, with pairs of objects this far apart."""
    slope_near, slope_far = slopes(loss, distance, distance)
    slope = max(abs(slope_near), abs(slope_far))
    bound = schedule.share / slope if slope > 0.0 else np.inf
    return bound * min(1.0, schedule.reach / age) ** 0.5


@kernel
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
        step = longest_step(loss, schedule, distance, age)
        distance = polyak_steps(loss, rows, part, together, step, x) / (2 * part.shape[0])
        update_average(mean, x, schedule, n_maps)
    return age, n_maps, distance, step


@kernel
def gram_gradient(loss, rows, weights, gram, out):
    """Add the gradient with respect to the Gram matrix to ``out``; return the sum of losses."""
    total = 0.0
    for q in range(rows.table.shape[0]):
        i, j, l, k = ends(rows, q)  # noqa: E741
        # Rounding can leave a matrix that is only nearly positive. Not quite zero, because here no difference of
        # coincident rows makes up for an infinite slope (soe).
        near = max(gram[i, i] - 2.0 * gram[i, j] + gram[j, j], 1e-12)
        far = max(gram[l, l] - 2.0 * gram[l, k] + gram[k, k], 1e-12)
        weight = weight_of(weights, q)
        total += weight * value(loss, near, far)
        slope_near, slope_far = slopes(loss, near, far)
        slope_near *= weight
        slope_far *= weight
        out[i, i] += slope_near
        out[j, j] += slope_near
        out[i, j] -= slope_near
        out[j, i] -= slope_near
        out[l, l] += slope_far
        out[k, k] += slope_far
        out[l, k] -= slope_far
        out[k, l] -= slope_far
    return total


@kernel
def margins(rows, x, out):
    """``out[q] = far - near``: positive where the map agrees with comparison ``q``."""
    for q in range(rows.table.shape[0]):
        near, far = distances(x, ends(rows, q), ())
        out[q] = far - near


@kernel
def wrong_weight(rows, weights, x):
    """The summed weight of the comparisons with which the map does not agree."""
    wrong = 0.0
    for q in range(rows.table.shape[0]):
        look_ahead(rows, q, x)
        near, far = distances(x, ends(rows, q), ())
        if not near < far:  # so that NaN counts as wrong
            wrong += weight_of(weights, q)
    return wrong


@kernel
def in_turn(runs, length, neighbours, side_by_side, rest, first, order):
    """Fill ``order`` with the terms from place ``first`` of a pass on.

    A pass visits the runs (``length`` terms each, given by where they begin) ``side_by_side`` at a time: first the
    first terms of all of them, then the second ones, and so on; at its end come the terms in ``rest``. A run goes
    through so many ``neighbours``, then leaps on by as many for each run, beyond the end to the beginning.
    """
    leap = neighbours * runs.shape[0]
    n_in_runs = length * runs.shape[0]
    group = side_by_side * length
    begin = first // group * side_by_side  # the first run of the group that this place is in
    width = min(side_by_side, runs.shape[0] - begin) if first < runs.shape[0] * length else 0
    offset, lane = divmod(first - begin * length, max(width, 1))
    t = 0
    while t < order.shape[0] and width > 0:
        count = min(width - lane, order.shape[0] - t)
        ahead = offset // neighbours * leap + offset % neighbours
        for c in range(count):  # unsigned, as in ends()
            term = runs[np.uint64(begin + lane + c)] + ahead
            order[np.uint64(t + c)] = term - n_in_runs if term >= n_in_runs else term
        t += count
        lane = 0
        offset += 1
        if offset == length:
            offset = 0
            begin += side_by_side
            width = min(side_by_side, runs.shape[0] - begin)
    for place in range(t, order.shape[0]):
        order[place] = rest[first + place - runs.shape[0] * length]


@kernel
def look_out(board, known, looks):
    """Look at ``board[0]`` until it is something else than what is known, or this many times."""
    for _ in range(looks):
        if looked_at(board) != known:
            break
