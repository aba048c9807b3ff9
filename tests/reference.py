"""The mathematics in plain NumPy, slow and obvious: what the compiled code must agree with."""

import numpy as np


def four_columns(rows):
    return rows[:, [0, 1, 0, 2]] if rows.shape[1] == 3 else rows


def squared_distances(rows, x):
    i, j, l, k = four_columns(rows).T  # noqa: E741
    return np.sum((x[i] - x[j]) ** 2, axis=1), np.sum((x[l] - x[k]) ** 2, axis=1)


def value(loss, rows, x, weights=None):
    near, far = squared_distances(rows, x)
    losses = np.array([loss.value(a, b) for a, b in zip(near, far, strict=True)])
    return np.average(losses, weights=weights)


def gradient(loss, rows, x, weights=None):
    """Gradient of the (weighted) mean loss over ``rows``."""
    near, far = squared_distances(rows, x)
    slopes = np.array([loss.slopes(a, b) for a, b in zip(near, far, strict=True)])
    weights = np.ones(len(rows)) if weights is None else weights
    share = weights / weights.sum()
    out = np.zeros_like(x)
    for (i, j, l, k), (near_slope, far_slope), part in zip(four_columns(rows), slopes, share, strict=True):  # noqa: E741
        pull = part * near_slope * 2 * (x[i] - x[j])
        push = part * far_slope * 2 * (x[l] - x[k])
        out[i] += pull
        out[j] -= pull
        out[l] += push
        out[k] -= push
    return out


def svrg_epoch(loss, rows, weights, snapshot, order, batch_size, step):
    """Algorithm 1's inner loop as it is printed: every row moves in every step.

    Weights enter the full gradient; in the steps they are in how often the order visits a row.
    """
    full = gradient(loss, rows, snapshot, weights)
    x = snapshot.copy()
    for start in range(0, len(order) - batch_size + 1, batch_size):
        batch = rows[order[start : start + batch_size]]
        x = x - step * (gradient(loss, batch, x) - gradient(loss, batch, snapshot) + full)
    return x


def sgd_pass(loss, rows, x, order, batch_size, step):
    x = x.copy()
    for start in range(0, len(order) - batch_size + 1, batch_size):
        x = x - step * gradient(loss, rows[order[start : start + batch_size]], x)
    return x


def polyak_pass(loss, rows, x, order, longest):
    """Each step is loss / |gradient|^2, at most ``longest``, and takes at most half of a pair's difference.

    Returns the map and the mean squared distance of the pairs met on the way.
    """
    x = x.copy()
    met = []
    for q in order:
        row = rows[q : q + 1]
        (near,), (far,) = squared_distances(row, x)
        descent = gradient(loss, row, x)
        bound = min(longest, 0.125 / max(*map(abs, loss.slopes(near, far)), 1e-300))
        steepness = np.sum(descent**2)
        x = x - min(bound, loss.value(near, far) / steepness if steepness else bound) * descent
        met += [near, far]
    return x, np.mean(met)
