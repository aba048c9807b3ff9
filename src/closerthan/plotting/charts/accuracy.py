"""Accuracy of several models as bars, with chance level and noise ceiling."""

from typing import Any

import numpy as np

from closerthan.checks import checked
from closerthan.plotting.canvas import canvas, check_returned, legend, name_rows, tidy
from closerthan.plotting.palette import COLOURS, GREY

__all__ = ["accuracy_figure"]

BELOW = 5.0  # distance of the legend from the axes, in font sizes
BARS = 0.66  # total height of the bars of a model


@checked
def accuracy_figure(scores: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw the accuracy of models or layers as bars, with 95 % intervals, the chance level and the noise ceiling.

    Parameters
    ----------
    scores
        A result of :func:`closerthan.score_features`, or :class:`closerthan.AlignedScores`, which have bars for the
        unchanged features and for aligned features.
    title, ax
        As in :func:`map_figure`.

    Examples
    --------
    >>> import closerthan as ct
    >>> points = np.random.default_rng(0).normal(size=(20, 3))
    >>> answers = ct.datasets.simulated(points, 500)
    >>> figure = accuracy_figure(ct.score_features({"layer 1": points[:, :1], "layer 2": points}, answers))
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['layer 1', 'layer 2']
    """
    check_returned("scores", scores, "series", "score_features")
    names, series = list(scores), scores.series
    height = BARS / max(len(series), 1)
    figure, ax = canvas(ax, (7.0, float(np.clip(1.3 + (0.2 + 0.12 * len(series)) * len(names), 2.4, 12.0))))
    handles, texts = [], []
    for number, (kind, by_model) in enumerate(series.items()):
        inside = [name for name in names if name in by_model]
        at = np.array([names.index(name) for name in inside]) + height * (number - (len(series) - 1) / 2)
        values = [by_model[name] for name in inside]
        accuracy = np.array([one.accuracy for one in values])
        reach = np.array([(one.accuracy - one.low, one.high - one.accuracy) for one in values]).clip(min=0).T
        bars = ax.barh(at, accuracy, height=height, color=COLOURS[number])
        ax.errorbar(accuracy, at, xerr=reach, fmt="none", ecolor="#222222", elinewidth=0.9, capsize=2.5)
        if kind:
            handles.append(bars)
            texts.append(kind)
    accuracies = [one for by_model in series.values() for one in by_model.values()]
    chance = accuracies[0].chance
    handles.append(ax.axvline(chance, color=GREY, linestyle="--", linewidth=0.9))
    texts.append(f"chance: {100 * chance:.0f} %")
    most = float(np.max([one.high for one in accuracies]))
    ceilings = [one for one in scores.ceilings if one.is_known]
    if ceilings:  # the last one is that of different people, if people are known
        low, high = ceilings[-1].best_accuracy
        handles.append(ax.axvspan(low, high, color=GREY, alpha=0.25, linewidth=0, zorder=0))
        texts.append(f"best possible: {100 * low:.0f} to {100 * high:.0f} %")
        most = max(most, high)
    name_rows(ax, names)
    ax.set_xlim(0, min(1.02 * most + 0.02, 1.02))
    ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    tidy(ax, title=title, x=f"accuracy ({accuracies[0].noun}s predicted)")
    columns = 2 if len(texts) < 5 else 3
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "borderaxespad": BELOW}
    legend(ax, handles, texts, ncols=columns, **place)
    return figure
