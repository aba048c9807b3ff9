"""A tree of objects, as hierarchical clustering makes it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closerthan.plotting.canvas import INK, canvas, tidy
from closerthan.plotting.palette import COLOURS, GREY
from closerthan.plotting.short_names import short_names

__all__ = ["dendrogram_figure"]

LONGEST = 24  # letters of a name beside its leaf
MOST_NAMES = 200


def dendrogram_figure(
    tree: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    n_clusters: int | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw a tree with the names of its leaves, and its groups in colours.

    Parameters
    ----------
    tree
        SciPy's linkage matrix, such as ``ct.cluster(answers).tree``.
    names
        Of the objects; by default their numbers.
    n_clusters
        How many groups to colour; none if not given.

    Examples
    --------
    >>> figure = dendrogram_figure([[0, 1, 1, 2], [2, 3, 2, 2], [4, 5, 3, 4]], ["ant", "bee", "cat", "dog"])
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['ant', 'bee', 'cat', 'dog']
    """
    from scipy.cluster.hierarchy import dendrogram

    merges = np.asarray(tree, dtype=np.float64)
    if merges.ndim != 2 or merges.shape[1] != 4 or not len(merges):
        raise ValueError(f"the tree has shape {merges.shape}; expected SciPy's linkage matrix, n - 1 rows of 4 numbers")
    n_objects = len(merges) + 1
    if names is not None and len(names) != n_objects:
        raise ValueError(f"there are {len(names)} names for {n_objects} objects; one each is needed")
    called = [str(number) for number in range(n_objects)] if names is None else short_names(names, LONGEST).names
    colour = _colours(merges, n_clusters)
    drawn = dendrogram(merges, no_plot=True, link_color_func=lambda node: colour[node])
    figure, ax = canvas(ax, (7.0, min(max(0.18 * n_objects, 2.5), 40.0)))
    for places, heights, shade in zip(drawn["icoord"], drawn["dcoord"], drawn["color_list"], strict=True):
        ax.plot(heights, places, color=shade, linewidth=1.2)
    leaves = 5 + 10 * np.arange(n_objects)
    tidy(ax, title=title, x="merged at", grid=False)
    shown = [called[leaf] for leaf in drawn["leaves"]] if n_objects <= MOST_NAMES else [""] * n_objects
    ax.set_yticks(leaves, shown, color=INK)
    for text in ax.get_yticklabels():
        text.set_parse_math(False)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return figure


def _colours(merges: Any, n_clusters: int | None) -> dict[int, str]:
    """Of each inner node: that of its group, or grey above the groups."""
    n_objects = len(merges) + 1
    last = n_objects - (n_clusters or n_objects)
    top = {node: node for node in range(n_objects)}
    for merge in range(last - 1, -1, -1):
        node = n_objects + merge
        for child in merges[merge, :2].astype(int):
            top[int(child)] = top.get(node, node)
        top.setdefault(node, node)
    order = {group: number for number, group in enumerate(dict.fromkeys(top[leaf] for leaf in range(n_objects)))}
    return {
        n_objects + merge: COLOURS[order[top[n_objects + merge]] % len(COLOURS)] if merge < last else GREY
        for merge in range(len(merges))
    }
