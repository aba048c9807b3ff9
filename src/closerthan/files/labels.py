"""Additional data about the objects: labels for colouring a plot, and pictures."""

import csv
import os
from collections.abc import Sequence
from pathlib import Path

from closerthan.files.formats.opening import name_file_in_errors

__all__ = ["find_pictures", "read_labels"]

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")


@name_file_in_errors
def read_labels(path: str | os.PathLike[str], names: Sequence[str]) -> dict[str, list[str] | list[float]]:
    """Read labels (categories or numbers) from a CSV file whose first column has the names of the objects.

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
        raise ValueError(f"{path} has no labels: expected a header line such as name,label and one line per object")
    uneven = next((row for row in rows if len(row) != len(header)), None)
    if uneven is not None:
        raise ValueError(f"{path}: the line for {uneven[0]!r} has {len(uneven)} cells; expected {len(header)}")
    labels = {row[0]: row[1:] for row in rows}
    missing = next((name for name in names if name not in labels), None)
    if missing is not None:
        raise ValueError(f"{path} has no line for the object {missing!r}")
    return {title: _numbers([labels[name][column] for name in names]) for column, title in enumerate(header[1:])}


def _numbers(cells: list[str]) -> list[str] | list[float]:
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        return cells


def find_pictures(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """Return the image file of each object that has one: a file in the folder that is named after the object."""
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}; expected one with an image per object, named after it")
    objects = set(names)
    pictures = {
        path.stem: path for path in sorted(folder.iterdir()) if path.suffix.lower() in PICTURES and path.stem in objects
    }
    root = folder.resolve()
    for path in pictures.values():
        if not path.resolve().is_relative_to(root):
            raise ValueError(f"{path} is a link to a file outside {folder}; put the image itself into the folder")
    if not pictures:
        raise ValueError(f"{folder} has no image named after an object, such as {names[0]}.png")
    return pictures
