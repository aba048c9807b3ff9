"""Placement of labels: where each fits beside its point without lying on another label.

All lengths are in pixels. A greedy search: each label tries places around its point, nearest and most usual first, and
takes the one that hides the fewest points; a label that fits nowhere is left out.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Place", "PointCounts", "place_labels"]

# Right, left, above, below, then the corners: the order in which a reader expects a label.
_DIRECTIONS = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)], dtype=np.float64)
_CELL = 2.0  # the resolution at which hidden points are counted


class Place(NamedTuple):
    """A label that fits."""

    number: int  # of its point
    x: float  # lower left corner
    y: float
    pulled: bool  # so far from its point that a line should join them


def place_labels(
    points: NDArray[np.float64],
    size: Callable[[int], tuple[float, float]],
    order: Sequence[int],
    bounds: tuple[float, float],
    *,
    gap: float = 5.0,
    rings: Sequence[float] = (0.0,),
    hidden: int = 0,
    most: int = 150,
    sides: NDArray[np.float64] | None = None,
    others: NDArray[np.float64] | None = None,
    radius: float = 0.0,
) -> list[Place]:
    """Place labels beside points.

    Parameters
    ----------
    points
        (n, 2) positions, from the lower left corner.
    size
        Width and height of the label of a point.
    order
        Which labels to place, the most important first.
    bounds
        Width and height of the area that labels must stay within.
    gap
        From a point to its label.
    rings
        Further distances to try; beyond the first, a line should join label and point.
    hidden
        How many points a label may hide.
    most
        How many labels at most.
    sides
        (n, 2) widths and heights of pictures that are centred on the points; labels do not lie on them.
    others
        (k, 2) further points that labels should not hide.
    radius
        Radius of the points' markers: a label that covers part of a marker counts as hiding its point.

    Examples
    --------
    >>> points = np.array([[50.0, 50.0], [60.0, 50.0]])
    >>> [(place.number, place.x) for place in place_labels(points, lambda _: (30.0, 10.0), [0, 1], (100.0, 100.0))]
    [(0, 15.0), (1, 65.0)]
    """
    covered = PointCounts(points if others is None else np.vstack([points, others]), bounds)
    sides = np.zeros_like(points) if sides is None else sides
    pictured = (sides > 0).any(axis=1)
    placed = np.hstack([points - sides / 2, points + sides / 2])[pictured]
    places: list[Place] = []
    for number in order:
        if len(places) >= most:
            break
        width, height = size(number)
        corners, pulled = _candidates(points[number], (width, height), sides[number], gap, rings)
        boxes = np.column_stack([corners, np.add(corners, (width, height))])
        inside = (boxes[:, :2] >= 0).all(axis=1) & (boxes[:, 2] <= bounds[0]) & (boxes[:, 3] <= bounds[1])
        apart = (
            (boxes[:, None, 0] >= placed[None, :, 2])
            | (boxes[:, None, 2] <= placed[None, :, 0])
            | (boxes[:, None, 1] >= placed[None, :, 3])
            | (boxes[:, None, 3] <= placed[None, :, 1])
        ).all(axis=1)
        free = np.flatnonzero(inside & apart)
        if not len(free):
            continue
        hides = covered.within(boxes[free] + radius * np.array([-1.0, -1.0, 1.0, 1.0]))
        # A far place is worth taking only if it hides fewer points.
        best = free[np.lexsort((free, hides))[0]]
        if hides.min() > hidden:
            continue
        placed = np.vstack([placed, boxes[best]])
        places.append(Place(int(number), float(corners[best, 0]), float(corners[best, 1]), bool(pulled[best])))
    return places


def _candidates(
    point: NDArray[np.float64],
    size: tuple[float, float],
    picture: NDArray[np.float64],
    gap: float,
    rings: Sequence[float],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    half = np.array(size) / 2
    corners = []
    for ring in rings:
        # Beside the point rather than on a circle: at a corner the label's own corner is what comes near.
        length = np.where(np.abs(_DIRECTIONS).sum(axis=1, keepdims=True) > 1, 0.7, 1.0)
        centres = point + _DIRECTIONS * (half + np.where(picture > 0, picture / 2 + 2 + ring, (gap + ring) * length))
        corners.append(centres - half)
    return np.vstack(corners), np.repeat(np.array(rings) > 0, len(_DIRECTIONS))


class PointCounts:
    """How many points lie in a box, by a summed-area table: as fast for a million points as for ten."""

    def __init__(self, points: NDArray[np.float64], bounds: tuple[float, float]) -> None:
        columns, lines = (max(int(np.ceil(bound / _CELL)), 1) for bound in bounds)
        cells = np.floor(points / _CELL)
        inside = ((cells >= 0) & (cells < (columns, lines))).all(axis=1)
        flat = (cells[inside] @ (lines, 1)).astype(np.int64)
        counts = np.bincount(flat, minlength=columns * lines).reshape(columns, lines)
        self._sums = np.pad(counts.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))

    def within(self, boxes: NDArray[np.float64]) -> NDArray[np.int64]:
        """Of each box (left, low, right, high), to the precision of a cell."""
        cells = np.hstack([np.floor(boxes[:, :2] / _CELL), np.ceil(boxes[:, 2:] / _CELL)])
        limits = [self._sums.shape[0] - 1, self._sums.shape[1] - 1] * 2
        left, low, right, high = np.clip(cells, 0, limits).astype(np.int64).T
        sums = self._sums
        counts: NDArray[np.int64] = sums[right, high] - sums[left, high] - sums[right, low] + sums[left, low]
        return counts
