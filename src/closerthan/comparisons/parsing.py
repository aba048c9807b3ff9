"""Parsing: check rows, names, weights and labels once, when comparisons are created from user input."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import frozen
from closerthan.checks import distinct, one_per_object, whole
from closerthan.comparisons.labels import number_by_appearance, sources_of_rows, text_of
from closerthan.comparisons.on_disk import large_file, survey_rows, weight_summary
from closerthan.comparisons.rows import pairs_of, reversed_rows, same_pair, self_pair
from closerthan.comparisons.trials import Trials
from closerthan.messages import value_error
from closerthan.wording import counts_in_words

CHUNK = 1 << 20  # rows checked at a time, so that checking 10^8 rows needs no second copy of them
LIMIT = np.iinfo(np.int32).max
SMALLEST_WEIGHT = 1e-150
MEANING = {
    3: "a triplet (i, j, k) says that i is closer to j than to k",
    4: "a quadruplet (i, j, l, k) says that i and j are closer than l and k",
}


class ComparisonOptions(TypedDict, total=False):
    """Keyword arguments of the constructors of comparisons; :meth:`Comparisons.from_triplets` explains each."""

    weights: ArrayLike | None
    n_objects: int | None
    names: Sequence[str] | None
    answers: Sequence[Any] | NDArray[Any] | None
    people: Sequence[Any] | NDArray[Any] | None
    blocks: Sequence[Any] | NDArray[Any] | None
    trials: Trials | None
    ties: Literal["error", "drop"]
    self_pairs: Literal["error", "drop"]
    unmentioned: Literal["warn", "ignore"]


class OptionalColumns(TypedDict, total=False):
    """The attributes of :class:`~closerthan.comparisons.container.Comparisons` that have defaults."""

    weights: NDArray[np.float64] | None
    names: tuple[str, ...] | None
    dropped: Mapping[str, int]
    answers: NDArray[np.int32] | None
    people: NDArray[np.int32] | None
    person_names: tuple[str, ...] | None
    trials: Trials | None
    blocks: NDArray[np.int32] | None


class Columns(OptionalColumns, total=False):
    """All attributes of :class:`~closerthan.comparisons.container.Comparisons`."""

    rows: NDArray[np.int32]
    n_objects: int


# Defaults of :class:`ComparisonOptions`; the others are None.
COMPARISON_DEFAULTS = {"ties": "error", "self_pairs": "error", "unmentioned": "warn"}


def parse(data: Any, n_columns: int, y: ArrayLike | None, options: ComparisonOptions) -> Columns:
    """Check the rows and the values that belong to them, and return the attributes of :class:`Comparisons`."""
    table = table_of(data)
    if table.shape[1] != n_columns:
        raise ValueError(f"rows have {table.shape[1]} columns, not {n_columns}: {MEANING[n_columns]}")
    table, names = number_objects(table, options.get("names"))
    rows = whole_numbers(table)
    n_objects = count_objects(rows, options.get("n_objects"), names)

    signs = checked_labels(y, len(rows))
    weights = checked_weights(options.get("weights"), len(rows))
    labels = (options.get("answers"), options.get("blocks"), options.get("people"))
    answers, blocks, people, person_names = sources_of_rows(*labels, len(rows))
    trials = options.get("trials")
    trials = None if trials is None else trials.of_rows(len(rows))

    keep, dropped = _rows_to_keep(rows, signs, names, options)
    if dropped:
        aligned: list[Any] = [signs, weights, answers, blocks, people, trials]
        signs, weights, answers, blocks, people, trials = (
            None if column is None else column.take(keep) for column in aligned
        )
        rows = rows[keep]
        if not len(rows):
            reasons = counts_in_words(dropped)
            raise ValueError(f"no comparison is left after dropping {reasons}; a fit needs at least one")
    if n_objects < 3:
        raise ValueError(f"there are {n_objects} objects; a map needs at least 3")
    _refuse_same_pairs(rows, keep, names)
    if signs is not None and (signs < 0).any():
        rows = np.where((signs < 0)[:, None], reversed_rows(rows), rows)
    if weights is not None and not weights.any():
        raise ValueError("all weights are zero; at least one comparison must count")
    numbers = None if answers is None else number_by_appearance(answers)
    if numbers is not None and numbers.max(initial=-1) + 1 == len(numbers):  # each row is a separate answer
        numbers = None
    return {
        "rows": frozen(rows),
        "n_objects": n_objects,
        "weights": frozen(weights),
        "names": tuple(names) if names else None,
        "dropped": dropped,
        "answers": frozen(numbers),
        "people": frozen(people),
        "person_names": person_names,
        "trials": trials,
        "blocks": frozen(None if blocks is None else number_by_appearance(blocks)),
    }


def _rows_to_keep(
    rows: NDArray[np.int32], signs: NDArray[np.int8] | None, names: Sequence[str] | None, options: ComparisonOptions
) -> tuple[NDArray[np.int64] | None, dict[str, int]]:
    """Return the numbers of the rows to keep (None for all), and the number of rows dropped by reason."""
    dropped: dict[str, int] = {}
    ties, self_pairs = options.get("ties", "error"), options.get("self_pairs", "error")
    keep = np.ones(len(rows), dtype=bool) if "drop" in (ties, self_pairs) else None
    if signs is not None and (signs == 0).any():
        if ties == "error":
            raise value_error(
                f"row {np.argmax(signs == 0)}: y is 0, a tie",
                'remove the row or pass {ties} (if 0 means "reversed", pass booleans)',
                ties="drop",
            )
        assert keep is not None
        keep &= signs != 0
        dropped["ties"] = int((signs == 0).sum())
    row, cells = _first_degenerate(rows, self_pair)
    if row is not None:
        if self_pairs == "error":
            repeated = next(int(a) for a, b in pairs_of(cells) if a == b)
            raise value_error(
                f"row {row}: object {name_in_message(repeated, names)} is compared with itself",
                "drop the row or pass {self_pairs}",
                self_pairs="drop",
            )
        assert keep is not None
        is_self_pair = self_pair(rows)
        dropped["self_pairs"] = int((keep & is_self_pair).sum())
        keep &= ~is_self_pair
    return None if keep is None else np.flatnonzero(keep), dropped


def _refuse_same_pairs(rows: NDArray[np.int32], keep: NDArray[np.int64] | None, names: Sequence[str] | None) -> None:
    """Raise an error if a row compares a pair with itself; ``keep`` are the original numbers of the rows."""
    row, cells = _first_degenerate(rows, same_pair)
    if row is not None:
        row = row if keep is None else int(keep[row])
        pair = " and ".join(name_in_message(int(number), names) for number in cells[:2])
        raise ValueError(f"row {row}: both pairs are {pair}, so it says nothing; remove the row")


def _first_degenerate(rows: NDArray[np.int32], is_degenerate: Callable[[Any], Any]) -> tuple[int | None, NDArray[Any]]:
    """Return the first degenerate row; the rows of a large file are searched only if their survey found one."""
    survey = survey_rows(rows)
    if survey is not None and survey.self_pair is None and survey.same_pair is None:
        return None, rows[:0]
    return first_where(rows, is_degenerate)


def most_objects(n_cells: int) -> int:
    """Return the largest plausible number of objects in a table of ``n_cells`` cells, if the user does not state it.

    A far larger number is a name (of a product or a person), and a map with a place for every smaller number would fill
    the memory.

    Examples
    --------
    >>> most_objects(6), most_objects(3_000_000)
    (1000000, 30000000)
    """
    return max(1_000_000, 10 * n_cells)


def table_of(data: Any) -> NDArray[Any]:
    """Return data of any supported type as a two-dimensional array."""
    refuse_masked(data)
    if isinstance(data, str | os.PathLike):
        name = os.fspath(data)
        raise ValueError(f"{name!r} is a file name, not comparisons; read the file: ct.read_comparisons({name!r})")
    if hasattr(data, "tocsr"):
        raise TypeError("comparisons are a sparse matrix; sparse data is not supported; pass a dense (m, 3) array")
    order = None
    if hasattr(data, "columns") or hasattr(data, "column_names"):
        from closerthan.comparisons.column_names import order_by_name

        order = order_by_name(data)
    try:
        table = np.asarray(data)
    except ValueError:
        raise ValueError("the rows have different lengths; each needs 3 columns (i, j, k) or 4 (i, j, l, k)") from None
    if table.dtype.kind == "U" and not isinstance(data, np.ndarray):
        table = np.asarray(data, dtype=object)  # a number among names stays a number, which is refused later
    if table.size == 0:
        raise ValueError("there are no comparisons: the data is empty")
    if table.ndim != 2:
        raise ValueError(f"comparisons have shape {table.shape}; expected a table of m rows and 3 or 4 columns")
    return table if order is None else table[:, order]


def refuse_masked(data: Any) -> None:
    """Raise an error if cells of an array are masked, since NumPy would use the values under the mask."""
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        mask = np.ma.getmaskarray(data)
        row = int(np.argmax(mask.any(axis=tuple(range(1, mask.ndim)))))
        raise ValueError(f"row {row}: a cell is masked; remove rows with masked cells first")


def number_objects(table: NDArray[Any], names: Sequence[str] | None) -> tuple[NDArray[Any], Sequence[str] | None]:
    """Replace object names by numbers: positions in ``names`` or, without it, in alphabetical order."""
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
                f"row {position // width}: {cells[position]!r} is not a name, but other cells are; "
                "use only names or only numbers"
            )
        occurring = set(cells)
        if names is None:
            names = sorted(occurring)
        number = {name: position for position, name in enumerate(names)}
        if not occurring <= number.keys():
            position = next(position for position, cell in enumerate(cells) if cell not in number)
            raise ValueError(
                f"row {position // width}: {cells[position]!r} is not among the names; "
                "add it to names or remove the row"
            )
        table = np.fromiter(map(number.__getitem__, cells), dtype=np.int32, count=len(cells)).reshape(table.shape)
    return table, names


def whole_numbers(table: NDArray[Any]) -> NDArray[np.int32]:
    """Return a table as object numbers; raise an error that names the row of the first invalid cell."""
    if table.dtype == object:
        try:
            table = table.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            bad, cell = next((row, cell) for row, line in enumerate(table) for cell in line if not is_number(cell))
            raise ValueError(f"row {bad}: {cell!r} is not a number; objects are numbered 0, 1, 2, ...") from None
    survey = survey_rows(table)
    if survey is not None and survey.least >= 0:
        return own_copy(table)
    if table.dtype.kind not in "iuf":
        raise ValueError(f"comparisons are of type {table.dtype}; pass whole numbers (objects from 0) or names")
    if table.dtype.kind == "f":
        row, cells = first_where(table, lambda part: ~(np.isfinite(part) & (np.floor(part) == part)).all(axis=1))
        if row is not None:
            cell = next(cell for cell in cells if not (np.isfinite(cell) and np.floor(cell) == cell))
            cell = "NaN" if np.isnan(cell) else cell
            raise ValueError(f"row {row}: {cell} is not a whole number; objects are numbered 0, 1, 2, ...")
    if table.size and table.min() < 0:
        row, cells = first_where(table, lambda part: (part < 0).any(axis=1))
        raise ValueError(f"row {row}: object {cells.min():.0f} is negative; objects are numbered from 0")
    if table.size and table.max() > LIMIT - 1:
        row, cells = first_where(table, lambda part: (part > LIMIT - 1).any(axis=1))
        raise ValueError(f"row {row}: object {cells.max():.0f} is too large; at most {LIMIT:,} objects are possible")
    return own_copy(table)


def count_objects(rows: NDArray[np.int32], n_objects: int | None, names: Sequence[str] | None) -> int:
    """Return the number of objects: ``n_objects``, the number of names, or the largest object in the rows plus 1."""
    survey = survey_rows(rows)
    largest = int(rows.max()) if survey is None else survey.largest
    if n_objects is None and names is None and largest >= most_objects(rows.size):
        row, _ = first_where(rows, lambda part: (part == largest).any(axis=1))
        raise value_error(
            f"row {row}: object {largest} would make a map of {largest + 1:,} objects, of which {rows.size:,} at "
            "most occur",
            "if such numbers are names, pass them as text; otherwise pass {n_objects}",
            n_objects=largest + 1,
        )
    if n_objects is not None:
        n_objects = whole("n_objects", n_objects)
    if names is not None:
        one_per_object(names, n_objects)
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
    """Return the labels ``y`` as -1, 0 or +1 per row."""
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
    valid = np.isin(labels, (-1, 0, 1))
    if not valid.all():
        row = int(np.argmin(valid))
        raise ValueError(f"row {row}: y is {labels[row]}; labels are +1 (as written), -1 (reversed) or booleans")
    return labels.astype(np.int8)


def checked_weights(weights: ArrayLike | None, n_rows: int) -> NDArray[np.float64] | None:
    """Return one finite, non-negative weight per row; weights in a large file are not copied."""
    if weights is None:
        return None
    refuse_masked(weights)
    if isinstance(weights, np.ndarray) and weights.shape == (n_rows,) and large_file(weights) is not None:
        summary = weight_summary(weights)
        if summary.least >= 0 and math.isfinite(summary.total):
            return weights
    try:
        weight = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        row, cell = next(
            (row, cell) for row, cell in enumerate(np.asarray(weights, dtype=object)) if not is_number(cell)
        )
        raise ValueError(f"row {row}: the weight is {cell!r}; weights must be finite and not negative") from None
    if weight.shape != (n_rows,):
        raise ValueError(
            f"weights have shape {weight.shape}, but there are {n_rows} comparisons; one per row is needed"
        )
    valid = np.isfinite(weight) & (weight >= 0)
    if not valid.all():
        row = int(np.argmin(valid))
        raise ValueError(f"row {row}: the weight is {weight[row]}; weights must be finite and not negative")
    if weight.max() > np.finfo(np.float64).max / max(n_rows, 1):
        raise ValueError("the sum of all weights is not finite; divide them by the largest")
    largest = weight.max(initial=0.0)
    if largest > 0 and not SMALLEST_WEIGHT <= largest <= 1 / SMALLEST_WEIGHT:  # keeps their squares finite and positive
        raise ValueError(f"the largest weight is {largest:.3g}; divide all weights by it")
    return weight


def is_number(cell: Any) -> bool:
    """Return whether a cell can be read as a real number."""
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return not isinstance(cell, complex)


def first_where(table: NDArray[Any], condition: Callable[[NDArray[Any]], Any]) -> tuple[int | None, NDArray[Any]]:
    """Return the number and the cells of the first row for which ``condition`` holds, or (None, empty)."""
    for start in range(0, len(table), CHUNK):
        hits = condition(table[start : start + CHUNK])
        if hits.any():
            row = start + int(np.argmax(hits))
            return row, table[row]
    return None, table[:0]


def own_copy(table: NDArray[Any]) -> NDArray[np.int32]:
    """Return int32 rows that no caller can change later, since kernels trust them; read-only arrays are not copied."""
    rows = np.ascontiguousarray(table, dtype=np.int32)
    return rows.copy() if rows.flags.writeable and np.may_share_memory(rows, table) else rows


def name_in_message(number: int, names: Sequence[str] | None) -> str:
    """Return an object's name in quotes, or its number, for a message."""
    return str(number) if names is None else repr(names[number])
