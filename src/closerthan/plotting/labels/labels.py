"""Labels beside points: as many as fit without lying on each other."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.plotting.canvas import FONT_SIZE, INK, add_note, font_size_of, one_line
from closerthan.plotting.labels.placement import PointCounts, place_labels
from closerthan.plotting.labels.short_names import short_names
from closerthan.plotting.palette import GREY

__all__ = ["LEFT_OUT", "draw_labels", "pixels"]

LEFT_OUT = "{:,} of {:,} names left out for lack of room"
FEW = 60  # up to this many objects all get a label, if necessary at the end of a line
SOME = 200  # up to this many, labels may stand at the end of a short line
TRIED = 1500  # labels to try at most
LONGEST = 28  # letters of a label
NEARBY = 40.0  # pixels, as all lengths here, at the usual font size


def pixels(ax: Any, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """Where points are within the axes, and how large these are, in pixels."""
    box = ax.get_window_extent()
    return ax.transData.transform(x) - (box.x0, box.y0), (box.width, box.height)


def draw_labels(
    figure: Any,
    ax: Any,
    x: NDArray[np.float64],
    names: list[str],
    *,
    first: NDArray[np.bool_] | None = None,
    sides: NDArray[np.float64] | None = None,
    others: NDArray[np.float64] | None = None,
    marker: float = 0.0,
) -> None:
    """Write names beside points, and how many found no room.

    Parameters
    ----------
    figure, ax, x, names
        Where, and what; the figure must have been laid out.
    first
        Objects whose labels matter most.
    sides
        Widths and heights, in pixels, of pictures drawn on the points.
    others
        Further points that labels should not hide.
    marker
        Diameter of the points' markers in typographic points.
    """
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

    points, bounds = pixels(ax, x)
    renderer: Any = RendererAgg(1, 1, figure.dpi)  # type: ignore[no-untyped-call]
    font_size = font_size_of(ax)
    font, scale = FontProperties(size=font_size), font_size / FONT_SIZE
    texts, left_out = short_names(names, LONGEST)
    height = 1.25 * font_size * figure.dpi / 72

    def size(number: int) -> tuple[float, float]:
        width, _, _ = renderer.get_text_width_height_descent(texts[number], font, ismath=False)
        return width + 2.0, height

    few, some = len(x) <= FEW, len(x) <= SOME
    radius = marker / 2 * figure.dpi / 72
    near = np.hstack([points - scale * NEARBY, points + scale * NEARBY])
    crowd = PointCounts(points, bounds).within(near)
    # Few labels: the crowded ones choose first, so that all find a place. Many: those that stand alone have one.
    urgency = -crowd if few else crowd
    late = np.zeros(len(x), dtype=bool) if first is None else ~first
    order = np.lexsort((urgency, late))
    named = np.array([bool(text) for text in texts])[order]
    n_named = int(named.sum())
    places = place_labels(
        points,
        size,
        order[named][:TRIED].tolist(),
        bounds,
        gap=max(7.0 * scale, radius + 2.0),
        rings=[scale * ring for ring in ((0.0, 14.0, 28.0, 45.0) if few else (0.0, 10.0, 18.0) if some else (0.0,))],
        radius=radius,
        hidden=1 if few else 0,
        sides=sides,
        others=None if others is None else pixels(ax, others)[0],
    )
    box = ax.get_window_extent()
    to_data = ax.transData.inverted().transform
    for place in places:
        corner = np.array([place.x, place.y])
        style = {"fontproperties": font, "color": INK, "va": "center", "parse_math": False, "zorder": 4}
        start = to_data(np.add(corner, (box.x0 + 1, box.y0 + height / 2)))
        ax.text(*start, texts[place.number], **style).set_gid("label")
        if place.pulled:
            end = np.add(np.clip(points[place.number], corner, np.add(corner, size(place.number))), (box.x0, box.y0))
            ax.plot(*np.array([x[place.number], to_data(end)]).T, color=GREY, linewidth=0.5, zorder=1)
    if left_out:
        add_note(ax, one_line(f"names without {left_out}", 100))
    if len(places) < n_named:
        add_note(ax, LEFT_OUT.format(n_named - len(places), n_named))
