"""What is known about the objects besides the answers: labels to colour by, and pictures."""

import csv
import os
from collections.abc import Sequence
from pathlib import Path

from closerthan.files.formats.opening import naming_the_file

__all__ = ["find_pictures", "read_labels"]

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")


@naming_the_file
def read_labels(path: str | os.PathLike[str], names: Sequence[str]) -> dict[str, list[str] | list[float]]:
    """Columns of a CSV file with a header, whose first column has the objects' names: a category or a number each.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "labels.csv"
    ...     _ = file.write_text("name,legs\\nbee,6\\ncat,4\\n")
    ...     read_labels(file, ["cat", "bee"])
    {'legs': [4.0, 6.0]}
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            header, *rows = [row for row in csv.reader(file, strict=True) if row] or [[]]
    except (UnicodeError, csv.Error) as error:
        raise ValueError(f"{path} cannot be read as labels: {error}; save it as CSV in UTF-8") from None
    if len(header) < 2:
        raise ValueError(f"{path} has no labels: expected a header line such as name,label and one line an object")
    short = next((row for row in rows if len(row) != len(header)), None)
    if short is not None:
        raise ValueError(f"{path}: the line of {short[0]!r} has {len(short)} cells; expected {len(header)}")
    found = {row[0]: row[1:] for row in rows}
    missing = next((name for name in names if name not in found), None)
    if missing is not None:
        raise ValueError(f"{path} has no line for the object {missing!r}")
    return {title: _numbers([found[name][column] for name in names]) for column, title in enumerate(header[1:])}


def _numbers(cells: list[str]) -> list[str] | list[float]:
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        return cells


def find_pictures(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """The image files in a folder that are called like objects."""
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}; expected one with an image an object, called by its name")
    wanted = set(names)
    found = {
        path.stem: path for path in sorted(folder.iterdir()) if path.suffix.lower() in PICTURES and path.stem in wanted
    }
    place = folder.resolve()
    for path in found.values():
        if not path.resolve().is_relative_to(place):
            raise ValueError(f"{path} is a link that leads out of {folder}; put the image itself there")
    if not found:
        raise ValueError(f"{folder} has no image that is called like an object, such as {names[0]}.png")
    return found
