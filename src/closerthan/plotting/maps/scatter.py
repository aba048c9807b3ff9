"""The map as a figure: points, labels that do not overlap, thumbnails and colours."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from closerthan.checks import checked, positive
from closerthan.plotting.canvas import (
    FONT_SIZE,
    add_note,
    canvas,
    font_size_of,
    freeze,
    legend,
    named_map,
    names_of,
    one_line,
    tidy,
)
from closerthan.plotting.labels.labels import LEFT_OUT, LONGEST, draw_labels, pixels
from closerthan.plotting.maps.projection import project
from closerthan.plotting.maps.thumbnails import thumbnail_box, thumbnail_sources
from closerthan.plotting.palette import COLOURS, GREY, RAMP, Palette, palette_of
from closerthan.signatures import lists_keywords

__all__ = ["MapOptions", "MapStyle", "draw_map", "map_figure"]

SHAPES = ("o", "s", "^", "D", "v")
MANY = 5000  # with more points, PDF and SVG files contain them as one bitmap, since they would be slow to open
WIDTH = 7.5  # default width of a figure, in inches
SMALLEST_FONT = 5.0  # the smallest size that journals allow, in points
MOST_ROOM = 2.0  # largest factor by which shapes such as ellipses may widen the frame of a map
LEFT_OUT_PICTURES = "{:,} of {:,} thumbnails not shown for lack of space"
FAR_AWAY = "{:,} {} far outside this frame, in the direction of the arrow heads"
FAR = 8.0  # objects are drawn at the edge if they are this many times as far from the centre as 90 % of all objects


class MapOptions(TypedDict, total=False):
    """Keyword arguments of :func:`map_figure`: the fields of :class:`MapStyle`."""

    labels: Sequence[Any] | None
    thumbnails: Any
    axes: tuple[int, int]
    title: str | None
    size: tuple[float, float | None] | None
    font_size: float | None
    marker_size: float | None
    show_names: bool


@dataclass(frozen=True)
class MapStyle:
    """Appearance of a map; :func:`map_figure` explains each field. Sizes that are None are chosen to suit each other.

    Examples
    --------
    >>> MapStyle(size=(3.5, None)).font < MapStyle().font
    True
    """

    labels: Sequence[Any] | None = None
    thumbnails: Any = None
    axes: tuple[int, int] = (0, 1)
    title: str | None = None
    size: tuple[float, float | None] | None = None
    font_size: float | None = None
    marker_size: float | None = None
    show_names: bool = True

    def __post_init__(self) -> None:
        positive(font_size=self.font_size, marker_size=self.marker_size)

    @property
    def width(self) -> float:
        """Width of the figure in inches."""
        return WIDTH if self.size is None else self.size[0]

    def inches(self, extent: NDArray[np.float64], one_dim: bool) -> tuple[float, float]:
        """Return the width and height of the figure for a map of this extent."""
        if self.size is not None and self.size[1] is not None:
            return self.size[0], self.size[1]
        aspect = 0.8 if one_dim else extent[1] / extent[0]
        return self.width, self.width / WIDTH * float(np.clip(7.0 * aspect + 0.6, 4.5, 8.0))

    @property
    def font(self) -> float:
        """Font size in points: smaller in a narrow figure, but still legible in print."""
        return self.font_size or float(np.clip(FONT_SIZE * np.sqrt(self.width / WIDTH), SMALLEST_FONT, FONT_SIZE))

    def marker(self, n_objects: int) -> float:
        """Return the diameter of the markers in typographic points."""
        usual = np.sqrt(np.clip(4000 / n_objects, 3, 36))
        return self.marker_size or float(max(usual * min(self.width / WIDTH, 1.0), 1.0))


@lists_keywords(MapOptions, MapStyle)
@checked
def map_figure(
    result: Any, names: Sequence[str] | None = None, *, ax: Any = None, **options: Unpack[MapOptions]
) -> Any:
    """Draw a map.

    A map with two dimensions is drawn as it is; with more dimensions, two principal axes are drawn. A map with one
    dimension is drawn as position against rank. Objects that are so far away that all others would look like a single
    point are drawn as arrow heads at the edge, and a note says so.

    Save the figure with ``figure.savefig("map.pdf")``; SVG and PNG (with ``dpi=300``) work too.

    Parameters
    ----------
    result
        A result of :func:`closerthan.embed`, or (n_objects, n_dims) coordinates.
    names
        Names to write beside the points, as many as fit without overlapping; by default those of the result.
    ax
        Matplotlib axes to draw on; by default those of a new figure.
    labels
        One category or number per object, shown as its colour.
    thumbnails
        Image files or arrays, one per object (None where there is no picture), or a mapping from names to pictures.
    axes
        The two principal axes to draw, counted from 0, if there are more than two dimensions.
    title
        Title of the figure.
    size
        Width and height in inches. If the height is None, the figure is as high as the map needs.
    font_size
        Size of the names in points; by default 8 in a figure 7.5 inches wide, and less in a narrower one.
    marker_size
        Diameter of the markers in typographic points; by default it depends on the number of objects and on the width
        of the figure.
    show_names
        Whether to write names at all.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import closerthan as ct
    >>> cities = ct.datasets.eurodist()
    >>> result = ct.embed(cities.comparisons(), n_dims=2, seed=0)
    >>> figure = ct.plotting.map_figure(result, title="21 cities")
    >>> figure.axes[0].get_title(loc="left")
    '21 cities'
    """
    style = MapStyle(**options)
    embedding, all_names = named_map(result, names)
    return draw_map(embedding, all_names, style, ax=ax)


def draw_map(
    embedding: NDArray[np.float64],
    names: Sequence[str] | None,
    style: MapStyle,
    *,
    ax: Any = None,
    reach: NDArray[np.float64] | None = None,
    notes: Sequence[str] = (),
) -> Any:
    """Draw a map as :func:`map_figure` does, with room for what the caller will add to it.

    Parameters
    ----------
    embedding, names
        Coordinates and names of the objects.
    style
        Appearance of the map.
    ax
        Matplotlib axes to draw on; by default those of a new figure.
    reach
        (n_objects, 2) half widths and heights of shapes, such as ellipses, that the caller will draw around the
        points; the frame is widened to hold them.
    notes
        Sentences to write below the map.
    """
    x, x_title, y_title, _ = project(embedding, style.axes)
    all_names = names_of(names, len(x))
    palette = None if style.labels is None else palette_of(style.labels, len(x))
    pictures = {} if style.thumbnails is None else thumbnail_sources(style.thumbnails, all_names)
    if not len(x):
        raise ValueError("the map has no objects; there is nothing to draw")

    is_new, show_names = ax is None, style.show_names and names is not None
    one_dim = embedding.shape[1] == 1
    within = np.ones(len(x), dtype=bool) if one_dim else ~_far_away(x)
    low, high = _frame(x[within], square=not one_dim)
    if reach is not None:
        low, high = _with_room(low, high, x[within], reach[within], one_dim)
    figure, ax = canvas(ax, style.inches(high - low, one_dim), font_size=style.font)
    tidy(ax, title=style.title, x=x_title, y=y_title)
    _set_frame(ax, low, high)
    if one_dim:
        ax.yaxis.get_major_locator().set_params(integer=True)
    marker = style.marker(len(x))
    _points(ax, x, within, palette, marker)
    if is_new:
        # Reserve room for the longest possible notes, since the labels decide later which of them are needed.
        longest = list(notes)
        if show_names:
            longest.append(LEFT_OUT.format(len(x), len(x)))
            longest += [one_line(" ".join(all_names), 100)] * (max(map(len, all_names)) > LONGEST)
        longest += [LEFT_OUT_PICTURES.format(len(x), len(x))] * bool(pictures)
        longest += [FAR_AWAY.format(len(x), "objects lie")] * (not within.all())
        for note in longest:
            add_note(ax, note)
        freeze(figure)
        ax.set_xlabel(x_title)
    else:
        figure.draw_without_rendering()
    if not one_dim:
        # Both axes have the same scale; the one with room to spare shows a longer range, so that the frame is filled.
        box = ax.get_window_extent()
        low, high = _widened(low, high, np.array([box.width, box.height]))
        _set_frame(ax, low, high)
        ax.set_aspect("equal", adjustable="datalim")
    for note in notes:
        add_note(ax, note)
    places = _to_edge(x, within, low, high)
    if not within.all():
        _arrow_heads(ax, places, within, low, high)
    sides = _pictures(ax, places, pictures, palette)
    if show_names:
        first = ~within | (sides > 0).any(axis=1)
        draw_labels(ax, places, all_names, first=first, pictures=sides, marker=marker)
    return figure


def _with_room(
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    x: NDArray[np.float64],
    reach: NDArray[np.float64],
    one_dim: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Widen the frame to hold shapes around the points, at most by a factor that keeps the map itself readable."""
    finite = np.isfinite(reach).all(axis=1)
    if not finite.any():
        return low, high
    reach = reach * [1.0, 0.0] if one_dim else reach
    edge = 0.02 * (high - low)  # a shape that touches the frame would look cut off
    least = np.minimum(low, (x - reach)[finite].min(axis=0) - edge)
    most = np.maximum(high, (x + reach)[finite].max(axis=0) + edge)
    if float(((most - least) / (high - low)).max()) <= MOST_ROOM:
        return least, most
    middle, half = (low + high) / 2, MOST_ROOM * (high - low) / 2 * ([1.0, 0.5] if one_dim else [1.0, 1.0])
    return middle - half, middle + half


def _set_frame(ax: Any, low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])


def _widened(
    low: NDArray[np.float64], high: NDArray[np.float64], room: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Widen one side of the frame to the aspect ratio of the axes, whose size in pixels is ``room``."""
    half = ((high - low) / room).max() * room / 2
    return (low + high) / 2 - half, (low + high) / 2 + half


def _far_away(x: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return a mask of the objects that are drawn as arrow heads."""
    distance = np.hypot(*(x - np.median(x, axis=0)).T)
    usual = np.quantile(distance, 0.9, method="lower")
    return distance > FAR * usual if usual > 0 else np.zeros(len(x), dtype=bool)


def _frame(x: NDArray[np.float64], *, square: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower left and upper right corners of the map, with a margin."""
    low, high = x.min(axis=0), x.max(axis=0)
    size = high - low
    # A map whose objects lie on one line, or in one place, still needs some height and width.
    least = (size.max() * 0.2 or 1.0) if square else 1.0
    size = np.maximum(size, least if square else np.where(size > 0, size, least))
    middle, half = (low + high) / 2, size * 0.56
    return middle - half, middle + half


def _to_edge(
    x: NDArray[np.float64], within: NDArray[np.bool_], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Move objects that are far away to the edge of the frame, in the direction in which they lie."""
    middle, half = (low + high) / 2, (high - low) / 2 * 0.97
    outward = x - middle
    excess = np.abs(outward / half).max(axis=1, keepdims=True)
    return np.where(within[:, None], x, middle + outward / np.maximum(excess, 1e-300))


def _points(ax: Any, x: NDArray[np.float64], within: NDArray[np.bool_], palette: Palette | None, marker: float) -> None:
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {
        "s": marker**2,
        "linewidths": 0.3 if len(x) < 1000 else 0.0,
        "edgecolors": "white",
        "zorder": 2,
        "rasterized": len(x) > MANY,
    }
    if palette is None:
        ax.scatter(*x[within].T, color=COLOURS[0], alpha=1.0 if len(x) < 1000 else 0.6, **style)
    elif palette.categories is None:
        has_number = within & np.isfinite(palette.values)
        ax.scatter(*x[within & ~has_number].T, color=GREY, **style)
        points = ax.scatter(*x[has_number].T, c=palette.values[has_number], cmap=RAMP, **style)
        bar = ax.figure.figure.colorbar(points, ax=ax, shrink=0.6, aspect=30, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=font_size_of(ax))
    else:
        handles = []
        for code in range(len(palette.categories)):
            colour = palette.colour(code)
            shape = SHAPES[code // len(COLOURS) % len(SHAPES)]
            ax.scatter(*x[within & (palette.values == code)].T, color=colour, marker=shape, **style)
            handles.append(Line2D([], [], linestyle="", marker=shape, color=colour, markersize=5))
        columns = 1 + (len(handles) - 1) // 30
        place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "ncols": columns, "borderaxespad": 0.2}
        legend(ax, handles, list(palette.categories), **place)


def _arrow_heads(
    ax: Any,
    x: NDArray[np.float64],
    within: NDArray[np.bool_],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> None:
    """Draw arrow heads that point to the objects far away, and add a note."""
    middle = (low + high) / 2
    for point in x[~within]:
        angle = np.degrees(np.arctan2(*(point - middle)[::-1])) - 90
        ax.scatter(*point, marker=(3, 0, angle), s=60, color=COLOURS[1], zorder=3)
    n_far = int((~within).sum())
    add_note(ax, FAR_AWAY.format(n_far, "object lies" if n_far == 1 else "objects lie"))


def _pictures(
    ax: Any, x: NDArray[np.float64], pictures: dict[int, Any], palette: Palette | None
) -> NDArray[np.float64]:
    """Draw thumbnails on the points where they do not overlap; return their widths and heights in pixels.

    A thumbnail hides its point, so its frame has the point's colour.
    """
    sides = np.zeros((len(x), 2))
    if not pictures:
        return sides
    dpi = ax.figure.figure.dpi
    points, bounds = pixels(ax, x)
    side = float(np.clip(0.36 * np.sqrt(bounds[0] * bounds[1] / len(pictures)), 20, 72))
    frame = 2.0 * dpi / 72
    colours = None if palette is None else palette.colours()
    occupied = np.empty((0, 4))
    for number, picture in pictures.items():
        box, size = thumbnail_box(picture, x[number], side, dpi, frameon=colours is not None, pad=0, zorder=3)
        extent = np.array([*points[number], *(size + 2 * frame)])
        if (np.abs(occupied[:, :2] - extent[:2]) < (occupied[:, 2:] + extent[2:]) / 2).all(axis=1).any():
            continue
        occupied = np.vstack([occupied, extent])
        if colours is not None:
            box.patch.set(edgecolor=colours[number], linewidth=2 * frame * 72 / dpi, joinstyle="miter")
        ax.add_artist(box)
        sides[number] = extent[2:]
    if len(occupied) < len(pictures):
        add_note(ax, LEFT_OUT_PICTURES.format(len(pictures) - len(occupied), len(pictures)))
    return sides
