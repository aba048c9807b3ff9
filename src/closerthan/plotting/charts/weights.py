"""People as points: how much each of them weighs two dimensions of a map."""

from typing import Any

import numpy as np

from closerthan.checks import ParameterError, checked
from closerthan.plotting.canvas import add_note, canvas, check_returned, freeze, tidy
from closerthan.plotting.labels.labels import draw_labels
from closerthan.plotting.palette import COLOURS, GREY

__all__ = ["weights_figure"]


@checked
def weights_figure(
    people_maps: Any, *, dims: tuple[int, int] = (1, 2), title: str | None = None, ax: Any = None
) -> Any:
    """Draw the people as points by their weights of two dimensions, with 95 % intervals.

    People on the diagonal give both the same weight; the smaller their weights, the less consistent their answers.

    Parameters
    ----------
    people_maps
        A result of :func:`closerthan.embed_people`.
    dims
        The two dimensions, counted from 1.
    title, ax
        As in :func:`map_figure`.

    Examples
    --------
    >>> import closerthan as ct, numpy as np
    >>> rows = ct.datasets.simulated(np.random.default_rng(0).standard_normal((10, 2)), 600, seed=0).rows
    >>> answers = ct.Comparisons.from_triplets(rows, people=np.arange(600) // 100)
    >>> figure = weights_figure(ct.embed_people(answers, loss="ste", spread=0.3, seed=0))
    >>> figure.axes[0].get_xlabel()
    'weight of dimension 1'
    """
    check_returned("people_maps", people_maps, "relative_weights", "embed_people")
    n_dims = people_maps.weights.shape[1]
    if not all(1 <= dim <= n_dims for dim in dims) or dims[0] == dims[1]:
        raise ParameterError("dims", dims, f"it must be two different numbers from 1 to {n_dims}")
    columns = [dim - 1 for dim in dims]
    points = people_maps.weights[:, columns]
    spread = np.stack([points - people_maps.low[:, columns], people_maps.high[:, columns] - points])
    is_own = ax is None
    figure, ax = canvas(ax, (6.4, 5.6))
    x, y = points.T
    ax.errorbar(x, y, xerr=spread[:, :, 0], yerr=spread[:, :, 1], fmt="none", ecolor=GREY, elinewidth=0.6, alpha=0.5)
    ax.scatter(x, y, s=22, color=COLOURS[0], zorder=3)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, zorder=1, transform=ax.transAxes)
    ax.set_xscale("log")
    ax.set_yscale("log")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "25" else "")
    limits = (
        float(min(people_maps.low[:, columns].min(), 0.9)) / 1.1,
        float(max(people_maps.high[:, columns].max(), 1.1)) * 1.1,
    )
    ax.set_xlim(limits)
    ax.set_ylim(limits)
    tidy(
        ax,
        title=title or "How people weigh two dimensions",
        x=f"weight of dimension {dims[0]}",
        y=f"weight of dimension {dims[1]}",
    )
    if people_maps.evidence is not None and not people_maps.weights_differ:
        add_note(ax, "There is no evidence that people weigh the dimensions differently.")
    if is_own:
        freeze(figure)
    else:
        figure.draw_without_rendering()
    draw_labels(ax, points, list(people_maps.people), marker=5.0)
    return figure
