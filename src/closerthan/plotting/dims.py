"""Held-out error against the number of dimensions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closerthan.metrics import one_standard_error_choice
from closerthan.plotting.canvas import canvas, legend, tidy
from closerthan.plotting.palette import COLOURS, GREY
from closerthan.wording import counted

__all__ = ["dims_figure"]


def dims_figure(
    dims: Sequence[int],
    mean_error: ArrayLike,
    standard_error: ArrayLike,
    *,
    chosen: int | None = None,
    sure: Sequence[int] | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw the held-out error of each number of dimensions, and the choice by the one-standard-error rule.

    The rule: the fewest dimensions whose mean error is at most one standard error above the lowest.

    Parameters
    ----------
    dims
        Numbers of dimensions that were tried.
    mean_error, standard_error
        Over the folds of a cross-validation, one each.
    chosen
        The number to mark; by the rule if not given.
    sure
        Numbers that are beyond reasonable doubt better than one fewer: their dots are full, the others' empty. None:
        it was not tested, and all are full.

    Examples
    --------
    >>> figure = dims_figure([1, 2, 3, 4], [0.30, 0.12, 0.11, 0.115], [0.01, 0.015, 0.01, 0.01])
    >>> figure.axes[0].get_title(loc="left")
    'Chosen: 2 dimensions'
    """
    tried = np.asarray(dims)
    mean, spread = np.asarray(mean_error, dtype=np.float64), np.asarray(standard_error, dtype=np.float64)
    if not len(tried) or not (tried.shape == mean.shape == spread.shape):
        raise ValueError(
            f"there are {len(tried)} dims, {mean.size} mean errors and {spread.size} standard errors; pass one of each"
        )
    if not (np.isfinite(mean).all() and np.isfinite(spread).all()):
        raise ValueError("an error is not a finite number; leave out the dims that could not be measured")
    order = np.argsort(tried)
    tried, mean, spread = tried[order], mean[order], spread[order]
    if chosen is None:
        chosen = one_standard_error_choice(tried.tolist(), mean, spread)
    elif chosen not in tried:
        raise ValueError(f"chosen is {chosen}, which is not among the dims {tried.tolist()}")

    figure, ax = canvas(ax, (7.0, 4.2))
    curve = ax.errorbar(tried, mean, yerr=spread, color=COLOURS[0], marker="o", markersize=4, capsize=3, linewidth=1.2)
    doubtful = [] if sure is None else [n_dims for n_dims in tried[1:].tolist() if n_dims not in sure]
    dots = ax.scatter(
        doubtful,
        mean[np.isin(tried, doubtful)],
        s=18,
        facecolors="white",
        edgecolors=COLOURS[0],
        linewidths=1.2,
        zorder=3,
    )
    best = int(mean.argmin())
    line = ax.axhline(mean[best] + spread[best], color=GREY, linestyle="--", linewidth=0.9)
    mark = ax.scatter(
        [chosen], mean[tried == chosen], s=140, facecolors="none", edgecolors=COLOURS[1], linewidths=1.8, zorder=4
    )
    ax.set_xticks(tried if len(tried) <= 15 else tried[:: -(-len(tried) // 15)])
    ax.set_ylim(bottom=0)
    texts = ["mean over folds ± one standard error", "lowest mean + its standard error", f"chosen: {chosen}"]
    handles = [curve, line, mark]
    if doubtful:
        handles.append(dots)
        texts.append("not surely better than one dimension fewer")
    legend(ax, handles, texts, loc="best")
    tidy(ax, title=title or f"Chosen: {counted(chosen, 'dimension')}", x="dimensions", y="held-out error")
    return figure
