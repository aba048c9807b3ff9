"""Representations of small objects in a console and in a notebook."""

import dataclasses
import reprlib
from typing import Any, TypeVar

from closerthan.wording import counted, html_table

__all__ = ["shows_fields", "tabulated"]

Class = TypeVar("Class", bound=type)

MOST_ITEMS = 6  # a sequence or mapping with more items is shown as their number


def tabulated(kind: Class) -> Class:
    """Let a dataclass or a named tuple show its fields as a table in notebooks, below its ``repr``.

    Examples
    --------
    >>> @tabulated
    ... @dataclasses.dataclass
    ... class Point:
    ...     x: float
    >>> Point(0.5)._repr_html_().count("<td>")
    2
    """
    kind._repr_html_ = _table  # type: ignore[attr-defined]
    return kind


def shows_fields(kind: Class) -> Class:
    """Do the same as :func:`tabulated`, and let ``repr`` name the fields without listing long arrays.

    Examples
    --------
    >>> import numpy as np
    >>> @shows_fields
    ... @dataclasses.dataclass
    ... class Points:
    ...     x: np.ndarray
    ...     spread: float
    >>> Points(np.zeros((5, 2)), 1 / 3)
    Points(x: array of shape (5, 2), spread: 0.3333)
    """
    kind.__repr__ = _short_repr  # type: ignore[method-assign,assignment]
    return tabulated(kind)


def _fields(value: Any) -> dict[str, str]:
    """Return the fields that are not None, by name, as short text."""
    names = value._fields if hasattr(value, "_fields") else [field.name for field in dataclasses.fields(value)]
    fields = {name: getattr(value, name) for name in names if not name.startswith("_")}
    return {name: _text(field) for name, field in fields.items() if field is not None}


def _short_repr(self: Any) -> str:
    return f"{type(self).__name__}({', '.join(f'{name}: {text}' for name, text in _fields(self).items())})"


def _table(self: Any) -> str:
    return html_table(repr(self), ("", ""), list(_fields(self).items()))


def _text(field: Any) -> str:
    if getattr(field, "shape", ()):
        return f"array of shape {field.shape}"
    if isinstance(field, float):
        return f"{field:.4g}"
    if isinstance(field, tuple | list | dict) and len(field) > MOST_ITEMS:
        return counted(len(field), "item")
    return field if isinstance(field, str) else reprlib.repr(field) if isinstance(field, dict) else repr(field)
