"""Signatures of public functions as ``help()`` and editors show them: short types, and all options with defaults.

Python writes aliases such as ``ArrayLike`` out, so that the signature of a function with two arrays fills a page, and
it shows ``**options`` as one word. Here types get the names that the source has, and the keyword arguments of a
TypedDict are listed.
"""

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

__all__ = ["lists_keywords", "make_readable", "module_of", "readable"]

Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)


class _Text(str):
    """An annotation as text, which signatures show without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def lists_keywords(options: type, defaults: Mapping[str, Any] | type) -> Callable[[Function], Function]:
    """Return a decorator by which the signature of a function lists the keyword arguments of a TypedDict.

    Parameters
    ----------
    options
        The TypedDict that the function unpacks.
    defaults
        The default of each option, by name, or a dataclass with these fields. Options that it lacks have None.

    Examples
    --------
    >>> class Options(typing.TypedDict, total=False):
    ...     times: int
    ...     end: str | None
    >>> @lists_keywords(Options, {"times": 2})
    ... def repeat(text: str, **options: typing.Unpack[Options]) -> str: ...
    >>> print(inspect.signature(repeat))
    (text: str, *, times: int = 2, end: str | None = None) -> str
    """
    values = dict(defaults) if isinstance(defaults, Mapping) else _defaults_of_fields(defaults)

    def decorated(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        listed = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=values.get(name), annotation=hint)
            for name, hint in options.__annotations__.items()
        ]
        make_readable(function, signature.replace(parameters=[*own, *listed]))
        return function

    return decorated


def _defaults_of_fields(kind: type) -> dict[str, Any]:
    return {field.name: field.default for field in dataclasses.fields(kind)}


def make_readable(function: Callable[..., Any], signature: inspect.Signature | None = None) -> None:
    """Let ``inspect.signature`` return the signature of a function with short types.

    Examples
    --------
    >>> from numpy.typing import ArrayLike
    >>> def norm(vector: ArrayLike, power: float | None = None) -> float: ...
    >>> make_readable(norm)
    >>> print(inspect.signature(norm))
    (vector: ArrayLike, power: float | None = None) -> float
    """
    signature = inspect.signature(function) if signature is None else signature
    function.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[one.replace(annotation=_short(one.annotation)) for one in signature.parameters.values()],
        return_annotation=_short(signature.return_annotation),
    )


def readable(kind: Class) -> Class:
    """Make the signatures of a class, and of its public methods, readable; for use as a decorator."""
    for name, member in vars(kind).items():
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if inspect.isfunction(function) and (name == "__init__" or not name.startswith("_")):
            make_readable(function)
    return kind


def _short(hint: Any) -> Any:
    """Return an annotation as short text; nothing if it allows every value."""
    if hint is inspect.Parameter.empty or hint is Any or (Any in typing.get_args(hint) and _is_union(hint)):
        return inspect.Parameter.empty
    return hint if isinstance(hint, _Text) else _Text(_text(hint))


def _text(hint: Any) -> str:
    if hint is None or hint is type(None):
        return "None"
    if hint is Ellipsis:
        return "..."
    if hint is Any:
        return "object"
    if isinstance(hint, str):
        return hint
    if isinstance(hint, typing.ForwardRef):
        return hint.__forward_arg__
    if isinstance(hint, list):
        return f"[{', '.join(map(_text, hint))}]"
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if _is_union(hint):
        return " | ".join(dict.fromkeys(_members(parts)))
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, parts))}]"
    name = getattr(origin or hint, "__name__", None) or str(hint)
    if name == "ndarray":
        return _text_of_array(parts)
    if all(part is Any or part is Ellipsis for part in parts):
        return str(name)
    return f"{name}[{', '.join(map(_text, parts))}]"


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def _members(parts: Iterable[Any]) -> Iterable[str]:
    """Yield the members of a union; NumPy's ArrayLike is itself a union of many types."""
    parts = list(parts)
    arrays = [part for part in parts if module_of(part).startswith("numpy._typing")]
    for part in parts:
        if part in arrays:
            yield "ArrayLike"
        elif not arrays or part not in (complex, bytes, str):
            yield _text(part)


def module_of(hint: Any) -> str:
    """Return the name of the module of a type or a type hint."""
    return str(getattr(typing.get_origin(hint) or hint, "__module__", ""))


def _text_of_array(parts: tuple[Any, ...]) -> str:
    """Return "ndarray", with the type of its elements if that is known."""
    elements = typing.get_args(parts[-1]) if parts else ()
    return f"NDArray[{_text(elements[0])}]" if elements and elements[0] is not Any else "NDArray"
