"""Agreement of answers and map against how far apart the two distances are."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closerthan.checks import checked
from closerthan.comparisons import Comparisons
from closerthan.metrics import distances, effective_number, error_interval
from closerthan.plotting.canvas import canvas, drawn_map, legend, tidy
from closerthan.plotting.palette import COLOURS, GREY

__all__ = ["margin_figure"]


@checked
def margin_figure(
    comparisons: Comparisons | ArrayLike, result: Any, *, title: str | None = None, ax: Any = None
) -> Any:
    """Draw the share of comparisons that agree with the map against the margin: the difference of the two distances.

    Comparisons whose two distances are nearly the same on the map are close calls, and agree about half of the time;
    where the map says that the distances differ much, nearly all should agree. Bins hold the same number of
    comparisons; bars are 95 % intervals. ``result`` is what :func:`closerthan.embed` returned, or coordinates.

    Examples
    --------
    >>> import closerthan as ct
    >>> answers = ct.datasets.eurodist().comparisons()
    >>> figure = margin_figure(answers, ct.embed(answers, seed=0))
    >>> figure.axes[0].get_ylabel()
    'share that agree with the map'
    """
    answers, embedding = Comparisons.of(comparisons), drawn_map(result).embedding
    near, far = distances(answers, embedding)
    size = np.abs(far - near)
    order = np.argsort(size, kind="stable")
    n_bins = int(np.clip(len(answers) // 40, 1, 20))
    middles, shares, lows, highs = [], [], [], []
    for rows in np.array_split(order, n_bins):
        part = answers.take(rows)
        weights = np.ones(len(rows)) if part.weights is None else part.weights
        if not weights.sum() > 0:
            continue
        share = float(np.average(near[rows] < far[rows], weights=weights))
        low, high = error_interval(share, effective_number(part, embedding))
        middles.append(float(np.median(size[rows])))
        shares.append(share)
        lows.append(max(share - low, 0.0))
        highs.append(max(high - share, 0.0))

    figure, ax = canvas(ax, (7.0, 4.2))
    style = {"color": COLOURS[0], "marker": "o", "markersize": 4, "capsize": 2, "linewidth": 1.2, "elinewidth": 0.8}
    curve = ax.errorbar(middles, shares, yerr=[lows, highs], **style)
    chance = ax.axhline(0.5, color=GREY, linestyle=":", linewidth=0.9)
    ax.set_ylim(min(0.0 if min(shares) < 0.4 else 0.4, 0.4), 1.02)
    ax.set_xlim(left=0)
    legend(
        ax, [curve, chance], [f"{len(answers):,} comparisons in {len(shares)} equal bins", "chance"], loc="lower right"
    )
    tidy(ax, title=title, x="margin on the map (difference of the two distances)", y="share that agree with the map")
    return figure
