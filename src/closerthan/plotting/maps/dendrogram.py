"""A tree of objects, as hierarchical clustering makes it."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from closerthan.checks import checked, whole
from closerthan.plotting.canvas import INK, canvas, tidy
from closerthan.plotting.labels.short_names import short_names
from closerthan.plotting.maps.thumbnails import thumbnail, thumbnail_sources
from closerthan.plotting.palette import COLOURS, GREY

__all__ = ["dendrogram_figure"]

LONGEST = 24  # letters of a name beside its leaf
MOST_NAMES = 200
PICTURE = 0.34  # inches of a picture beside its leaf
FINER = 3  # pixels of a thumbnail for each that is shown, for print


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
    """Draw a tree with the names of its leaves, and its groups in colours.

    Parameters
    ----------
    tree
        What :func:`closerthan.cluster` returned, or SciPy's linkage matrix.
    names
        Of the objects; by default those of the clustering, or numbers.
    n_clusters
        How many groups to colour; by default those of the clustering, or none.
    thumbnails
        Pictures to show beside the leaves: one per object (a path or an array; None: no picture), or a mapping from
        names.

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
    if names is not None and len(names) != n_objects:
        raise ValueError(f"there are {len(names)} names for {n_objects} objects; one each is needed")
    called = [str(number) for number in range(n_objects)] if names is None else short_names(names, LONGEST).names
    colour = _colours(merges, n_clusters)
    drawn = dendrogram(merges, no_plot=True, link_color_func=lambda node: colour[node])
    every = tuple(str(number) for number in range(n_objects)) if names is None else tuple(names)
    pictures = {} if thumbnails is None else thumbnail_sources(thumbnails, every)
    figure, ax = canvas(ax, (7.0, min(max((PICTURE if pictures else 0.18) * n_objects, 2.5), 40.0)))
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
    _pictures(figure, ax, {int(place): pictures.get(leaf) for place, leaf in zip(leaves, drawn["leaves"], strict=True)})
    return figure


def _pictures(figure: Any, ax: Any, at: dict[int, Any]) -> None:
    """Draw pictures right of the leaves, where nothing of the tree is; as high as the leaves leave room for."""
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    shown = {place: picture for place, picture in at.items() if picture is not None}
    if not shown:
        return
    figure.draw_without_rendering()
    height = ax.get_window_extent().height * 10 / np.ptp(ax.get_ylim())  # pixels from leaf to leaf
    side = min(0.9 * height, PICTURE * figure.dpi)
    for place, picture in shown.items():
        image = thumbnail(picture, max(round(FINER * side), 1))
        small = OffsetImage(np.asarray(image.convert("RGBA")), zoom=side / max(image.size) * 72 / figure.dpi)
        right = (1.0, place)
        ax.add_artist(
            AnnotationBbox(
                small,
                right,
                xycoords=ax.get_yaxis_transform(),
                box_alignment=(0, 0.5),
                frameon=False,
                annotation_clip=False,
            )
        )


def _colours(merges: Any, n_clusters: int | None) -> dict[int, str]:
    """Of each inner node: that of its group, or grey above the groups."""
    n_objects = len(merges) + 1
    last = n_objects - (n_objects if n_clusters is None else whole("n_clusters", n_clusters))
    top = {node: node for node in range(n_objects)}
    for merge in range(last - 1, -1, -1):
        node = n_objects + merge
        for child in merges[merge, :2].astype(int):
            top[int(child)] = top.get(node, node)
        top.setdefault(node, node)
    sizes = Counter(top[leaf] for leaf in range(n_objects))  # the largest first, as everywhere; then by first leaf
    order = {group: number for number, (group, _) in enumerate(sizes.most_common())}
    return {
        n_objects + merge: COLOURS[order[top[n_objects + merge]] % len(COLOURS)] if merge < last else GREY
        for merge in range(len(merges))
    }
