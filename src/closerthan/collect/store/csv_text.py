"""Lines of CSV files."""

import csv
import io
from collections.abc import Sequence
from typing import Any

__all__ = ["csv_line", "spreadsheet_safe"]


def csv_line(cells: Sequence[Any]) -> str:
    """Return a line of a CSV file; None is an empty cell.

    Examples
    --------
    >>> csv_line(["a", None, "b, c", 1.5])
    'a,,"b, c",1.5\\n'
    """
    text = io.StringIO()
    # Before Python 3.13, a carriage return is quoted only if it is part of the line terminator.
    csv.writer(text, lineterminator="\r\n").writerow(["" if cell is None else cell for cell in cells])
    return text.getvalue().removesuffix("\r\n") + "\n"


def spreadsheet_safe(text: str) -> str:
    """Return a text from outside, with an apostrophe in front if a spreadsheet would take it for a formula.

    Examples
    --------
    >>> spreadsheet_safe("=HYPERLINK(1)"), spreadsheet_safe("5f3a")
    ("'=HYPERLINK(1)", '5f3a')
    """
    return f"'{text}" if text.lstrip().startswith(("=", "+", "-", "@")) or text[:1] in ("\t", "\r", "\n") else text
