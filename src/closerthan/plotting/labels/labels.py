"""Labels beside points: as many as fit without overlapping."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.plotting.canvas import FONT_SIZE, INK, add_note, font_size_of, one_line
from closerthan.plotting.labels.placement import PointCounts, Spacing, place_labels
from closerthan.plotting.labels.short_names import short_names
from closerthan.plotting.palette import GREY

__all__ = ["LEFT_OUT", "LONGEST", "draw_labels", "pixels"]

LEFT_OUT = "{:,} of {:,} names not shown for lack of space"
FEW = 60  # with at most this many objects, every object is labelled, with a long line to its label if necessary
SOME = 200  # with at most this many objects, a short line may join a point and its label
MOST_TRIED = 1500  # labels that are tried
LONGEST = 28  # characters of a label
NEARBY = 40.0  # pixels, at the default font size, like all lengths in this module


def pixels(ax: Any, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """Return the positions of points within the axes, and the width and height of the axes, all in pixels."""
    box = ax.get_window_extent()
    return ax.transData.transform(x) - (box.x0, box.y0), (box.width, box.height)


def draw_labels(
    ax: Any,
    x: NDArray[np.float64],
    names: list[str],
    *,
    first: NDArray[np.bool_] | None = None,
    pictures: NDArray[np.float64] | None = None,
    obstacles: NDArray[np.float64] | None = None,
    marker: float = 0.0,
) -> None:
    """Write names beside points, and add a note with the number of names that are omitted.

    Parameters
    ----------
    ax
        Axes of a figure whose layout is final.
    x
        (n, 2) coordinates of the points.
    names
        One name per point.
    first
        Mask of the objects whose labels matter most.
    pictures
        (n, 2) widths and heights, in pixels, of the pictures drawn on the points; 0 where there is none.
    obstacles
        (k, 2) coordinates of further points that labels should not hide.
    marker
        Diameter of the points' markers in typographic points.
    """
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

    dpi = ax.figure.figure.dpi
    points, bounds = pixels(ax, x)
    renderer: Any = RendererAgg(1, 1, dpi)  # type: ignore[no-untyped-call]
    font_size = font_size_of(ax)
    font, scale = FontProperties(size=font_size), font_size / FONT_SIZE
    texts, left_out = short_names(names, LONGEST)
    height = 1.25 * font_size * dpi / 72

    def size(number: int) -> tuple[float, float]:
        width, _, _ = renderer.get_text_width_height_descent(texts[number], font, ismath=False)
        return width + 2.0, height

    few, some = len(x) <= FEW, len(x) <= SOME
    nearby = np.hstack([points - scale * NEARBY, points + scale * NEARBY])
    crowding = PointCounts(points, bounds).within(nearby)
    # With few objects, points in crowded areas choose first, so that every label finds a position. With many objects,
    # isolated points choose first, because their labels fit.
    urgency = -crowding if few else crowding
    is_late = np.zeros(len(x), dtype=bool) if first is None else ~first
    order = np.lexsort((urgency, is_late))
    has_text = np.array([bool(text) for text in texts])[order]
    n_named = int(has_text.sum())
    radius = marker / 2 * dpi / 72
    rings = (0.0, 14.0, 28.0, 45.0) if few else (0.0, 10.0, 18.0) if some else (0.0,)
    places = place_labels(
        points,
        size,
        order[has_text][:MOST_TRIED].tolist(),
        bounds,
        Spacing(
            gap=max(7.0 * scale, radius + 2.0),
            rings=tuple(scale * ring for ring in rings),
            marker_radius=radius,
            most_hidden=1 if few else 0,
        ),
        pictures=pictures,
        obstacles=None if obstacles is None else pixels(ax, obstacles)[0],
    )
    box = ax.get_window_extent()
    to_data = ax.transData.inverted().transform
    for place in places:
        corner = np.array([place.x, place.y])
        style = {"fontproperties": font, "color": INK, "va": "center", "parse_math": False, "zorder": 4}
        start = to_data(np.add(corner, (box.x0 + 1, box.y0 + height / 2)))
        ax.text(*start, texts[place.number], **style).set_gid("label")
        if place.needs_line:
            end = np.add(np.clip(points[place.number], corner, np.add(corner, size(place.number))), (box.x0, box.y0))
            ax.plot(*np.array([x[place.number], to_data(end)]).T, color=GREY, linewidth=0.5, zorder=1)
    if left_out:
        add_note(ax, one_line(f"names are shown without {left_out}", 100))
    if len(places) < n_named:
        add_note(ax, LEFT_OUT.format(n_named - len(places), n_named))
