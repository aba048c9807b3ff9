"""Numbers and images inside the page: long arrays as bytes, short ones as JSON, images as data URLs."""

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["data_url", "encoded", "image_url", "packed", "rounded"]

DIGITS = 6  # significant digits of a number in a curve: far more than a screen resolves


def packed(values: NDArray[Any]) -> dict[str, str]:
    """Return numbers as the bytes of a typed array: integers, or single-precision floats that are NaN if missing."""
    kind, name = ("<i4", "Int32Array") if values.dtype.kind in "iu" else ("<f4", "Float32Array")
    return {"type": name, "bytes": base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")}


def rounded(values: NDArray[Any]) -> list[float | int | None]:
    """Return numbers with few digits for JSON, which has no NaN: missing numbers are None.

    Examples
    --------
    >>> rounded(np.array([1 / 3, np.nan]))
    [0.333333, None]
    """
    if values.dtype.kind in "iu":
        whole: list[float | int | None] = values.tolist()
        return whole
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in values.tolist()]


def data_url(image: bytes, kind: str) -> str:
    """Return an image, a file of the given format such as "png", as a URL that contains it.

    Examples
    --------
    >>> data_url(b"...", "png")
    'data:image/png;base64,Li4u'
    """
    return f"data:image/{kind};base64,{base64.b64encode(image).decode('ascii')}"


def image_url(image: Any) -> str:
    """Return a PIL image as a URL that contains it."""
    return data_url(*encoded(image))


def encoded(image: Any) -> tuple[bytes, str]:
    """Return a PIL image as the bytes of a file, and its kind: "png" if it has transparency, otherwise "jpeg"."""
    kind = "png" if image.mode == "RGBA" else "jpeg"
    file = io.BytesIO()
    image.convert("RGBA" if kind == "png" else "RGB").save(file, kind, quality=82)
    return file.getvalue(), kind
