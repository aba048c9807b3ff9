"""Kernels that compare a map with the answers: margins, log-odds and the weight of wrong answers."""

from closerthan.compiled.compiling import kernel, value
from closerthan.compiled.kernels.rows import distances, ends, prefetch_ahead, weight_of


@kernel
def margins(rows, x, out):
    """Set ``out[q] = far - near``, which is positive if the map agrees with comparison ``q``."""
    for q in range(rows.table.shape[0]):
        near, far = distances(x, ends(rows, q), ())
        out[q] = far - near


@kernel
def log_odds(loss, rows, x, out):
    """Set ``out[q]`` to the loss of the reversed comparison ``q`` minus the loss of the comparison itself."""
    for q in range(rows.table.shape[0]):
        near, far = distances(x, ends(rows, q), ())
        out[q] = value(loss, far, near) - value(loss, near, far)


@kernel
def wrong_weight(rows, weights, x):
    """Return the total weight of the comparisons that the map contradicts."""
    wrong = 0.0
    for q in range(rows.table.shape[0]):
        prefetch_ahead(rows, q, x)
        near, far = distances(x, ends(rows, q), ())
        if not near < far:  # unlike near >= far, this counts NaN as wrong
            wrong += weight_of(weights, q)
    return wrong
