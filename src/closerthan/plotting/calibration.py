"""Calibration: said 80 %, right how often?"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from closerthan.calibration import Tenth
from closerthan.metrics import error_interval
from closerthan.plotting.canvas import canvas, legend, tidy
from closerthan.plotting.palette import COLOURS, GREY

__all__ = ["calibration_figure"]


def calibration_figure(tenths: Sequence[Tenth], *, title: str | None = None, ax: Any = None) -> Any:
    """Draw how often predictions were right against how probable they were said to be, with 95 % intervals.

    Examples
    --------
    >>> figure = calibration_figure([Tenth(0.55, 0.56, 100), Tenth(0.95, 0.91, 200)])
    >>> figure.axes[0].get_xlabel()
    'probability that was said'
    """
    if not tenths:
        raise ValueError("there are no predictions to draw; hold answers out to calibrate with")
    said, right = (np.array([getattr(tenth, name) for tenth in tenths]) for name in ("said", "right"))
    bounds = np.array([error_interval(tenth.right, tenth.number) for tenth in tenths])
    off = np.abs(np.stack([right - bounds[:, 0], bounds[:, 1] - right]))
    figure, ax = canvas(ax, (5.0, 4.6))
    [line] = ax.plot([0.5, 1.0], [0.5, 1.0], color=GREY, linestyle="--", linewidth=0.9)
    dots = ax.errorbar(said, right, yerr=off, color=COLOURS[0], marker="o", markersize=5, capsize=3, linewidth=1.2)
    ax.set_xlim(0.48, 1.02)
    ax.set_ylim(min(0.48, float(bounds.min()) - 0.02), 1.02)
    number = sum(tenth.number for tenth in tenths)
    legend(ax, [dots, line], [f"{number:,} held-out answers", "as it should be"], loc="upper left")
    tidy(ax, title=title, x="probability that was said", y="share that was right")
    return figure
