"""``closerthan plot``: a map as a figure for a paper or a talk, without a new fit."""

import re
from pathlib import Path
from typing import Annotated

import typer

FORMATS = (".pdf", ".svg", ".png")
CENTIMETRES = 2.54  # an inch


def plot(
    map: Annotated[Path, typer.Argument(metavar="MAP", help="A map, or the folder of a fit.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="The figure; its ending is the format: .pdf, .svg, .png."),
    ] = Path("map.pdf"),
    size: Annotated[
        str | None,
        typer.Option(metavar="WIDTHxHEIGHT", help="In inches, as 3.5x3, or with a unit, as 85x70mm or 8.5x7cm."),
    ] = None,
    dpi: Annotated[int, typer.Option(metavar="NUMBER", min=30, max=2400, help="Pixels an inch of a .png.")] = 300,
    names: Annotated[bool, typer.Option("--names/--no-names", help="Whether to write names beside points.")] = True,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A CSV file to colour by: names, and one or more columns of labels."),
    ] = None,
    colour: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Which column of --labels; by default the first.")
    ] = None,
    thumbnails: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="A folder with images that are called like the objects.")
    ] = None,
    axes: Annotated[
        str, typer.Option(metavar="X,Y", help="Of more than two dimensions: which principal axes, the widest is 1.")
    ] = "1,2",
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Written above; none if not given.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")] = False,
) -> None:
    """Draw a map that was fitted before, as PDF, SVG or PNG."""
    from closerthan.cli.output import check_file, map_file
    from closerthan.files import read_map
    from closerthan.files.labels import find_pictures, read_labels
    from closerthan.plotting import map_figure
    from closerthan.plotting.saving import save_figure

    if out.suffix.lower() not in FORMATS:
        raise ValueError(f"--out is {out}; a figure can be {', '.join(FORMATS)}")
    check_file(out, force)
    if colour is not None and labels is None:
        raise ValueError(f"--colour is {colour!r}, a column of which file? Pass --labels FILE too")
    inches, chosen = _inches(size), _axes(axes)
    embedding, known = read_map(map_file(map))
    n_dims = embedding.shape[1]
    if n_dims > 2 and (chosen[0] == chosen[1] or not all(0 <= axis < n_dims for axis in chosen)):
        raise ValueError(f"--axes is {axes!r}; the map has {n_dims} dimensions: choose two different ones from 1 on")
    called = known or tuple(str(number) for number in range(len(embedding)))
    columns = {} if labels is None else read_labels(labels, called)
    if colour is not None and colour not in columns:
        raise ValueError(f"--colour is {colour!r}; {labels} has {', '.join(columns)}")
    figure = map_figure(
        embedding,
        called if names else None,
        labels=None if not columns else columns[colour] if colour else next(iter(columns.values())),
        thumbnails=None if thumbnails is None else find_pictures(thumbnails, called),
        axes=chosen,
        title=title,
        size=inches,
    )
    save_figure(figure, out, dpi=dpi)
    width, height = figure.get_size_inches() * CENTIMETRES
    typer.echo(f"{out}  {len(embedding):,} objects, {width:.1f} x {height:.1f} cm")


def _inches(size: str | None) -> tuple[float, float] | None:
    """Width and height.

    Examples
    --------
    >>> _inches("3.5x3"), _inches("254x127mm")
    ((3.5, 3.0), (10.0, 5.0))
    """
    if size is None:
        return None
    found = re.fullmatch(r"\s*([\d.]+)\s*[x×]\s*([\d.]+)\s*(in|cm|mm|)\s*", size, re.IGNORECASE)
    try:
        if found is None:
            raise ValueError
        width, height = (float(length) for length in found.group(1, 2))
    except ValueError:
        raise ValueError(f"--size is {size!r}; expected width and height, as 3.5x3, 8.5x7cm or 85x70mm") from None
    unit = {"cm": CENTIMETRES, "mm": 10 * CENTIMETRES}.get(found[3].lower(), 1.0)
    if not (1 <= width / unit <= 100 and 1 <= height / unit <= 100):
        raise ValueError(f"--size is {size!r}; sides of 1 to 100 inches (2.54 to 254 cm) can be drawn")
    return width / unit, height / unit


def _axes(axes: str) -> tuple[int, int]:
    try:
        first, second = (int(number) - 1 for number in axes.split(","))
    except ValueError:
        raise ValueError(f"--axes is {axes!r}; expected two numbers from 1, as in 1,3") from None
    return first, second
