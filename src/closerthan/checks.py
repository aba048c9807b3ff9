"""Checks of arguments that users pass; an error names the parameter, its value and the rule."""

import difflib
import functools
import inspect
import math
import operator
import os
import reprlib
import types
import typing
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from numbers import Integral, Number, Real
from typing import Any, Literal, NamedTuple, TypeVar

from closerthan.messages import Notation, Suggested, as_argument, filled_in
from closerthan.signatures import make_readable, readable

__all__ = ["ParameterError", "check_keywords", "checked", "distinct", "number", "one_per_object", "positive", "whole"]

Function = TypeVar("Function", bound=Callable[..., Any])


@readable
class ParameterError(ValueError):
    """An error about the value of a parameter, which can be reported under the name that the user knows.

    The library calls a parameter ``n_dims``, the estimator ``n_components`` and the command line ``--dims``.

    Parameters
    ----------
    parameter
        The name of the parameter in the library.
    value
        Its value.
    rule
        What its value must be.
    way_out
        What the user can do; parameters in it are written as ``{n_starts}``.
    problem
        What is wrong, if it is not the value itself, such as "has shape (4, 3)".
    **arguments
        Suggested values of the parameters in ``way_out``, as in :class:`closerthan.messages.Message`.

    Examples
    --------
    >>> error = ParameterError("n_starts", 2, "a given start is not random", "leave {n_starts} or {start} out")
    >>> print(error)
    n_starts is 2; a given start is not random; leave n_starts or start out
    >>> print(error.renamed({"n_starts": "n_init", "start": "init"}))
    n_init is 2; a given start is not random; leave n_init or init out
    >>> error.in_terms_of(lambda name, value=None: f"--{name.removeprefix('n_')}")
    '--starts is 2; a given start is not random; leave --starts or --start out'
    """

    def __init__(
        self,
        parameter: str,
        value: object,
        rule: str,
        way_out: str = "",
        problem: str = "",
        **arguments: Suggested,
    ) -> None:
        super().__init__(parameter, value, rule, way_out, problem)
        self.parameter = parameter
        self.value = value
        self.rule = rule
        self.way_out = way_out
        self.problem = problem
        self.arguments = arguments

    def __str__(self) -> str:
        return self.in_terms_of(as_argument)

    def in_terms_of(self, notation: Notation) -> str:
        """Return the message with parameters in another notation."""
        problem = self.problem or f"is {_text(self.value)}"
        way_out = filled_in(self.way_out, notation, self.arguments)
        return "; ".join(part for part in (f"{notation(self.parameter)} {problem}", self.rule, way_out) if part)

    def renamed(self, names: Mapping[str, str]) -> "ParameterError":
        """Return the same error with its parameters renamed."""
        parameter = names.get(self.parameter, self.parameter)
        way_out = filled_in(self.way_out, lambda name, _=None: f"{{{names.get(name, name)}}}", {})
        arguments = {names.get(name, name): value for name, value in self.arguments.items()}
        return ParameterError(parameter, self.value, self.rule, way_out, self.problem, **arguments)


def _text(value: object) -> str:
    """Return a value as short text on one line: a number as it is printed, otherwise its representation."""
    if isinstance(value, Number) and not isinstance(value, bool):
        return str(value)
    short = reprlib.Repr()
    short.maxstring = short.maxother = 60
    return " ".join(short.repr(value).split())


def whole(name: str, number: Any, least: int = 1) -> int:
    """Return the number as an int; raise an error if it is not whole or is less than ``least``.

    Examples
    --------
    >>> whole("n_starts", 3)
    3
    >>> whole("n_starts", 2.5)
    Traceback (most recent call last):
    ...
    closerthan.checks.ParameterError: n_starts is 2.5; it must be a whole number of at least 1
    """
    try:
        index = operator.index(number)
    except TypeError:
        index = least - 1
    if index < least:
        raise ParameterError(name, number, f"it must be a whole number of at least {least}")
    return index


def number(name: str, value: Any, allowed: Callable[[float], bool], rule: str) -> float:
    """Return the value as a float; raise an error if it is not a number, or not allowed.

    Examples
    --------
    >>> number("share", "a", lambda share: 0 < share < 1, "lie between 0 and 1")
    Traceback (most recent call last):
    ...
    closerthan.checks.ParameterError: share is 'a'; it must be a number and lie between 0 and 1
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ParameterError(name, value, f"it must be a number and {rule}")
    if not allowed(float(value)):
        raise ParameterError(name, value, f"it must {rule}")
    return float(value)


def positive(**options: float | None) -> None:
    """Raise an error if an option is neither None nor a positive finite number.

    Examples
    --------
    >>> positive(step=-1.0)
    Traceback (most recent call last):
    ...
    closerthan.checks.ParameterError: step is -1.0; it must be positive and finite
    """
    for name, number in options.items():
        if number is not None and not (isinstance(number, Real) and 0 < number < math.inf):
            raise ParameterError(name, number, "it must be positive and finite")


def distinct(names: Sequence[str], where: str = "") -> None:
    """Raise an error if a name occurs twice; ``where`` says where the names come from, such as a file.

    Examples
    --------
    >>> distinct(["ant", "bee", "ant"])
    Traceback (most recent call last):
    ...
    ValueError: the name 'ant' occurs twice; names must differ
    """
    if len(set(names)) < len(names):
        duplicate, _ = Counter(names).most_common(1)[0]
        raise ValueError(f"{where}{': ' * bool(where)}the name {duplicate!r} occurs twice; names must differ")


def one_per_object(names: Sequence[str] | None, n_objects: int | None) -> None:
    """Raise an error unless the number of names is the number of objects, if both are known.

    Examples
    --------
    >>> one_per_object(["ant", "bee"], 3)
    Traceback (most recent call last):
    ...
    closerthan.checks.ParameterError: n_objects is 3, but there are 2 names; they must agree
    """
    if names is not None and n_objects not in (None, len(names)):
        problem = f"is {n_objects}, but there are {len(names)} names"
        raise ParameterError("n_objects", n_objects, "they must agree", problem=problem)


def check_keywords(keywords: Iterable[str], accepted: Iterable[str]) -> None:
    """Raise a TypeError if a keyword argument is unknown; it suggests the nearest one, or lists all.

    Examples
    --------
    >>> check_keywords(["epoch"], ["epochs", "loss"])
    Traceback (most recent call last):
    ...
    TypeError: unexpected keyword argument 'epoch'; did you mean 'epochs'?
    """
    names = sorted(accepted)
    for keyword in keywords:
        if keyword not in names:
            close = difflib.get_close_matches(keyword, names, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"choose from: {', '.join(names)}"
            raise TypeError(f"unexpected keyword argument {keyword!r}; {hint}")


# ---- the types of arguments ------------------------------------------------------------------------------------------


def checked(function: Function) -> Function:
    """Check the types of a public function's arguments against its annotations whenever it is called.

    The annotations are read at the first call; after that, the check takes about a microsecond per argument. It is as
    tolerant as Python users expect: NumPy numbers are accepted as numbers, an int as a float, a list as a tuple, and a
    string as a path. A bool is not accepted as a number, and neither is NaN. ``Any``, protocols, and types that only a
    type checker imports accept everything.

    Keyword arguments that are annotated as ``Unpack`` of a TypedDict are checked in the same way: an unknown one is a
    TypeError that names those that exist.

    Examples
    --------
    >>> @checked
    ... def repeat(text: str, times: int = 2) -> str:
    ...     return text * times
    >>> repeat("ab")
    'abab'
    >>> repeat("ab", times=2.5)
    Traceback (most recent call last):
    ...
    closerthan.checks.ParameterError: times is 2.5; it must be a whole number
    """
    check = _ArgumentCheck(function)

    def call(*args: Any, **kwargs: Any) -> Any:
        check(args, kwargs)
        return function(*args, **kwargs)

    # The wrapper gets the globals of the function's own module, since doctest skips functions from other modules.
    same_module = types.FunctionType(call.__code__, inspect.unwrap(function).__globals__, None, None, call.__closure__)
    wrapped = functools.wraps(function)(same_module)
    make_readable(wrapped)
    return wrapped  # type: ignore[return-value]


def _unpacked_options(function: Callable[..., Any]) -> Any:
    """Return the TypedDict of keyword arguments annotated as ``**options: Unpack[TypedDict]``, or None."""
    for parameter in inspect.signature(function).parameters.values():
        is_unpacked = typing.get_origin(parameter.annotation) is typing.Unpack
        if parameter.kind is parameter.VAR_KEYWORD and is_unpacked:
            return typing.get_args(parameter.annotation)[0]
    return None


class _Rule(NamedTuple):
    """A test of values, and the words that describe the values it accepts."""

    words: str
    accepts: Callable[[Any], bool]


class _ArgumentCheck:
    """The rules for the parameters of a function, read from its annotations at the first call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._positional: tuple[str, ...] = ()
        self._rules: dict[str, _Rule] | None = None
        self._keywords: frozenset[str] | None = None  # all accepted keywords, if a TypedDict lists some of them

    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        rules = self._rules
        if rules is None:
            rules = self._read()
        for name, value in zip(self._positional, args, strict=False):
            if name in rules and not rules[name].accepts(value):
                raise ParameterError(name, value, f"it must be {rules[name].words}")
        if self._keywords is not None and not self._keywords.issuperset(kwargs):
            check_keywords(kwargs, self._keywords)
        for name, value in kwargs.items():
            if name in rules and not rules[name].accepts(value):
                raise ParameterError(name, value, f"it must be {rules[name].words}")

    def _read(self) -> dict[str, _Rule]:
        parameters = inspect.signature(self._function).parameters.values()
        hints = _type_hints(self._function)
        variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        by_name = {one.name: hints.get(one.name, Any) for one in parameters if one.kind not in variable}
        options = _unpacked_options(self._function)
        if options is not None:
            by_name |= dict.fromkeys(options.__annotations__, Any) | _type_hints(options)
            self._keywords = frozenset(by_name)
        rules = {}
        for name, hint in by_name.items():
            rule = _rule(hint)
            if rule is not None and name == "seed":
                rule = _not_negative(rule)
            if rule is not None:
                rules[name] = rule
        by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self._positional = tuple(one.name for one in parameters if one.kind in by_position)
        self._rules = rules
        return rules


def _type_hints(annotated: Any) -> dict[str, Any]:
    """Return the annotations of a function or a TypedDict, without those that only type checkers can resolve."""
    try:
        return typing.get_type_hints(annotated)
    except NameError:  # a name that only type checkers import
        unresolved = (str, typing.ForwardRef)
        return {name: hint for name, hint in annotated.__annotations__.items() if not isinstance(hint, unresolved)}


def _rule(hint: Any) -> _Rule | None:
    """Return the rule for an annotation; None if any value is accepted."""
    if hint is None or hint is type(None):
        return _Rule("None", lambda value: value is None)
    origin = typing.get_origin(hint)
    if origin is typing.Union or origin is types.UnionType:
        return _union(typing.get_args(hint))
    if origin is Literal:
        return _literal(typing.get_args(hint))
    if origin is type:
        kind = typing.get_args(hint)[0]
        return _Rule(f"a class derived from {kind.__name__}", lambda it: isinstance(it, type) and issubclass(it, kind))
    kind = origin or hint
    if kind in _PLAIN:
        return _PLAIN[kind]
    if not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return None
    if issubclass(kind, os.PathLike):
        return _PATH
    if kind.__name__ == "ndarray":
        return _Rule("a NumPy array", lambda value: hasattr(value, "__array__") and hasattr(value, "__len__"))
    if issubclass(kind, Iterable) and kind.__module__ in ("builtins", "collections.abc"):
        return _container(kind, typing.get_args(hint))
    if kind.__name__ == "Callable":
        return _Rule("a function", callable)
    if _package(kind) in ("builtins", "closerthan", "numpy"):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        return _Rule(f"{article} {kind.__name__}", lambda value: isinstance(value, kind))
    return None


def _not_negative(rule: _Rule) -> _Rule:
    words = rule.words.replace("a whole number", "a whole number of at least 0")
    return _Rule(words, lambda value: rule.accepts(value) and not (_is_whole(value) and value < 0))


def _union(hints: Sequence[Any]) -> _Rule | None:
    # NumPy's ArrayLike is itself a union of protocols and scalar types; scalars are not accepted as arrays.
    others = [hint for hint in hints if not _module(hint).startswith("numpy._typing")]
    if len(others) < len(hints):
        others = [hint for hint in others if hint not in (complex, bytes, str)]
        about_comparisons = any(_module(hint).startswith("closerthan.comparisons") for hint in others)
        rules = [_ARRAY_OR_FILE if about_comparisons else _ARRAY, *map(_rule, others)]
    else:
        rules = [_rule(hint) for hint in hints]
    if None in rules:
        return None
    members = [rule for rule in rules if rule is not None]
    words = " or ".join(dict.fromkeys(rule.words for rule in members))
    return _Rule(words, lambda value: any(rule.accepts(value) for rule in members))


def _module(hint: Any) -> str:
    return str(getattr(typing.get_origin(hint) or hint, "__module__", ""))


def _package(hint: Any) -> str:
    return _module(hint).partition(".")[0]


def _literal(choices: Sequence[Any]) -> _Rule:
    words = " or ".join(f'"{choice}"' for choice in choices)
    return _Rule(words, lambda value: isinstance(value, type(choices[0])) and value in choices)


def _container(kind: type, parts: Sequence[Any]) -> _Rule | None:
    if issubclass(kind, Mapping):
        return _Rule("a mapping", lambda value: isinstance(value, Mapping))
    if issubclass(kind, Set):
        return _Rule("a set", lambda value: isinstance(value, Set))
    length = len(parts) if kind is tuple and parts and parts[-1] is not Ellipsis else None
    # Names may have any type, since they are converted to text later.
    is_checked = parts and (parts[0] in (int, float, bool) or _package(parts[0]) == "closerthan")
    part = _union(parts[:length]) if is_checked and length else _rule(parts[0]) if is_checked else None
    what = f"{length} values" if length else "a sequence" if issubclass(kind, Sequence) else "an iterable"
    words = f"{what}, each of them {part.words}" if part else what

    def accepts(value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping | Set) or not hasattr(value, "__iter__"):
            return False
        if not hasattr(value, "__len__"):  # a generator can be read only once, so its items are not checked
            return not issubclass(kind, Sequence)
        if length is not None and len(value) != length:
            return False
        return part is None or all(part.accepts(one) for one in value)

    return _Rule(words, accepts)


def _is_whole(value: Any) -> bool:
    return type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))


def _is_real(value: Any) -> bool:
    is_number = type(value) in (int, float) or (isinstance(value, Real) and not isinstance(value, bool))
    return is_number and value == value  # false for NaN


def _is_truth_value(value: Any) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")  # old and new names in NumPy


def _is_array_like(value: Any) -> bool:
    if hasattr(value, "__array__") and hasattr(value, "__len__"):
        return not isinstance(value, str | bytes)  # NumPy's strings have these attributes, too
    if value is None or isinstance(value, Number | str | bytes | os.PathLike | Mapping | Set | type):
        return False
    return not _is_truth_value(value) and any(
        hasattr(value, name) for name in ("__len__", "__iter__", "__array__", "__array_interface__", "shape")
    )


_PATH = _Rule("a path", lambda value: isinstance(value, str | os.PathLike))
_ARRAY = _Rule("an array", _is_array_like)
# File names are rejected later, with an error that explains how to read the file.
_ARRAY_OR_FILE = _Rule("an array", lambda value: _is_array_like(value) or _PATH.accepts(value))
_PLAIN: dict[Any, _Rule] = {
    int: _Rule("a whole number", _is_whole),
    float: _Rule("a number", _is_real),
    bool: _Rule("True or False", _is_truth_value),
    str: _Rule("a string", lambda value: isinstance(value, str)),
}
