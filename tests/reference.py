"""The mathematics in plain NumPy, slow and obvious, as a reference for the compiled code."""

from types import SimpleNamespace

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

    Weights enter the full gradient; in the steps, they determine how often the order visits a row.
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


def polyak_pass(loss, rows, x, order, longest, together=1):
    """Each step is loss / |gradient|^2, at most ``longest``, and takes at most half of a pair's difference.

    Slopes and lengths are those before the first of ``together`` comparisons moves. Returns the map and the mean
    squared distance of the pairs visited.
    """
    x = x.copy()
    met = []
    for first in range(0, len(order), together):
        steps = []
        for q in order[first : first + together]:
            row = rows[q : q + 1]
            (near,), (far,) = squared_distances(row, x)
            slopes = loss.slopes(near, far)
            bound = min(longest, 0.125 / max(*map(abs, slopes), 1e-300))
            steepness = np.sum(gradient(loss, row, x) ** 2)
            step = min(bound, loss.value(near, far) / steepness if steepness else bound)
            steps.append((row, step, SimpleNamespace(slopes=lambda near, far, slopes=slopes: slopes)))
            met += [near, far]
        for row, step, settled in steps:
            x = x - step * gradient(settled, row, x)
    return x, np.mean(met)


def best_scale(loss, rows, x, scales, trust, weights=None):
    """The scale whose mean loss is lowest; enlarged by the share trusted alone."""
    losses = np.array([value(loss, rows, scale * x, weights) for scale in scales])
    now = int(np.flatnonzero(scales == 1.0)[0])
    with np.errstate(all="ignore"):
        try:
            collapsed = loss.value(0.0, 0.0)
        except ZeroDivisionError:
            collapsed = np.nan
    finite = np.isfinite(collapsed)
    best = int(np.argmin(losses))
    if losses[best] >= losses[now] or (finite and losses[best] >= collapsed):
        return 1.0
    if best < now:
        return scales[best]
    # The first place on the line through the gains where the share of the best one is reached.
    gains = np.maximum.accumulate(losses[now] - losses[now : best + 1])
    return np.interp(trust * gains[-1], gains, scales[now : best + 1])
