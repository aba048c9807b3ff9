"""Neighbours on the map: lines that are as strong as they are sure."""

from typing import Any

import numpy as np

from closerthan.checks import checked
from closerthan.geometry import principal_axes
from closerthan.plotting.canvas import check_returned, legend
from closerthan.plotting.maps.scatter import map_figure
from closerthan.wording import percent

__all__ = ["neighbours_figure"]

LEAST = 0.1  # probability: fainter lines are not drawn
WIDEST = 4.0  # points


@checked
def neighbours_figure(replicates: Any, *, k: int = 3, title: str | None = None, ax: Any = None) -> Any:
    """Draw a map with a line between objects that are neighbours, as wide as that is probable.

    Of a pair, the larger one of the probabilities of both directions is drawn, if it is at least a tenth.

    Parameters
    ----------
    replicates
        What :func:`closerthan.replicate` returned.
    k
        Number of nearest objects that count as neighbours.
    title, ax
        As in :func:`map_figure`.

    Examples
    --------
    >>> import closerthan as ct
    >>> found = ct.replicate(ct.datasets.eurodist().comparisons(), n_replicates=10, loss="soe", seed=0)
    >>> figure = neighbours_figure(found, k=1)
    >>> len(figure.axes[0].collections[-1].get_segments()) >= 21 // 2
    True
    """
    check_returned("replicates", replicates, "neighbour_probability", "replicate")
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    table = replicates.neighbour_probability(k)
    figure = map_figure(replicates.result, title=title, ax=ax)
    ax = figure.axes[0] if ax is None else ax
    x = replicates.result.embedding
    if x.shape[1] > 2:
        x = principal_axes(x).coordinates[:, :2]
    elif x.shape[1] == 1:
        x = np.column_stack([x, np.argsort(np.argsort(x[:, 0], kind="stable"), kind="stable") + 1.0])
    either = np.triu(np.maximum(table, table.T), k=1)
    first, second = np.nonzero(either >= LEAST)
    sure = either[first, second]
    lines = LineCollection(
        list(np.stack([x[first], x[second]], axis=1)),
        colors=[(0.4, 0.4, 0.4, float(alpha)) for alpha in 0.2 + 0.6 * sure],
        linewidths=WIDEST * sure,
        zorder=1,
    )
    ax.add_collection(lines, autolim=False)
    shown = (1.0, 0.5, 0.2)
    handles = [
        Line2D([], [], color=(0.4, 0.4, 0.4), alpha=0.2 + 0.6 * share, linewidth=WIDEST * share) for share in shown
    ]
    near = "nearest" if k == 1 else f"among the {k} nearest"
    legend(ax, handles, [f"{near}: {percent(share, digits=0)}" for share in shown], loc="best")
    return figure
