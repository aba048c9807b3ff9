"""Canvas: an empty figure in the common style, and functions that write literal text on it."""

import os
import reprlib
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.checks import ParameterError
from closerthan.geometry import matrix_of

FONT_SIZE = 8.0  # size of names and numbers, in points, in a figure of the default width
LETTER = 0.52  # mean width of a character, in units of the font size
INK = "#222222"
FAINT = "#d9d9d9"
LONGEST_NAME = 40  # characters


def check_backend() -> None:
    """Raise an error that names MPLBACKEND if its value is invalid: matplotlib cannot be imported then."""
    backend = os.environ.get("MPLBACKEND")
    if backend:
        try:
            import matplotlib  # noqa: F401
        except ValueError:
            raise ValueError(
                f"the environment variable MPLBACKEND is {backend!r}, which is not a backend of matplotlib; unset it"
            ) from None


def check_returned(name: str, value: Any, attribute: str, function: str) -> None:
    """Raise an error unless an argument has an attribute of the objects that a function of the package returns.

    Examples
    --------
    >>> check_returned("curve", 5, "ceilings", "learning_curve")
    Traceback (most recent call last):
    ...
    ValueError: curve is 5; it must be a result of closerthan.learning_curve
    """
    if not hasattr(value, attribute):
        text = " ".join(reprlib.repr(value).split())
        raise ValueError(f"{name} is {text}; it must be a result of closerthan.{function}")


def canvas(
    ax: Any, size: tuple[float, float], *, rows: int = 1, columns: int = 1, font_size: float | None = None
) -> tuple[Any, Any]:
    """Return a figure and its axes: those of ``ax``, or, if it is None, of a new figure that notebooks can display."""
    if ax is not None:
        if not hasattr(ax, "get_xlabel"):
            raise ParameterError("ax", ax, "it must be matplotlib Axes or None")
        return ax.figure.figure, ax
    check_backend()
    from closerthan.plotting.figure import NotebookFigure

    figure = NotebookFigure(figsize=size, dpi=120, layout="constrained")
    figure.font_size = font_size or FONT_SIZE
    return figure, figure.subplots(rows, columns)


def font_size_of(ax: Any) -> float:
    """Return the font size of names and numbers in points; the sizes of other texts are proportional to it."""
    return float(getattr(ax.figure.figure, "font_size", FONT_SIZE))


def tidy(ax: Any, *, title: str | None = None, x: str = "", y: str = "", grid: bool = True) -> None:
    """Format axes in the common style: no box, a faint grid, and literal titles."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    size = font_size_of(ax)
    ax.tick_params(which="both", colors="#555555", labelsize=size)
    ax.set_xlabel(x, color=INK, fontsize=1.125 * size, parse_math=False)
    ax.set_ylabel(y, color=INK, fontsize=1.125 * size, parse_math=False)
    if grid:
        ax.grid(color=FAINT, linewidth=0.5)
        ax.set_axisbelow(True)
    if title is not None:
        lines = wrapped(ax, one_line(title, 90), 1.375 * size)
        ax.set_title(lines, color=INK, fontsize=1.375 * size, loc="left", parse_math=False)


def name_rows(ax: Any, names: Sequence[str], longest: int = LONGEST_NAME, **style: Any) -> None:
    """Write a name beside each row of a figure, the first at the top."""
    ax.set_yticks(range(len(names)), [one_line(name, longest) for name in names], parse_math=False, **style)
    ax.set_ylim(max(len(names), 1) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)


def legend(ax: Any, handles: list[Any], texts: list[str], **options: Any) -> None:
    """Add a legend of literal texts: matplotlib would drop those that begin with ``_`` and typeset those with ``$``."""
    box = ax.legend(
        handles,
        [str(number) for number in range(len(texts))],
        fontsize=font_size_of(ax),
        framealpha=0.85,
        edgecolor="none",
        **options,
    )
    for entry, text in zip(box.get_texts(), texts, strict=True):
        entry.set_parse_math(False)
        entry.set_text(one_line(text))


def freeze(figure: Any) -> None:
    """Fix the layout as it is now, so that artists placed by pixels stay in place."""
    figure.draw_without_rendering()
    if figure.get_layout_engine() is not None:
        figure.set_layout_engine("none")


def add_note(ax: Any, note: str) -> None:
    """Write a note below the axes, wrapped to their width."""
    lines = wrapped(ax, note, 1.125 * font_size_of(ax))
    ax.set_xlabel(f"{ax.get_xlabel().rstrip()}\n{lines}".lstrip("\n"), parse_math=False)


def wrapped(ax: Any, text: str, size: float) -> str:
    """Return the text wrapped to the width of the axes, for a font of this size."""
    width = ax.get_position().width * ax.figure.figure.get_figwidth()  # in inches
    return textwrap.fill(text, max(int(72 * width / (LETTER * size)), 16), break_long_words=False)


def one_line(text: str, longest: int = LONGEST_NAME) -> str:
    """Return the text on one line, truncated if it is longer than ``longest`` characters.

    Examples
    --------
    >>> one_line("two\\nlines"), one_line("abcdefgh", 5)
    ('two lines', 'abcd…')
    """
    text = " ".join(str(text).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


class NamedMap(NamedTuple):
    """Coordinates and names of the objects of a map."""

    embedding: NDArray[np.float64]
    names: tuple[str, ...] | None


def named_map(result: Any, names: Any = None, parameter: str = "embedding") -> NamedMap:
    """Return the coordinates and names of a :class:`closerthan.Result` or of an array of coordinates.

    Examples
    --------
    >>> named_map([[0.0, 1.0]], ["a"]).names
    ('a',)
    """
    coordinates: ArrayLike = getattr(result, "embedding", result)
    if names is None:
        names = getattr(result, "names", None)
    return NamedMap(matrix_of(parameter, coordinates), None if names is None else tuple(names))


def names_of(names: Any, n_objects: int) -> list[str]:
    """Return the names of the objects, or their numbers if they have no names."""
    if names is None:
        return [str(number) for number in range(n_objects)]
    if len(names) != n_objects:
        raise ValueError(f"there are {len(names)} names for {n_objects} objects; pass one per object")
    return [str(name) for name in names]
