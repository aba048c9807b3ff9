"""``closerthan plot``: draw a fitted map as a figure for a paper or a talk."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from closerthan.cli.options import Force, MapFile, out_option, with_options

if TYPE_CHECKING:
    from closerthan.plotting.maps.scatter import MapOptions

FORMATS = (".pdf", ".svg", ".png")
CENTIMETRES = 2.54  # per inch
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
"""Width of a figure in millimetres and font size in points, as in the journals' author guidelines."""


class Size(NamedTuple):
    """Size of a figure in inches; without a height, it is as high as the map needs."""

    width: float
    height: float | None = None
    font_size: float | None = None


class Appearance(NamedTuple):
    """Size and title of a figure."""

    size: Size | None
    font_size: float | None
    marker_size: float | None
    dpi: int
    title: str | None


class Marks(NamedTuple):
    """Options that describe how each object is drawn, and along which axes."""

    labels: Path | None
    colour: str | None
    thumbnails: Path | None
    show_names: bool
    axes: tuple[int, int]


def appearance(
    size: Annotated[
        str | None,
        typer.Option(
            metavar="WIDTH[xHEIGHT]|JOURNAL",
            help="Size in inches (3.5x3) or with a unit (85x70mm, 85mm), or the column width of a journal: nature, "
            "science, pnas or elsevier, with -double for two columns.",
        ),
    ] = None,
    font_size: Annotated[
        float | None,
        typer.Option(
            metavar="POINTS", min=2, max=40, help="Size of the names; by default 8, and less in a narrow figure."
        ),
    ] = None,
    marker_size: Annotated[
        float | None,
        typer.Option(
            metavar="POINTS",
            min=0.2,
            max=40,
            help="Diameter of the markers; by default, it depends on the size of the figure.",
        ),
    ] = None,
    dpi: Annotated[
        int, typer.Option(metavar="NUMBER", min=30, max=2400, help="Resolution of a PNG file in pixels per inch.")
    ] = 300,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the figure.")] = None,
) -> Appearance:
    """Return the size and the title of the figure."""
    return Appearance(_size(size), font_size, marker_size, dpi, title)


def marks(
    show_names: Annotated[
        bool, typer.Option("--show-names/--hide-names", help="Write names beside the points, or not.")
    ] = True,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="CSV file to colour by: names, and one or more columns of labels."),
    ] = None,
    colour: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of --labels to colour by; by default the first.")
    ] = None,
    thumbnails: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder with images named after the objects.")
    ] = None,
    axes: Annotated[
        str,
        typer.Option(
            metavar="X,Y", help="Principal axes to draw if there are more than two dimensions; 1 is the widest."
        ),
    ] = "1,2",
) -> Marks:
    """Return the options that describe how each object is drawn."""
    if colour is not None and labels is None:
        raise ValueError(f"--colour is {colour!r}, but there is no file of labels. Pass --labels FILE too")
    return Marks(labels, colour, thumbnails, show_names, _axes(axes))


@with_options(appearance=appearance, marks=marks)
def plot(
    map: MapFile,
    appearance: Appearance,
    marks: Marks,
    out: Annotated[Path, out_option("File to write; its extension sets the format: pdf, svg or png.")] = Path(
        "map.pdf"
    ),
    force: Force = False,
) -> None:
    """Draw a fitted map as PDF, SVG or PNG."""
    from closerthan.cli.output import check_file, map_file
    from closerthan.files import read_map
    from closerthan.plotting import map_figure
    from closerthan.plotting.canvas import names_of
    from closerthan.plotting.saving import save_figure

    if out.suffix.lower() not in FORMATS:
        raise ValueError(f"--out is {out}; a figure can be {', '.join(FORMATS)}")
    check_file(out, force)
    embedding, names = read_map(map_file(map))
    n_dims = embedding.shape[1]
    if n_dims > 2 and (len(set(marks.axes)) != 2 or not all(0 <= axis < n_dims for axis in marks.axes)):
        text = ",".join(str(axis + 1) for axis in marks.axes)
        raise ValueError(f"--axes is {text!r}; the map has {n_dims} dimensions: choose two different axes, as in 1,3")
    all_names = names_of(names, len(embedding))
    figure = map_figure(embedding, all_names, **_map_options(appearance, marks, all_names))
    save_figure(figure, out, dpi=appearance.dpi)
    width, height = figure.get_size_inches() * CENTIMETRES
    typer.echo(f"{out}  {len(embedding):,} objects, {width:.1f} x {height:.1f} cm")


def _map_options(appearance: Appearance, marks: Marks, names: Sequence[str]) -> "MapOptions":
    """Read the files of labels and images, and return the keyword arguments of ``plotting.map_figure``."""
    from closerthan.files.labels import find_pictures, read_labels

    columns = {} if marks.labels is None else read_labels(marks.labels, names)
    if marks.colour is not None and marks.colour not in columns:
        raise ValueError(f"--colour is {marks.colour!r}; the columns of {marks.labels} are {', '.join(columns)}")
    column = marks.colour or next(iter(columns), None)
    size = appearance.size
    return {
        "show_names": marks.show_names,
        "labels": None if column is None else columns[column],
        "thumbnails": None if marks.thumbnails is None else find_pictures(marks.thumbnails, names),
        "axes": marks.axes,
        "title": appearance.title,
        "size": None if size is None else (size.width, size.height),
        "font_size": appearance.font_size or (None if size is None else size.font_size),
        "marker_size": appearance.marker_size,
    }


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
            f"--size is {size!r}; expected a width or a width and a height, as in 3.5x3, 85x70mm or 85mm, or a "
            f"journal: {', '.join(JOURNALS)}"
        ) from None
    unit = {"cm": CENTIMETRES, "mm": 10 * CENTIMETRES}.get(match[3].lower(), 1.0)
    if not all(1 <= side / unit <= 100 for side in sides):
        raise ValueError(f"--size is {size!r}; each side must be 1 to 100 inches long (2.54 to 254 cm)")
    return Size(*(side / unit for side in sides))


def _axes(axes: str) -> tuple[int, int]:
    try:
        first, second = (int(number) - 1 for number in axes.split(","))
    except ValueError:
        raise ValueError(f"--axes is {axes!r}; expected two numbers, counted from 1, as in 1,3") from None
    return first, second
