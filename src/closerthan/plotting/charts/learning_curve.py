"""Learning curve: held-out error as a function of the number of answers, with an extrapolation."""

from typing import Any

import numpy as np

from closerthan.checks import checked
from closerthan.plotting.canvas import add_note, canvas, check_returned, legend, tidy
from closerthan.plotting.palette import COLOURS, GREY
from closerthan.wording import percent

__all__ = ["learning_curve_figure"]


@checked
def learning_curve_figure(curve: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw a learning curve: the measured errors, the fitted curve, and the error expected with twice as many answers.

    Parameters
    ----------
    curve
        A result of :func:`closerthan.learning_curve`.
    title, ax
        As in :func:`map_figure`.

    Examples
    --------
    >>> import closerthan as ct
    >>> curve = ct.learning_curve(ct.datasets.eurodist().comparisons(), loss="soe", n_folds=5, seed=0)
    >>> learning_curve_figure(curve).axes[0].get_xlabel().split("\\n")[0]
    'answers fitted'
    """
    check_returned("curve", curve, "ceilings", "learning_curve")
    figure, ax = canvas(ax, (7.0, 5.0))
    low, high = curve.intervals
    twice = curve.twice
    bars = ax.errorbar(
        curve.numbers, curve.errors, yerr=[curve.errors - low, high - curve.errors],
        color=COLOURS[0], marker="o", markersize=4, capsize=3, linewidth=0, elinewidth=0.9,
    )  # fmt: skip
    reach = np.geomspace(curve.numbers[0], twice.number, 100)
    (line,) = ax.plot(reach, curve.law.at(reach), color=COLOURS[1], linewidth=1.3)
    prediction = ax.errorbar(
        [twice.number], [twice.error], yerr=[[twice.error - twice.low], [twice.high - twice.error]],
        color=COLOURS[1], marker="D", markersize=5, capsize=3, elinewidth=0.9, linewidth=0,
    )  # fmt: skip
    handles, texts = [bars, line, prediction], [
        "measured, with 95 % interval",
        "fitted curve",
        f"with twice as many: {percent(twice.error)}",
    ]  # fmt: skip
    for ceiling, style, hatch in zip(curve.ceilings, ("--", ":"), ("", "///"), strict=False):
        if ceiling.is_known:
            band = {"facecolor": GREY, "edgecolor": GREY, "alpha": 0.2, "hatch": hatch, "lw": 0}
            handles.append(ax.axhspan(*ceiling.least_error_interval, **band))
            texts.append(f"{ceiling.noise}: 95 % interval")
            ax.axhline(ceiling.least_error, color=GREY, linestyle=style, linewidth=0.9)
        else:  # the band would fill the figure, and a line alone would look too certain
            handles += ax.plot([], [], linestyle="none")
            texts.append(f"{ceiling.noise}: too few repeats")
    ax.axvline(curve.total, color=GREY, linewidth=0.6)
    ax.set_xscale("log", base=2)
    ticks = [*curve.numbers[::2], twice.number]
    ax.set_xticks(ticks, [f"{number:,.0f}" for number in ticks])
    ax.minorticks_off()
    ax.set_ylim(0, max(0.5, float(high.max()) * 1.05))
    tidy(ax, title=title or "Are the answers enough?", x=f"{curve.by} fitted", y="held-out error")
    add_note(ax, curve.summary.replace(": ", ":\n"))
    # The legend is below the axes, where it hides no point.
    legend(ax, handles, texts, loc="upper center", bbox_to_anchor=(0.5, -0.24), ncols=2)
    return figure
