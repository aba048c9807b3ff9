"""The figures of the reproduction; the only module of the package that imports matplotlib."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from closerthan.arrays import Array

# The colours of Okabe & Ito, which colour-blind readers can distinguish, and three more.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999", "#8C510A", "#5E3C99")
DASHES = ("-", "--", "-.", ":")


class Line(NamedTuple):
    """A curve, with an optional band around it."""

    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


class Axes(NamedTuple):
    """The labels and scales of a panel's axes."""

    x: str
    y: str
    x_log: bool = False
    y_log: bool = False
    y_limits: tuple[float, float] | None = None


def quartiles(curves: Sequence[Sequence[float]]) -> Line:
    """Return the median and quartiles of curves over 0, 1, 2, ...

    Examples
    --------
    >>> [float(y) for y in quartiles([[0.5, 0.1], [0.5, 0.3], [0.5, 0.2]]).y]
    [0.5, 0.2]
    """
    low, middle, high = np.percentile(np.array(curves), [25, 50, 75], axis=0)
    return Line(list(range(len(middle))), list(middle), list(low), list(high))


def draw_lines(
    folder: Path, stem: str, panels: Mapping[str, Mapping[str, Line]], axes: Axes, columns: int = 4, marks: str = ""
) -> None:
    """Draw one panel for each entry, with the names of the lines in a common legend."""
    figure, frames = _figure(len(panels), columns, width=4.0, height=3.4)
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    style = {
        name: (COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)])
        for number, name in enumerate(names)
    }
    handles: dict[str, Any] = {}
    for frame, (title, lines) in zip(frames, panels.items(), strict=False):
        for name, line in lines.items():
            colour, dash = style[name]
            (handles[name],) = frame.plot(line.x, line.y, color=colour, linestyle=dash, linewidth=1.4, marker=marks)
            if line.low is not None and line.high is not None:
                frame.fill_between(line.x, line.low, line.high, color=colour, alpha=0.13, linewidth=0)
        frame.set_title(title, fontsize=11)
        frame.set_xlabel(axes.x)
        frame.set_ylabel(axes.y)
        if axes.x_log:
            frame.set_xscale("log")
        if axes.y_log:
            frame.set_yscale("log")
        if axes.y_limits:
            frame.set_ylim(*axes.y_limits)
        frame.grid(alpha=0.25, linewidth=0.5)
    figure.legend(
        [handles[name] for name in names],
        names,
        loc="outside lower center",
        ncols=5 if len(panels) > 1 else 1,
        frameon=False,
        fontsize=9,
    )
    _save(figure, folder, stem)


def draw_maps(folder: Path, stem: str, maps: Mapping[str, Array], reference: Array, names: Sequence[str]) -> None:
    """Draw aligned maps of named objects side by side; a grey line connects each object with its reference position."""
    figure, frames = _figure(len(maps), 3, width=6.0, height=5.6)
    for frame, (title, places) in zip(frames, maps.items(), strict=False):
        for place, target in zip(places, reference, strict=True):
            frame.plot([place[0], target[0]], [place[1], target[1]], color="#bbbbbb", linewidth=0.8, zorder=1)
        frame.scatter(places[:, 0], places[:, 1], s=14, color=COLOURS[0], zorder=3)
        frame.set_title(title, fontsize=11)
        both = np.concatenate([places, reference])
        middle, half = (both.max(axis=0) + both.min(axis=0)) / 2, np.ptp(both, axis=0).max() * 0.58
        frame.set_xlim(middle[0] - half, middle[0] + half)
        frame.set_ylim(middle[1] - half, middle[1] + half)
        frame.set_xticks([])
        frame.set_yticks([])
    figure.draw_without_rendering()
    for frame, places in zip(frames, maps.values(), strict=False):
        _label(frame, places, names)
    _save(figure, folder, stem)


def _label(frame: Any, places: Array, names: Sequence[str]) -> None:
    """Write each name beside its dot, on the side where it overlaps least."""
    size = 8
    pixels = frame.transData.transform(places)
    scale = frame.figure.dpi / 72
    box = frame.get_window_extent()
    occupied = [(x - 4 * scale, y - 4 * scale, x + 4 * scale, y + 4 * scale) for x, y in pixels]
    order = sorted(range(len(names)), key=lambda number: -_crowd(pixels, number))
    for number in order:
        x, y = pixels[number]
        width, height = 0.58 * size * len(names[number]) * scale, 1.25 * size * scale
        gap = 5 * scale
        best: tuple[float, tuple[float, float]] | None = None
        for ring in (1.0, 2.2, 3.6):
            for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)):
                x0 = x + dx * gap * ring - (width if dx < 0 else width / 2 if dx == 0 else 0)
                y0 = y + dy * (gap * ring + height / 2) - height / 2
                label = (x0, y0, x0 + width, y0 + height)
                cost = sum(_overlap(label, other) for other in occupied) + 0.02 * width * height * ring
                outside = max(box.x0 - label[0], 0) + max(label[2] - box.x1, 0)
                outside += max(box.y0 - label[1], 0) + max(label[3] - box.y1, 0)
                cost += 1e3 * outside
                if best is None or cost < best[0]:
                    best = cost, (x0, y0)
        assert best is not None
        x0, y0 = best[1]
        occupied.append((x0, y0, x0 + width, y0 + height))
        corner = frame.transData.inverted().transform((x0, y0 + height / 2))
        frame.text(corner[0], corner[1], names[number], fontsize=size, va="center", ha="left", zorder=4)


def _crowd(pixels: Array, number: int) -> float:
    return float(np.sum(np.linalg.norm(pixels - pixels[number], axis=1) < 60))


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> float:
    return max(min(a[2], b[2]) - max(a[0], b[0]), 0.0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0.0)


def _figure(n_panels: int, columns: int, width: float, height: float) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    columns = min(columns, n_panels)
    n_rows = -(-n_panels // columns)
    figure = Figure(figsize=(width * columns, height * n_rows + 0.7), layout="constrained")
    frames = list(np.atleast_1d(figure.subplots(n_rows, columns)).ravel())
    for empty in frames[n_panels:]:
        empty.set_axis_off()
    return figure, frames


def _save(figure: Any, folder: Path, stem: str) -> None:
    # The date is omitted so that the same numbers give the same file.
    figure.savefig(folder / f"{stem}.png", dpi=110)
    figure.savefig(folder / f"{stem}.svg", metadata={"Date": None})
