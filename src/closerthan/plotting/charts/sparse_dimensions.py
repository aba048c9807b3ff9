"""Sparse dimensions: their sums and reproducibility, and the profile of an object."""

from typing import Any

import numpy as np

from closerthan.checks import checked
from closerthan.plotting.canvas import canvas, check_returned, legend, name_rows, one_line, tidy
from closerthan.plotting.palette import COLOURS, GREY
from closerthan.wording import joined

__all__ = ["dimensions_figure", "profile_figure"]

NAMED = 3  # objects that describe a dimension
LONGEST = 46  # characters of a description


@checked
def dimensions_figure(dimensions: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw the sum of each dimension as a bar, with its top objects and the number of refits that found it again.

    Parameters
    ----------
    dimensions
        A result of :func:`closerthan.sparse_dimensions`.
    title, ax
        As in :func:`map_figure`.

    Examples
    --------
    >>> import closerthan as ct
    >>> x = np.kron(np.eye(2), np.ones((6, 1))) * 2
    >>> answers = ct.answers_from(x, 1000, similarity="dot", question="odd-one-out", temperature=1.0)
    >>> figure = dimensions_figure(ct.sparse_dimensions(answers, 4, penalty=0.1, n_refits=1))
    >>> len(figure.axes[0].patches)
    2
    """
    check_returned("dimensions", dimensions, "is_reproducible", "sparse_dimensions")
    n_dims = dimensions.n_dims
    figure, ax = canvas(ax, (7.5, float(np.clip(1.2 + 0.26 * n_dims, 2.2, 20.0))))
    sums, is_known = dimensions.weights.sum(axis=0), dimensions.n_refits > 0
    returns = dimensions.is_reproducible if is_known else np.ones(n_dims, dtype=bool)
    places = np.arange(n_dims)
    bars = ax.barh(places, sums, height=0.7, color=[COLOURS[0] if one else GREY for one in returns])
    counts = np.rint(dimensions.recurrence * dimensions.n_refits) if is_known else np.zeros(n_dims)
    for k in range(n_dims if is_known else 0):
        text = f" {counts[k]:.0f}/{dimensions.n_refits}, r {dimensions.reproducibility[k]:.2f}"
        ax.text(sums[k], k, text, va="center", ha="left", fontsize=6.5, color="#555555")
    name_rows(ax, [described(dimensions, k) for k in places], LONGEST, fontsize=7)
    if n_dims:
        ax.set_xlim(0, 1.22 * float(sums.max()) if is_known else 1.03 * float(sums.max()))
    tidy(ax, title=title, x="sum of the weights of all objects")
    ax.grid(visible=False, axis="y")
    if is_known and n_dims and not returns.all():
        first = [int(np.argmax(returns)), int(np.argmin(returns))] if returns.any() else [0]
        texts = ["found again in most refits", "not found again in most refits"][-len(first) :]
        legend(ax, [bars[k] for k in first], texts, loc="lower right")
    return figure


@checked
def profile_figure(dimensions: Any, number: int, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw the weights of an object on its dimensions, the largest first.

    Parameters
    ----------
    dimensions
        A result of :func:`closerthan.sparse_dimensions`.
    number
        Number of the object.
    title
        Title of the figure; by default the name of the object.
    ax
        As in :func:`map_figure`.

    Examples
    --------
    >>> import closerthan as ct
    >>> x = np.kron(np.eye(2), np.ones((6, 1))) * 2
    >>> answers = ct.answers_from(x, 1000, similarity="dot", question="odd-one-out", temperature=1.0)
    >>> figure = profile_figure(ct.sparse_dimensions(answers, 4, penalty=0.1, n_refits=0), 3)
    >>> figure.axes[0].get_title(loc="left")
    '3'
    """
    check_returned("dimensions", dimensions, "is_reproducible", "sparse_dimensions")
    weights = dimensions.weights[number]
    order = [int(k) for k in np.argsort(-weights, kind="stable") if weights[k] > 0]
    figure, ax = canvas(ax, (6.5, float(np.clip(1.2 + 0.26 * len(order), 2.0, 20.0))))
    ax.barh(np.arange(len(order)), weights[order], height=0.7, color=COLOURS[0])
    name_rows(ax, [described(dimensions, k) for k in order], LONGEST, fontsize=7)
    tidy(ax, title=title or one_line(dimensions.name_of(number)), x="weight")
    ax.grid(visible=False, axis="y")
    return figure


def described(dimensions: Any, dimension: int) -> str:
    """Return the number of a dimension and the objects at its top, on one line."""
    names = joined([name for name, _ in dimensions.top(dimension, NAMED)])
    return one_line(f"{dimension + 1}: {names}", LONGEST)
