"""Convert the labels of objects in a file to object numbers, which start at 0."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.checks import distinct, one_per_object
from closerthan.comparisons import most_objects
from closerthan.files.formats.tables import abbreviated
from closerthan.messages import Message, Suggested

NUMBERINGS = ("0-based", "1-based", "names")
"""How labels in a file can refer to objects: by numbers from 0, by numbers from 1, or by names."""

_WHOLE = re.compile(r"[+-]?\d{1,18}(\.0*)?")
_LONG = re.compile(r"[+-]?\d{19,}(\.0*)?")  # too long for 64 bits, so not an object number
_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_LIMIT = np.iinfo(np.int32).max
_CODE = re.compile(r"0\d+")


class BadLabelError(ValueError):
    """A label that is inconsistent with the others; the attribute ``label`` helps to find its line."""

    def __init__(self, label: str, problem: str, way_out: str = "", **arguments: Suggested) -> None:
        super().__init__(Message(problem, way_out, **arguments) if way_out else problem)
        self.label = label


class Numbering(NamedTuple):
    """Object numbers of labels.

    Attributes
    ----------
    numbers
        Object number of each label.
    n_objects, names
        Number of objects, and their names or None.
    numbering, reason
        One of :data:`NUMBERINGS`, and how it was determined.
    """

    numbers: NDArray[np.int32]
    n_objects: int
    names: tuple[str, ...] | None
    numbering: str
    reason: str


def number_objects(
    labels: Sequence[str],
    numbering: str | None = None,
    names: Sequence[str] | None = None,
    n_objects: int | None = None,
) -> Numbering:
    """Assign an object number to each label.

    Labels that are all whole numbers count from 0 if one of them is 0, and from 1 if the lowest is 1; in the second
    case the number in the file becomes the name of the object. Whole numbers are treated as names if they start
    higher, if more than half of the range is unused, or if they have leading zeros. Other labels are names, in
    alphabetical order unless ``names`` specifies another order.

    Examples
    --------
    >>> number_objects(["3", "1", "2"])
    Numbering(numbers=array([2, 0, 1], dtype=int32), n_objects=3, names=('1', '2', '3'), numbering='1-based', reason='the lowest number is 1')
    >>> number_objects(["pear", "apple", "fig"]).names
    ('apple', 'fig', 'pear')
    """  # noqa: E501
    if numbering is not None and numbering not in NUMBERINGS:
        raise ValueError(f"unknown numbering {numbering!r}; choose from: {', '.join(NUMBERINGS)}")
    names = None if names is None else [str(name) for name in names]
    reason = "as requested"
    if numbering in NUMBERINGS[:2] and names is not None and not any(_WHOLE.fullmatch(label) for label in labels):
        numbering, reason = "names", "they are not numbers"
    if numbering is None:
        numbering, reason = _detect(labels, names, n_objects)
    if numbering == "names":
        return _by_name(labels, names, n_objects, reason)
    return _by_number(labels, 1 if numbering == "1-based" else 0, names, n_objects, reason)


def _whole(label: str) -> int:
    return int(label.partition(".")[0])


def _plain_integers(labels: Sequence[str]) -> NDArray[np.int64] | None:
    """Convert labels that consist of digits only, which is much faster than matching each; None if some do not."""
    text = "".join(labels)
    if not (text.isascii() and text.isdecimal() and min(map(len, labels)) > 0 and max(map(len, labels)) <= 18):
        return None
    return np.fromiter(map(int, labels), np.int64, len(labels))


def _detect(labels: Sequence[str], names: Sequence[str] | None, n_objects: int | None) -> tuple[str, str]:
    if names is not None and set(labels) <= set(names):
        return "names", "all of them are among the names that were passed"
    plain = _plain_integers(labels)
    whole = [True] * len(labels) if plain is not None else [_WHOLE.fullmatch(name) is not None for name in labels]
    if not all(whole):
        if all(is_whole or _LONG.fullmatch(name) for is_whole, name in zip(whole, labels, strict=True)):
            return "names", "some are numbers of more than 18 digits"
        if any(whole):
            other = labels[whole.index(False)]
            raise BadLabelError(
                other,
                f"{other!r} is not a whole number, but other objects are",
                "pass {numbering} if all are names",
                numbering="names",
            )
        decimal = next((name for name in labels if _DECIMAL.fullmatch(name)), None)
        if decimal is not None:
            raise BadLabelError(
                decimal,
                f"{decimal!r} is not a whole number",
                "objects are names or whole numbers ({numbering} treats it as a name)",
                numbering="names",
            )
        return "names", "they are not numbers"
    if any(name[0] == "0" and _CODE.fullmatch(name) for name in labels):
        return "names", "they are numbers with leading zeros"
    values = np.array([_whole(name) for name in labels]) if plain is None else plain
    lowest, highest = int(values.min()), int(values.max())
    if lowest < 0:
        negative = labels[int(values.argmin())]
        raise BadLabelError(
            negative,
            f"object {negative} is negative; objects are numbered from 0 or 1",
            "pass {numbering} if they are names",
            numbering="names",
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


def _by_name(labels: Sequence[str], names: Sequence[str] | None, n_objects: int | None, reason: str) -> Numbering:
    if names is None:
        if all(_WHOLE.fullmatch(name) for name in labels):
            names = sorted(labels, key=lambda name: (float(name), name))
        else:
            names = sorted(labels)
    one_per_object(names, n_objects)
    position_of = {name: position for position, name in enumerate(names)}
    distinct(names)
    unknown = [name for name in labels if name not in position_of]
    if unknown:
        examples = abbreviated([repr(name) for name in unknown[:4]], 3)
        verb = "is" if len(unknown) == 1 else "are"
        raise BadLabelError(
            unknown[0],
            f"{examples} {verb} not among the {len(names)} names that were passed, such as {names[0]!r}; leave "
            "such answers out, or correct the names",
        )
    numbers = np.array([position_of[name] for name in labels], dtype=np.int32)
    return Numbering(numbers, len(names), tuple(names), "names", reason)


def _by_number(
    labels: Sequence[str], first: int, names: Sequence[str] | None, n_objects: int | None, reason: str
) -> Numbering:
    one_per_object(names, n_objects)
    size = n_objects if names is None else len(names)
    plain = _plain_integers(labels)
    highest = _LIMIT if size is None else min(size, _LIMIT)
    in_range = plain is not None and plain.min() >= first and plain.max() - first < highest
    numbers = (plain - first).tolist() if plain is not None and in_range else []
    for name in () if in_range else labels:
        if not _WHOLE.fullmatch(name):
            problem = f"{name!r} is not a whole number, but the objects are numbered from {first}"
            if names is not None:
                raise BadLabelError(name, problem)
            raise BadLabelError(name, problem, "pass {names} to name them", names=...)
        number = _whole(name) - first
        if number < 0:
            raise BadLabelError(name, f"object {name} is below {first}, but the objects are numbered from {first}")
        if size is not None and number >= size:
            raise BadLabelError(name, f"object {name} is too large for {size} objects that are numbered from {first}")
        if number >= _LIMIT:
            problem = f"object {name} is too large for an object number"
            raise BadLabelError(name, problem, "pass {numbering}", numbering="names")
        numbers.append(number)
    if size is None:
        size = max(numbers) + 1
        if size > most_objects(len(numbers)):
            largest = labels[int(np.argmax(numbers))]
            raise BadLabelError(
                largest,
                f"object {largest} implies a map of {size:,} objects, of which only {len(numbers):,} occur",
                "if the numbers are names, pass {numbering}; otherwise pass {n_objects}",
                numbering="names",
                n_objects=size,
            )
    if names is None and first == 1:
        names = [str(number) for number in range(1, size + 1)]
    return Numbering(np.array(numbers, dtype=np.int32), size, None if names is None else tuple(names),
                     f"{first}-based", reason)  # fmt: skip
