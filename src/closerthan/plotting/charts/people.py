"""People: their lapse rates, the maps of groups, and the error of each person's map on the answers of the others."""

from typing import Any

import numpy as np

from closerthan.checks import checked
from closerthan.plotting.canvas import add_note, canvas, check_returned, legend, name_rows, names_of, one_line, tidy
from closerthan.plotting.maps.views import views_figure
from closerthan.plotting.palette import COLOURS, GREY, RAMP

__all__ = ["people_figure", "people_maps_figure", "people_matrix_figure"]

MOST_SHOWN = 40  # if there are more people, only the most conspicuous are drawn
VERDICT_COLOURS = {
    "reversed": COLOURS[6],
    "careless": COLOURS[1],
    "unlike": COLOURS[4],
    "own view": COLOURS[3],
    "unclear": COLOURS[2],
    "few": GREY,
    "fine": COLOURS[0],
}


@checked
def people_figure(assessment: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw the lapse rate of each person, the most conspicuous first.

    Parameters
    ----------
    assessment
        A result of :func:`closerthan.assess_people`.
    title, ax
        As in :func:`map_figure`.

    Examples
    --------
    >>> import closerthan as ct, numpy as np
    >>> rows = ct.datasets.simulated(np.random.default_rng(0).standard_normal((10, 2)), 600, seed=0).rows
    >>> answers = ct.Comparisons.from_triplets(rows, people=np.arange(600) // 100)
    >>> figure = people_figure(ct.assess_people(answers, loss="soe", seed=0))
    >>> len(figure.axes[0].get_yticklabels())
    6
    """
    check_returned("assessment", assessment, "people", "assess_people")
    people = assessment.people[:MOST_SHOWN]
    figure, ax = canvas(ax, (7.0, float(np.clip(1.4 + 0.2 * len(people), 2.6, 9.5))))
    rate, low, high = np.array([(person.lapse_rate, person.lapse_low, person.lapse_high) for person in people]).T
    rate[[not person.lapse_determined for person in people]] = np.nan  # not drawn
    verdicts = [person.verdict for person in people]
    handles, texts = [], []
    for verdict, colour in VERDICT_COLOURS.items():
        rows = np.array([number for number, one in enumerate(verdicts) if one == verdict], dtype=int)
        if len(rows):
            spread = [np.maximum(rate - low, 0.0)[rows], np.maximum(high - rate, 0.0)[rows]]
            style = {"color": colour, "marker": "o", "markersize": 4, "linewidth": 0, "elinewidth": 1.1}
            handles.append(ax.errorbar(rate[rows], rows, xerr=spread, **style))
            texts.append(verdict)
    name_rows(ax, [person.name for person in people], 24)
    ax.set_xlim(0, 1)
    legend(ax, handles, texts, loc="lower right")
    default = "People, the most conspicuous first"
    if len(people) < len(assessment.people):
        default = f"The {len(people)} most conspicuous of {len(assessment.people):,} people"
    tidy(
        ax,
        title=title or default,
        x="lapse rate: fraction of answers that look like guesses on the map of the others (95 % interval)",
    )
    add_note(ax, "Look at the answers of people who are not 'fine' before you decide about them.")
    return figure


@checked
def people_maps_figure(groups: Any) -> Any:
    """Draw the maps of groups of people side by side.

    Parameters
    ----------
    groups
        A result of :func:`closerthan.group_people`.

    Examples
    --------
    >>> import closerthan as ct, numpy as np
    >>> rows = ct.datasets.simulated(np.random.default_rng(0).standard_normal((10, 2)), 600, seed=0).rows
    >>> answers = ct.Comparisons.from_triplets(rows, people=np.arange(600) // 100)
    >>> figure = people_maps_figure(ct.group_people(answers, loss="soe", most_groups=2, seed=0))
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['group 1: 6 people']
    """
    check_returned("groups", groups, "maps", "group_people")
    sizes = np.bincount(list(groups.group.values()))
    titles = [
        f"group {number}: {size:,} {'person' if size == 1 else 'people'}" for number, size in enumerate(sizes, start=1)
    ]
    maps = groups.aligned_maps()
    return views_figure(maps, names_of(groups.maps[0].names, maps.shape[1]), titles=titles)


@checked
def people_matrix_figure(groups: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw a matrix with the held-out error of each person's map on the answers of each person.

    Parameters
    ----------
    groups
        A result of :func:`closerthan.group_people`.
    title, ax
        As in :func:`map_figure`.

    Examples
    --------
    >>> import closerthan as ct, numpy as np
    >>> rows = ct.datasets.simulated(np.random.default_rng(0).standard_normal((10, 2)), 600, seed=0).rows
    >>> answers = ct.Comparisons.from_triplets(rows, people=np.arange(600) // 100)
    >>> figure = people_matrix_figure(ct.group_people(answers, loss="soe", most_groups=2, seed=0))
    >>> figure.axes[0].get_ylabel()
    'map of'
    """
    check_returned("groups", groups, "matrix", "group_people")
    size = float(np.clip(2.8 + 0.14 * len(groups.matrix_people), 4.0, 8.5))
    figure, ax = canvas(ax, (size + 1.0, size))
    image = ax.imshow(groups.matrix, cmap=RAMP, vmin=0.0, vmax=0.5, aspect="equal")
    names = [one_line(name, 16) for name in groups.matrix_people]
    positions = range(len(names))
    ax.set_xticks(positions, names, rotation=90, parse_math=False)
    ax.set_yticks(positions, names, parse_math=False)
    ends = np.flatnonzero(np.diff([groups.group[name] for name in groups.matrix_people])) + 0.5
    for end in ends:
        ax.axhline(end, color="white", linewidth=1.2)
        ax.axvline(end, color="white", linewidth=1.2)
    bar = figure.colorbar(image, ax=ax, shrink=0.8)
    bar.set_label("held-out error (dark is good)", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    n_people = len(groups.group)
    selection = f" ({len(names)} of {n_people:,} people)" if len(names) < n_people else ""
    tidy(ax, title=title or f"Whose map predicts whose answers?{selection}", x="answers of", y="map of", grid=False)
    add_note(
        ax,
        "Blocks of low error are groups of people with similar views: fit a map to each."
        if groups.n_groups > 1
        else "No group clearly stands out.",
    )
    return figure
