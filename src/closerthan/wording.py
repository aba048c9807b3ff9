"""Numbers as people read them."""

import math

__all__ = ["counted", "file_size", "percent", "percent_if_known", "percent_interval", "percentage_points"]


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
