"""Kernels that sum over all comparisons: losses, correct answers, and gradients in a map or a Gram matrix."""

import numpy as np

from closerthan.compiled.compiling import kernel, slopes, value, values_and_slopes, values_of
from closerthan.compiled.kernels.rows import BLOCK, ends, gradient_of, measure, prefetch_ahead, weight_of


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


@kernel
def gram_gradient(loss, rows, weights, gram, out):
    """Add the gradient with respect to the Gram matrix to ``out``; return the sum of losses."""
    total = 0.0
    for q in range(rows.table.shape[0]):
        i, j, l, k = ends(rows, q)  # noqa: E741
        # Rounding can make a squared distance slightly negative. The lower bound is not 0, because the SOE loss has an
        # infinite slope there, which on a map is cancelled by a difference of 0 but not here.
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
