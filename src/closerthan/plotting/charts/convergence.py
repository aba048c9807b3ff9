"""Convergence of a fit: objective, errors and step sizes over the epochs."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from closerthan.checks import ParameterError, checked
from closerthan.history import History
from closerthan.plotting.canvas import canvas, check_returned, legend, tidy
from closerthan.plotting.palette import COLOURS, GREY

__all__ = ["convergence_figure", "steps_figure"]

LINES = ("-", "--", ":", "-.")
_AGAINST = {"gradients": "component gradients", "seconds": "seconds in the solver", "epoch": "epoch"}

Against = Literal["gradients", "seconds", "epoch"]


@checked
def convergence_figure(result: Any, *, against: Against = "gradients", title: str | None = None) -> Any:
    """Draw objective, errors and step size against the work done.

    Parameters
    ----------
    result
        A result of :func:`closerthan.embed`, or its history.
    against
        Measure of the work on the horizontal axis: "gradients" (number of component gradients, as in the paper),
        "seconds" or "epoch".
    title
        Title of the figure.

    Examples
    --------
    >>> import closerthan as ct
    >>> result = ct.embed(ct.datasets.eurodist().comparisons(), seed=0, epochs=5)
    >>> len(convergence_figure(result).axes)
    3
    """
    history = _history_of(result)
    work = _work(history, against)
    figure, (top, middle, bottom) = canvas(None, (7.5, 8.0), rows=3)
    if title is not None:
        figure.suptitle(title, x=0.02, ha="left", fontsize=11, parse_math=False)
    marker = _marker(len(history))
    top.plot(work, history.objective, color=COLOURS[0], marker=marker, markersize=3)
    if _spans_decades(history.objective):
        top.set_yscale("log")
    tidy(top, title="Objective (mean loss)")
    errors = [
        ("training", history.train_error, COLOURS[0], "-"),
        ("held out", history.validation_error, COLOURS[1], "--"),
    ]
    lines = [
        (name, middle.plot(work, error, color=colour, linestyle=line, marker=marker, markersize=3)[0])
        for name, error, colour, line in errors
        if np.isfinite(error).any()
    ]
    chance = middle.axhline(0.5, color=GREY, linewidth=0.8, linestyle=":")
    legend(middle, [line for _, line in lines] + [chance], [name for name, _ in lines] + ["chance"], loc="best")
    middle.set_ylim(bottom=0)
    tidy(middle, title="Error (fraction of comparisons that the map gets wrong)")
    _draw_steps(bottom, {"": history}, against)
    tidy(bottom, title="Step size", x=_AGAINST[against])
    for ax in (top, middle, bottom):
        ax.set_xlim(0, max(float(work[-1]), 1e-9) * 1.02)
        if against == "gradients":
            ax.xaxis.set_major_formatter("{x:,.0f}")
    return figure


@checked
def steps_figure(results: Any, *, against: Against = "epoch", title: str | None = None, ax: Any = None) -> Any:
    """Draw the step size over the epochs, for one fit or for several fits to compare.

    Parameters
    ----------
    results
        A result of :func:`closerthan.embed`, its history, or a mapping from names to several of either.
    against
        Measure of the work on the horizontal axis, as in :func:`convergence_figure`.
    title, ax
        As in :func:`map_figure`.

    Examples
    --------
    >>> import closerthan as ct
    >>> answers = ct.datasets.eurodist().comparisons()
    >>> fits = {solver: ct.embed(answers, solver=solver, seed=0, epochs=5) for solver in ("svrg-sbb", "svrg")}
    >>> figure = steps_figure(fits)
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['svrg-sbb', 'svrg']
    """
    is_named = isinstance(results, Mapping)
    histories = {name: _history_of(one) for name, one in (results if is_named else {"": results}).items()}
    for history in histories.values():
        _work(history, against)
    figure, ax = canvas(ax, (7.5, 4.0))
    handles = _draw_steps(ax, histories, against)
    if is_named and handles:
        with_handles = zip(histories, handles, strict=True)
        legend(ax, handles, [name if line.get_xdata().size else f"{name} (no steps)" for name, line in with_handles])
    tidy(ax, title=title, x=_AGAINST[against], y="step size")
    return figure


def _history_of(result: Any) -> History:
    history: History = getattr(result, "history", result)
    check_returned("result", history, "step", "embed")
    return history


def _work(history: History, against: str) -> NDArray[Any]:
    if against not in _AGAINST:
        raise ParameterError("against", against, f"it can be {', '.join(_AGAINST)}")
    if not len(history):
        raise ValueError("the history is empty; there is nothing to draw")
    work: NDArray[Any] = getattr(history, against)
    return work


def _draw_steps(ax: Any, histories: Mapping[str, History], against: str) -> list[Any]:
    handles = []
    for number, history in enumerate(histories.values()):
        colour, line = COLOURS[number % len(COLOURS)], LINES[number % len(LINES)]
        work, step = _work(history, against), history.step
        has_step = np.isfinite(step) & (step != 0)
        style = {"color": colour, "linestyle": line, "markersize": 3, "linewidth": 1.2}
        handles += ax.plot(work[has_step], np.abs(step[has_step]), marker=_marker(len(history)), **style)
        if (step[has_step] < 0).any():
            # Plain Barzilai-Borwein steps may be negative: their absolute value is drawn, with a mark.
            negative = has_step & (step < 0)
            ax.plot(work[negative], -step[negative], linestyle="", marker="x", color=colour, markersize=6)
            note = "crosses: negative steps (absolute value)"
            ax.annotate(note, (0.99, 0.02), xycoords="axes fraction", ha="right", fontsize=8)
    if any(handle.get_xdata().size for handle in handles):
        ax.set_yscale("log")
    else:
        ax.annotate("the solver reports no step sizes", (0.5, 0.5), xycoords="axes fraction", ha="center", fontsize=9)
        ax.set_yticks([])
    return handles


def _marker(n_records: int) -> str:
    return "o" if n_records <= 60 else ""


def _spans_decades(values: NDArray[np.float64]) -> bool:
    finite = values[np.isfinite(values)]
    return bool(len(finite) and finite.min() > 0 and finite.max() > 20 * finite.min())
