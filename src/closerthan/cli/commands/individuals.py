"""``closerthan individuals``: one map for all people, and the weight that each of them gives to each dimension."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from closerthan.cli.options import (
    AnswersFile,
    AnswersReader,
    Fitting,
    OutputFolder,
    fitting_options,
    reading,
    with_options,
)

if TYPE_CHECKING:
    from closerthan.objects import Clustering
    from closerthan.people.maps import PeopleMaps

INDIVIDUALS = {
    "weights.csv": "one line per person: consistency, and the weight of each dimension with its interval",
    "weights.png": "people as points: their weights of the first two dimensions",
    "map.csv": "the map; its axes must not be rotated",
    "map.png": "the map of all people",
    "models.csv": "accuracy of one map and of individual weights on held-out answers",
    "people.npz": "everything, for ct.PeopleMaps.load",
}
"""The files of closerthan individuals."""

MOST_DIMS = 8  # dimensions on the screen
FEWEST_TO_GROUP = 6  # with fewer people, groups are not looked for


@with_options(output=OutputFolder, fitting=fitting_options(), reading=reading)
def individuals(
    file: AnswersFile,
    spread: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            min=0.0,
            help="Prior standard deviation of the logarithms of people's weights. By default chosen by held-out "
            "answers, which also show whether people differ.",
        ),
    ] = None,
    *,
    output: OutputFolder,
    fitting: Fitting,
    reading: AnswersReader,
) -> None:
    """Fit one map for all people, and the weight that each person gives to each dimension.

    Held-out answers show whether people weigh the dimensions differently, differ in consistency only, or do not differ.
    """
    import closerthan as ct
    from closerthan.cli.output import save_figures, written_folder
    from closerthan.cli.screen import end_with_folder, print_columns, print_sentences, print_summary, print_wrapped
    from closerthan.files import write_map
    from closerthan.plotting import map_figure
    from closerthan.saving import whole_csv

    fitting.refuse_file()
    folder = output.path(file, "individuals", INDIVIDUALS)
    answers = reading.read(file)
    print_summary(answers.summary)
    maps = ct.embed_people(
        answers.comparisons, spread=spread, settings=fitting.settings, **fitting.run_options(sys.stderr.isatty())
    )
    groups = None
    if maps.weights_differ and len(maps.people) >= FEWEST_TO_GROUP:
        groups = ct.cluster(maps.space, seed=fitting.settings.seed)
    with written_folder(folder, replace=output.force) as draft:
        is_divided = groups is not None and groups.is_clear
        maps.to_csv(draft / "weights.csv", groups.labels.tolist() if groups is not None and is_divided else None)
        write_map(maps.embedding, maps.names, draft / "map.csv")
        maps.save(draft / "people.npz")
        if maps.evidence is not None:
            whole_csv(draft / "models.csv", maps.evidence.csv_titles, maps.evidence.csv_rows())
        title = "The map of all people: each axis is a dimension that people may weigh differently"
        figures = {"weights.png": maps.plot(), "map.png": map_figure(maps.embedding, maps.names, title=title)}
        save_figures(draft, figures, output.figure_format)
    _print_people(maps)
    typer.echo("")
    for title, share, reliability, low, high in maps.dimension_rows():
        how_reliable = f", reliability {reliability}" if reliability else ""
        print_wrapped(f"{title}: {share} of the variance{how_reliable}; from {low} ... to {high} ...", indent=2)
    if maps.evidence is not None:
        typer.echo("")
        print_columns(("model", "held-out answers right", "bits"), maps.evidence.rows())
    typer.echo("")
    print_sentences([*maps.sentences, *_about_groups(groups)])
    end_with_folder(folder, INDIVIDUALS, maps.stopped_by)


def _print_people(maps: "PeopleMaps") -> None:
    """Print the consistency and the relative weights of people."""
    from closerthan.cli.screen import print_first, print_wrapped

    n_columns = 3 + MOST_DIMS
    titles = [title.removeprefix("dimension ") for title in maps.titles[:n_columns]]
    print_first(titles, [row[:n_columns] for row in maps.rows()], "more people", gap=2)
    more = f" of the first {MOST_DIMS} dimensions" if len(maps.titles) > n_columns else ""
    print_wrapped(
        "consistency: small if answers vary at random, 1 for a typical person; "
        f"1, 2, ...: relative weights{more}, above 1 where the person weighs a dimension more than others do",
        indent=0,
    )


def _about_groups(groups: "Clustering | None") -> list[str]:
    """Return a sentence about groups of people with similar weights."""
    import numpy as np

    if groups is None:
        return []
    if not groups.is_clear:
        return ["the weights vary gradually: they do not divide people into clearly separated groups"]
    sizes = ", ".join(str(size) for size in np.bincount(groups.labels))
    return [f"the weights divide people into {groups.n_clusters} clearly separated groups ({sizes})"]
