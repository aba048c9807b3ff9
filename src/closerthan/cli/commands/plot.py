"""``closerthan plot``: a map as a figure for a paper or a talk, without a new fit."""

import re
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

FORMATS = (".pdf", ".svg", ".png")
CENTIMETRES = 2.54  # an inch
JOURNALS = {
    "nature": (89, 6.0),
    "nature-double": (183, 7.0),
    "science": (57, 6.0),
    "science-double": (121, 7.0),
    "pnas": (87, 7.0),
    "pnas-double": (178, 8.0),
    "elsevier": (90, 7.0),
    "elsevier-double": (190, 7.0),
}
"""Journals, with the width of a figure in millimetres and a font size in points that their guides for authors allow."""


class Size(NamedTuple):
    """Size of a figure, in inches; without a height it is as high as the map needs."""

    width: float
    height: float | None = None
    font_size: float | None = None


def plot(
    map: Annotated[Path, typer.Argument(metavar="MAP", help="A map, or the folder of a fit.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="The figure; its ending is the format: .pdf, .svg, .png."),
    ] = Path("map.pdf"),
    size: Annotated[
        str | None,
        typer.Option(
            metavar="WIDTH[xHEIGHT]|JOURNAL",
            help="In inches, as 3.5x3, or with a unit, as 85x70mm or 85mm; or the column of a journal: "
            "nature, science, pnas or elsevier, and with -double a figure over two columns.",
        ),
    ] = None,
    font_size: Annotated[
        float | None,
        typer.Option(
            metavar="POINTS",
            min=2,
            max=40,
            help="Size of the names, as in 7; by default 8, or less in a narrow figure.",
        ),
    ] = None,
    marker_size: Annotated[
        float | None,
        typer.Option(metavar="POINTS", min=0.2, max=40, help="Diameter of the dots; by default it suits the figure."),
    ] = None,
    dpi: Annotated[int, typer.Option(metavar="NUMBER", min=30, max=2400, help="Pixels an inch of a .png.")] = 300,
    show_names: Annotated[
        bool, typer.Option("--show-names/--hide-names", help="Whether to write names beside points.")
    ] = True,
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
    inches, chosen = _size(size), _axes(axes)
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
        called,
        show_names=show_names,
        labels=None if not columns else columns[colour] if colour else next(iter(columns.values())),
        thumbnails=None if thumbnails is None else find_pictures(thumbnails, called),
        axes=chosen,
        title=title,
        size=None if inches is None else (inches.width, inches.height),
        font_size=font_size or (None if inches is None else inches.font_size),
        marker_size=marker_size,
    )
    save_figure(figure, out, dpi=dpi)
    width, height = figure.get_size_inches() * CENTIMETRES
    typer.echo(f"{out}  {len(embedding):,} objects, {width:.1f} x {height:.1f} cm")


def _size(size: str | None) -> Size | None:
    """Return the size of a figure.

    Examples
    --------
    >>> _size("3.5x3"), _size("254x127mm")
    (Size(width=3.5, height=3.0, font_size=None), Size(width=10.0, height=5.0, font_size=None))
    >>> _size("elsevier").font_size, _size("127mm").height is None
    (7.0, True)
    """
    if size is None:
        return None
    if size in JOURNALS:
        millimetres, font_size = JOURNALS[size]
        return Size(millimetres / (10 * CENTIMETRES), font_size=font_size)
    match = re.fullmatch(r"\s*([\d.]+)\s*(?:[x×]\s*([\d.]+)\s*)?(in|cm|mm|)\s*", size, re.IGNORECASE)
    try:
        if match is None:
            raise ValueError
        sides = [float(length) for length in match.group(1, 2) if length is not None]
    except ValueError:
        raise ValueError(
            f"--size is {size!r}; expected a width or a width and a height, as 3.5x3, 85x70mm or 85mm, or a journal: "
            f"{', '.join(JOURNALS)}"
        ) from None
    unit = {"cm": CENTIMETRES, "mm": 10 * CENTIMETRES}.get(match[3].lower(), 1.0)
    if not all(1 <= side / unit <= 100 for side in sides):
        raise ValueError(f"--size is {size!r}; sides of 1 to 100 inches (2.54 to 254 cm) can be drawn")
    return Size(*(side / unit for side in sides))


def _axes(axes: str) -> tuple[int, int]:
    try:
        first, second = (int(number) - 1 for number in axes.split(","))
    except ValueError:
        raise ValueError(f"--axes is {axes!r}; expected two numbers from 1, as in 1,3") from None
    return first, second
