"""Lines of CSV files."""

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

__all__ = ["csv_line", "spreadsheet_safe"]

# Where commas are decimal points, spreadsheets separate cells at semicolons, whether or not they are quoted. Full-width
# signs begin a formula, too.
_FORMULA = re.compile(r"(^|[;\t\n]|\r(?!\n))(?=\s*[=+\-@＝＋－＠])|^(?=[\t\r\n])")


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
    """Return a text from outside, with an apostrophe before each part that a spreadsheet would take for a formula.

    Examples
    --------
    >>> spreadsheet_safe("=HYPERLINK(1)"), spreadsheet_safe("a;=1"), spreadsheet_safe("5f3a")
    ("'=HYPERLINK(1)", "a;'=1", '5f3a')
    """
    return _FORMULA.sub(r"\1'", text)
