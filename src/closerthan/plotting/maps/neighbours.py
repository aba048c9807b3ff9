"""Probable neighbours: a map with lines whose width shows how probable it is that two objects are neighbours."""

from typing import Any

import numpy as np

from closerthan.checks import checked
from closerthan.plotting.canvas import check_returned, legend
from closerthan.plotting.maps.projection import project
from closerthan.plotting.maps.scatter import map_figure
from closerthan.wording import percent

__all__ = ["neighbours_figure"]

LEAST_PROBABILITY = 0.1  # probability above which a line is drawn
WIDEST = 4.0  # width of a line with probability 1, in points


@checked
def neighbours_figure(replicates: Any, *, k: int = 3, title: str | None = None, ax: Any = None) -> Any:
    """Draw a map with lines between probable neighbours; the width of a line shows the probability.

    Of the two probabilities of a pair (one for each object), the larger is drawn, if it is at least 10 %.

    Parameters
    ----------
    replicates
        A result of :func:`closerthan.replicate`.
    k
        Number of nearest objects that count as neighbours.
    title, ax
        As in :func:`map_figure`.

    Examples
    --------
    >>> import closerthan as ct
    >>> replicates = ct.replicate(ct.datasets.eurodist().comparisons(), n_replicates=10, loss="soe", seed=0)
    >>> figure = neighbours_figure(replicates, k=1)
    >>> len(figure.axes[0].collections[-1].get_segments()) >= 21 // 2
    True
    """
    check_returned("replicates", replicates, "neighbour_probability", "replicate")
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    probabilities = replicates.neighbour_probability(k)
    figure = map_figure(replicates.result, title=title, ax=ax)
    ax = figure.axes[0] if ax is None else ax
    x = project(replicates.result.embedding).coordinates
    by_pair = np.triu(np.maximum(probabilities, probabilities.T), k=1)
    first, second = np.nonzero(by_pair >= LEAST_PROBABILITY)
    probability = by_pair[first, second]
    lines = LineCollection(
        list(np.stack([x[first], x[second]], axis=1)),
        colors=[(0.4, 0.4, 0.4, float(alpha)) for alpha in 0.2 + 0.6 * probability],
        linewidths=WIDEST * probability,
        zorder=1,
    )
    ax.add_collection(lines, autolim=False)
    examples = (1.0, 0.5, 0.2)
    handles = [
        Line2D([], [], color=(0.4, 0.4, 0.4), alpha=0.2 + 0.6 * example, linewidth=WIDEST * example)
        for example in examples
    ]
    near = "nearest" if k == 1 else f"among the {k} nearest"
    legend(ax, handles, [f"{near}: {percent(example, digits=0)}" for example in examples], loc="best")
    return figure
