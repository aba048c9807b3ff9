"""Calibration: do predictions with a probability of 80 % come true in 80 % of the cases?"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from closerthan.calibration import Calibration, Tenth
from closerthan.checks import checked
from closerthan.metrics import error_interval
from closerthan.plotting.canvas import canvas, check_returned, legend, tidy
from closerthan.plotting.palette import COLOURS, GREY

__all__ = ["calibration_figure"]


@checked
def calibration_figure(calibration: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw how often predictions came true against their predicted probability, with 95 % intervals.

    Parameters
    ----------
    calibration
        A result of :func:`closerthan.replicate`, its ``calibration``, or a sequence of
        :class:`~closerthan.calibration.Tenth`.
    title, ax
        As in :func:`map_figure`.

    Examples
    --------
    >>> figure = calibration_figure([Tenth(0.55, 0.56, 100), Tenth(0.95, 0.91, 200)])
    >>> figure.axes[0].get_xlabel()
    'predicted probability'
    """
    tenths = _tenths_of(calibration)
    if not tenths:
        raise ValueError("there are no predictions to draw; they come from held-out answers")
    predicted = np.array([tenth.predicted for tenth in tenths])
    observed = np.array([tenth.right for tenth in tenths])
    bounds = np.array([error_interval(tenth.right, tenth.effective_number) for tenth in tenths])
    error_bars = np.abs(np.stack([observed - bounds[:, 0], bounds[:, 1] - observed]))
    figure, ax = canvas(ax, (5.0, 4.6))
    [line] = ax.plot([0.5, 1.0], [0.5, 1.0], color=GREY, linestyle="--", linewidth=0.9)
    style = {"color": COLOURS[0], "marker": "o", "markersize": 5, "capsize": 3, "linewidth": 1.2}
    points = ax.errorbar(predicted, observed, yerr=error_bars, **style)
    ax.set_xlim(0.48, 1.02)
    ax.set_ylim(min(0.48, float(bounds.min()) - 0.02), 1.02)
    text = f"{sum(tenth.number for tenth in tenths):,} held-out comparisons"
    legend(ax, [points, line], [text, "perfect calibration"], loc="upper left")
    tidy(ax, title=title, x="predicted probability", y="fraction that came true")
    return figure


def _tenths_of(calibration: Any) -> Sequence[Tenth]:
    """Return the tenths of replicates or of a calibration; there are none if no answers were held out."""
    if hasattr(calibration, "calibration"):
        calibration = calibration.calibration or Calibration()
    tenths = getattr(calibration, "tenths", calibration)
    if not isinstance(tenths, Sequence) or not all(isinstance(tenth, Tenth) for tenth in tenths):
        check_returned("calibration", calibration, "tenths", "replicate")
    return tuple(tenths)
