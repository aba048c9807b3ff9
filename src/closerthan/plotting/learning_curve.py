"""Held-out error against the number of answers, with the curve beyond them."""

from typing import Any

import numpy as np

from closerthan.plotting.canvas import add_note, canvas, legend, tidy
from closerthan.plotting.palette import COLOURS, GREY
from closerthan.wording import percent

__all__ = ["learning_curve_figure"]


def learning_curve_figure(curve: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw what :func:`closerthan.learning_curve` returned: errors of growing parts, the fitted curve, twice as many.

    Examples
    --------
    >>> import closerthan as ct
    >>> curve = ct.learning_curve(ct.datasets.eurodist().comparisons(), loss="soe", n_folds=5, seed=0)
    >>> learning_curve_figure(curve).axes[0].get_xlabel().split("\\n")[0]
    'answers fitted'
    """
    figure, ax = canvas(ax, (7.0, 4.6))
    low, high = curve.intervals
    twice = curve.twice
    bars = ax.errorbar(
        curve.numbers, curve.errors, yerr=[curve.errors - low, high - curve.errors],
        color=COLOURS[0], marker="o", markersize=4, capsize=3, linewidth=0, elinewidth=0.9,
    )  # fmt: skip
    reach = np.geomspace(curve.numbers[0], twice.number, 100)
    (line,) = ax.plot(reach, curve.law.at(reach), color=COLOURS[1], linewidth=1.3)
    ahead = ax.errorbar(
        [twice.number], [twice.error], yerr=[[twice.error - twice.low], [twice.high - twice.error]],
        color=COLOURS[1], marker="D", markersize=5, capsize=3, elinewidth=0.9, linewidth=0,
    )  # fmt: skip
    handles, texts = [bars, line, ahead], [
        "measured, with 95 % interval",
        "fitted curve",
        f"with twice as many: {percent(twice.error)}",
    ]  # fmt: skip
    for ceiling, style in zip(curve.ceilings, ("--", ":"), strict=False):
        handles.append(ax.axhline(ceiling.least_error, color=GREY, linestyle=style, linewidth=0.9))
        texts.append(f"noise: two answers of {ceiling.of}" if ceiling.of != "answers" else "noise of the answers")
    ax.axvline(curve.total, color=GREY, linewidth=0.6)
    ax.set_xscale("log", base=2)
    ticks = [*curve.numbers[::2], twice.number]
    ax.set_xticks(ticks, [f"{number:,.0f}" for number in ticks])
    ax.minorticks_off()
    ax.set_ylim(0, max(0.5, float(high.max()) * 1.05))
    legend(ax, handles, texts, loc="upper right")
    tidy(ax, title=title or "Is it enough?", x=f"{curve.by} fitted", y="held-out error")
    gain = curve.now.error - twice.error
    worth = "more are worth asking for" if curve.more_is_worth_it else "more are hardly worth asking for"
    if curve.is_chance:
        add_note(ax, "New answers are predicted no better than by chance: see whether people looked.")
    else:
        add_note(ax, f"Twice as many {curve.by} would lower the error by {percent(max(gain, 0.0))}: {worth}.")
    return figure
