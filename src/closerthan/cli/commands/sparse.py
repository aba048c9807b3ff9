"""``closerthan sparse``: sparse, non-negative dimensions that people can name."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from closerthan.cli.options import SEED, AnswersFile, AnswersReader, OutputFolder, Seed, Threads, reading, with_options

if TYPE_CHECKING:
    from closerthan.dimensions.result import SparseDimensions

SPARSE = {
    "pages": "open index.html in it: all dimensions, and a page for each of them and for each object",
    "weights.csv": "the weights: one row per object",
    "dimensions.csv": "one row per dimension: sum, reproducibility, top objects",
    "dimensions.png": "the dimensions as a figure",
    "weights.npy": "the weights as an array",
    "dimensions.npz": "everything, for closerthan.SparseDimensions.load",
    "vice": "the same dimensions as VICE saves them",
}
"""The files of closerthan sparse."""

WIDTH_OF_TOP = 36  # characters of the names of the top objects in the printed table


@dataclass(frozen=True)
class Estimation:
    """Options for estimating the dimensions."""

    dims: Annotated[
        int | None,
        typer.Option(
            "--dims",
            "-d",
            metavar="NUMBER",
            min=1,
            help="Dimensions to start with; those not needed are dropped. By default 60, or half the number of objects "
            "if that is less.",
        ),
    ] = None
    penalty: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Strength of the penalty; by default chosen by held-out answers."),
    ] = None
    ridge: Annotated[
        float, typer.Option(metavar="NUMBER", help="Squared part of the penalty, relative to --penalty; 0 in SPoSE.")
    ] = 1.0
    refits: Annotated[
        int,
        typer.Option(
            metavar="NUMBER", min=0, help="Number of fits to resampled answers, to find reproducible dimensions."
        ),
    ] = 5
    by: Annotated[
        str, typer.Option(metavar="auto|answers|blocks|people", help="Unit that is held out and resampled.")
    ] = "auto"
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop after this time, with the dimensions so far.")
    ] = None
    device: Annotated[str, typer.Option(metavar="cpu|cuda|auto", help="cpu, cuda (a GPU), or auto.")] = "cpu"
    threads: Threads = None


@with_options(estimation=Estimation, output=OutputFolder, reading=reading)
def sparse(
    *,
    file: AnswersFile,
    estimation: Estimation,
    output: OutputFolder,
    thumbnails: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="A folder with images named after the objects.")
    ] = None,
    seed: Seed = SEED,
    reading: AnswersReader,
) -> None:
    """Estimate sparse, non-negative dimensions of the objects in FILE, which people can name (SPoSE).

    Ctrl-C ends the computation early and keeps the dimensions so far.
    """
    import closerthan as ct
    from closerthan.cli.group import INTERRUPTED
    from closerthan.cli.screen import end_with_folder, print_summary
    from closerthan.files.labels import find_pictures
    from closerthan.plotting.maps.thumbnails import check_pictures

    folder = output.path(file, "sparse", SPARSE)
    contents = reading.without_split().read(file)
    print_summary(contents.summary)
    names = contents.comparisons.names or tuple(str(number) for number in range(contents.comparisons.n_objects))
    pictures = None if thumbnails is None else find_pictures(thumbnails, names)
    if pictures is not None:
        check_pictures(pictures.values())
    result = ct.sparse_dimensions(
        contents.comparisons,
        estimation.dims,
        penalty=estimation.penalty,
        ridge=estimation.ridge,
        n_refits=estimation.refits,
        by=estimation.by,
        time_limit=estimation.time_limit,
        device=estimation.device,
        n_threads=estimation.threads,
        seed=seed,
        progress=sys.stderr.isatty(),
    )
    _print(result)
    if not result.n_dims:
        raise typer.Exit(1)
    _write(result, folder, output, pictures)
    end_with_folder(folder, SPARSE, "")
    if result.stopped_by == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _write(result: "SparseDimensions", folder: Path, output: OutputFolder, pictures: "dict[str, Path] | None") -> None:
    """Write all files; the folder appears when it is complete."""
    import numpy as np

    from closerthan.cli.output import save_figures, written_folder
    from closerthan.files import write_vice_folder
    from closerthan.plotting import dimensions_figure
    from closerthan.report.dimension_pages import write_dimension_pages

    with written_folder(folder, replace=output.force) as draft:
        write_dimension_pages(result, draft / "pages", thumbnails=pictures)
        result.to_csv(draft / "weights.csv")
        result.table_to_csv(draft / "dimensions.csv")
        np.save(draft / "weights.npy", result.weights)
        result.save(draft / "dimensions.npz")
        write_vice_folder(result.weights, draft / "vice")
        save_figures(draft, {"dimensions.png": dimensions_figure(result)}, output.figure_format)


def _print(result: "SparseDimensions") -> None:
    """Print the accuracy and a table of the dimensions."""
    from closerthan.cli.screen import print_columns, print_sentences, print_wrapped
    from closerthan.plotting.canvas import one_line

    if result.n_dims:
        # The top objects are cut, so that the other columns of a narrow terminal remain.
        rows = [(*row[:-1], one_line(row[-1], WIDTH_OF_TOP)) for row in result.rows()]
        print_columns(("dimension", "sum", "objects", "found again", "top objects"), rows)
        typer.echo("")
    for name, value in [*result.accuracy.table(), ("penalty", f"{result.penalty:.3g}")]:
        print_wrapped(f"{name:<18}{value}", indent=18)
    if result.advice:
        typer.echo("")
        print_sentences(result.advice)
