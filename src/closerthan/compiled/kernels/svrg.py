"""Kernels of SVRG: variance-reduced steps of one comparison or of a batch."""

from closerthan.compiled.compiling import kernel, slopes
from closerthan.compiled.kernels.rows import STRETCH, ends, gather_rows, prefetch_ahead
from closerthan.compiled.simd import added, summed


@summed(4)
def distances_at_both(factors, i, j, l, k):  # noqa: E741
    """Return the squared distances of the two pairs on each of two maps."""
    near, far, anchor_near, anchor_far = i[0] - j[0], l[0] - k[0], i[1] - j[1], l[1] - k[1]
    return near * near, far * far, anchor_near * anchor_near, anchor_far * anchor_far


@added
def change_of_gradient(factors, i, j, l, k):  # noqa: E741
    """Add the gradient of one comparison at the first map minus that at the second."""
    near, far, anchor_near, anchor_far = factors
    pull = near * (i[0] - j[0]) - anchor_near * (i[1] - j[1])
    push = far * (l[0] - k[0]) - anchor_far * (l[1] - k[1])
    return pull, push, -pull, -push


@kernel
def gradient_change(loss, rows, order, x, anchor, out):
    """Add to ``out`` the gradient of the comparisons in ``order`` at ``x`` minus that at ``anchor``."""
    for begin in range(0, order.shape[0], STRETCH):
        here = gather_rows(rows, order[begin : begin + STRETCH])
        for q in range(here.table.shape[0]):
            prefetch_ahead(here, q, x)
            prefetch_ahead(here, q, anchor)
            prefetch_ahead(here, q, out)
            objects = ends(here, q)
            near, far, anchor_near, anchor_far = distances_at_both((x, anchor), objects, ())
            near, far = slopes(loss, near, far)
            anchor_near, anchor_far = slopes(loss, anchor_near, anchor_far)
            twice = (2.0 * near, 2.0 * far, 2.0 * anchor_near, 2.0 * anchor_far)
            change_of_gradient((x, anchor), objects, out, objects, twice)


@kernel
def dense_step(x, step, changes, factor, gradient):
    """Update ``x -= step * (factor * sum(changes) + gradient)`` in one pass over memory."""
    for row in range(x.shape[0]):
        for c in range(x.shape[1]):
            change = 0.0
            for part in changes:
                change += part[row, c]
            x[row, c] -= step * (factor * change + gradient[row, c])


def differences(debt, i, j, l, k):  # noqa: E741
    """Return the differences of the two pairs, on the current map and at the snapshot.

    The rows of an object are its stored position, its position in the snapshot, and the full gradient there.
    """
    near = (i[0] - debt * i[2]) - (j[0] - debt * j[2])
    far = (l[0] - debt * l[2]) - (k[0] - debt * k[2])
    return near, far, i[1] - j[1], l[1] - k[1]


@summed(4)
def svrg_distances(factors, i, j, l, k):  # noqa: E741
    """Return the squared distances of the two pairs, on the current map and at the snapshot."""
    return [gap * gap for gap in differences(*factors, i, j, l, k)]


@added
def svrg_move(factors, i, j, l, k):  # noqa: E741
    """Move against the gradient of one comparison at the current map, and along its gradient at the snapshot."""
    debt, near, far, anchor_near, anchor_far = factors
    near_gap, far_gap, anchor_near_gap, anchor_far_gap = differences(debt, i, j, l, k)
    pull = near * near_gap - anchor_near * anchor_near_gap
    push = far * far_gap - anchor_far * anchor_far_gap
    return -pull, -push, pull, push


@kernel
def svrg_steps(loss, rows, order, step, steps_done, state):
    """Make variance-reduced steps of one comparison each along ``order``, touching only the rows of that comparison.

    Within an epoch the step size and the full gradient at the snapshot are constant, so after ``t`` steps every row
    has moved by ``-t * step * gradient[row]`` in addition to the moves of its own comparisons. The stored position
    omits that common part (the ``debt``), and a row is read as ``stored - t * step * gradient``. A step therefore
    costs O(n_dims) for any number of objects.

    ``state[row]`` holds the stored position, the snapshot and the full gradient at the snapshot, contiguous in memory;
    ``steps_done`` is the number of steps made earlier in this epoch.
    """
    scale = 2.0 * step
    for begin in range(0, order.shape[0], STRETCH):
        here = gather_rows(rows, order[begin : begin + STRETCH])
        for q in range(here.table.shape[0]):
            debt = (steps_done + begin + q) * step
            prefetch_ahead(here, q, state)
            objects = ends(here, q)
            near, far, anchor_near, anchor_far = svrg_distances(state, objects, (debt,))
            near, far = slopes(loss, near, far)
            anchor_near, anchor_far = slopes(loss, anchor_near, anchor_far)
            moves = (scale * near, scale * far, scale * anchor_near, scale * anchor_far)
            svrg_move(state, objects, state, objects, (debt, *moves))
