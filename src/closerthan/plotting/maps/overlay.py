"""Overlay of two maps of the same objects."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from closerthan.checks import checked
from closerthan.metrics import procrustes
from closerthan.plotting.canvas import canvas, freeze, legend, named_map, names_of, tidy
from closerthan.plotting.labels.labels import draw_labels
from closerthan.plotting.maps.projection import project
from closerthan.plotting.palette import COLOURS, GREY

__all__ = ["overlay_figure"]


@checked
def overlay_figure(
    result: Any,
    reference: Any,
    names: Sequence[str] | None = None,
    *,
    aligned: bool = False,
    groups: tuple[str, str] = ("reference", "map, aligned"),
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw a map over a reference map, with a line between the two positions of each object.

    Parameters
    ----------
    result, reference
        Results of :func:`closerthan.embed`, or arrays of coordinates. If they have more than two dimensions, the two
        widest principal axes of the reference are drawn.
    names
        Names of the objects; by default those of the map, or of the reference.
    aligned
        Whether the map is aligned with the reference already; otherwise it is translated, rotated, reflected and
        scaled to fit.
    groups
        Names of the reference and of the map in the legend.
    title
        Title of the figure; by default the Procrustes distance of the two maps.
    ax
        Matplotlib axes to draw on; by default those of a new figure.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> figure = overlay_figure(2 * square[:, ::-1], square, ["a", "b", "c", "d"])
    >>> figure.axes[0].get_title(loc="left")
    'Procrustes distance 0.000'
    """
    target, reference_names = named_map(reference, parameter="reference")
    embedding, names = named_map(result, names)
    names = names or reference_names
    fitted, distance = procrustes(embedding, target)
    fitted = embedding if aligned else fitted
    all_names = names_of(names, len(target))
    width = fitted.shape[1]
    target = np.pad(target, ((0, 0), (0, width - target.shape[1])))
    # Both maps are drawn along the axes of the reference, so that they stay comparable.
    projected, x_title, y_title, axes = project(target)
    if width > 2:
        fitted = (fitted - target.mean(axis=0)) @ axes
    elif width == 1:
        fitted = np.column_stack([fitted, projected[:, 1]])
        y_title = "rank in the reference"
    target = projected

    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    is_new = ax is None
    figure, ax = canvas(ax, (7.5, 7.0))
    tidy(ax, title=f"Procrustes distance {distance:.3f}" if title is None else title, x=x_title, y=y_title)
    if width > 1:
        ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.1)
    ax.add_collection(LineCollection(list(np.stack([target, fitted], axis=1)), colors=GREY, linewidths=0.7, zorder=1))
    size = float(np.clip(4000 / len(target), 3, 30))
    ax.scatter(*target.T, s=size, facecolors="none", edgecolors=COLOURS[0], linewidths=1.0, marker="o", zorder=2)
    ax.scatter(*fitted.T, s=size, color=COLOURS[1], marker="^", linewidths=0, zorder=3)
    handles = [
        Line2D([], [], linestyle="", marker="o", markerfacecolor="none", color=COLOURS[0], markersize=5),
        Line2D([], [], linestyle="", marker="^", color=COLOURS[1], markersize=5),
    ]
    legend(ax, handles, list(groups), loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
    if is_new:
        ax.set_xlabel(x_title + "\n")  # room for a note
        freeze(figure)
        ax.set_xlabel(x_title)
    else:
        figure.draw_without_rendering()
    if names is not None:
        draw_labels(ax, target, all_names, obstacles=fitted, marker=float(np.sqrt(size)))
    return figure
