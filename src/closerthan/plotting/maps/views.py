"""Several maps of the same objects, side by side."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from closerthan.checks import checked
from closerthan.plotting.canvas import canvas, freeze, tidy
from closerthan.plotting.maps.scatter import map_figure

__all__ = ["views_figure"]

SIDE = 5.0  # width and height of each map, in inches


@checked
def views_figure(views: Any, names: Sequence[str] | None = None, *, titles: Sequence[str] | None = None) -> Any:
    """Draw maps of the same objects side by side, each with its title.

    Parameters
    ----------
    views
        A result of :func:`closerthan.embed_views`, or a sequence of results or of coordinates.
    names
        Names of the objects; by default those of the views.
    titles
        One title per map; by default those of the views, or "view 1", "view 2", and so on.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> figure = views_figure([square, square[::-1]], ["a", "b", "c", "d"], titles=["colour", "shape"])
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['colour', 'shape']
    """
    maps = list(getattr(views, "maps", views))
    if not maps:
        raise ValueError("views is empty; pass at least one map")
    names = getattr(views, "names", None) if names is None else names
    titles = getattr(views, "titles", None) if titles is None else titles
    titles = [f"view {number + 1}" for number in range(len(maps))] if titles is None else titles
    if len(titles) != len(maps):
        raise ValueError(f"there are {len(titles)} titles for {len(maps)} maps; pass one per map")
    figure, frames = canvas(None, (SIDE * len(maps), SIDE), columns=len(maps))
    for title, ax in zip(titles, np.atleast_1d(frames), strict=True):
        tidy(ax, title=title, x=" ", y=" ")  # reserves room for the titles of the axes
    freeze(figure)
    for view, title, ax in zip(maps, titles, np.atleast_1d(frames), strict=True):
        map_figure(view, names, title=title, ax=ax)
    return figure
