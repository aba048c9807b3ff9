"""The map as a picture: points, labels that do not overlap, thumbnails, colours."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.checks import checked, positive
from closerthan.geometry import principal_axes
from closerthan.plotting.canvas import (
    FONT_SIZE,
    add_note,
    canvas,
    drawn_map,
    font_size_of,
    freeze,
    legend,
    names_of,
    one_line,
    tidy,
)
from closerthan.plotting.labels.labels import LEFT_OUT, LONGEST, draw_labels, pixels
from closerthan.plotting.maps.thumbnails import thumbnail, thumbnail_sources
from closerthan.plotting.palette import COLOURS, GREY, RAMP, Palette, palette_of

__all__ = ["Look", "draw_map", "map_figure"]

SHAPES = ("o", "s", "^", "D", "v")
MANY = 5000  # more points than this are one picture inside a PDF or SVG file, which would be slow to open otherwise
FINER = 3  # a thumbnail has so many times the pixels of the screen, for figures that are printed
WIDTH = 7.5  # inches, of a figure whose size is not given
SMALLEST_FONT = 5.0  # points: what journals allow at least
MOST_ROOM = 2.0  # times the frame of the map alone, for what is drawn around points
LEFT_OUT_PICTURES = "{:,} of {:,} thumbnails left out for lack of room"
FAR_AWAY = "{:,} {} far outside this frame, where the arrow heads point"
FAR = 8.0  # an object this many times as far from the middle as nine tenths of the others would squeeze them into a dot


@checked
def map_figure(
    result: Any,
    names: Sequence[str] | None = None,
    *,
    labels: Sequence[Any] | None = None,
    thumbnails: Any = None,
    axes: tuple[int, int] = (0, 1),
    title: str | None = None,
    size: tuple[float, float | None] | None = None,
    font_size: float | None = None,
    marker_size: float | None = None,
    show_names: bool = True,
    ax: Any = None,
) -> Any:
    """Draw a map; ``figure.savefig("map.pdf")`` writes it, also as SVG or (with ``dpi=300``) PNG.

    Two dimensions are drawn as they are; of more dimensions, two principal axes. A map of one dimension is drawn as
    position against rank. Objects that are so far away that all others would look like one point are drawn as arrow
    heads at the edge, and a note says so.

    Parameters
    ----------
    result
        What :func:`closerthan.embed` returned, or (n_objects, n_dims) coordinates.
    names
        Written beside the points, as many as fit without overlapping; by default those of the result.
    labels
        One category or number per object, shown as colour.
    thumbnails
        Image files or arrays, one per object (None: no picture), or a mapping from names.
    axes
        Which two principal axes to draw, from 0, if there are more than two dimensions.
    title
        Written above.
    size
        Width and height in inches. Without a height, or without both, the figure is as high as the map needs.
    font_size
        Size of the names in points; by default 8 in a figure 7.5 inches wide, and less in a narrower one.
    marker_size
        Diameter of the points in typographic points; by default it depends on their number and the figure's width.
    show_names
        Whether to write names at all.
    ax
        Matplotlib axes to draw in; a new figure if not given.

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
    positive(font_size=font_size, marker_size=marker_size)
    embedding, called = drawn_map(result, names)
    return draw_map(
        embedding,
        called,
        Look(size, font_size, marker_size),
        show_names=show_names,
        labels=labels,
        thumbnails=thumbnails,
        axes=axes,
        title=title,
        ax=ax,
    )


class Look(NamedTuple):
    """Sizes of a figure and of what is drawn in it; None: chosen to suit each other."""

    size: tuple[float, float | None] | None = None  # inches
    font_size: float | None = None  # points
    marker_size: float | None = None  # points

    @property
    def width(self) -> float:
        """Inches."""
        return WIDTH if self.size is None else self.size[0]

    def inches(self, extent: NDArray[np.float64], one_dim: bool) -> tuple[float, float]:
        """Width and height of the figure, for a map of this extent."""
        if self.size is not None and self.size[1] is not None:
            return self.size[0], self.size[1]
        share = 0.8 if one_dim else extent[1] / extent[0]
        return self.width, self.width / WIDTH * float(np.clip(7.0 * share + 0.6, 4.5, 8.0))

    @property
    def font(self) -> float:
        """Points: smaller in a narrow figure, but never too small to read in print."""
        return self.font_size or float(np.clip(FONT_SIZE * np.sqrt(self.width / WIDTH), SMALLEST_FONT, FONT_SIZE))

    def marker(self, n_objects: int) -> float:
        """Diameter of the points in typographic points."""
        usual = np.sqrt(np.clip(4000 / n_objects, 3, 36))
        return self.marker_size or float(max(usual * min(self.width / WIDTH, 1.0), 1.0))


def draw_map(
    embedding: NDArray[np.float64],
    names: Sequence[str] | None,
    look: Look,
    *,
    show_names: bool = True,
    labels: Sequence[Any] | None = None,
    thumbnails: Any = None,
    axes: tuple[int, int] = (0, 1),
    title: str | None = None,
    ax: Any = None,
    reach: NDArray[np.float64] | None = None,
    notes: Sequence[str] = (),
) -> Any:
    """Draw a map as :func:`map_figure` does, with further notes below.

    ``reach`` is what will be drawn around each point, such as an ellipse, in units of the axes that are drawn: the
    frame makes room for it.
    """
    x, x_name, y_name = _flat(embedding, axes)
    shown = names_of(names, len(x))
    colours = None if labels is None else palette_of(labels, len(x))
    pictures = {} if thumbnails is None else thumbnail_sources(thumbnails, shown)
    if not len(x):
        raise ValueError("the map has no objects; there is nothing to draw")

    own, show_names = ax is None, show_names and names is not None
    one_dim = y_name == "rank"
    within = np.ones(len(x), dtype=bool) if one_dim else ~_far_away(x)
    low, high = _frame(x[within], square=not one_dim)
    if reach is not None:
        low, high = _with_room(low, high, x[within], reach[within], one_dim)
    figure, ax = canvas(ax, look.inches(high - low, one_dim), font_size=look.font)
    tidy(ax, title=title, x=x_name, y=y_name)
    _set_frame(ax, low, high)
    if one_dim:
        ax.yaxis.get_major_locator().set_params(integer=True)
    marker = look.marker(len(x))
    _points(figure, ax, x, within, colours, marker)
    if own:
        # Room for notes, which are known when names and pictures are placed.
        longest = list(notes)
        if show_names:
            longest.append(LEFT_OUT.format(len(x), len(x)))
            longest += [one_line(" ".join(shown), 100)] * (max(map(len, shown)) > LONGEST)
        longest += [LEFT_OUT_PICTURES.format(len(x), len(x))] * bool(pictures)
        longest += [FAR_AWAY.format(len(x), "objects lie")] * (not within.all())
        for note in longest:
            add_note(ax, note)
        freeze(figure)
        ax.set_xlabel(x_name)
    else:
        figure.draw_without_rendering()
    if not one_dim:
        # The same scale on both axes; the one that has room shows more, so that the frame is filled.
        box = ax.get_window_extent()
        low, high = _widened(low, high, np.array([box.width, box.height]))
        _set_frame(ax, low, high)
        ax.set_aspect("equal", adjustable="datalim")
    for note in notes:
        add_note(ax, note)
    drawn = _to_edge(x, within, low, high)
    if not within.all():
        _arrow_heads(ax, drawn, within, low, high)
    sides = _pictures(figure, ax, drawn, pictures, colours)
    if show_names:
        draw_labels(figure, ax, drawn, shown, first=~within | (sides > 0).any(axis=1), sides=sides, marker=marker)
    return figure


def _with_room(
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    x: NDArray[np.float64],
    reach: NDArray[np.float64],
    one_dim: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Widen the frame to hold what is drawn around the points, unless that is so large that the map would be a dot."""
    finite = np.isfinite(reach).all(axis=1)
    if not finite.any():
        return low, high
    reach = reach * [1.0, 0.0] if one_dim else reach
    edge = 0.02 * (high - low)  # what touched the frame would look as if it were cut off
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
    half = ((high - low) / room).max() * room / 2
    return (low + high) / 2 - half, (low + high) / 2 + half


def _flat(x: NDArray[np.float64], axes: tuple[int, int]) -> tuple[NDArray[np.float64], str, str]:
    n_dims = x.shape[1]
    if n_dims == 1:
        rank = np.argsort(np.argsort(x[:, 0], kind="stable"), kind="stable")
        return np.column_stack([x[:, 0], rank + 1]), "position", "rank"
    if n_dims == 2:
        return x, "", ""
    if len(set(axes)) != 2 or not all(0 <= axis < n_dims for axis in axes):
        raise ValueError(f"axes are {axes}; choose two different ones from 0 to {n_dims - 1}")
    principal = principal_axes(x)
    first, second = (principal.title(axis) for axis in axes)
    return principal.coordinates[:, list(axes)], first, second


def _far_away(x: NDArray[np.float64]) -> NDArray[np.bool_]:
    distance = np.hypot(*(x - np.median(x, axis=0)).T)
    usual = np.quantile(distance, 0.9, method="lower")
    return distance > FAR * usual if usual > 0 else np.zeros(len(x), dtype=bool)


def _frame(x: NDArray[np.float64], *, square: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    low, high = x.min(axis=0), x.max(axis=0)
    size = high - low
    # A map on one line, or of one object, still needs some height and width to be drawn in.
    least = (size.max() * 0.2 or 1.0) if square else 1.0
    size = np.maximum(size, least if square else np.where(size > 0, size, least))
    middle, half = (low + high) / 2, size * 0.56
    return middle - half, middle + half


def _to_edge(
    x: NDArray[np.float64], within: NDArray[np.bool_], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    middle, half = (low + high) / 2, (high - low) / 2 * 0.97
    outward = x - middle
    excess = np.abs(outward / half).max(axis=1, keepdims=True)
    return np.where(within[:, None], x, middle + outward / np.maximum(excess, 1e-300))


def _points(
    figure: Any,
    ax: Any,
    x: NDArray[np.float64],
    within: NDArray[np.bool_],
    colours: Palette | None,
    marker: float,
) -> None:
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {
        "s": marker**2,
        "linewidths": 0.3 if len(x) < 1000 else 0.0,
        "edgecolors": "white",
        "zorder": 2,
    }
    style["rasterized"] = len(x) > MANY
    if colours is None:
        ax.scatter(*x[within].T, color=COLOURS[0], alpha=1.0 if len(x) < 1000 else 0.6, **style)
    elif colours.categories is None:
        known = within & np.isfinite(colours.values)
        ax.scatter(*x[within & ~known].T, color=GREY, **style)
        drawn = ax.scatter(*x[known].T, c=colours.values[known], cmap=RAMP, **style)
        bar = figure.colorbar(drawn, ax=ax, shrink=0.6, aspect=30, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=font_size_of(ax))
    else:
        handles = []
        for code in range(len(colours.categories)):
            colour = colours.colour(code)
            shape = SHAPES[code // len(COLOURS) % len(SHAPES)]
            ax.scatter(*x[within & (colours.values == code)].T, color=colour, marker=shape, **style)
            handles.append(Line2D([], [], linestyle="", marker=shape, color=colour, markersize=5))
        columns = 1 + (len(handles) - 1) // 30
        place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "ncols": columns, "borderaxespad": 0.2}
        legend(ax, handles, list(colours.categories), **place)


def _arrow_heads(
    ax: Any,
    x: NDArray[np.float64],
    within: NDArray[np.bool_],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> None:
    middle = (low + high) / 2
    for point in x[~within]:
        angle = np.degrees(np.arctan2(*(point - middle)[::-1])) - 90
        ax.scatter(*point, marker=(3, 0, angle), s=60, color=COLOURS[1], zorder=3)
    n_far = int((~within).sum())
    verb = "object lies" if n_far == 1 else "objects lie"
    add_note(ax, FAR_AWAY.format(n_far, verb))


def _pictures(
    figure: Any, ax: Any, x: NDArray[np.float64], pictures: dict[int, Any], colours: Palette | None
) -> NDArray[np.float64]:
    """Draw thumbnails on those points where they do not overlap; returns their widths and heights in pixels.

    A thumbnail hides its point, so it has a frame in the point's colour.
    """
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    sides = np.zeros((len(x), 2))
    if not pictures:
        return sides
    points, bounds = pixels(ax, x)
    side = float(np.clip(0.36 * np.sqrt(bounds[0] * bounds[1] / len(pictures)), 20, 72))
    frame = 2.0 * figure.dpi / 72
    shown = None if colours is None else colours.shown()
    taken = np.empty((0, 4))
    for number, picture in pictures.items():
        image = thumbnail(picture, round(FINER * side))
        scale = min(side / max(image.size), 1.0)
        box = np.array([*points[number], *(scale * np.array(image.size) + 2 * frame)])
        overlap = (np.abs(taken[:, :2] - box[:2]) < (taken[:, 2:] + box[2:]) / 2).all(axis=1)
        if overlap.any():
            continue
        taken = np.vstack([taken, box])
        smaller = OffsetImage(np.asarray(image.convert("RGBA")), zoom=scale * 72 / figure.dpi)
        framed = AnnotationBbox(smaller, x[number], frameon=shown is not None, pad=0, zorder=3)
        if shown is not None:
            framed.patch.set(edgecolor=shown[number], linewidth=2 * frame * 72 / figure.dpi, joinstyle="miter")
        ax.add_artist(framed)
        sides[number] = box[2:]
    if len(taken) < len(pictures):
        add_note(ax, LEFT_OUT_PICTURES.format(len(pictures) - len(taken), len(pictures)))
    return sides
