"""Calibration: of the answers predicted with 80 %, how many came true?"""

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
        What :func:`closerthan.replicate` returned, its ``calibration``, or a sequence of
        :class:`~closerthan.calibration.Tenth`.
    title
        Written above; none by default.
    ax
        Matplotlib axes to draw on; by default those of a new figure.

    Examples
    --------
    >>> figure = calibration_figure([Tenth(0.55, 0.56, 100), Tenth(0.95, 0.91, 200)])
    >>> figure.axes[0].get_xlabel()
    'predicted probability'
    """
    tenths = _tenths_of(calibration)
    if not tenths:
        raise ValueError("there are no predictions to draw; hold answers out to calibrate with")
    said, right = (np.array([getattr(tenth, name) for tenth in tenths]) for name in ("said", "right"))
    bounds = np.array([error_interval(tenth.right, tenth.effective_number) for tenth in tenths])
    off = np.abs(np.stack([right - bounds[:, 0], bounds[:, 1] - right]))
    figure, ax = canvas(ax, (5.0, 4.6))
    [line] = ax.plot([0.5, 1.0], [0.5, 1.0], color=GREY, linestyle="--", linewidth=0.9)
    dots = ax.errorbar(said, right, yerr=off, color=COLOURS[0], marker="o", markersize=5, capsize=3, linewidth=1.2)
    ax.set_xlim(0.48, 1.02)
    ax.set_ylim(min(0.48, float(bounds.min()) - 0.02), 1.02)
    measured = f"{sum(tenth.number for tenth in tenths):,} held-out comparisons"
    legend(ax, [dots, line], [measured, "perfect calibration"], loc="upper left")
    tidy(ax, title=title, x="predicted probability", y="fraction that came true")
    return figure


def _tenths_of(calibration: Any) -> Sequence[Tenth]:
    """Return the tenths of replicates or of a calibration; there are none where no answers were held out."""
    if hasattr(calibration, "calibration"):
        calibration = calibration.calibration or Calibration()
    tenths = getattr(calibration, "tenths", calibration)
    if not isinstance(tenths, Sequence) or not all(isinstance(tenth, Tenth) for tenth in tenths):
        check_returned("calibration", calibration, "tenths", "replicate")
    return tuple(tenths)
