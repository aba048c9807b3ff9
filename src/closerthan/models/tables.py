"""Features of objects as arrays, after checks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from closerthan.arrays import Array
from closerthan.checks import ParameterError, distinct

__all__ = ["feature_table", "names_of_rows", "numbers_of"]

LARGEST, SMALLEST = 1e100, 1e-100  # magnitudes whose squares can be added


def numbers_of(name: str, values: Any) -> Array:
    """Return a table of real numbers, one row per object; ``name`` is the parameter in messages.

    Examples
    --------
    >>> numbers_of("features", [["red"], ["blue"]])
    Traceback (most recent call last):
    ...
    closerthan.checks.ParameterError: features is [['red'], ['blue']]; it must be a table of real numbers
    """
    try:
        table = np.asarray(values)
        if np.iscomplexobj(table):
            raise TypeError
        table = table.astype(np.float64)
    except (TypeError, ValueError):
        raise ParameterError(name, values, "it must be a table of real numbers") from None
    if table.ndim != 2 or not table.size:
        rule = "it must have one row of numbers per object"
        raise ParameterError(name, values, rule, problem=f"has shape {table.shape}")
    return table


def feature_table(name: str, values: Any) -> Array:
    """Return features as an array whose numbers are finite and of a usual size.

    Examples
    --------
    >>> feature_table("features", [[1.0, 2.0], [float("nan"), 0.0]])
    Traceback (most recent call last):
    ...
    closerthan.checks.ParameterError: features has nan in row 1, column 0; features must be finite numbers
    """
    table = np.ascontiguousarray(numbers_of(name, values))
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        problem = f"has {table[row, column]} in row {row}, column {column}"
        raise ParameterError(name, values, "features must be finite numbers", problem=problem)
    largest = float(np.abs(table).max())
    if largest > LARGEST or 0 < largest < SMALLEST:
        rule = f"the largest must be from {SMALLEST:g} to {LARGEST:g}; multiply all features by a constant"
        raise ParameterError(name, values, rule, problem=f"has numbers up to {largest:g}")
    return table


def names_of_rows(names: Sequence[str] | None, n_rows: int) -> tuple[str, ...] | None:
    """Return the names of rows as text; there must be one for each, and no two may be the same."""
    if names is None:
        return None
    texts = tuple(str(name) for name in names)
    if len(texts) != n_rows:
        raise ParameterError("names", names, f"there must be one for each of {n_rows:,} objects")
    distinct(texts, "names")
    return texts
