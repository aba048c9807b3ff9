"""Agreement between answers and map as a function of the margin: how much the two distances differ."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closerthan.checks import checked
from closerthan.comparisons import Comparisons
from closerthan.metrics import distances, effective_number, error_interval
from closerthan.plotting.canvas import canvas, legend, named_map, tidy
from closerthan.plotting.palette import COLOURS, GREY

__all__ = ["margin_figure"]


@checked
def margin_figure(answers: Comparisons | ArrayLike, result: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw the fraction of comparisons that agree with the map against the margin, the difference of the two distances.

    Comparisons whose two distances are nearly equal on the map are close calls: about half of them agree with it. If
    the distances differ greatly, nearly all should agree. All bins contain the same number of comparisons; error bars
    are 95 % intervals.

    Parameters
    ----------
    answers
        The answers, as in :func:`closerthan.embed`.
    result
        A result of :func:`closerthan.embed`, or (n_objects, n_dims) coordinates.
    title, ax
        As in :func:`map_figure`.

    Examples
    --------
    >>> import closerthan as ct
    >>> answers = ct.datasets.eurodist().comparisons()
    >>> figure = margin_figure(answers, ct.embed(answers, seed=0))
    >>> figure.axes[0].get_ylabel()
    'fraction that agrees with the map'
    """
    comparisons, embedding = Comparisons.of(answers), named_map(result).embedding
    near, far = distances(comparisons, embedding)
    size = np.abs(far - near)
    order = np.argsort(size, kind="stable")
    n_bins = int(np.clip(len(comparisons) // 40, 1, 20))
    centres, fractions, lows, highs = [], [], [], []
    for rows in np.array_split(order, n_bins):
        part = comparisons.take(rows)
        weights = np.ones(len(rows)) if part.weights is None else part.weights
        if not weights.sum() > 0:
            continue
        fraction = float(np.average(near[rows] < far[rows], weights=weights))
        low, high = error_interval(fraction, effective_number(part, embedding))
        centres.append(float(np.median(size[rows])))
        fractions.append(fraction)
        lows.append(max(fraction - low, 0.0))
        highs.append(max(high - fraction, 0.0))

    figure, ax = canvas(ax, (7.0, 4.2))
    style = {"color": COLOURS[0], "marker": "o", "markersize": 4, "capsize": 2, "linewidth": 1.2, "elinewidth": 0.8}
    curve = ax.errorbar(centres, fractions, yerr=[lows, highs], **style)
    chance = ax.axhline(0.5, color=GREY, linestyle=":", linewidth=0.9)
    ax.set_ylim(min(0.0 if min(fractions) < 0.4 else 0.4, 0.4), 1.02)
    ax.set_xlim(left=0)
    text = f"{len(comparisons):,} comparisons in {len(fractions)} equal bins"
    legend(ax, [curve, chance], [text, "chance"], loc="lower right")
    x_title = "margin on the map (difference of the two distances)"
    tidy(ax, title=title, x=x_title, y="fraction that agrees with the map")
    return figure
