"""What a user gives, as rows, names, weights and people: checked once, at the door."""

import math
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.checks import distinct, whole
from closerthan.comparisons.column_names import order_by_name
from closerthan.comparisons.on_disk import large_file, surveyed, weighed

CHUNK = 1 << 20  # rows checked at a time, so that checking 10^8 rows needs no second copy of them
LIMIT = np.iinfo(np.int32).max
SMALLEST_WEIGHT = 1e-150
NO_VALUE = frozenset({"NAType", "NaTType"})  # pandas' missing values, known by name so as not to import it


def most_objects(n_cells: int) -> int:
    """How many objects so many cells can be about, if nobody says how many there are.

    A number far beyond is a name (a product's, a person's), and a map with a place for each number below it would
    fill the memory.

    Examples
    --------
    >>> most_objects(6), most_objects(3_000_000)
    (1000000, 30000000)
    """
    return max(1_000_000, 10 * n_cells)


def table_of(data: Any) -> NDArray[Any]:
    """Whatever was given, as a table of two dimensions."""
    refuse_masked(data)
    if isinstance(data, str | os.PathLike):
        name = os.fspath(data)
        raise ValueError(f"{name!r} is the name of a file and not comparisons; read it: ct.read_comparisons({name!r})")
    if hasattr(data, "tocsr"):
        raise TypeError("comparisons are a sparse matrix; sparse data is not supported, pass a dense (m, 3) array")
    order = order_by_name(data)
    try:
        table = np.asarray(data)
    except ValueError:
        raise ValueError("the rows have different lengths; each needs 3 columns (i, j, k) or 4 (i, j, l, k)") from None
    if table.dtype.kind == "U" and not isinstance(data, np.ndarray):
        table = np.asarray(data, dtype=object)  # a number among names stays a number and is refused below
    if table.size == 0:
        raise ValueError("there are no comparisons: the data is empty")
    if table.ndim != 2:
        raise ValueError(f"comparisons have shape {table.shape}; expected a table of m rows and 3 or 4 columns")
    return table if order is None else table[:, order]


def refuse_masked(data: Any) -> None:
    """Raise an error if cells of an array are masked: NumPy would use what lies under the mask."""
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        mask = np.ma.getmaskarray(data)
        row = int(np.argmax(mask.any(axis=tuple(range(1, mask.ndim)))))
        raise ValueError(f"row {row}: a cell is masked; remove rows with masked cells first")


def numbered_objects(table: NDArray[Any], names: Sequence[str] | None) -> tuple[NDArray[Any], Sequence[str] | None]:
    """Object names in the cells become numbers: by ``names`` if given, otherwise in alphabetical order."""
    if names is not None:
        names = [name if type(name) is str else text_of(name) for name in names]
        distinct(names)
    # Hashing each cell once is faster than sorting them all, and works for arrays of text and of Python strings.
    cells = table.ravel().tolist() if table.dtype.kind in "UTOS" else []
    kinds = set(map(type, cells))
    if bytes in kinds:
        cells = [text_of(cell) if isinstance(cell, bytes) else cell for cell in cells]
        kinds = set(map(type, cells))
    textual = {kind for kind in kinds if issubclass(kind, str)}
    if textual:
        width = table.shape[1]
        if table.dtype == object and textual != kinds:
            position = next(position for position, cell in enumerate(cells) if not isinstance(cell, str))
            raise ValueError(
                f"row {position // width}: {cells[position]!r} is not a name, but other cells are; use one or the other"
            )
        found = set(cells)
        if names is None:
            names = sorted(found)
        number = {name: position for position, name in enumerate(names)}
        if not found <= number.keys():
            position = next(position for position, cell in enumerate(cells) if cell not in number)
            raise ValueError(
                f"row {position // width}: {cells[position]!r} is not among the names; "
                "add it to names or remove the row"
            )
        table = np.fromiter(map(number.__getitem__, cells), dtype=np.int32, count=len(cells)).reshape(table.shape)
    return table, names


def whole_numbers(table: NDArray[Any]) -> NDArray[np.int32]:
    """A table as object numbers; what is none is an error that names the row."""
    if table.dtype == object:
        try:
            table = table.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            bad, cell = next((row, cell) for row, line in enumerate(table) for cell in line if not is_number(cell))
            raise ValueError(f"row {bad}: {cell!r} is not a number; objects are numbered 0, 1, 2, ...") from None
    survey = surveyed(table)
    if survey is not None and survey.least >= 0:
        return own_copy(table)
    if table.dtype.kind not in "iuf":
        raise ValueError(f"comparisons are of type {table.dtype}; pass whole numbers (objects from 0) or names")
    if table.dtype.kind == "f":
        row, found = first_where(table, lambda part: ~(np.isfinite(part) & (np.floor(part) == part)).all(axis=1))
        if row is not None:
            cell = next(cell for cell in found if not (np.isfinite(cell) and np.floor(cell) == cell))
            cell = "NaN" if np.isnan(cell) else cell
            raise ValueError(f"row {row}: {cell} is not a whole number; objects are numbered 0, 1, 2, ...")
    row, found = first_where(table, lambda part: (part < 0).any(axis=1))
    if row is not None:
        raise ValueError(f"row {row}: object {found.min():.0f} is negative; objects are numbered from 0")
    row, found = first_where(table, lambda part: (part > LIMIT - 1).any(axis=1))
    if row is not None:
        raise ValueError(f"row {row}: object {found.max():.0f} is too large; at most {LIMIT:,} objects are possible")
    return own_copy(table)


def count_objects(rows: NDArray[np.int32], n_objects: int | None, names: Sequence[str] | None) -> int:
    """How many objects there are: as said, or as many as the rows mention."""
    survey = surveyed(rows)
    largest = int(rows.max()) if survey is None else survey.largest
    if n_objects is None and names is None and largest >= most_objects(rows.size):
        row, _ = first_where(rows, lambda part: (part == largest).any(axis=1))
        raise ValueError(
            f"row {row}: object {largest} would make a map of {largest + 1:,} objects, of which {rows.size:,} at most "
            f"occur; if such numbers are names, pass them as text; otherwise pass n_objects={largest + 1}"
        )
    if n_objects is not None:
        n_objects = whole("n_objects", n_objects)
    if names is not None:
        if n_objects not in (None, len(names)):
            raise ValueError(f"n_objects is {n_objects}, but there are {len(names)} names; they must agree")
        n_objects = len(names)
    n_objects = largest + 1 if n_objects is None else n_objects
    if largest >= n_objects:
        row, _ = first_where(rows, lambda part: (part >= n_objects).any(axis=1))
        raise ValueError(
            f"row {row}: object {rows[row].max()} is too large for {n_objects} objects, which are numbered from 0; "
            "if yours are numbered from 1, subtract 1"
        )
    return n_objects


def checked_labels(y: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
    """-1, 0 or +1 per row."""
    if y is None:
        return None
    refuse_masked(y)
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise ValueError(f"y has shape {labels.shape}, but there are {n_rows} comparisons; one label per row is needed")
    if labels.dtype.kind == "b":
        return np.where(labels, 1, -1).astype(np.int8)
    if labels.dtype == object:
        if all(isinstance(label, bool | np.bool_) for label in labels):
            return np.where(labels.astype(bool), 1, -1).astype(np.int8)
        labels = np.array([label if is_number(label) else np.nan for label in labels], dtype=np.float64)
    known = np.isin(labels, (-1, 0, 1))
    if not known.all():
        row = int(np.argmin(known))
        raise ValueError(f"row {row}: y is {labels[row]}; labels are +1 (as written), -1 (reversed) or booleans")
    return labels.astype(np.int8)


def checked_weights(weights: ArrayLike | None, n_rows: int) -> NDArray[np.float64] | None:
    """Weights, one a row, finite and not negative."""
    if weights is None:
        return None
    refuse_masked(weights)
    if isinstance(weights, np.ndarray) and weights.shape == (n_rows,) and large_file(weights) is not None:
        found = weighed(weights)
        if found.least >= 0 and math.isfinite(found.total):
            return weights  # where they lie
    try:
        weight = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        row, cell = next(
            (row, cell) for row, cell in enumerate(np.asarray(weights, dtype=object)) if not is_number(cell)
        )
        raise ValueError(f"row {row}: the weight is {cell!r}; weights are finite numbers, not negative") from None
    if weight.shape != (n_rows,):
        raise ValueError(
            f"weights have shape {weight.shape}, but there are {n_rows} comparisons; one per row is needed"
        )
    good = np.isfinite(weight) & (weight >= 0)
    if not good.all():
        row = int(np.argmin(good))
        raise ValueError(f"row {row}: the weight is {weight[row]}; weights are finite and not negative")
    if weight.max() > np.finfo(np.float64).max / max(n_rows, 1):
        raise ValueError("the sum of all weights is not finite; divide them by the largest")
    largest = weight.max(initial=0.0)
    if largest > 0 and not SMALLEST_WEIGHT <= largest <= 1 / SMALLEST_WEIGHT:  # their squares are summed
        raise ValueError(f"the largest weight is {largest:.3g}; divide all weights by it")
    return weight


class Sources(NamedTuple):
    """Which answer, block and person each row is from, as numbers, and the people's names; None where not known."""

    answers: NDArray[np.int64] | None
    blocks: NDArray[np.int64] | None
    people: NDArray[np.int32] | None
    person_names: tuple[str, ...] | None


def checked_sources(answers: Any, blocks: Any, people: Any, n_rows: int) -> Sources:
    """Numbers for answers, blocks and people, and the people's names; None where nothing is given."""
    person = names = None
    if people is not None:
        code, labels = coded(people, n_rows, "people", "the person")
        called = [text_of(label) for label in labels]
        names = tuple(in_order(set(called)))
        number = {name: position for position, name in enumerate(names)}
        person = np.array([number[name] for name in called], dtype=np.int32)[code]

    def within_person(labels: Any, what: str, one: str) -> NDArray[np.int64] | None:
        if labels is None:
            return None
        code, _ = coded(labels, n_rows, what, one)
        return code if person is None or names is None else code * len(names) + person

    answer = within_person(answers, "answers", "the answer")
    block = within_person(blocks, "blocks", "the block")
    return Sources(answer, block, person, names)


def coded(labels: Any, n_rows: int, what: str, one: str) -> tuple[NDArray[Any], list[Any]]:
    """One number per row, and the different labels that the numbers point at."""
    # Not np.asarray: in a list it would turn numbers beside names into names, and tuples into a table.
    cells = np.asarray(labels) if hasattr(labels, "dtype") else np.fromiter(labels, dtype=object, count=len(labels))
    if cells.shape != (n_rows,):
        raise ValueError(f"{what} have shape {cells.shape}, but there are {n_rows} comparisons; one per row is needed")
    if cells.dtype.kind in "iuf":
        bad = np.isnan(cells) if cells.dtype.kind == "f" else np.zeros(0, dtype=bool)
        if bad.any():
            raise ValueError(f"row {int(np.argmax(bad))}: {one} is missing; label every row of {what}")
        if len(cells) > 1 and (cells[1:] >= cells[:-1]).all():  # sorted already, as those of a file are
            new = np.concatenate([[True], cells[1:] != cells[:-1]])
            return np.cumsum(new) - 1, cells[new].tolist()
        lowest, highest = (int(cells.min()), int(cells.max())) if cells.dtype.kind in "iu" else (0, len(cells))
        if highest - lowest < len(cells):  # counting is faster than sorting
            offset = cells.astype(np.int64) - lowest
            occurs = np.bincount(offset) > 0
            return (np.cumsum(occurs) - 1)[offset], (np.flatnonzero(occurs) + lowest).tolist()
        different, code = np.unique(cells, return_inverse=True)
        return code.reshape(-1).astype(np.int64), different.tolist()
    number: dict[Any, int] = {}
    code = np.empty(n_rows, dtype=np.int64)
    for row, cell in enumerate(cells.tolist()):
        if cell is None or type(cell).__name__ in NO_VALUE or (isinstance(cell, float) and cell != cell):
            raise ValueError(f"row {row}: {one} is missing; label every row of {what}")
        try:
            code[row] = number.setdefault(cell, len(number))
        except TypeError:
            raise ValueError(f"row {row}: {one} is {cell!r}; labels are names or numbers") from None
    return code, list(number)


def in_order(names: Iterable[str]) -> list[str]:
    """Names of people, numbers by their size and others by the alphabet.

    Examples
    --------
    >>> in_order(["10", "9"]), in_order(["w10", "w9"])
    (['9', '10'], ['w10', 'w9'])
    """
    whole = all(name.isdecimal() for name in names if name)
    return sorted(names, key=(lambda name: (int(name or -1), name)) if whole else None)


def text_of(label: Any) -> str:
    """A label as text: 3.0 is "3", and bytes are what they spell.

    Examples
    --------
    >>> text_of(3.0), text_of(b"ant"), text_of("bee")
    ('3', 'ant', 'bee')
    """
    if isinstance(label, bytes):
        try:
            return label.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{label!r} is bytes that are not text in UTF-8; decode names first") from None
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def in_order_of_appearance(labels: NDArray[np.int64]) -> NDArray[np.int32]:
    """Numbers from 0, in the order in which the labels first occur.

    Examples
    --------
    >>> in_order_of_appearance(np.array([7, 2, 7])).tolist()
    [0, 1, 0]
    """
    if (labels[1:] >= labels[:-1]).all():
        number = np.concatenate([[0], np.cumsum(labels[1:] != labels[:-1])])
    else:
        _, first, code = np.unique(labels, return_index=True, return_inverse=True)
        place = np.empty(len(first), dtype=np.int64)
        place[np.argsort(first)] = np.arange(len(first))
        number = place[code.reshape(-1)]
    return number.astype(np.int32)


def is_number(cell: Any) -> bool:
    """Whether a cell reads as a number."""
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return not isinstance(cell, complex)


def first_where(table: NDArray[Any], bad: Callable[[NDArray[Any]], Any]) -> tuple[int | None, NDArray[Any]]:
    """The first row for which ``bad`` holds, and its cells."""
    for start in range(0, len(table), CHUNK):
        hits = bad(table[start : start + CHUNK])
        if hits.any():
            row = start + int(np.argmax(hits))
            return row, table[row]
    return None, table[:0]


def own_copy(table: NDArray[Any]) -> NDArray[np.int32]:
    """The numbers as int32 rows that no caller can change later, since kernels trust them; read-only data is shared."""
    rows = np.ascontiguousarray(table, dtype=np.int32)
    return rows.copy() if rows.flags.writeable and np.may_share_memory(rows, table) else rows


def called(number: int, names: Sequence[str] | None) -> str:
    """An object in a message."""
    return str(number) if names is None else repr(names[number])
