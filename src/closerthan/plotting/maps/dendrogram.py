"""Dendrogram: the tree of a hierarchical clustering."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from closerthan.checks import checked, whole
from closerthan.plotting.canvas import INK, canvas, names_of, tidy
from closerthan.plotting.labels.short_names import short_names
from closerthan.plotting.maps.thumbnails import thumbnail_box, thumbnail_sources
from closerthan.plotting.palette import COLOURS, GREY

__all__ = ["dendrogram_figure"]

LONGEST = 24  # characters of a name beside its leaf
MOST_NAMES = 200  # with more objects, no names are written
PICTURE = 0.34  # height of a picture beside its leaf, in inches


@checked
def dendrogram_figure(
    tree: Any,
    names: Sequence[str] | None = None,
    *,
    n_clusters: int | None = None,
    thumbnails: Any = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw a dendrogram with the names of its leaves; each group has its own colour.

    Parameters
    ----------
    tree
        A result of :func:`closerthan.cluster`, or a linkage matrix of SciPy.
    names
        Names of the objects; by default those of the clustering, or their numbers.
    n_clusters
        Number of groups to colour; by default that of the clustering. Without a clustering, no groups are coloured.
    thumbnails
        Pictures to show beside the leaves: one per object (a path or an array, None where there is no picture), or a
        mapping from names to pictures.
    title, ax
        As in :func:`map_figure`.

    Examples
    --------
    >>> figure = dendrogram_figure([[0, 1, 1, 2], [2, 3, 2, 2], [4, 5, 3, 4]], ["ant", "bee", "cat", "dog"])
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['ant', 'bee', 'cat', 'dog']
    """
    from scipy.cluster.hierarchy import dendrogram

    names = getattr(tree, "names", None) if names is None else names
    n_clusters = getattr(tree, "n_clusters", None) if n_clusters is None else n_clusters
    merges = np.asarray(getattr(tree, "tree", tree), dtype=np.float64)
    if merges.ndim != 2 or merges.shape[1] != 4 or not len(merges):
        raise ValueError(f"the tree has shape {merges.shape}; expected SciPy's linkage matrix, n - 1 rows of 4 numbers")
    n_objects = len(merges) + 1
    all_names = names_of(names, n_objects)
    colour = _colours(merges, n_clusters)
    layout = dendrogram(merges, no_plot=True, link_color_func=lambda node: colour[node])
    pictures = {} if thumbnails is None else thumbnail_sources(thumbnails, all_names)
    figure, ax = canvas(ax, (7.0, min(max((PICTURE if pictures else 0.18) * n_objects, 2.5), 40.0)))
    for places, heights, shade in zip(layout["icoord"], layout["dcoord"], layout["color_list"], strict=True):
        ax.plot(heights, places, color=shade, linewidth=1.2)
    leaves = 5 + 10 * np.arange(n_objects)
    tidy(ax, title=title, x="merged at", grid=False)
    short = short_names(all_names, LONGEST).names if n_objects <= MOST_NAMES else [""] * n_objects
    ax.set_yticks(leaves, [short[leaf] for leaf in layout["leaves"]], color=INK)
    for text in ax.get_yticklabels():
        text.set_parse_math(False)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    heights = zip(leaves.tolist(), layout["leaves"], strict=True)
    _pictures(ax, {height: pictures[leaf] for height, leaf in heights if leaf in pictures})
    return figure


def _pictures(ax: Any, pictures: dict[int, Any]) -> None:
    """Draw a picture to the right of each leaf, small enough not to overlap; the keys are the heights of the leaves."""
    if not pictures:
        return
    figure = ax.figure.figure
    figure.draw_without_rendering()
    spacing = ax.get_window_extent().height * 10 / np.ptp(ax.get_ylim())  # pixels from leaf to leaf
    side = min(0.9 * spacing, PICTURE * figure.dpi)
    style = {"xycoords": ax.get_yaxis_transform(), "box_alignment": (0, 0.5), "annotation_clip": False}
    for height, picture in pictures.items():
        ax.add_artist(thumbnail_box(picture, (1.0, height), side, figure.dpi, frameon=False, **style)[0])


def _colours(merges: Any, n_clusters: int | None) -> dict[int, str]:
    """Return the colour of each inner node: that of its group, or grey if it joins groups."""
    n_objects = len(merges) + 1
    last = n_objects - (n_objects if n_clusters is None else whole("n_clusters", n_clusters))
    top = {node: node for node in range(n_objects)}
    for merge in range(last - 1, -1, -1):
        node = n_objects + merge
        for child in merges[merge, :2].astype(int):
            top[int(child)] = top.get(node, node)
        top.setdefault(node, node)
    sizes = Counter(top[leaf] for leaf in range(n_objects))  # the largest group has the first colour, as elsewhere
    order = {group: number for number, (group, _) in enumerate(sizes.most_common())}
    return {
        n_objects + merge: COLOURS[order[top[n_objects + merge]] % len(COLOURS)] if merge < last else GREY
        for merge in range(len(merges))
    }
