"""A matplotlib figure that shows itself in a notebook. Imports matplotlib, so import this module late."""

import io

from matplotlib.figure import Figure

__all__ = ["NotebookFigure"]


class NotebookFigure(Figure):
    """A figure with the display method that notebooks look for.

    Figures that do not belong to pyplot have none of their own, so that a notebook would print ``<Figure ...>``.

    Attributes
    ----------
    font_size
        Size of names and numbers in points; other texts are in proportion to it.
    """

    font_size: float = 8.0

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=self.dpi)
        return file.getvalue()
