"""Kernels that sum over all comparisons: losses, correctly reproduced answers and gradients."""

import numpy as np

from closerthan.compiled.compiling import kernel, values_and_slopes, values_of
from closerthan.compiled.rows import BLOCK, ends, gradient_of, measure, prefetch_ahead, weight_of


@kernel
def gradient(loss, rows, weights, x, out):
    """Add the gradient of all comparisons to ``out``; return the sum of losses and the weight of correct answers."""
    n_rows = rows.table.shape[0]
    nears, fars, values = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    near_slopes, far_slopes = np.empty(BLOCK), np.empty(BLOCK)
    total = 0.0
    right = 0.0
    for first in range(0, n_rows, BLOCK):
        size = min(BLOCK, n_rows - first)
        measure(rows, first, size, x, nears, fars)
        values_and_slopes(loss, nears, fars, size, values, near_slopes, far_slopes)
        for member in range(size):
            q = first + member
            prefetch_ahead(rows, q, out)
            weight = weight_of(weights, q)
            total += weight * values[member]
            right += weight * (nears[member] < fars[member])  # without a branch; NaN counts as wrong
            near, far = 2.0 * weight * near_slopes[member], 2.0 * weight * far_slopes[member]
            objects = ends(rows, q)
            gradient_of(x, objects, out, objects, (near, far))
    return total, right


@kernel
def loss_sums(loss, rows, weights, x, scales, totals):
    """Store the sum of losses of each map ``scale * x`` in ``totals``; return the weight of correct answers."""
    n_rows = rows.table.shape[0]
    nears, fars, values = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    totals[:] = 0.0
    right = 0.0
    for first in range(0, n_rows, BLOCK):
        size = min(BLOCK, n_rows - first)
        measure(rows, first, size, x, nears, fars)
        for member in range(size):
            right += weight_of(weights, first + member) * (nears[member] < fars[member])  # NaN counts as wrong
        for s in range(scales.shape[0]):
            values_of(loss, nears, fars, scales[s] * scales[s], size, values)
            # The sum is a local variable. If it were in memory, its order of summation would depend on where it lies:
            # the compiler generates a slower loop in case it overlaps the weights.
            block_total = 0.0
            for member in range(size):
                block_total += weight_of(weights, first + member) * values[member]
            totals[s] += block_total
    return right
