"""A map as a small picture inside a notebook: plain SVG, without matplotlib."""

import html
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from closerthan.geometry import principal_axes
from closerthan.plotting.palette import COLOURS

__all__ = ["small_map"]

WIDTH, HEIGHT, MARGIN = 420, 300, 14  # pixels
MOST_POINTS = 2_000  # of more objects, every second, third, ... is drawn
MOST_NAMES = 40
LETTER = 5.5  # how wide one is, about
OUTSIDE = 0.01  # this share of the objects on each side may lie outside and is drawn at the edge


def small_map(embedding: NDArray[np.float64], names: Sequence[str] | None = None) -> str:
    """The map as an SVG element; of more than two dimensions, the two widest.

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
    shown = range(0, len(x), max(1, -(-len(x) // MOST_POINTS)))
    places = _on_paper(x)
    radius = 3.0 if len(x) <= 200 else 1.5
    parts = []
    taken: list[tuple[float, float, float]] = []  # left and right ends and baselines of names
    for number in shown:
        across, down = places[number]
        name = html.escape(str(number) if names is None else names[number])
        parts.append(
            f'<circle cx="{across:.1f}" cy="{down:.1f}" r="{radius}" fill="{COLOURS[0]}" fill-opacity="0.75">'
            f"<title>{name}</title></circle>"
        )
        if len(x) <= MOST_NAMES:
            before = across > 0.8 * WIDTH  # the name is to the left of a point near the right edge
            length = LETTER * len(str(number) if names is None else names[number])
            left = across - 5 - length if before else across + 5
            if any(left < right and start < left + length and abs(down - line) < 10 for start, right, line in taken):
                continue  # it would lie on another name; pointing at the circle shows it
            taken.append((left, left + length, down))
            parts.append(
                f'<text x="{across + (-5 if before else 5):.1f}" y="{down + 3:.1f}" font-size="10" fill="currentColor" '
                f'text-anchor="{"end" if before else "start"}">{name}</text>'
            )
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="The map">{"".join(parts)}</svg>'


def _on_paper(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pixels from the left and from the top, with one scale for both axes."""
    low, high = np.quantile(x, [OUTSIDE, 1 - OUTSIDE], axis=0) if len(x) > 1 / OUTSIDE else (x.min(0), x.max(0))
    room = np.array([WIDTH, HEIGHT]) - 2.0 * MARGIN
    spread = high - low
    scale = min((room[axis] / spread[axis] for axis in (0, 1) if spread[axis] > 0), default=1.0)
    places = (x - (low + high) / 2) * scale * [1, -1] + np.array([WIDTH, HEIGHT]) / 2
    inside: NDArray[np.float64] = np.clip(places, MARGIN, [WIDTH - MARGIN, HEIGHT - MARGIN])
    return inside
