"""Placement of labels beside points, so that no two labels overlap.

All lengths are in pixels. The search is greedy: each label tries positions around its point, the closest and most
conventional first, and takes the one that hides the fewest points. A label that fits nowhere is omitted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["LabelPlace", "PointCounts", "Spacing", "place_labels"]

# Right, left, above, below, then the corners: the order in which readers expect a label.
_DIRECTIONS = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)], dtype=np.float64)
_CELL = 2.0  # resolution at which hidden points are counted


class LabelPlace(NamedTuple):
    """Position of a label."""

    number: int  # index of the labelled point
    x: float  # lower left corner
    y: float
    needs_line: bool  # true if the label is so far from its point that a line should join them


@dataclass(frozen=True)
class Spacing:
    """Distances between points and their labels, and limits on the labels.

    Attributes
    ----------
    gap
        Distance from a point to its label.
    rings
        Additional distances to try, beginning with 0; a line joins point and label at any but the first.
    marker_radius
        Radius of the points' markers: a label that covers part of a marker counts as hiding its point.
    most_hidden
        Largest number of points that a label may hide.
    most_labels
        Largest number of labels.
    """

    gap: float = 5.0
    rings: tuple[float, ...] = (0.0,)
    marker_radius: float = 0.0
    most_hidden: int = 0
    most_labels: int = 150


def place_labels(
    points: NDArray[np.float64],
    size: Callable[[int], tuple[float, float]],
    order: Sequence[int],
    bounds: tuple[float, float],
    spacing: Spacing = Spacing(),
    *,
    pictures: NDArray[np.float64] | None = None,
    obstacles: NDArray[np.float64] | None = None,
) -> list[LabelPlace]:
    """Place labels beside points.

    Parameters
    ----------
    points
        (n, 2) positions, measured from the lower left corner.
    size
        Function that returns the width and height of a point's label.
    order
        Indices of the points to label, the most important first.
    bounds
        Width and height of the area that labels must stay within.
    spacing
        Distances and limits.
    pictures
        (n, 2) widths and heights of pictures centred on the points, 0 where there is none; no label overlaps them.
    obstacles
        (k, 2) further points that labels should not hide.

    Examples
    --------
    >>> points = np.array([[50.0, 50.0], [60.0, 50.0]])
    >>> [(place.number, place.x) for place in place_labels(points, lambda _: (30.0, 10.0), [0, 1], (100.0, 100.0))]
    [(0, 15.0), (1, 65.0)]
    """
    counts = PointCounts(points if obstacles is None else np.vstack([points, obstacles]), bounds)
    pictures = np.zeros_like(points) if pictures is None else pictures
    has_picture = (pictures > 0).any(axis=1)
    occupied = np.hstack([points - pictures / 2, points + pictures / 2])[has_picture]
    places: list[LabelPlace] = []
    for number in order:
        if len(places) >= spacing.most_labels:
            break
        width, height = size(number)
        corners, needs_line = _candidates(points[number], (width, height), pictures[number], spacing)
        boxes = np.column_stack([corners, np.add(corners, (width, height))])
        inside = (boxes[:, :2] >= 0).all(axis=1) & (boxes[:, 2] <= bounds[0]) & (boxes[:, 3] <= bounds[1])
        apart = (
            (boxes[:, None, 0] >= occupied[None, :, 2])
            | (boxes[:, None, 2] <= occupied[None, :, 0])
            | (boxes[:, None, 1] >= occupied[None, :, 3])
            | (boxes[:, None, 3] <= occupied[None, :, 1])
        ).all(axis=1)
        free = np.flatnonzero(inside & apart)
        if not len(free):
            continue
        n_hidden = counts.within(boxes[free] + spacing.marker_radius * np.array([-1.0, -1.0, 1.0, 1.0]))
        # A distant position is worth taking only if it hides fewer points.
        best = free[np.lexsort((free, n_hidden))[0]]
        if n_hidden.min() > spacing.most_hidden:
            continue
        occupied = np.vstack([occupied, boxes[best]])
        places.append(LabelPlace(int(number), float(corners[best, 0]), float(corners[best, 1]), bool(needs_line[best])))
    return places


def _candidates(
    point: NDArray[np.float64], size: tuple[float, float], picture: NDArray[np.float64], spacing: Spacing
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the lower left corners of all positions to try, and whether each needs a line to its point."""
    half = np.array(size) / 2
    corners = []
    for ring in spacing.rings:
        # Diagonal positions are moved inwards, because the nearest part of the label is its corner.
        length = np.where(np.abs(_DIRECTIONS).sum(axis=1, keepdims=True) > 1, 0.7, 1.0)
        offset = np.where(picture > 0, picture / 2 + 2 + ring, (spacing.gap + ring) * length)
        corners.append(point + _DIRECTIONS * (half + offset) - half)
    return np.vstack(corners), np.repeat(np.array(spacing.rings) > 0, len(_DIRECTIONS))


class PointCounts:
    """Numbers of points inside boxes, from a summed-area table: as fast for a million points as for ten."""

    def __init__(self, points: NDArray[np.float64], bounds: tuple[float, float]) -> None:
        columns, lines = (max(int(np.ceil(bound / _CELL)), 1) for bound in bounds)
        cells = np.floor(points / _CELL)
        inside = ((cells >= 0) & (cells < (columns, lines))).all(axis=1)
        flat = (cells[inside] @ (lines, 1)).astype(np.int64)
        counts = np.bincount(flat, minlength=columns * lines).reshape(columns, lines)
        self._sums = np.pad(counts.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))

    def __repr__(self) -> str:
        columns, lines = self._sums.shape
        return f"PointCounts({self._sums[-1, -1]:,} points in {columns - 1} x {lines - 1} cells)"

    def within(self, boxes: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of points inside each box (left, bottom, right, top), to the precision of a cell."""
        cells = np.hstack([np.floor(boxes[:, :2] / _CELL), np.ceil(boxes[:, 2:] / _CELL)])
        limits = [self._sums.shape[0] - 1, self._sums.shape[1] - 1] * 2
        x0, y0, x1, y1 = np.clip(cells, 0, limits).astype(np.int64).T
        sums = self._sums
        counts: NDArray[np.int64] = sums[x1, y1] - sums[x0, y1] - sums[x1, y0] + sums[x0, y0]
        return counts
