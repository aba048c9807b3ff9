"""From a user's choice (a name, a class or an object) to the object."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Kind = TypeVar("Kind")


def chosen(choice: Any, registry: Mapping[str, Callable[[], Kind]], kind: type[Kind], noun: str) -> Kind:
    """The object that ``choice`` means; an unknown one is an error that lists the known names.

    Examples
    --------
    >>> chosen("two", {"one": lambda: 1, "two": lambda: 2}, int, "number")
    2
    >>> chosen("six", {"one": lambda: 1, "two": lambda: 2}, int, "number")
    Traceback (most recent call last):
    ...
    ValueError: unknown number 'six'; known are: one, two
    """
    if isinstance(choice, str):
        if choice not in registry:
            raise ValueError(f"unknown {noun} {choice!r}; known are: {', '.join(registry)}")
        return registry[choice]()
    if isinstance(choice, type) and issubclass(choice, kind):
        return choice()
    if isinstance(choice, kind):
        return choice
    raise ValueError(
        f"{noun} is {choice!r}; pass a name ({', '.join(registry)}) or an object derived from {kind.__name__}"
    )
