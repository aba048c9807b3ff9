"""Held-out error as a function of the number of dimensions."""

from typing import Any

import numpy as np

from closerthan.checks import checked
from closerthan.plotting.canvas import canvas, check_returned, tidy
from closerthan.plotting.palette import COLOURS, GREY
from closerthan.wording import counted

__all__ = ["dims_figure"]

CHANCE = 0.5
NEAR_CHANCE = 0.4  # error above which the chance level is drawn as a line


@checked
def dims_figure(choice: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw the held-out error for each number of dimensions, with its 95 % interval, and mark the chosen number.

    Parameters
    ----------
    choice
        A result of :func:`closerthan.choose_dims`.
    title
        Title of the figure; by default it names the chosen number.
    ax
        Matplotlib axes to draw on; by default those of a new figure.

    Examples
    --------
    >>> import closerthan as ct
    >>> choice = ct.choose_dims(ct.datasets.eurodist().comparisons(), most=3, n_repeats=1, loss="soe")
    >>> dims_figure(choice).axes[0].get_title(loc="left")
    'Chosen: 2 dimensions'
    """
    check_returned("choice", choice, "chosen", "choose_dims")
    dims = np.array(list(choice.scores))
    error = np.array([score.mean for score in choice.scores.values()])
    training = np.array([score.training.mean() for score in choice.scores.values()])
    low, high = np.array([score.interval for score in choice.scores.values()]).T
    figure, ax = canvas(ax, (7.0, 4.4))
    bars = ax.errorbar(
        dims, error, yerr=[error - low, high - error],
        color=COLOURS[0], marker="o", markersize=4, capsize=3, linewidth=1.2, elinewidth=0.9,
    )  # fmt: skip
    (dotted,) = ax.plot(dims, training, color=GREY, marker=".", markersize=4, linewidth=0.9, linestyle=":")
    mark = ax.scatter(
        [choice.chosen], error[dims == choice.chosen],
        s=140, facecolors="none", edgecolors=COLOURS[1], linewidths=1.8, zorder=4,
    )  # fmt: skip
    handles = [bars, dotted, mark]
    texts = ["held-out error, 95 % interval", "training error", f"chosen: {choice.chosen}"]
    least, most = min(low.min(), training.min()), max(high.max(), training.max())
    if most > NEAR_CHANCE:
        most = max(most, CHANCE)
        handles.append(ax.axhline(CHANCE, color=GREY, linestyle="--", linewidth=0.9))
        texts.append("chance")
    room = 0.06 * max(most - least, 0.01)
    ax.set_ylim(max(least - room, 0.0), most + room)
    ax.set_xlim(dims[0] - 0.4, dims[-1] + 0.4)
    ax.set_xticks(dims if len(dims) <= 15 else dims[:: -(-len(dims) // 15)])
    ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    x_title = "dimensions" if most >= CHANCE else "dimensions\nchance level: 50 %"
    tidy(ax, title=title or f"Chosen: {counted(choice.chosen, 'dimension')}", x=x_title, y="error")
    _legend_outside(figure, ax, handles, texts)
    return figure


def _legend_outside(figure: Any, ax: Any, handles: list[Any], texts: list[str]) -> None:
    """Place the legend below the axes, where it hides no point and is never cut off."""
    if figure.get_layout_engine() is not None and len(figure.axes) == 1:
        figure.legend(handles, texts, loc="outside lower center", ncols=len(texts), fontsize=8, frameon=False)
    else:
        ax.legend(handles, texts, loc="best", fontsize=8, framealpha=0.85, edgecolor="none")
