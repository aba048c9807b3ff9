"""How well a map agrees with comparisons."""

from closerthan.compiled.compiling import kernel, value
from closerthan.compiled.rows import distances, ends, prefetch_ahead, weight_of


@kernel
def margins(rows, x, out):
    """``out[q] = far - near``: positive where the map agrees with comparison ``q``."""
    for q in range(rows.table.shape[0]):
        near, far = distances(x, ends(rows, q), ())
        out[q] = far - near


@kernel
def log_odds(loss, rows, x, out):
    """``out[q]``: how much more the reverse of comparison ``q`` would cost."""
    for q in range(rows.table.shape[0]):
        near, far = distances(x, ends(rows, q), ())
        out[q] = value(loss, far, near) - value(loss, near, far)


@kernel
def wrong_weight(rows, weights, x):
    """The summed weight of the comparisons with which the map does not agree."""
    wrong = 0.0
    for q in range(rows.table.shape[0]):
        prefetch_ahead(rows, q, x)
        near, far = distances(x, ends(rows, q), ())
        if not near < far:  # so that NaN counts as wrong
            wrong += weight_of(weights, q)
    return wrong
