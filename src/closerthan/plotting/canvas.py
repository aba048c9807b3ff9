"""Canvas: an empty figure in the style of all figures here, and text that is drawn as it is."""

import os
import reprlib
import textwrap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.geometry import matrix_of

FONT_SIZE = 8.0  # points, of names and numbers in a figure of the usual width
LETTER = 0.52  # mean width of a letter, in units of the font size
INK = "#222222"
FAINT = "#d9d9d9"
LONGEST_NAME = 40


def check_backend() -> None:
    """Raise an error that names MPLBACKEND if matplotlib refuses it: it would refuse to be imported at all."""
    backend = os.environ.get("MPLBACKEND")
    if backend:
        try:
            import matplotlib  # noqa: F401
        except ValueError:
            raise ValueError(
                f"the environment variable MPLBACKEND is {backend!r}, which matplotlib does not know; unset it"
            ) from None


def check_returned(name: str, value: Any, attribute: str, function: str) -> None:
    """Raise an error unless an argument has an attribute of what a function of the package returns.

    Examples
    --------
    >>> check_returned("curve", 5, "ceilings", "learning_curve")
    Traceback (most recent call last):
    ...
    ValueError: curve is 5; it must be what closerthan.learning_curve returned
    """
    if not hasattr(value, attribute):
        text = " ".join(reprlib.repr(value).split())
        raise ValueError(f"{name} is {text}; it must be what closerthan.{function} returned")


def canvas(
    ax: Any, size: tuple[float, float], *, rows: int = 1, columns: int = 1, font_size: float | None = None
) -> tuple[Any, Any]:
    """Return a figure and its axes: those of ``ax`` if given, otherwise new ones, which notebooks can show."""
    if ax is not None:
        if not hasattr(ax, "get_xlabel"):
            raise ValueError(f"ax is {ax!r}; it must be matplotlib Axes or None")
        return ax.figure.figure, ax
    check_backend()
    from closerthan.plotting.figure import NotebookFigure

    figure = NotebookFigure(figsize=size, dpi=120, layout="constrained")
    figure.font_size = font_size or FONT_SIZE
    return figure, figure.subplots(rows, columns)


def font_size_of(ax: Any) -> float:
    """Return the size of names and numbers in points; other texts are in proportion to it."""
    return float(getattr(ax.figure.figure, "font_size", FONT_SIZE))


def tidy(ax: Any, *, title: str | None = None, x: str = "", y: str = "", grid: bool = True) -> None:
    """Quiet axes: no box, a faint grid, and texts that are taken literally."""
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


def legend(ax: Any, handles: list[Any], texts: list[str], **options: Any) -> None:
    """A legend of literal texts: matplotlib would drop those that begin with ``_`` and typeset those with ``$``."""
    made = ax.legend(
        handles,
        [str(number) for number in range(len(texts))],
        fontsize=font_size_of(ax),
        framealpha=0.85,
        edgecolor="none",
        **options,
    )
    for shown, text in zip(made.get_texts(), texts, strict=True):
        shown.set_parse_math(False)
        shown.set_text(one_line(text))


def freeze(figure: Any) -> None:
    """Keep the layout as it is now, so that what was placed by pixels stays in place."""
    figure.draw_without_rendering()
    if figure.get_layout_engine() is not None:
        figure.set_layout_engine("none")


def add_note(ax: Any, note: str) -> None:
    """Write a note under the axes, where it hides nothing, on as many lines as it needs."""
    lines = wrapped(ax, note, 1.125 * font_size_of(ax))
    ax.set_xlabel(f"{ax.get_xlabel().rstrip()}\n{lines}".lstrip("\n"), parse_math=False)


def wrapped(ax: Any, text: str, size: float) -> str:
    """Return the text on as many lines as a text of this font size needs below or above the axes."""
    width = ax.get_position().width * ax.figure.figure.get_figwidth()  # in inches
    return textwrap.fill(text, max(int(72 * width / (LETTER * size)), 16), break_long_words=False)


def one_line(text: str, longest: int = LONGEST_NAME) -> str:
    """The text without line breaks, and cut where it is too long to draw.

    Examples
    --------
    >>> one_line("two\\nlines"), one_line("abcdefgh", 5)
    ('two lines', 'abcd…')
    """
    text = " ".join(str(text).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


class DrawnMap(NamedTuple):
    """What is drawn of a map."""

    embedding: NDArray[np.float64]
    names: tuple[str, ...] | None


def drawn_map(result: Any, names: Any = None, parameter: str = "embedding") -> DrawnMap:
    """Return coordinates and names of a :class:`closerthan.Result`, or of an array of coordinates.

    Examples
    --------
    >>> drawn_map([[0.0, 1.0]], ["a"]).names
    ('a',)
    """
    coordinates: ArrayLike = getattr(result, "embedding", result)
    if names is None:
        names = getattr(result, "names", None)
    return DrawnMap(matrix_of(parameter, coordinates), None if names is None else tuple(names))


def names_of(names: Any, n_objects: int) -> list[str]:
    """The objects' names; their numbers if they have none."""
    if names is None:
        return [str(number) for number in range(n_objects)]
    if len(names) != n_objects:
        raise ValueError(f"there are {len(names)} names for {n_objects} objects; pass one per object")
    return [str(name) for name in names]
