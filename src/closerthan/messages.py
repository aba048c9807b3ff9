"""Messages that suggest arguments, which Python and the command line write in different ways."""

import re
from collections.abc import Mapping
from types import EllipsisType
from typing import Protocol, TypeAlias

__all__ = [
    "Message",
    "Notation",
    "Suggested",
    "as_argument",
    "filled_in",
    "message_of",
    "prefixed",
    "value_error",
    "with_full_stop",
]

_PLACE = re.compile(r"\{(\w+)\}")  # placeholder of an argument

Suggested: TypeAlias = (
    str | float | EllipsisType | Mapping[str, "str | int | EllipsisType | None"] | tuple["str | bool", ...] | None
)
"""A suggested value; an ellipsis is a value that the user chooses, a tuple lists alternatives, None is no value."""


class Notation(Protocol):
    """A way to write an argument and its suggested value."""

    def __call__(self, name: str, value: Suggested = None, /) -> str: ...


class Message(str):
    """A problem and a way out, whose suggested arguments can also be written as command-line options.

    As a string, it shows arguments as in Python. It can be the message of an error or a warning, or a note.

    Parameters
    ----------
    problem
        What happened. This text can quote a file: nothing in it is replaced.
    way_out
        What the user can do; ``{ties}`` stands for the argument ``ties``.
    **arguments
        Suggested values of these arguments; without a value, only the name is shown.

    Examples
    --------
    >>> message = Message("row 17 is a tie", "drop the row or pass {ties}", ties="drop")
    >>> print(message)
    row 17 is a tie; drop the row or pass ties="drop"
    >>> message.in_terms_of(lambda name, value=None: f"--{name} {value}")
    'row 17 is a tie; drop the row or pass --ties drop'
    """

    problem: str
    way_out: str
    arguments: Mapping[str, Suggested]

    def __new__(cls, problem: str, way_out: str, /, **arguments: Suggested) -> "Message":
        message = super().__new__(cls, f"{problem}; {filled_in(way_out, as_argument, arguments)}")
        message.problem, message.way_out, message.arguments = problem, way_out, arguments
        return message

    def __getnewargs_ex__(self) -> tuple[tuple[str, str], Mapping[str, Suggested]]:
        return (self.problem, self.way_out), self.arguments

    def in_terms_of(self, notation: Notation) -> str:
        """Return the message with arguments in another notation."""
        return f"{self.problem}; {filled_in(self.way_out, notation, self.arguments)}"

    def with_problem(self, problem: str) -> "Message":
        """Return a message about another problem, with the same way out."""
        return Message(problem, self.way_out, **self.arguments)


def value_error(problem: str, way_out: str, /, **arguments: Suggested) -> ValueError:
    """Return a ValueError with a :class:`Message`.

    Examples
    --------
    >>> value_error("row 17 is a tie", "drop the row or pass {ties}", ties="drop")
    ValueError('row 17 is a tie; drop the row or pass ties="drop"')
    """
    return ValueError(Message(problem, way_out, **arguments))


def message_of(error: BaseException) -> str:
    """Return the message of an error or a warning: a :class:`Message`, if it has one.

    Examples
    --------
    >>> type(message_of(value_error("row 17 is a tie", "drop the row"))).__name__, message_of(ValueError("no row"))
    ('Message', 'no row')
    """
    return error.args[0] if error.args and isinstance(error.args[0], Message) else str(error)


def prefixed(prefix: str, message: str) -> str:
    """Return a message after a prefix, such as the name of a file; a :class:`Message` remains one.

    Examples
    --------
    >>> prefixed("answers.csv, ", Message("row 17 is a tie", "pass {ties}", ties="drop")).way_out
    'pass {ties}'
    """
    return message.with_problem(prefix + message.problem) if isinstance(message, Message) else prefix + message


def with_full_stop(message: str) -> str:
    """Return a message as a sentence; a :class:`Message` remains one.

    Examples
    --------
    >>> with_full_stop("Not aligned: a.npy"), with_full_stop(Message("row 17 is a tie", "pass {ties}", ties="drop"))
    ('Not aligned: a.npy.', 'row 17 is a tie; pass ties="drop".')
    """
    if isinstance(message, Message):
        return Message(message.problem, f"{message.way_out}.", **message.arguments)
    return f"{message}."


def filled_in(template: str, notation: Notation, arguments: Mapping[str, Suggested]) -> str:
    """Return a text with arguments in place of ``{name}``.

    Examples
    --------
    >>> filled_in("leave {start} out or pass {n_starts}", as_argument, {"n_starts": 1})
    'leave start out or pass n_starts=1'
    """
    return _PLACE.sub(lambda place: notation(place[1], arguments.get(place[1])), template)


def as_argument(name: str, value: Suggested = None) -> str:
    """Return an argument as in a call of a Python function.

    Examples
    --------
    >>> as_argument("n_starts"), as_argument("names", ...), as_argument("header", (True, False))
    ('n_starts', 'names=...', 'header=True or header=False')
    >>> as_argument("columns", {"anchor": "probe", "near": ..., "block": None})
    'columns={"anchor": "probe", "near": ..., "block": None}'
    """
    if value is None:
        return name
    return " or ".join(f"{name}={_literal(one)}" for one in (value if isinstance(value, tuple) else (value,)))


def _literal(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f'"{key}": {_literal(part)}' for key, part in value.items()) + "}"
    if isinstance(value, str):
        return f'"{value}"'
    return "..." if value is ... else repr(value)
