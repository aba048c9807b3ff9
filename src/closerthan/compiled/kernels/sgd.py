"""The kernel of plain stochastic gradient descent."""

import numpy as np

from closerthan.compiled.compiling import fence, kernel, slopes
from closerthan.compiled.kernels.rows import STRETCH, distances, ends, gather_rows, gradient_of, prefetch_ahead


@kernel
def sgd_steps(loss, rows, order, batch_size, step, x):
    """Make stochastic gradient steps along ``order``, ``batch_size`` comparisons each; ``x`` is updated in place."""
    n_dims = x.shape[1]
    moves = np.empty((batch_size, 2, n_dims))
    scale = 2.0 * step / batch_size
    stretch = max(STRETCH // batch_size, 1) * batch_size
    for begin in range(0, order.shape[0], stretch):
        here = gather_rows(rows, order[begin : begin + stretch])
        for first in range(0, here.table.shape[0] // batch_size * batch_size, batch_size):
            for member in range(batch_size):
                prefetch_ahead(here, first + member, x)
                objects = ends(here, first + member)
                near, far = distances(x, objects, ())
                slope_near, slope_far = slopes(loss, near, far)
                slope_near, slope_far = fence(scale * slope_near), fence(scale * slope_far)
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
