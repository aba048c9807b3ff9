"""Trials: how an answer was given, beside what it says.

A file of a study often knows how long an answer took and on which side the chosen object was shown, and it has a line
for each answer. None of this changes a map; it tells careless answers from careful ones, and leads back to the file.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import frozen
from closerthan.checks import checked

__all__ = ["SIDES", "Trials"]

SIDES = ("left", "right")
"""What the numbers in :attr:`Trials.sides` mean; -1 is unknown."""

_NO_SIDE = -1
_SIDE = {"left": 0, "l": 0, "right": 1, "r": 1, "": _NO_SIDE}


@dataclasses.dataclass(frozen=True, eq=False)
class Trials:
    """How the answer of each row was given; what is not known is None.

    Several rows of one answer repeat its values.

    Parameters
    ----------
    times
        Seconds that the answer took; NaN where that is not known.
    sides
        The side on which the chosen object (the near one) was shown: "left" or "right", or 0 or 1; None, "" or -1
        where that is not known. Kept as 0, 1 and -1.
    lines
        The line of the file that the row is from, counted from 1.

    Examples
    --------
    >>> trials = Trials(times=[0.8, 12.5], sides=["left", "right"])
    >>> trials.take([1]).times.tolist(), trials.sides.tolist(), len(trials)
    ([12.5], [0, 1], 2)
    """

    times: Any = None
    sides: Any = None
    lines: Any = None

    def __post_init__(self) -> None:
        checks: dict[str, Callable[[Any], NDArray[Any]]] = {"times": _times, "sides": _sides, "lines": _lines}
        found = {name: check(value) for name, check in checks.items() if (value := getattr(self, name)) is not None}
        lengths = {name: len(array) for name, array in found.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"there are {_listed(lengths)}; one of each per row is needed")
        for name, array in found.items():
            object.__setattr__(self, name, frozen(array))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A pickled array loses its read-only flag.
        self.__dict__.update({name: frozen(array) for name, array in state.items()})

    def _known(self) -> dict[str, NDArray[Any]]:
        return {name: array for name, array in self.__dict__.items() if array is not None}

    def __len__(self) -> int:
        return len(next(iter(self._known().values()), ()))

    @checked
    def take(self, selection: Any) -> Self:
        """The trials at some row numbers (or a mask, or a slice)."""
        taken = object.__new__(type(self))  # all is checked already
        taken.__setstate__({name: None if array is None else array[selection] for name, array in self.__dict__.items()})
        return taken

    @checked
    def of_rows(self, n_rows: int) -> "Trials | None":
        """The same once it is known that they are as many as the rows; None if they say nothing."""
        if not self._known():
            return None
        if len(self) != n_rows:
            amounts = _listed({name: len(self) for name in self._known()})
            raise ValueError(f"there are {amounts}, but {n_rows:,} comparisons; one per row is needed")
        return self


def _listed(amounts: dict[str, int]) -> str:
    return " and ".join(f"{number:,} {name}" for name, number in amounts.items())


def _times(values: Any) -> NDArray[np.float64]:
    try:
        times = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("times are not all numbers; pass seconds, and NaN where a time is not known") from None
    _flat("times", times)
    bad = np.isinf(times) | (times < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"row {row}: the time is {times[row]:g}; times are seconds, not negative (NaN: not known)")
    return times


def _sides(values: Any) -> NDArray[np.int8]:
    sides = values if hasattr(values, "dtype") else np.fromiter(values, dtype=object, count=len(values))
    sides = np.asarray(sides)
    _flat("sides", sides)
    if sides.dtype.kind in "iu":
        numbers = sides
    else:
        numbers = np.array([_side(value) for value in sides.tolist()], dtype=np.int64)
    bad = (numbers < _NO_SIDE) | (numbers >= len(SIDES))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"row {row}: the side is {sides[row]!r}; sides are left or right, 0 or 1 (-1: not known)")
    return numbers.astype(np.int8)


def _side(value: Any) -> int:
    if isinstance(value, str):
        return _SIDE.get(value.strip().lower(), len(SIDES))
    if value is None or value != value:
        return _NO_SIDE
    return int(value) if value in (0, 1, _NO_SIDE) else len(SIDES)


def _lines(values: Any) -> NDArray[np.int32]:
    lines = np.asarray(values)
    _flat("lines", lines)
    if lines.dtype.kind not in "iu" or (lines < 1).any():
        raise ValueError("lines are not all whole numbers from 1; pass the line of the file of each row")
    return lines.astype(np.int32)


def _flat(name: str, array: NDArray[Any]) -> None:
    if array.ndim != 1:
        raise ValueError(f"{name} have shape {array.shape}; one per row is needed")
