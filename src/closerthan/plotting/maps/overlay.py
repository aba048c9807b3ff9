"""Two maps of the same objects, laid over each other."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from closerthan.checks import checked
from closerthan.geometry import principal_axes
from closerthan.metrics import procrustes
from closerthan.plotting.canvas import canvas, drawn_map, freeze, legend, names_of, tidy
from closerthan.plotting.labels.labels import draw_labels
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
    """Draw a map over a reference: moved, rotated, mirrored and scaled to fit, a line from object to object.

    Both are results of :func:`closerthan.embed` or arrays of coordinates. Of more than two dimensions, the reference's
    two widest principal axes are drawn. ``groups`` says what the reference and the map are called;
    a map that is ``aligned`` already stays where it is.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> figure = overlay_figure(2 * square[:, ::-1], square, ["a", "b", "c", "d"])
    >>> figure.axes[0].get_title(loc="left")
    'Procrustes distance 0.000'
    """
    target, reference_names = drawn_map(reference, parameter="reference")
    embedding, names = drawn_map(result, names)
    names = names or reference_names
    fitted, distance = procrustes(embedding, target)
    fitted = embedding if aligned else fitted
    shown = names_of(names, len(target))
    width = fitted.shape[1]
    target = np.pad(target, ((0, 0), (0, width - target.shape[1])))
    x_name = y_name = ""
    if width > 2:
        # Both maps are rotated to the reference's axes, so that they stay comparable.
        together = principal_axes(target)
        fitted = (fitted - target.mean(axis=0)) @ together.rotation[:, :2]
        target = together.coordinates[:, :2]
        x_name, y_name = (together.title(axis) for axis in (0, 1))
    elif width == 1:
        rank = 1.0 + np.argsort(np.argsort(target[:, 0], kind="stable"), kind="stable")[:, None]
        target, fitted = np.hstack([target, rank]), np.hstack([fitted, rank])
        x_name, y_name = "position", "rank in the reference"

    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    own = ax is None
    figure, ax = canvas(ax, (7.5, 7.0))
    tidy(ax, title=f"Procrustes distance {distance:.3f}" if title is None else title, x=x_name, y=y_name)
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
    if own:
        ax.set_xlabel(x_name + "\n")  # room for a note
        freeze(figure)
        ax.set_xlabel(x_name)
    else:
        figure.draw_without_rendering()
    if names is not None:
        draw_labels(figure, ax, target, shown, others=fitted, marker=float(np.sqrt(size)))
    return figure
