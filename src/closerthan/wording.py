"""Numbers, lists and tables formatted for people to read."""

import html
import math
from collections.abc import Mapping, Sequence

__all__ = [
    "approximate_duration",
    "counted",
    "counts_in_words",
    "file_size",
    "first_few",
    "html_table",
    "joined",
    "listed",
    "p_number",
    "p_value",
    "percent",
    "percent_if_known",
    "percent_interval",
    "percent_range",
    "percentage_points",
]


def percent(fraction: float, digits: int = 1) -> str:
    """Format a fraction as a percentage.

    Examples
    --------
    >>> percent(0.1234), percent(0.1, digits=0)
    ('12.3 %', '10 %')
    """
    return f"{percentage_points(fraction, digits)} %"


def percentage_points(fraction: float, digits: int = 1) -> str:
    """Format a fraction, or a difference of fractions, in percent but without the percent sign.

    Examples
    --------
    >>> percentage_points(0.1234), percentage_points(0.1, digits=0)
    ('12.3', '10')
    """
    return f"{100 * fraction:.{digits}f}"


def percent_if_known(fraction: float, digits: int = 1) -> str:
    """Format a fraction as a percentage; an unknown one (NaN) as empty text.

    Examples
    --------
    >>> percent_if_known(0.1234), percent_if_known(math.nan)
    ('12.3 %', '')
    """
    return "" if math.isnan(fraction) else percent(fraction, digits)


def percent_interval(fraction: float, low: float, high: float) -> str:
    """Format a fraction as a percentage with its 95 % interval.

    Examples
    --------
    >>> percent_interval(0.1, 0.066, 0.149)
    '10.0 % (95 % interval 6.6 % to 14.9 %)'
    """
    return f"{percent(fraction)} (95 % interval {percent(low)} to {percent(high)})"


def counted(number: int, noun: str) -> str:
    """Format a number with a noun, in the plural unless the number is 1.

    Examples
    --------
    >>> counted(1, "epoch"), counted(1200, "epoch")
    ('1 epoch', '1,200 epochs')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def counts_in_words(counts: Mapping[str, int]) -> str:
    """Return numbers in words, by names such as those of reasons for which rows were dropped.

    Examples
    --------
    >>> counts_in_words({"ties": 3, "self_pairs": 1, "excluded_by_where": 2})
    '3 ties, 1 self pair, 2 excluded by where'
    """
    words = [(number, name.replace("_", " ")) for name, number in counts.items()]
    return ", ".join(
        counted(number, name.removesuffix("s")) if name.endswith("s") else f"{number:,} {name}"
        for number, name in words
    )


def approximate_duration(seconds: float) -> str:
    """Format an estimated duration, rounded to a sensible precision.

    Examples
    --------
    >>> [approximate_duration(seconds) for seconds in (0.02, 42.0, 250.0, 9_000.0)]
    ['1 second', '40 seconds', '4 minutes', '2.5 hours']
    """
    if seconds < 90:
        return counted(max(int(round(seconds, -1 if seconds >= 10 else 0)), 1), "second")
    return counted(round(seconds / 60), "minute") if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def listed(words: Sequence[str]) -> str:
    """Join words by commas and "and".

    Examples
    --------
    >>> listed(["ste"]), listed(["ste", "soe"]), listed(["ste", "soe", "ckl"])
    ('ste', 'ste and soe', 'ste, soe and ckl')
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def p_value(probability: float) -> str:
    """Format a p value for a sentence; a tiny one is given as a bound.

    Examples
    --------
    >>> p_value(0.0213), p_value(3e-12)
    ('p = 0.021', 'p < 0.0001')
    """
    number = p_number(probability)
    return f"p {number}" if number.startswith("<") else f"p = {number}"


def p_number(probability: float) -> str:
    """Format a p value for a column titled p.

    Examples
    --------
    >>> p_number(0.0213), p_number(3e-12)
    ('0.021', '< 0.0001')
    """
    return "< 0.0001" if probability < 1e-4 else f"{probability:.2g}"


def percent_range(low: float, high: float) -> str:
    """Format an interval for a column of percentages.

    Examples
    --------
    >>> percent_range(0.066, 0.149)
    '6.6 - 14.9'
    """
    return f"{percentage_points(low)} - {percentage_points(high)}"


def file_size(n_bytes: int) -> str:
    """Format the size of a file.

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


def joined(words: Sequence[str]) -> str:
    """Join words by commas, or by semicolons if some have commas.

    Examples
    --------
    >>> joined(["ant", "bee"]), joined(["ant, red", "bee"])
    ('ant, bee', 'ant, red; bee')
    """
    return ("; " if any("," in word for word in words) else ", ").join(words)


def first_few(words: Sequence[str], most: int) -> str:
    """Join the first words, at most ``most`` of them, and state how many others there are.

    Examples
    --------
    >>> first_few(["ant", "bee"], 2), first_few(["ant", "bee", "cat", "dog"], 2)
    ('ant, bee', 'ant, bee and 2 more')
    """
    more = len(words) - most
    return joined(words[:most]) + (f" and {more:,} more" if more > 0 else "")


def html_table(caption: str, titles: Sequence[str], rows: Sequence[Sequence[str]], n_rows: int | None = None) -> str:
    """Return a table for a notebook; ``n_rows`` is the total number of rows if only the first are shown.

    Examples
    --------
    >>> html_table("cities", ["name"], [["Athens"]])
    '<div><p>cities</p><table><thead><tr><th>name</th></tr></thead><tbody><tr><td>Athens</td></tr></tbody></table></div>'
    """
    head = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    more = "" if n_rows is None or n_rows <= len(rows) else f"<p>... and {n_rows - len(rows):,} more</p>"
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    title = f"<p>{html.escape(caption)}</p>" if caption else ""
    return f"<div>{title}{table}{more}</div>"
