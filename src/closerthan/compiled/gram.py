"""The objective as a function of the Gram matrix."""

from closerthan.compiled.compiling import kernel, slopes, value
from closerthan.compiled.rows import ends, weight_of


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
