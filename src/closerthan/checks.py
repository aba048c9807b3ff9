"""Checks of numbers that users give; an error names the value, the rule and the way out."""

import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

__all__ = ["distinct", "number", "positive", "whole"]


def whole(name: str, number: Any, least: int = 1) -> int:
    """A whole number of at least ``least``.

    Examples
    --------
    >>> whole("n_starts", 3)
    3
    >>> whole("n_starts", 2.5)
    Traceback (most recent call last):
    ...
    ValueError: n_starts is 2.5; it must be a whole number of at least 1
    """
    try:
        found = operator.index(number)
    except TypeError:
        found = least - 1
    if found < least:
        raise ValueError(f"{name} is {number!r}; it must be a whole number of at least {least}")
    return found


def number(name: str, given: Any, allowed: Callable[[float], bool], rule: str) -> float:
    """A number that keeps a rule.

    Examples
    --------
    >>> number("share", "a", lambda share: 0 < share < 1, "lie between 0 and 1")
    Traceback (most recent call last):
    ...
    ValueError: share is 'a'; it must be a number and lie between 0 and 1
    """
    if not isinstance(given, Real) or isinstance(given, bool):
        raise ValueError(f"{name} is {given!r}; it must be a number and {rule}")
    if not allowed(float(given)):
        raise ValueError(f"{name} is {given}; it must {rule}")
    return float(given)


def positive(**options: float | None) -> None:
    """Each option is positive and finite, or None.

    Examples
    --------
    >>> positive(step=-1.0)
    Traceback (most recent call last):
    ...
    ValueError: step is -1.0; it must be positive and finite
    """
    for name, number in options.items():
        if number is not None and not (isinstance(number, Real) and 0 < number < math.inf):
            raise ValueError(f"{name} is {number!r}; it must be positive and finite")


def distinct(names: Sequence[str], where: str = "") -> None:
    """No name occurs twice; ``where`` is what the names are from, such as a file.

    Examples
    --------
    >>> distinct(["ant", "bee", "ant"])
    Traceback (most recent call last):
    ...
    ValueError: the name 'ant' occurs twice; names must differ
    """
    if len(set(names)) < len(names):
        twice, _ = Counter(names).most_common(1)[0]
        raise ValueError(f"{where}{': ' * bool(where)}the name {twice!r} occurs twice; names must differ")
