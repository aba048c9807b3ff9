"""Neighbours on the map: lines that are as strong as they are sure."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closerthan.geometry import matrix_of, principal_axes
from closerthan.plotting.canvas import legend
from closerthan.plotting.scatter import map_figure
from closerthan.wording import percent

__all__ = ["neighbours_figure"]

LEAST = 0.1  # probability: fainter lines are not drawn
WIDEST = 4.0  # points


def neighbours_figure(
    embedding: ArrayLike,
    probability: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    k: int = 1,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw a map with a line between objects that are neighbours, as wide as that is probable.

    Parameters
    ----------
    embedding
        (n_objects, n_dims) coordinates.
    probability
        (n_objects, n_objects): how probable it is that the object of the column is among the k nearest of that of the
        row. Of a pair, the larger one of both ways is drawn, if it is at least a tenth.
    names
        Written beside the points.
    k
        What the probabilities are of.
    title, ax
        As in :func:`map_figure`.

    Examples
    --------
    >>> sure = [[0.0, 1.0, 0.0], [0.6, 0.0, 0.4], [0.0, 1.0, 0.0]]
    >>> figure = neighbours_figure([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]], sure)
    >>> len(figure.axes[0].collections[-1].get_segments())
    2
    """
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    x = matrix_of("embedding", embedding)
    table = np.asarray(probability, dtype=np.float64)
    if table.shape != (len(x), len(x)):
        raise ValueError(f"probability has shape {table.shape}; {len(x)} objects need {(len(x), len(x))}")
    figure = map_figure(x, names, title=title, ax=ax)
    ax = figure.axes[0] if ax is None else ax
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
