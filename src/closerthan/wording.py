"""Numbers as people read them."""

import html
import math
from collections.abc import Sequence

__all__ = [
    "approximate_duration",
    "counted",
    "file_size",
    "html_table",
    "listed",
    "p_number",
    "p_value",
    "percent",
    "percent_if_known",
    "percent_interval",
    "percent_range",
    "percentage_points",
]


def percent(share: float, digits: int = 1) -> str:
    """A share in per cent.

    Examples
    --------
    >>> percent(0.1234), percent(0.1, digits=0)
    ('12.3 %', '10 %')
    """
    return f"{percentage_points(share, digits)} %"


def percentage_points(share: float, digits: int = 1) -> str:
    """A share in per cent, or a difference of two, where the unit is written elsewhere.

    Examples
    --------
    >>> percentage_points(0.1234), percentage_points(0.1, digits=0)
    ('12.3', '10')
    """
    return f"{100 * share:.{digits}f}"


def percent_if_known(share: float, digits: int = 1) -> str:
    """A share in per cent; nothing where it is not known (NaN).

    Examples
    --------
    >>> percent_if_known(0.1234), percent_if_known(math.nan)
    ('12.3 %', '')
    """
    return "" if math.isnan(share) else percent(share, digits)


def percent_interval(share: float, low: float, high: float) -> str:
    """A share in per cent, with its 95 % interval.

    Examples
    --------
    >>> percent_interval(0.1, 0.066, 0.149)
    '10.0 % (95 % interval 6.6 % to 14.9 %)'
    """
    return f"{percent(share)} (95 % interval {percent(low)} to {percent(high)})"


def counted(number: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "epoch"), counted(1200, "epoch")
    ('1 epoch', '1,200 epochs')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def approximate_duration(seconds: float) -> str:
    """A duration as precise as an estimate is.

    Examples
    --------
    >>> [approximate_duration(seconds) for seconds in (0.02, 42.0, 250.0, 9_000.0)]
    ['1 second', '40 seconds', '4 minutes', '2.5 hours']
    """
    if seconds < 90:
        return counted(max(int(round(seconds, -1 if seconds >= 10 else 0)), 1), "second")
    return counted(round(seconds / 60), "minute") if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def listed(words: Sequence[str]) -> str:
    """Join words as a sentence does.

    Examples
    --------
    >>> listed(["ste"]), listed(["ste", "soe"]), listed(["ste", "soe", "ckl"])
    ('ste', 'ste and soe', 'ste, soe and ckl')
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def p_value(probability: float) -> str:
    """The p value of a test, in a sentence; a tiny one is not given exactly.

    Examples
    --------
    >>> p_value(0.0213), p_value(3e-12)
    ('p = 0.021', 'p < 0.0001')
    """
    number = p_number(probability)
    return f"p {number}" if number.startswith("<") else f"p = {number}"


def p_number(probability: float) -> str:
    """The p value of a test, in a column titled p.

    Examples
    --------
    >>> p_number(0.0213), p_number(3e-12)
    ('0.021', '< 0.0001')
    """
    return "< 0.0001" if probability < 1e-4 else f"{probability:.2g}"


def percent_range(low: float, high: float) -> str:
    """An interval in a column of percentages.

    Examples
    --------
    >>> percent_range(0.066, 0.149)
    '6.6 - 14.9'
    """
    return f"{percentage_points(low)} - {percentage_points(high)}"


def file_size(n_bytes: int) -> str:
    """The size of a file.

    Examples
    --------
    >>> file_size(16_607), file_size(3_983_700), file_size(412_000_000), file_size(812)
    ('17 kB', '4.0 MB', '412 MB', '812 bytes')
    """
    if n_bytes < 1000:
        return counted(n_bytes, "byte")
    number, unit = next(
        (n_bytes / size, unit) for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")) if n_bytes >= size
    )
    return f"{number:.1f} {unit}" if number < 10 and unit != "kB" else f"{number:.0f} {unit}"


def html_table(caption: str, titles: Sequence[str], rows: Sequence[Sequence[str]], n_rows: int | None = None) -> str:
    """Return a table for a notebook; ``n_rows`` is the number of all rows where only the first are shown.

    Examples
    --------
    >>> html_table("cities", ["name"], [["Athens"]])
    '<div><p>cities</p><table><thead><tr><th>name</th></tr></thead><tbody><tr><td>Athens</td></tr></tbody></table></div>'
    """
    head = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    more = "" if n_rows is None or n_rows <= len(rows) else f"<p>... and {n_rows - len(rows):,} more</p>"
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div><p>{html.escape(caption)}</p>{table}{more}</div>"
