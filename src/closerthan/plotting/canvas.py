"""Canvas: an empty figure in the style of all figures here, and text that is drawn as it is."""

from typing import Any

INK = "#222222"
FAINT = "#d9d9d9"
LONGEST_NAME = 40


def canvas(ax: Any, size: tuple[float, float], *, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    """The figure and its axes: those of ``ax`` if given, otherwise new ones."""
    if ax is not None:
        return ax.figure.figure, ax
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=120, layout="constrained")
    return figure, figure.subplots(rows, columns)


def tidy(ax: Any, *, title: str | None = None, x: str = "", y: str = "", grid: bool = True) -> None:
    """Quiet axes: no box, a faint grid, and texts that are taken literally."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(which="both", colors="#555555", labelsize=8)
    ax.set_xlabel(x, color=INK, fontsize=9, parse_math=False)
    ax.set_ylabel(y, color=INK, fontsize=9, parse_math=False)
    if grid:
        ax.grid(color=FAINT, linewidth=0.5)
        ax.set_axisbelow(True)
    if title is not None:
        ax.set_title(one_line(title, 90), color=INK, fontsize=11, loc="left", parse_math=False)


def legend(ax: Any, handles: list[Any], texts: list[str], **options: Any) -> None:
    """A legend of literal texts: matplotlib would drop those that begin with ``_`` and typeset those with ``$``."""
    made = ax.legend(
        handles, [str(number) for number in range(len(texts))], fontsize=8, framealpha=0.85, edgecolor="none", **options
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
    """Write a line under the axes, where it hides nothing."""
    ax.set_xlabel(f"{ax.get_xlabel().rstrip()}\n{note}".lstrip("\n"), parse_math=False)


def one_line(text: str, longest: int = LONGEST_NAME) -> str:
    """The text without line breaks, and cut where it is too long to draw.

    Examples
    --------
    >>> one_line("two\\nlines"), one_line("abcdefgh", 5)
    ('two lines', 'abcd…')
    """
    text = " ".join(str(text).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def names_of(names: Any, n_objects: int) -> list[str]:
    """The objects' names; their numbers if they have none."""
    if names is None:
        return [str(number) for number in range(n_objects)]
    if len(names) != n_objects:
        raise ValueError(f"there are {len(names)} names for {n_objects} objects; pass one per object")
    return [str(name) for name in names]
