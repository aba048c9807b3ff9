"""Numbering: from the labels in a file to object numbers, which start at 0."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.checks import distinct
from closerthan.comparisons import most_objects

NUMBERINGS = ("0-based", "1-based", "names")
"""What the labels in a file can be: numbers from 0, numbers from 1, or names."""

_WHOLE = re.compile(r"[+-]?\d{1,18}(\.0*)?")
_LONG = re.compile(r"[+-]?\d{19,}(\.0*)?")  # beyond 64 bits: nothing that was counted
_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_LIMIT = np.iinfo(np.int32).max
_CODE = re.compile(r"0\d+")


class BadLabelError(ValueError):
    """A label that does not fit the others; ``label`` is the label, so that its line can be found."""

    def __init__(self, label: str, problem: str) -> None:
        super().__init__(problem)
        self.label = label


class Numbered(NamedTuple):
    """Object numbers of labels: ``numbers[code]``, how many objects there are, and what they are called.

    ``numbering`` is one of :data:`NUMBERINGS`, ``why`` how that was decided.
    """

    numbers: NDArray[np.int32]
    n_objects: int
    names: tuple[str, ...] | None
    numbering: str
    why: str


def numbered(
    labels: Sequence[str],
    numbering: str | None = None,
    names: Sequence[str] | None = None,
    n_objects: int | None = None,
) -> Numbered:
    """Give each label a number.

    Labels that are all whole numbers are numbers from 0 if one of them is 0, and numbers from 1 if the lowest is 1;
    in the second case objects keep their number in the file as their name. Whole numbers are names if they start
    higher, if more than half of them are unused, or if they have leading zeros. Other labels are names, in
    alphabetical order unless ``names`` gives another.

    Examples
    --------
    >>> numbered(["3", "1", "2"])
    Numbered(numbers=array([2, 0, 1], dtype=int32), n_objects=3, names=('1', '2', '3'), numbering='1-based', why='the lowest number is 1')
    >>> numbered(["pear", "apple", "fig"]).names
    ('apple', 'fig', 'pear')
    """  # noqa: E501
    if numbering is not None and numbering not in NUMBERINGS:
        raise ValueError(f"unknown numbering {numbering!r}; known are: {', '.join(NUMBERINGS)}")
    given = None if names is None else [str(name) for name in names]
    why = "as asked"
    if numbering is None:
        numbering, why = _found(labels, given, n_objects)
    if numbering == "names":
        return _by_name(labels, given, n_objects, why)
    return _by_number(labels, 1 if numbering == "1-based" else 0, given, n_objects, why)


def _whole(label: str) -> int:
    return int(label.partition(".")[0])


def _digits_alone(labels: Sequence[str]) -> NDArray[np.int64] | None:
    """The labels as numbers, if all are plain digits: much faster than one by one."""
    text = "".join(labels)
    if not (text.isascii() and text.isdecimal() and min(map(len, labels)) > 0 and max(map(len, labels)) <= 18):
        return None
    return np.fromiter(map(int, labels), np.int64, len(labels))


def _found(labels: Sequence[str], names: Sequence[str] | None, n_objects: int | None) -> tuple[str, str]:
    if names is not None and set(labels) <= set(names):
        return "names", "all are among the given names"
    plain = _digits_alone(labels)
    whole = [True] * len(labels) if plain is not None else [_WHOLE.fullmatch(name) is not None for name in labels]
    if not all(whole):
        if all(is_whole or _LONG.fullmatch(name) for is_whole, name in zip(whole, labels, strict=True)):
            return "names", "some are numbers of more than 18 digits"
        if any(whole):
            odd = labels[whole.index(False)]
            raise BadLabelError(
                odd, f'{odd!r} is not a whole number, but other objects are; pass numbering="names" if all are names'
            )
        decimal = next((name for name in labels if _DECIMAL.fullmatch(name)), None)
        if decimal is not None:
            raise BadLabelError(
                decimal, f'{decimal!r} is not a whole number; objects are names or whole numbers (numbering="names" '
                "takes it as a name)",
            )  # fmt: skip
        return "names", "they are not numbers"
    if any(name[0] == "0" and _CODE.fullmatch(name) for name in labels):
        return "names", "they are numbers with leading zeros"
    values = np.array([_whole(name) for name in labels]) if plain is None else plain
    lowest, highest = int(values.min()), int(values.max())
    if lowest < 0:
        negative = labels[int(values.argmin())]
        raise BadLabelError(
            negative, f'object {negative} is negative; objects are numbered from 0 or 1, or numbering="names"'
        )
    if names is None and n_objects is None:
        if lowest > 1:
            return "names", f"the numbers start at {lowest}, not at 0 or 1"
        possible = highest - lowest + 1
        if 2 * len(set(values.tolist())) < possible:
            return "names", f"only {len(set(values.tolist())):,} of the numbers {lowest} to {highest:,} occur"
    if lowest == 0:
        return "0-based", "one of the numbers is 0"
    return "1-based", f"the lowest number is {lowest}"


def _by_name(labels: Sequence[str], names: Sequence[str] | None, n_objects: int | None, why: str) -> Numbered:
    if names is None:
        if all(_WHOLE.fullmatch(name) for name in labels):
            names = sorted(labels, key=lambda name: (float(name), name))
        else:
            names = sorted(labels)
    if n_objects not in (None, len(names)):
        raise ValueError(f"n_objects is {n_objects}, but there are {len(names)} names; they must agree")
    number = {name: position for position, name in enumerate(names)}
    distinct(names)
    strange = [name for name in labels if name not in number]
    if strange:
        few = ", ".join([*map(repr, strange[:3]), *["..."] * (len(strange) > 3)])
        are = "is" if len(strange) == 1 else "are"
        raise BadLabelError(
            strange[0],
            f"{few} {are} not among the {len(names)} given names, such as {names[0]!r}; leave such answers out, or "
            "correct the names",
        )
    numbers = np.array([number[name] for name in labels], dtype=np.int32)
    return Numbered(numbers, len(names), tuple(names), "names", why)


def _by_number(
    labels: Sequence[str], first: int, names: Sequence[str] | None, n_objects: int | None, why: str
) -> Numbered:
    if names is not None and n_objects not in (None, len(names)):
        raise ValueError(f"n_objects is {n_objects}, but there are {len(names)} names; they must agree")
    counted = n_objects if names is None else len(names)
    plain = _digits_alone(labels)
    highest = _LIMIT if counted is None else min(counted, _LIMIT)
    quick = plain is not None and plain.min() >= first and plain.max() - first < highest
    numbers = (plain - first).tolist() if plain is not None and quick else []
    for name in () if quick else labels:
        if not _WHOLE.fullmatch(name):
            raise BadLabelError(
                name,
                f"{name!r} is not a whole number, but the objects are numbered from {first}; pass names= to say what "
                "they are called",
            )
        number = _whole(name) - first
        if number < 0:
            raise BadLabelError(name, f"object {name} is below {first}, but the objects are numbered from {first}")
        if counted is not None and number >= counted:
            raise BadLabelError(
                name, f"object {name} is too large for {counted} objects that are numbered from {first}"
            )
        if number >= _LIMIT:
            raise BadLabelError(name, f'object {name} is too large for a number; pass numbering="names"')
        numbers.append(number)
    if counted is None:
        counted = max(numbers) + 1
        if counted > most_objects(len(numbers)):
            largest = labels[int(np.argmax(numbers))]
            raise BadLabelError(
                largest,
                f"object {largest} would make a map of {counted:,} objects, of which {len(numbers):,} occur; "
                f'such numbers are names: pass numbering="names", or n_objects={counted} if you mean it',
            )
    if names is None and first == 1:
        names = [str(number) for number in range(1, counted + 1)]
    return Numbered(np.array(numbers, dtype=np.int32), counted, None if names is None else tuple(names),
                    f"{first}-based", why)  # fmt: skip
