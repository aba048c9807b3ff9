"""Trials: the circumstances of each answer.

The file of a study often records how long an answer took and where on the screen the objects were shown. None of this
affects a map; it helps to tell careless answers from careful ones, and to separate what people saw from where they saw
it (:func:`closerthan.answer_effects`). It may also record which questions were drawn at random: only these show how
well a map predicts arbitrary questions. The line numbers locate each row in its file.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import frozen
from closerthan.checks import checked
from closerthan.representation import shows_fields
from closerthan.signatures import readable

__all__ = ["SIDES", "Trials"]

SIDES = ("left", "right")
"""Meaning of the numbers in :attr:`Trials.sides`; -1 is unknown."""

UNKNOWN = -1  # position of an object that was not recorded
_SIDE = {"left": 0, "l": 0, "right": 1, "r": 1, "": UNKNOWN}


@shows_fields
@readable
@dataclasses.dataclass(frozen=True, eq=False, init=False)
class Trials:
    """Circumstances of the answer of each row; None for those that were not recorded.

    The rows of one answer repeat its values.

    Parameters
    ----------
    times
        Response times in seconds; NaN where unknown.
    sides
        Where two objects were shown beside each other, the sides of the chosen (near) ones: "left" or "right", or 0 or
        1; None, "" or -1 where unknown. It is short for positions.
    lines
        Lines of the file that the rows are from, counted from 1.
    random
        Whether each question was drawn at random: False for questions that were chosen by their expected information,
        for example, or repeated.
    positions
        (n_rows, 2) positions of the near and the far object among the options on the screen, counted from 0; -1 where
        unknown. In a quadruplet, they are those of the two pairs.

    Examples
    --------
    >>> trials = Trials(times=[0.8, 12.5], sides=["left", "right"])
    >>> trials.take([1]).times.tolist(), trials.sides.tolist(), len(trials)
    ([12.5], [0, 1], 2)
    >>> trials.positions.tolist()
    [[0, 1], [1, 0]]
    """

    times: Any = None
    lines: Any = None
    random: Any = None
    positions: Any = None

    def __init__(
        self, times: Any = None, sides: Any = None, lines: Any = None, random: Any = None, positions: Any = None
    ) -> None:
        if sides is not None and positions is not None:
            raise ValueError("sides and positions contain the same information; pass only one of them")
        values = {"times": times, "sides": sides, "lines": lines, "random": random, "positions": positions}
        checks: dict[str, Callable[[Any], NDArray[Any]]] = {
            "times": _times, "sides": _sides, "lines": _lines, "random": _random, "positions": _positions,
        }  # fmt: skip
        arrays = {name: check(values[name]) for name, check in checks.items() if values[name] is not None}
        lengths = {name: len(array) for name, array in arrays.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"there are {_listed(lengths)}; one of each per row is needed")
        if (near := arrays.pop("sides", None)) is not None:
            arrays["positions"] = np.stack([near, np.where(near == UNKNOWN, UNKNOWN, 1 - near)], axis=1).astype(np.int8)
        for field in dataclasses.fields(self):
            array = arrays.get(field.name)
            object.__setattr__(self, field.name, None if array is None else frozen(array))

    @property
    def sides(self) -> NDArray[np.int8] | None:
        """Side of the near object of each row: 0 left, 1 right, -1 unknown; None if more than two objects are options.

        Examples
        --------
        >>> Trials(positions=[[0, 2], [1, 2]]).sides is None
        True
        """
        if self.positions is None or self.positions.max(initial=0) >= len(SIDES):
            return None
        return np.asarray(self.positions[:, 0])

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A pickled array loses its read-only flag.
        self.__dict__.update({name: frozen(array) for name, array in state.items()})

    def _recorded(self) -> dict[str, NDArray[Any]]:
        return {name: array for name, array in self.__dict__.items() if array is not None}

    def __len__(self) -> int:
        return len(next(iter(self._recorded().values()), ()))

    @checked
    def take(self, selection: Any) -> Self:
        """Return the trials at some row numbers (or by a mask or a slice)."""
        part = object.__new__(type(self))  # the arrays are already checked
        part.__setstate__({name: None if array is None else array[selection] for name, array in self.__dict__.items()})
        return part

    @checked
    def of_rows(self, n_rows: int) -> "Trials | None":
        """Check that there is one trial per row, and return the trials; None if nothing was recorded."""
        if not self._recorded():
            return None
        if len(self) != n_rows:
            amounts = _listed({name: len(self) for name in self._recorded()})
            raise ValueError(f"there are {amounts}, but {n_rows:,} comparisons; one per row is needed")
        return self


def _listed(amounts: dict[str, int]) -> str:
    return " and ".join(f"{number:,} {name}" for name, number in amounts.items())


def _times(values: Any) -> NDArray[np.float64]:
    try:
        times = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("times are not all numbers; pass seconds, and NaN where a time is unknown") from None
    _flat("times", times)
    bad = np.isinf(times) | (times < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"row {row}: the time is {times[row]:g}; times are in seconds and not negative (NaN: unknown)")
    return times


def _sides(values: Any) -> NDArray[np.int8]:
    sides = values if hasattr(values, "dtype") else np.fromiter(values, dtype=object, count=len(values))
    sides = np.asarray(sides)
    _flat("sides", sides)
    if sides.dtype.kind in "iu":
        numbers = sides
    else:
        numbers = np.array([_side(value) for value in sides.tolist()], dtype=np.int64)
    bad = (numbers < UNKNOWN) | (numbers >= len(SIDES))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"row {row}: the side is {sides[row]!r}; sides are left or right, 0 or 1 (-1: unknown)")
    return numbers.astype(np.int8)


def _side(value: Any) -> int:
    if isinstance(value, str):
        return _SIDE.get(value.strip().lower(), len(SIDES))
    if value is None or value != value:
        return UNKNOWN
    return int(value) if value in (0, 1, UNKNOWN) else len(SIDES)


def _positions(values: Any) -> NDArray[np.int8]:
    positions = np.asarray(values)
    if positions.ndim != 2 or positions.shape[1] != 2:
        raise ValueError(f"positions have shape {positions.shape}; those of the near and the far object are needed")
    largest = np.iinfo(np.int8).max
    if positions.dtype.kind not in "iu" or ((positions < UNKNOWN) | (positions > largest)).any():
        raise ValueError(f"positions are not all whole numbers from 0 to {largest} (-1: unknown)")
    bad = (positions[:, 0] == positions[:, 1]) & (positions[:, 0] != UNKNOWN)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"row {row}: both objects are at position {positions[row, 0]}; their positions must differ")
    return positions.astype(np.int8)


def _lines(values: Any) -> NDArray[np.int32]:
    lines = np.asarray(values)
    _flat("lines", lines)
    if lines.dtype.kind not in "iu" or (lines < 1).any():
        raise ValueError("lines are not all whole numbers from 1; pass the line of the file of each row")
    return lines.astype(np.int32)


def _random(values: Any) -> NDArray[np.bool_]:
    random = np.asarray(values)
    _flat("random", random)
    if random.dtype != bool:
        raise ValueError("random has values other than True and False; pass True for each question drawn at random")
    return random


def _flat(name: str, array: NDArray[Any]) -> None:
    if array.ndim != 1:
        raise ValueError(f"{name} have shape {array.shape}; one per row is needed")
