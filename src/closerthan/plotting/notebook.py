"""A small picture of a map for notebooks, in plain SVG, without matplotlib."""

import html
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from closerthan.geometry import principal_axes
from closerthan.plotting.palette import COLOURS

__all__ = ["small_map"]

WIDTH, HEIGHT, MARGIN = 420, 300, 14  # pixels
MOST_POINTS = 2_000  # if there are more objects, only every second, third, ... is drawn
MOST_NAMES = 40  # with more objects, no names are written
LETTER = 5.5  # approximate width of a character, in pixels
OUTSIDE = 0.01  # fraction of the objects on each side that may lie outside the picture; they are drawn at its edge


def small_map(embedding: NDArray[np.float64], names: Sequence[str] | None = None) -> str:
    """Return a map as an SVG element; if it has more than two dimensions, its two widest principal axes are drawn.

    Examples
    --------
    >>> picture = small_map(np.eye(3), ["a", "b", "<c>"])
    >>> picture.startswith("<svg"), picture.count("<circle"), "&lt;c&gt;" in picture
    (True, 3, True)
    """
    x = np.asarray(embedding, dtype=np.float64)
    if x.shape[1] > 2:
        x = principal_axes(x).coordinates[:, :2]
    elif x.shape[1] == 1:
        x = np.column_stack([x, np.zeros(len(x))])
    places = _pixels(x)
    radius = 3.0 if len(x) <= 200 else 1.5
    parts = []
    names_so_far: list[tuple[float, float, float]] = []  # left end, right end and baseline of each
    for number in range(0, len(x), max(1, -(-len(x) // MOST_POINTS))):
        across, down = places[number]
        name = html.escape(str(number) if names is None else names[number])
        parts.append(
            f'<circle cx="{across:.1f}" cy="{down:.1f}" r="{radius}" fill="{COLOURS[0]}" fill-opacity="0.75">'
            f"<title>{name}</title></circle>"
        )
        if len(x) <= MOST_NAMES:
            is_on_left = across > 0.8 * WIDTH  # near the right edge, the name is to the left of its point
            length = LETTER * len(str(number) if names is None else names[number])
            start = across - 5 - length if is_on_left else across + 5
            end = start + length
            if any(start < other[1] and other[0] < end and abs(down - other[2]) < 10 for other in names_so_far):
                continue  # the name would overlap another; the tooltip of the circle shows it
            names_so_far.append((start, end, down))
            offset, anchor = (-5, "end") if is_on_left else (5, "start")
            parts.append(
                f'<text x="{across + offset:.1f}" y="{down + 3:.1f}" font-size="10" fill="currentColor" '
                f'text-anchor="{anchor}">{name}</text>'
            )
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="The map">{"".join(parts)}</svg>'


def _pixels(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return positions in pixels from the left and from the top, with the same scale on both axes."""
    low, high = np.quantile(x, [OUTSIDE, 1 - OUTSIDE], axis=0) if len(x) > 1 / OUTSIDE else (x.min(0), x.max(0))
    room = np.array([WIDTH, HEIGHT]) - 2.0 * MARGIN
    spread = high - low
    scale = min((room[axis] / spread[axis] for axis in (0, 1) if spread[axis] > 0), default=1.0)
    places = (x - (low + high) / 2) * scale * [1, -1] + np.array([WIDTH, HEIGHT]) / 2
    inside: NDArray[np.float64] = np.clip(places, MARGIN, [WIDTH - MARGIN, HEIGHT - MARGIN])
    return inside
