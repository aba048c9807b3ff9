"""A matplotlib figure that notebooks display. This module imports matplotlib, so import it late."""

import io

from matplotlib.figure import Figure

__all__ = ["NotebookFigure"]


class NotebookFigure(Figure):
    """A figure with the display method that notebooks call.

    Figures that are not managed by pyplot have no such method, so a notebook would only print ``<Figure ...>``.

    Attributes
    ----------
    font_size
        Font size of names and numbers in points; the sizes of other texts are proportional to it.
    """

    font_size: float = 8.0

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=self.dpi)
        return file.getvalue()
