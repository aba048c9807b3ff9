"""Numbers in the page: packed where there may be many, otherwise short."""

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["packed", "rounded"]

DIGITS = 6  # significant digits of a number in a curve: far finer than a screen


def packed(values: NDArray[Any]) -> dict[str, str]:
    """The bytes of single precision numbers (NaN where there is none) or of whole numbers, for a typed array."""
    kind, name = ("<i4", "Int32Array") if values.dtype.kind in "iu" else ("<f4", "Float32Array")
    return {"type": name, "bytes": base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")}


def rounded(values: NDArray[Any]) -> list[float | int | None]:
    """Numbers with few digits; null where there is none, which JSON can say and NaN it cannot.

    Examples
    --------
    >>> rounded(np.array([1 / 3, np.nan]))
    [0.333333, None]
    """
    if values.dtype.kind in "iu":
        whole: list[float | int | None] = values.tolist()
        return whole
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in values.tolist()]
