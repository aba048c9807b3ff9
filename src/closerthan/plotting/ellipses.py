"""Ellipses on the map: where each object's true place may be."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closerthan.geometry import matrix_of, principal_axes
from closerthan.plotting.canvas import add_note, legend
from closerthan.plotting.palette import COLOURS
from closerthan.plotting.scatter import map_figure

__all__ = ["MOST_ELLIPSES", "ellipses_figure"]

MOST_ELLIPSES = 200  # objects: with more, ellipses hide each other and the map
MOST_ROOM = 2.0  # times the frame of the map alone


def ellipses_figure(
    embedding: ArrayLike,
    moments: ArrayLike,
    radii: Mapping[str, float],
    names: Sequence[str] | None = None,
    *,
    unsettled: ArrayLike = (),
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw a map with one ellipse an object, or several.

    Of more than two dimensions, the two widest principal axes are drawn; on a map of one dimension, lines. Above 200
    objects there are no ellipses, and a note says so.

    Parameters
    ----------
    embedding
        (n_objects, n_dims) coordinates, the centres.
    moments
        (n_objects, n_dims, n_dims): the covariance of each object's place; NaN where it is not known.
    radii
        What an ellipse is called, such as "95 %", and how many standard deviations it reaches in the picture.
    names
        Written beside the points.
    unsettled
        Numbers of objects to show in another colour.
    title, ax
        As in :func:`map_figure`.

    Examples
    --------
    >>> square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    >>> figure = ellipses_figure(square, [0.01 * np.eye(2)] * 4, {"95 %": 2.45}, ["a", "b", "c", "d"], unsettled=[2])
    >>> len(figure.axes[0].patches)
    4
    """
    from matplotlib.patches import Ellipse, Patch

    x = matrix_of("embedding", embedding)
    n_objects, n_dims = x.shape
    covariance = np.asarray(moments, dtype=np.float64)
    if covariance.shape != (n_objects, n_dims, n_dims):
        raise ValueError(
            f"moments have shape {covariance.shape}; {n_objects} objects in {n_dims} dimensions need "
            f"{(n_objects, n_dims, n_dims)}"
        )
    figure = map_figure(x, names, title=title, ax=ax)
    ax = figure.axes[0] if ax is None else ax
    if n_objects > MOST_ELLIPSES:
        add_note(ax, f"no ellipses: with more than {MOST_ELLIPSES} objects they would hide each other")
        return figure
    if n_dims > 2:
        principal = principal_axes(x)
        turn = principal.rotation[:, :2]
        x = principal.coordinates[:, :2]
        covariance = np.einsum("da,ode,eb->oab", turn, covariance, turn)
    doubtful = set(np.asarray(unsettled, dtype=np.int64).tolist())
    rank = np.argsort(np.argsort(x[:, 0], kind="stable"), kind="stable") + 1.0
    for radius in radii.values():
        for number in range(n_objects):
            if not np.isfinite(covariance[number]).all():
                continue
            colour = COLOURS[1] if number in doubtful else COLOURS[0]
            if n_dims == 1:
                half = radius * float(np.sqrt(covariance[number, 0, 0]))
                ends = [x[number, 0] - half, x[number, 0] + half]
                ax.plot(ends, [rank[number]] * 2, color=colour, alpha=0.35, linewidth=3.0, zorder=1)
                continue
            squares, directions = np.linalg.eigh(covariance[number])
            width, height = 2.0 * radius * np.sqrt(np.maximum(squares[::-1], 0.0))
            angle = np.degrees(np.arctan2(*directions[::-1, 1]))
            ax.add_patch(
                Ellipse(x[number], width, height, angle=angle, facecolor=colour, edgecolor=colour, alpha=0.18, zorder=1)
            )
    known = np.isfinite(covariance).all(axis=(1, 2))
    _make_room(ax, x[known], covariance[known], max(radii.values()))
    handles = [Patch(color=COLOURS[0], alpha=0.3)]
    texts = [" and ".join(radii) + (" intervals" if n_dims == 1 else " ellipses")]
    if doubtful:
        handles.append(Patch(color=COLOURS[1], alpha=0.3))
        texts.append("not settled")
    legend(ax, handles, texts, loc="best")
    return figure


def _make_room(ax: Any, centres: Any, covariance: Any, radius: float) -> None:
    """Widen the frame to hold the whole of the ellipses, unless these are so large that the map would be a dot."""
    if not len(centres):
        return
    reach = radius * np.sqrt(np.maximum(np.einsum("odd->od", covariance), 0.0))
    least, most = (centres - reach).min(axis=0), (centres + reach).max(axis=0)
    frame = np.array([ax.get_xlim(), ax.get_ylim()])[: len(least)]
    low, high = np.minimum(frame[:, 0], least), np.maximum(frame[:, 1], most)
    spans = frame[:, 1] - frame[:, 0]
    wider = min(float(((high - low) / spans).max()), MOST_ROOM)  # the same on both axes, which have the same scale
    middle = (low + high) / 2 if wider < MOST_ROOM else frame.mean(axis=1)
    for change, centre, span in zip((ax.set_xlim, ax.set_ylim), middle, wider * spans, strict=False):
        change(centre - span / 2, centre + span / 2)
