"""Commands about objects: ``place`` new ones on a map, ``cluster`` them, find ``central`` ones and outliers."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closerthan.checks import ParameterError
from closerthan.cli.options import (
    SEED,
    AnswersFile,
    AnswersReader,
    FigureFormat,
    Force,
    Seed,
    out_option,
    reading,
    with_options,
)

SHOWN = 5  # number of the most central objects, and of the least central ones

if TYPE_CHECKING:
    from closerthan.objects import Clustering
    from closerthan.result import Result


@dataclass(frozen=True)
class PlacementOptions:
    """Options for placing new objects."""

    loss: Annotated[
        str | None, typer.Option(metavar="NAME", help="By default that of the fit; required for a map without a fit.")
    ] = None
    features: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A table of numbers, with names and one line for each object, whether it is on the map or new.",
        ),
    ] = None


@with_options(how=PlacementOptions, reading=reading)
def place(
    *,
    map: Annotated[Path, typer.Argument(metavar="MAP", help="The folder of a fit, or a map.", show_default=False)],
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="Answers about the new objects; not needed with --features."),
    ] = None,
    out: Annotated[Path | None, out_option("By default MAP's name with -placed.csv.")] = None,
    how: PlacementOptions,
    seed: Seed = SEED,
    force: Force = False,
    reading: AnswersReader,
) -> None:
    """Place new objects on a map, from the answers about them in FILE; all others keep their positions."""
    import numpy as np

    from closerthan.cli.output import check_file, stem
    from closerthan.cli.screen import print_columns, print_summary
    from closerthan.files import read_map, write_map
    from closerthan.objects import place as placed_on
    from closerthan.wording import counted, percent_if_known

    target = out or Path(f"{map.name if map.is_dir() else stem(map)}-placed.csv")
    check_file(target, force)
    if file is None and how.features is None:
        raise ValueError("there are no data to place objects with; pass a FILE of answers, or --features FILE")
    result = _result_at(map)
    answers = None
    if file is not None:
        # The objects of a map without names are numbered from 0.
        numbering = {} if result.names is not None or file.suffix.lower() == ".mat" else {"numbering": "0-based"}
        with warnings.catch_warnings():
            # Objects of the map that do not occur in these answers keep their positions.
            warnings.filterwarnings("ignore", ".*occur in no comparison")
            contents = reading.read(file, **numbering)
        print_summary(contents.summary)
        answers = contents.comparisons
    table: Any = None
    if how.features is not None:
        table, row_names = read_map(how.features)
        if row_names is not None:
            table = dict(zip(row_names, table, strict=True))
    placed = placed_on(answers, result, loss=how.loss, features=table, seed=seed)
    write_map(placed.embedding, placed.all_names, target)
    names = placed.names or [str(len(placed.map_places) + number) for number in range(len(placed.places))]
    rows = [
        (name, f"{count:,}", percent_if_known(error), f"{np.sqrt(np.sum(spread**2)):.3g}")
        for name, count, error, spread in zip(
            names, placed.n_comparisons.tolist(), placed.errors.tolist(), placed.standard_errors, strict=True
        )
    ]
    print_columns(("object", "comparisons", "wrong", "± s.e."), rows)
    size = float(np.sqrt(np.sum(placed.map_places.var(axis=0))))
    typer.echo(f"\n± s.e.: standard error of a position; objects of the map are typically {size:.3g} from its centre.")
    typer.echo(f"{target}  the map of {len(placed.map_places):,} objects and {counted(len(rows), 'new one')}")


def _result_at(path: Path) -> "Result":
    """Return a saved result; for a map without one, a result without a loss."""
    from closerthan.cli.output import map_file
    from closerthan.files import read_map
    from closerthan.history import History
    from closerthan.result import Result

    saved = path / "result.npz" if path.is_dir() else path
    if saved.name == "result.npz" and saved.exists():
        return Result.load(saved)
    embedding, names = read_map(map_file(path))
    return Result(embedding, History(), stopped_by="", best_epoch=0, names=names)


@dataclass(frozen=True)
class ClusterSearch:
    """Options of the search for groups."""

    groups: Annotated[
        int | None,
        typer.Option(
            "--groups",
            "-g",
            metavar="NUMBER",
            min=1,
            help="Number of groups; by default chosen by silhouettes.",
        ),
    ] = None
    method: Annotated[
        str | None,
        typer.Option(
            metavar="average|ward|spectral|comparisons",
            help="By default average linkage, with similarities counted from the answers; on a map, Ward's method.",
        ),
    ] = None
    thumbnails: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Images named after the objects, to draw beside the tree.")
    ] = None
    most: Annotated[int, typer.Option(metavar="NUMBER", min=2, help="Largest number of groups to try.")] = 8


@with_options(search=ClusterSearch, reading=reading)
def cluster(
    *,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="The answers; or, for groups on a map, the map or a fit's folder.", show_default=False
        ),
    ],
    search: ClusterSearch,
    out: Annotated[
        Path | None, out_option("By default FILE's name with -groups.csv; the tree is written beside it.")
    ] = None,
    seed: Seed = SEED,
    figure_format: FigureFormat = "png",
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    reading: AnswersReader,
) -> None:
    """Find groups of objects from the answers in FILE, or on a map, test whether they are clear, and draw a tree."""
    from closerthan.cli.output import check_figure_format, check_file, stem
    from closerthan.cli.screen import print_columns, print_summary, print_wrapped
    from closerthan.files.labels import find_pictures
    from closerthan.objects import cluster as clustered
    from closerthan.plotting.saving import save_figure
    from closerthan.wording import counted

    check_figure_format(figure_format)
    target = out or Path(f"{file.name if file.is_dir() else stem(file)}-groups.csv")
    picture = target.with_suffix(f".{figure_format}")
    if target.suffix.lower() != ".csv":
        raise ValueError(f"{target}: groups are written as .csv")
    for path in (target, picture):
        check_file(path, force)
    if not {"columns", "kind"} & set(reading.arguments) and _has_map(file):
        clustering = _groups_on_map(file, search.groups, search.method, search.most, seed)
    else:
        answers = reading.read(file)
        print_summary(answers.summary)
        clustering = clustered(answers.comparisons, search.groups, method=search.method, most=search.most, seed=seed)
    names = clustering.names or tuple(str(number) for number in range(len(clustering.labels)))
    pictures = None if search.thumbnails is None else find_pictures(search.thumbnails, names)
    if clustering.silhouettes:
        rows = [
            (str(number), f"{value:.2f}", "highest" if number == clustering.n_clusters else "")
            for number, value in clustering.silhouettes.items()
        ]
        print_columns(("groups", "silhouette", ""), rows)
        typer.echo("")
    for number, members in enumerate(clustering.groups):
        print_wrapped(f"{f'group {number + 1}':<13}{', '.join(members)}")
    print_wrapped(f"{'':<13}{counted(clustering.n_clusters, 'group')}, {clustering.in_words}")
    clustering.to_csv(target)
    typer.echo(f"{target}  the group of each object")
    if clustering.tree is not None:
        save_figure(clustering.plot(thumbnails=pictures), picture)
        typer.echo(f"{picture}  the tree")


def _has_map(path: Path) -> bool:
    """Return True for a map or the folder of a fit."""
    from closerthan.files.maps import is_map

    if path.is_dir():
        return any((path / name).exists() for name in ("result.npz", "map.csv", "map.parquet", "map.npz"))
    return path.exists() and is_map(path)


def _groups_on_map(path: Path, groups: int | None, method: str | None, most: int, seed: int) -> "Clustering":
    """Find groups on a map and print how stable they are on the replicates of the fit, if it has any."""
    import numpy as np

    from closerthan.cli.screen import print_wrapped
    from closerthan.objects import cluster as clustered
    from closerthan.uncertainty.replicates import Replicates
    from closerthan.wording import percent

    maps = path / "replicates.npz"
    replicates = Replicates.load(maps).maps if maps.exists() else None
    clustering = clustered(_result_at(path), groups, method=method, maps=replicates, most=most, seed=seed)
    if replicates is not None and clustering.co_membership is not None:
        same = (clustering.labels[:, None] == clustering.labels) & ~np.eye(len(clustering.labels), dtype=bool)
        inside, apart = (
            clustering.co_membership[same],
            clustering.co_membership[clustering.labels[:, None] != clustering.labels],
        )
        shares = [percent(float(part.mean()), digits=0) for part in (inside, apart) if len(part)]
        if len(shares) == 2:
            print_wrapped(
                f"{'':<13}two objects of one group stay together on {shares[0]} of {len(replicates):,} replicates, "
                f"two of different groups are together on {shares[1]}"
            )
    return clustering


@with_options(reading=reading)
def central(
    file: AnswersFile,
    measure: Annotated[
        str | None,
        typer.Option(
            metavar="lens-depth|nearness",
            help="lens-depth: the fraction of triples in which an object is the most central (default for most-central "
            "answers); nearness: how often it is the nearer one minus how often it is the farther one.",
        ),
    ] = None,
    out: Annotated[Path | None, out_option("By default FILE's name with -central.csv.")] = None,
    force: Force = False,
    *,
    reading: AnswersReader,
) -> None:
    """Find the most central object in FILE (the medoid), and outliers, without a map."""
    from closerthan.cli.output import check_file, stem
    from closerthan.cli.screen import print_columns, print_summary
    from closerthan.files.formats.text.delimited_text import quoted
    from closerthan.objects import centrality
    from closerthan.objects.central_objects import MEASURES, OUTLYING
    from closerthan.saving import whole_file
    from closerthan.wording import counted

    measures = [one.replace(" ", "-") for one in MEASURES]
    if measure not in (None, *measures):
        raise ParameterError("measure", measure, f"it can be {' or '.join(measures)}")
    target = out or Path(f"{stem(file)}-central.csv")
    if target.suffix.lower() != ".csv":
        raise ValueError(f"{target}: the table is written as .csv")
    check_file(target, force)
    answers = reading.read(file)
    print_summary(answers.summary)
    scored = centrality(answers.comparisons, None if measure is None else measure.replace("-", " "))
    unit = "answers" if scored.measure == "lens depth" else "comparisons"
    order = scored.ranking.tolist()
    rivals = scored.rivals.tolist()
    outliers = [] if scored.outliers is None else scored.outliers.tolist()
    marks = dict.fromkeys(rivals, "may be the medoid") | {scored.medoid: "medoid"} | dict.fromkeys(outliers, "outlier")
    listed = order if len(order) <= 2 * SHOWN else [*order[:SHOWN], *order[-SHOWN:]]
    rows = [
        (
            scored.name_of(one),
            f"{scored.scores[one]:.2f} ± {scored.standard_errors[one]:.2f}",
            f"{scored.counts[one]:,}",
            marks.get(one, ""),
        )
        for one in listed
    ]
    if len(listed) < len(order):
        rows.insert(SHOWN, ("...", "", "", ""))
    print_columns(("object", scored.measure, unit, ""), rows)
    typer.echo("")
    if scored.measure == "lens depth":
        typer.echo("The fraction of triples in which it is the most central. The last ones may be outliers.")
    else:
        typer.echo(f"1: always the nearer of two; -1: always the farther. Outliers: {OUTLYING:g} or less.")
    lines = [
        f"{quoted(scored.name_of(one), ',')},{scored.scores[one]:.6g},{scored.standard_errors[one]:.6g},"
        f"{scored.counts[one]}"
        for one in order
    ]
    header = f"name,{scored.measure.replace(' ', '_')},standard_error,{unit}"
    with whole_file(target) as table:
        table.write("\n".join([header, *lines, ""]).encode())
    n_left_out = len(scored.scores) - len(order)
    without = f"; {n_left_out:,} without a score {'is' if n_left_out == 1 else 'are'} missing" if n_left_out else ""
    typer.echo(f"{target}  {counted(len(order), 'object')}, the most central first{without}")
