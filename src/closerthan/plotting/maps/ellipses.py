"""Confidence ellipses: a map on which each object has a region that may contain its true position."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.checks import checked
from closerthan.plotting.canvas import check_returned, legend
from closerthan.plotting.maps.projection import project
from closerthan.plotting.maps.scatter import MapStyle, draw_map
from closerthan.plotting.palette import COLOURS
from closerthan.wording import percent

__all__ = ["are_readable", "ellipses_figure"]

MOST_ELLIPSES = 200  # with more objects, ellipses hide each other and the map
MOST_INSIDE = 1.0  # if ellipses contain more other objects on average, they visibly merge into one blob


@checked
def ellipses_figure(
    replicates: Any, *, levels: Sequence[float] = (0.5, 0.95), title: str | None = None, ax: Any = None
) -> Any:
    """Draw a map with an ellipse around each object that shows where its true position may be.

    If the map has more than two dimensions, its two widest principal axes are drawn; if it has one, intervals are
    drawn instead of ellipses. Ellipses that would merge into one blob are omitted, the largest level first, and a note
    says so.

    Parameters
    ----------
    replicates
        A result of :func:`closerthan.replicate`.
    levels
        Nominal probabilities that an ellipse contains the true position of its object. For the coverage measured in
        simulations, see :meth:`closerthan.Replicates.ellipses`.
    title, ax
        As in :func:`map_figure`.

    Examples
    --------
    >>> import closerthan as ct
    >>> replicates = ct.replicate(ct.datasets.eurodist().comparisons(), n_replicates=10, loss="soe", seed=0)
    >>> figure = ellipses_figure(replicates, levels=[0.95])
    >>> len(figure.axes[0].patches)
    21
    """
    check_returned("replicates", replicates, "ellipses", "replicate")
    if not len(levels):
        raise ValueError("levels is empty; pass at least one probability, as in [0.95]")
    result = replicates.result
    n_objects, n_dims = result.embedding.shape
    projection = project(result.embedding)
    x, axes = projection.coordinates, projection.axes
    by_level = {level: replicates.ellipses(level) for level in sorted(levels)}
    radii = {level: ellipses.radius(min(n_dims, 2)) for level, ellipses in by_level.items()}
    moments = np.einsum("da,ode,eb->oab", axes, next(iter(by_level.values())).moments, axes)
    readable = [level for level in radii if are_readable(x, moments, radii[level])]
    reach = max((radii[level] for level in readable), default=0.0) * np.sqrt(np.einsum("odd->od", moments))
    if n_dims == 1:
        reach = np.column_stack([reach, np.zeros(n_objects)])
    omitted = [percent(level, digits=0) for level in radii if level not in readable]
    notes = [f"{' and '.join(omitted)} ellipses not shown: they would hide each other"] * bool(omitted)
    figure = draw_map(result.embedding, result.names, MapStyle(title=title), ax=ax, reach=reach, notes=notes)
    ax = figure.axes[0] if ax is None else ax
    unsettled = set(replicates.unsettled.tolist())
    for level in readable:
        _draw(ax, x, moments, radii[level], unsettled)
    if readable:
        percentages = " and ".join(percent(level, digits=0) for level in readable)
        _explain(ax, f"{percentages} {'intervals' if n_dims == 1 else 'ellipses'}", bool(unsettled))
    return figure


def are_readable(x: NDArray[np.float64], moments: NDArray[np.float64], radius: float) -> bool:
    """Return whether the ellipses of all objects can be drawn at once without hiding each other and the map.

    They can if an ellipse contains at most one other object on average. The intervals of a map with one dimension are
    drawn at different heights, so they never hide each other.

    Parameters
    ----------
    x
        Coordinates of the objects as they are drawn.
    moments
        Second moments of these coordinates over the replicates; NaN where they are unknown.
    radius
        Semi-axes of the ellipses, in standard deviations.

    Examples
    --------
    >>> places = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> are_readable(places, np.array([0.01 * np.eye(2)] * 3), 2.5)
    True
    >>> are_readable(places, np.array([np.eye(2)] * 3), 2.5)
    False
    """
    if len(x) > MOST_ELLIPSES:
        return False
    finite = np.isfinite(moments).all(axis=(1, 2))
    if moments.shape[1] < 2 or not finite.any():
        return True
    off = x[np.newaxis] - x[finite, np.newaxis]
    squared = np.einsum("oja,oab,ojb->oj", off, np.linalg.pinv(moments[finite], hermitian=True), off)
    n_inside = np.count_nonzero(squared <= radius**2, axis=1) - 1  # every ellipse contains its own object
    return float(n_inside.mean()) <= MOST_INSIDE


def _draw(ax: Any, x: NDArray[np.float64], moments: NDArray[np.float64], radius: float, unsettled: set[int]) -> None:
    from matplotlib.patches import Ellipse

    for number in np.flatnonzero(np.isfinite(moments).all(axis=(1, 2))).tolist():
        colour = COLOURS[1] if number in unsettled else COLOURS[0]
        if moments.shape[1] == 1:
            half = radius * float(np.sqrt(moments[number, 0, 0]))
            interval = [x[number, 0] - half, x[number, 0] + half]
            ax.plot(interval, [x[number, 1]] * 2, color=colour, alpha=0.35, linewidth=3.0, zorder=1)
            continue
        squares, directions = np.linalg.eigh(moments[number])
        width, height = 2.0 * radius * np.sqrt(np.maximum(squares[::-1], 0.0))
        angle = np.degrees(np.arctan2(*directions[::-1, 1]))
        ax.add_patch(
            Ellipse(x[number], width, height, angle=angle, facecolor=colour, edgecolor=colour, alpha=0.18, zorder=1)
        )


def _explain(ax: Any, text: str, some_unsettled: bool) -> None:
    from matplotlib.patches import Patch

    handles, texts = [Patch(color=COLOURS[0], alpha=0.3)], [text]
    if some_unsettled:
        handles.append(Patch(color=COLOURS[1], alpha=0.3))
        texts.append("not settled")
    legend(ax, handles, texts, loc="best")
