"""Perceptual scale: scale values over physical levels, with a band."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from closerthan.arrays import Array
from closerthan.checks import checked
from closerthan.plotting.canvas import canvas, check_returned, legend, one_line, tidy
from closerthan.plotting.palette import COLOURS, GREY

__all__ = ["scale_figure"]

MOST_IN_LEGEND = 12
MOST_TICKS = 10  # levels that are written below a logarithmic axis
BAND = 0.15  # opacity
UNEVEN = 10.0  # ratio of two distances between neighbouring levels from which a linear axis would hide some levels


@checked
def scale_figure(scales: Any, *, unit: str = "", title: str | None = None, ax: Any = None) -> Any:
    """Draw perceptual scales on the axis of the physical unit, with their 95 % intervals as bands.

    The axis is logarithmic if the levels are very uneven and their logarithms are less so.

    Parameters
    ----------
    scales
        A result of :func:`closerthan.scale`, or a mapping from names of observers or conditions to such results.
    unit
        Title of the horizontal axis, such as "contrast" or "luminance (cd/m²)".
    title, ax
        As in :func:`map_figure`.

    Examples
    --------
    >>> import closerthan as ct
    >>> triads = [[1, 0, 2], [1, 2, 0], [2, 1, 3], [2, 3, 1], [1, 0, 3], [1, 0, 3], [2, 0, 3], [2, 3, 0]]
    >>> figure = scale_figure(ct.scale(triads, levels=[1, 2, 4, 8], n_replicates=50), unit="contrast")
    >>> figure.axes[0].get_xlabel()
    'contrast'
    """
    several: Mapping[str, Any] = scales if isinstance(scales, Mapping) else {"": scales}
    if not several:
        raise ValueError("scales is empty; pass at least one result of closerthan.scale")
    for one in several.values():
        check_returned("scales", one, "sigma_interval", "scale")
    figure, ax = canvas(ax, (7.0, 4.8))
    handles = []
    for number, one in enumerate(several.values()):
        colour = COLOURS[number % len(COLOURS)]
        style = ("-", "--", ":", "-.")[number // len(COLOURS) % 4]
        ax.fill_between(one.levels, one.low, one.high, color=colour, alpha=BAND, linewidth=0)
        handles += ax.plot(
            one.levels, one.values, color=colour, marker="o", markersize=4, linewidth=1.3, linestyle=style
        )
    first = next(iter(several.values()))
    ends = [min(one.levels[0] for one in several.values()), max(one.levels[-1] for one in several.values())]
    if _is_logarithmic(first.levels) and ends[0] > 0:
        ax.set_xscale("log")
        if len(first.levels) <= MOST_TICKS:
            ax.set_xticks(first.levels, [f"{level:g}" for level in first.levels])
            ax.minorticks_off()
    # the scale that would be linear in the unit or, on a logarithmic axis, in its logarithm
    ax.plot(ends, [0, 1], color=GREY, linewidth=0.7, linestyle=(0, (1, 3)), zorder=0)
    if any(name != f"{value:g}" for name, value in zip(first.level_names, first.levels, strict=True)):
        ax.set_xticks(first.levels, [one_line(name, 20) for name in first.level_names], parse_math=False)
    # Wide bands would flatten the curves, so the vertical axis fits the curves and a margin, and bands may be cut off.
    values = np.concatenate([one.values for one in several.values()])
    least, most = min(float(values.min()), 0.0), max(float(values.max()), 1.0)
    reach = 0.25 * (most - least)
    bands = [(float(np.min(one.low)), float(np.max(one.high))) for one in several.values()]
    ax.set_ylim(
        max(min(low for low, _ in bands), least - reach) - 0.03,
        min(max(high for _, high in bands), most + reach) + 0.03,
    )
    tidy(ax, title=title, x=unit or "level", y="scale")
    if isinstance(scales, Mapping):
        names = [f"{name} (σ {one.sigma:.2f})" for name, one in several.items()]
        columns = 1 if len(names) <= MOST_IN_LEGEND else 2
        legend(ax, handles, names, loc="upper left", ncols=columns)
    return figure


def _is_logarithmic(levels: Array) -> bool:
    """Return whether levels are far from evenly spaced, and their logarithms less so."""
    if levels[0] <= 0:
        return False
    gaps, of_logarithms = (np.diff(one) for one in (levels, np.log(levels)))
    ratio = float(gaps.max() / gaps.min())
    return ratio > UNEVEN and float(of_logarithms.max() / of_logarithms.min()) < ratio
