"""Saving figures atomically and reproducibly: the same figure always gives the same bytes."""

from pathlib import Path
from typing import Any

from closerthan.saving import whole_file

__all__ = ["save_figure"]


def save_figure(figure: Any, path: str | Path, *, dpi: int | None = None) -> None:
    """Write a figure to a file; the extension of the path sets the format.

    Fonts are embedded in PDF files as TrueType, as journals require. No date is written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from closerthan.plotting import map_figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "map.svg"
    ...     save_figure(map_figure([[0.0, 1.0], [1.0, 0.0]]), file)
    ...     "<svg" in file.read_text()
    True
    """
    from matplotlib import rc_context

    kind = Path(path).suffix.lower().removeprefix(".")
    date = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind)
    with rc_context({"pdf.fonttype": 42, "svg.hashsalt": "closerthan"}), whole_file(path) as file:
        figure.savefig(file, format=kind, dpi=dpi or figure.dpi, metadata=date)
