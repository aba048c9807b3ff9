"""Silhouettes: the number of groups on a map, and a test against maps without groups.

The silhouette of an object (Rousseeuw 1987) is ``(b - a) / max(a, b)``, where a is its mean distance to the other
objects of its group and b the smallest mean distance to the objects of another group. The number of groups is the one
whose mean silhouette is highest. Every map has such a number, so the silhouette is compared with those of maps of the
same shape without gaps: points drawn at random along the edges of the minimum spanning tree and displaced by the
difference between two points nearby. Long edges, which bridge the gaps between groups, get as many points per length as
short ones. A line stays a line and a ring stays a ring, so neither is mistaken for groups.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.objects.comparison_tree import cut

__all__ = ["GroupNumber", "count_groups", "same_number", "silhouette"]

DRAWS = 99  # maps without gaps
LEVEL = 0.95  # quantile of their silhouettes that clear groups must exceed
NEIGHBOURS = 3  # neighbours of each end of an edge, from which the local width is estimated; set by judgement
WIDTH = np.sqrt(0.5)  # gives the difference of two points the variance of one point
MOST_OBJECTS = 300  # larger maps are represented by a random sample, since the time grows quadratically


class GroupNumber(NamedTuple):
    """The number of groups with the highest mean silhouette.

    Attributes
    ----------
    number
        The number of groups.
    silhouettes
        Mean silhouette for each number of groups.
    reference
        95 % quantile of the highest silhouettes on maps without gaps.
    """

    number: int
    silhouettes: dict[int, float]
    reference: float


def count_groups(x: Array, most: int, seed: int) -> GroupNumber:
    """Find the number of groups on a map, from 2 to ``most``, and a silhouette that is rare on maps without groups.

    Groups have at least two objects on average. With fewer than four objects there is one group.

    Examples
    --------
    >>> x = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 8, axis=0) + np.random.default_rng(0).normal(size=(24, 2))
    >>> count = count_groups(x, 8, seed=0)
    >>> count.number, bool(count.silhouettes[3] > count.reference)
    (3, True)
    """
    rng = np.random.default_rng(seed)
    if len(x) > MOST_OBJECTS:
        x = x[np.sort(rng.choice(len(x), MOST_OBJECTS, replace=False))]
    values = _silhouettes(x, most)
    if not values:
        return GroupNumber(1, {}, float("nan"))
    without = [max(_silhouettes(other, most).values()) for other in _without_gaps(x, rng)]
    return GroupNumber(_best(values), values, float(np.quantile(without, LEVEL)))


def same_number(maps: Iterable[Array], number: int, most: int, seed: int) -> float:
    """Return the fraction of the maps on which this number of groups has the highest silhouette.

    Examples
    --------
    >>> pairs = np.array([[0.0], [1.0], [8.0], [9.0], [20.0], [21.0]])
    >>> same_number([pairs, pairs**0.01], 3, 8, seed=0)
    0.5
    """
    rng = np.random.default_rng(seed)
    same = []
    for x in maps:
        some = rng.choice(len(x), min(len(x), MOST_OBJECTS), replace=False)
        same.append(_best(_silhouettes(x[np.sort(some)], most)) == number)
    return float(np.mean(same))


def _best(values: dict[int, float]) -> int:
    return max(values, key=lambda number: (values[number], -number), default=1)


def silhouette(apart: Array, labels: NDArray[np.intp]) -> float:
    """Return the mean silhouette of all objects, from their distances.

    A single object is an outlier and not a group: its silhouette is 0, and other objects are not compared with it.

    Examples
    --------
    >>> places = np.array([0.0, 1.0, 8.0, 9.0, 50.0])
    >>> round(silhouette(abs(places[:, None] - places), np.array([0, 0, 1, 1, 2])), 3)
    0.7
    """
    groups, sizes = np.unique(labels, return_counts=True)
    groups, sizes = groups[sizes > 1], sizes[sizes > 1]
    if len(groups) < 2:
        return 0.0
    sums = np.stack([apart[:, labels == group].sum(axis=1) for group in groups], axis=1)
    values = np.zeros(len(labels))
    for column, (group, size) in enumerate(zip(groups, sizes, strict=True)):
        members = labels == group
        inside = sums[members, column] / (size - 1)
        outside = np.delete(sums[members] / sizes, column, axis=1).min(axis=1)
        larger = np.maximum(inside, outside)
        values[members] = np.divide(outside - inside, larger, out=np.zeros(int(size)), where=larger > 0)
    return float(values.mean())


def _silhouettes(x: Array, most: int) -> dict[int, float]:
    """Return the mean silhouette for each number of groups with at least two objects on average.

    The groups are those of Ward's hierarchical clustering (Ward 1963).
    """
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import pdist, squareform

    apart, tree = squareform(pdist(x)), linkage(x, "ward")
    return {number: silhouette(apart, cut(tree, number)) for number in range(2, min(most, len(x) // 2) + 1)}


def _without_gaps(x: Array, rng: np.random.Generator) -> list[Array]:
    """Return maps with the same number of points, drawn along the minimum spanning tree uniformly by length."""
    from scipy.sparse.csgraph import minimum_spanning_tree
    from scipy.spatial.distance import pdist, squareform

    n_objects = len(x)
    apart = squareform(pdist(x))
    # Lengths must be positive, since a length of zero means that there is no edge.
    edges = minimum_spanning_tree(apart / (apart.max() or 1.0) + 1e-6).tocoo()
    ends = np.stack([edges.row, edges.col])
    near = np.argsort(apart, axis=1, kind="stable")[:, : NEIGHBOURS + 1]  # the object itself is the first
    maps = []
    for _ in range(DRAWS):
        edge = rng.choice(len(edges.data), n_objects, p=edges.data / edges.data.sum())
        along = rng.random((n_objects, 1))
        end = ends[rng.integers(2, size=n_objects), edge]
        one, other = near[end, rng.integers(near.shape[1], size=(2, n_objects))]
        maps.append((1 - along) * x[ends[0, edge]] + along * x[ends[1, edge]] + WIDTH * (x[one] - x[other]))
    return maps
