"""Error of each object: which objects does the map represent badly?"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closerthan.checks import checked
from closerthan.comparisons import Comparisons
from closerthan.metrics import object_errors, triplet_error
from closerthan.plotting.canvas import canvas, legend, name_rows, named_map, names_of, tidy
from closerthan.plotting.palette import COLOURS, GREY

__all__ = ["object_error_figure"]

MOST_BARS = 40  # with more objects, only the worst are drawn as bars


@checked
def object_error_figure(
    answers: Comparisons | ArrayLike,
    result: Any,
    names: Sequence[str] | None = None,
    *,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw the error of each object: the fraction of its comparisons that the map gets wrong.

    Up to 40 objects are drawn as bars, with the worst at the top. If there are more, the worst 30 are drawn as bars,
    and a second panel shows all objects from the best to the worst. Objects without comparisons have no error; a note
    gives their number.

    Parameters
    ----------
    answers
        The answers, as in :func:`closerthan.embed`.
    result
        A result of :func:`closerthan.embed`, or (n_objects, n_dims) coordinates.
    names
        Names of the objects; by default those of the result, or of the answers.
    title
        Title of the figure.
    ax
        Matplotlib axes to draw the bars on, without the second panel; by default those of a new figure.

    Examples
    --------
    >>> import closerthan as ct
    >>> answers = ct.datasets.eurodist().comparisons()
    >>> figure = object_error_figure(answers, ct.embed(answers, seed=0))
    >>> len(figure.axes[0].get_yticklabels())
    21
    """
    comparisons = Comparisons.of(answers)
    embedding, map_names = named_map(result, names)
    errors = object_errors(comparisons, embedding)
    all_names = names_of(map_names or comparisons.names, len(errors))
    measured = np.flatnonzero(np.isfinite(errors))
    ranked = measured[np.argsort(-errors[measured], kind="stable")]
    worst = ranked if len(ranked) <= MOST_BARS else ranked[:30]
    overall = triplet_error(comparisons, embedding)

    two_panels = ax is None and len(worst) < len(ranked)
    height = float(np.clip(1.2 + 0.2 * len(worst), 2.5, 9.5))
    figure, axes = canvas(ax, (10.0 if two_panels else 7.0, height), columns=2 if two_panels else 1)
    bars = axes[0] if two_panels else axes
    bars.barh(np.arange(len(worst)), errors[worst], color=COLOURS[0], height=0.72)
    name_rows(bars, [all_names[number] for number in worst])
    bars.set_xlim(0, max(1.08 * float(errors[worst].max()), 1.1 * overall, 0.02))
    line = bars.axvline(overall, color=COLOURS[1], linestyle="--", linewidth=1.0)
    legend(bars, [line], [f"all comparisons: {overall:.3f}"], loc="lower right")
    default = None if len(worst) == len(ranked) else f"The {len(worst)} objects with the highest error"
    tidy(bars, title=title or default, x="error (fraction of its comparisons that the map gets wrong)")
    if two_panels:
        axes[1].plot(np.linspace(0, 1, len(ranked)), errors[ranked[::-1]], color=COLOURS[0])
        axes[1].axhline(overall, color=COLOURS[1], linestyle="--", linewidth=1.0)
        axes[1].set_ylim(bottom=0)
        tidy(axes[1], title=f"All {len(ranked):,} objects", x="fraction of objects with at most this error", y="error")
    if len(measured) < len(errors):
        note = f"{len(errors) - len(measured):,} of {len(errors):,} objects have no comparisons"
        bars.annotate(note, (0.99, 0.99), xycoords="axes fraction", ha="right", va="top", fontsize=8, color=GREY)
    return figure
