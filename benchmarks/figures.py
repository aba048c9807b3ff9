"""Figures: one for the page, the others for the details."""

from pathlib import Path
from typing import Any

from benchmarks.overview import Overview
from benchmarks.results import Results
from benchmarks.summary import Fits, fits_on
from benchmarks.workloads import WORKLOADS

# Colours that colour-blind readers can distinguish (Okabe and Ito).
COLOURS = {"ste": "#0072B2", "gnmds": "#D55E00", "tste": "#009E73", "ckl": "#CC79A7", "soe": "#E69F00"}
INK, FAINT = "#333333", "#999999"


def draw(results: Results, folder: Path) -> list[tuple[Path, str]]:
    """Draw the figures for which there are results; return the files and their captions."""
    import matplotlib

    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, make, caption in (
        ("fits.png", _fits, FITS),
        ("kernels.png", _kernels, KERNELS),
        ("growth.png", _growth, GROWTH),
        ("large.png", _large, LARGE),
    ):
        figure = make(results)
        path = folder / name
        if figure is None:
            path.unlink(missing_ok=True)
        else:
            figure.savefig(path, dpi=110)
            files.append((path, caption))
    return files


def draw_overview(numbers: Overview, path: Path) -> None:
    """Draw the seconds for a whole fit, one row per workload."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    matplotlib.use("Agg")
    path.parent.mkdir(parents=True, exist_ok=True)
    workloads = numbers["workloads"]
    limit = numbers["settings"]["limit"]
    figure = Figure(figsize=(9.2, 0.36 * len(workloads) + 1.6), layout="constrained")
    panel = figure.subplots()
    _axes(panel)
    panel.set_xscale("log")
    for height, workload in enumerate(workloads):
        ours, theirs = workload["fits"]["closerthan"], workload["fits"]["cblearn"]
        for loss, seconds in ours.items():
            panel.plot(seconds, height, "o", color=COLOURS[loss], markersize=6, alpha=0.9)
        for loss, seconds in theirs.items():
            mark = "x" if seconds < limit else ">"
            panel.plot(seconds, height, mark, color=COLOURS.get(loss, FAINT), markersize=7, markeredgewidth=2)
        if workload["auto"]:
            panel.plot(workload["auto"]["seconds"], height, "*", color=INK, markersize=11)
        if workload["cblearn"]:
            panel.plot(
                workload["cblearn"]["seconds"],
                height,
                "s",
                markersize=9,
                color=INK,
                fillstyle="none",
                markeredgewidth=1.4,
            )
    panel.set_yticks(range(len(workloads)), [workload["title"] for workload in workloads], fontsize=9)
    panel.invert_yaxis()
    panel.set_xlabel("seconds for a whole fit, one core")
    handles = [Line2D([], [], color=colour, linewidth=4, label=loss) for loss, colour in COLOURS.items()]
    handles += [
        Line2D([], [], color=INK, linestyle="", marker="o", label="closerthan"),
        Line2D([], [], color=INK, linestyle="", marker="*", markersize=11, label='closerthan, loss="auto"'),
        Line2D([], [], color=INK, linestyle="", marker="x", markeredgewidth=2, label="cblearn"),
        Line2D([], [], color=INK, linestyle="", marker="s", fillstyle="none", label="cblearn, all estimators"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=5, frameon=False, fontsize=9)
    figure.savefig(path, dpi=110)


FITS = (
    "Held-out error against seconds, one thread. Lines: closerthan (solid), L-BFGS on the same objective (dashed), "
    "Adam on ste (dotted, grey); the first run of each. Crosses: where cblearn's estimators end; triangles: "
    'not done within the limit (at any height). Star: one call with loss="auto".'
)
KERNELS = "Nanoseconds per inner step (left) and per term of the full gradient (right), p = 10; dashes: the targets."
GROWTH = (
    "Seconds of an epoch of SVRG-SBB against objects, comparisons and dimensions (ste, one thread); bars: the range."
)
LARGE = "Held-out error of the fit from a memory-mapped file."


def _axes(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)


def _fits(results: Results) -> Any:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    names = [name for name in WORKLOADS if fits_on(results, name)]
    if not names:
        return None
    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(4.4 * columns, 3.2 * rows + 0.7), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, name in zip(panels, names, strict=False):
        _axes(panel)
        panel.set_title(name, fontsize=10, loc="left")
        panel.set_xscale("log")
        for one in fits_on(results, name):
            if one.threads == 1:
                _show(panel, one)
        low, high = panel.get_ylim()
        panel.set_ylim(max(low, 0.0), min(high, 0.52))
    for panel in panels[len(names) :]:
        panel.set_axis_off()
    for panel in panels[::columns]:
        panel.set_ylabel("held-out error")
    for panel in panels[max(0, len(names) - columns) : len(names)]:
        panel.set_xlabel("seconds")
    handles = [Line2D([], [], color=colour, label=loss) for loss, colour in COLOURS.items()]
    handles += [
        Line2D([], [], color=INK, label="closerthan"),
        Line2D([], [], color=INK, linestyle="--", label="L-BFGS"),
        Line2D([], [], color=FAINT, linestyle=":", label="Adam (ste)"),
        Line2D([], [], color=INK, linestyle="", marker="x", label="cblearn"),
        Line2D([], [], color=INK, linestyle="", marker="*", markersize=10, label='loss="auto"'),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=5, frameon=False)
    return figure


def _show(panel: Any, one: Fits) -> None:
    colour = COLOURS.get(one.loss, FAINT)
    if one.method in ("closerthan", "lbfgs") or one.method.startswith("adam"):
        if one.done:
            record = one.done[0]
            style = {"closerthan": "-", "lbfgs": "--"}.get(one.method, ":")
            adam = one.method.startswith("adam")
            panel.plot(
                [record["setup"] + seconds for seconds in record["curve_seconds"]],
                record["curve_error"],
                linestyle=style,
                color=FAINT if adam else colour,
                linewidth=1.6 if one.method == "closerthan" else 1.1,
                zorder=1 if adam else 2,
            )
    elif one.method == "cblearn":
        if one.done:
            panel.plot(
                one.seconds.middle, one.error.middle, "x", color=colour, markersize=7, markeredgewidth=2, zorder=3
            )
        elif one.over_limit:
            height = 0.25 + 0.03 * list(COLOURS).index(one.loss) if one.loss in COLOURS else 0.22
            panel.plot(one.over_limit, height, ">", color=colour, markersize=8, zorder=3)
    elif one.method == "auto" and one.done:
        panel.plot(one.seconds.middle, one.error.middle, "*", color=INK, markersize=12, zorder=4)


def _kernels(results: Results) -> Any:
    from matplotlib.figure import Figure

    if not results.where(part="kernels", kernel="inner step"):
        return None
    figure = Figure(figsize=(8.8, 3.4), layout="constrained")
    steps_panel, gradient_panel = figure.subplots(1, 2)
    for panel, kernel, goals in (
        (steps_panel, "inner step", {1_000: 55, 100_000: 110}),
        (gradient_panel, "gradient", {1_000: 36}),
    ):
        _axes(panel)
        for loss in ("ste", "gnmds", "tste"):
            records = [
                one for one in results.where(part="kernels", kernel=kernel, loss=loss) if one.get("threads", 1) == 1
            ]
            panel.errorbar(
                [one["n_objects"] for one in records],
                [one["ns"] for one in records],
                [
                    [one["ns"] - one["lowest"] for one in records],
                    [one["highest"] - one["ns"] for one in records],
                ],
                color=COLOURS[loss],
                marker="o",
                markersize=4,
                capsize=3,
                label=loss,
            )
        for n_objects, goal in goals.items():
            panel.plot([n_objects / 1.8, n_objects * 1.8], [goal, goal], "--", color=INK, linewidth=1.2)
        panel.set_xscale("log")
        panel.set_ylim(bottom=0)
        panel.set_xlabel("objects")
        panel.set_ylabel(f"ns per {kernel if kernel == 'inner step' else 'term of the gradient'}")
        panel.legend(frameon=False)
    return figure


def _growth(results: Results) -> Any:
    from matplotlib.figure import Figure

    axes = {"n": "objects, |Q| = 200,000, p = 10", "Q": "comparisons, n = 1,000, p = 10", "p": "dimensions, n = 1,000"}
    if not results.where(part="growth", axis="n"):
        return None
    figure = Figure(figsize=(12, 3.4), layout="constrained")
    for panel, (axis, label) in zip(figure.subplots(1, 3), axes.items(), strict=True):
        _axes(panel)
        records = results.where(part="growth", axis=axis)
        panel.errorbar(
            [one["size"] for one in records],
            [one["seconds"] for one in records],
            [
                [one["seconds"] - one["lowest"] for one in records],
                [one["highest"] - one["seconds"] for one in records],
            ],
            color=COLOURS["ste"],
            marker="o",
            markersize=4,
            capsize=3,
        )
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlabel(label)
        panel.set_ylabel("seconds per epoch")
    return figure


def _large(results: Results) -> Any:
    from matplotlib.figure import Figure

    records = results.where(part="large")
    if not records:
        return None
    figure = Figure(figsize=(5.4, 3.4), layout="constrained")
    panel = figure.subplots()
    _axes(panel)
    for record in records:
        panel.plot(record["curve_seconds"], record["curve_error"], marker="o", markersize=4, color=COLOURS["ste"])
        panel.set_title(f"{record['n_rows']:,} triplets of {record['n_objects']:,} objects", fontsize=10, loc="left")
    panel.set_yscale("log")
    panel.set_yticks([0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5], minor=False)
    panel.yaxis.set_major_formatter("{x:g}")
    panel.minorticks_off()
    panel.set_xlabel("seconds")
    panel.set_ylabel("held-out error")
    return figure
