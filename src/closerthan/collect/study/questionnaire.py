"""Questionnaires before and after the questions, and the question that checks whether the task was understood."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

__all__ = ["KINDS", "Comprehension", "Item", "ItemMessage", "read_comprehension", "read_items"]

KINDS = ("choice", "several", "number", "text", "scale")
"""The kinds of items: one option, several options, a number, a text, and a point on a scale."""
_LONGEST = 2000  # maximum length of a text, in characters
_MOST_POINTS = 21  # maximum number of points of a scale
_RESERVED = ("comprehension",)


class ItemMessage(TypedDict):
    """An item as the page receives it."""

    name: str
    kind: str
    text: str
    required: bool
    options: NotRequired[list[str]]
    least: NotRequired[float]
    most: NotRequired[float]
    labels: NotRequired[list[str]]


@dataclass(frozen=True)
class Item:
    """One item of a questionnaire.

    Attributes
    ----------
    name
        The name of the column in participants.csv.
    when
        "before" or "after" the questions.
    kind
        One of :data:`KINDS`.
    options
        The options of a choice.
    least, most
        The limits of a number; the first and the last point of a scale.
    labels
        Texts at the two ends of a scale.

    Examples
    --------
    >>> age = Item("age", "before", "number", "How old are you?", least=18, most=120)
    >>> age.parsed(30)
    30
    >>> age.parsed(7)
    Traceback (most recent call last):
    ValueError: age is 7; it must be a number from 18 to 120
    """

    name: str
    when: str
    kind: str
    text: str
    options: tuple[str, ...] = ()
    least: float = -math.inf
    most: float = math.inf
    labels: tuple[str, ...] = ()
    required: bool = True

    def parsed(self, value: Any) -> Any:
        """Return a checked response, as it is stored: an option, a list of options, a number, a text, or None."""
        if value in (None, "", []):
            if self.required:
                raise ValueError(f"{self.name} has no response")
            return None
        if self.kind == "choice":
            return self._option(value)
        if self.kind == "several":
            if not isinstance(value, list) or len(value) > len(self.options):
                raise ValueError(f"{self.name} must be a list of options")
            chosen = {self._option(option) for option in value}
            return [option for option in self.options if option in chosen]
        if self.kind == "text":
            if not isinstance(value, str):
                raise ValueError(f"{self.name} must be a text")
            # A lone surrogate cannot be stored.
            return value[:_LONGEST].encode("utf-8", "replace").decode()
        if type(value) not in (int, float) or not self.least <= value <= self.most:
            raise ValueError(f"{self.name} is {str(value)[:40]}; it must be a number{self._range()}")
        if self.kind == "scale" and value != int(value):
            raise ValueError(f"{self.name} is {value}; it must be a whole number{self._range()}")
        return value

    def message(self) -> ItemMessage:
        """Return the item as the page receives it."""
        message: ItemMessage = {"name": self.name, "kind": self.kind, "text": self.text, "required": self.required}
        if self.options:
            message["options"] = list(self.options)
        if math.isfinite(self.least):
            message["least"] = self.least
        if math.isfinite(self.most):
            message["most"] = self.most
        if self.labels:
            message["labels"] = list(self.labels)
        return message

    def _option(self, value: Any) -> str:
        if value not in self.options:
            raise ValueError(f"{self.name} is {str(value)[:40]!r}; it must be one of the options")
        return str(value)

    def _range(self) -> str:
        if math.isfinite(self.least) and math.isfinite(self.most):
            return f" from {self.least:g} to {self.most:g}"
        if math.isfinite(self.least):
            return f", at least {self.least:g}"
        return f", at most {self.most:g}" if math.isfinite(self.most) else ""


@dataclass(frozen=True)
class Comprehension:
    """A question about the instructions, which must be answered correctly before the first question.

    ``correct`` is the position of the correct option, and ``attempts`` is the number of attempts after which the
    interview ends.
    """

    text: str
    options: tuple[str, ...]
    correct: int
    attempts: int = 3


def read_items(tables: Any) -> tuple[Item, ...]:
    """Read the items of a questionnaire from the tables [[questionnaire]] of study.toml.

    Examples
    --------
    >>> read_items([{"name": "age", "kind": "number", "text": "Age?"}])[0].when
    'before'
    """
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ValueError("write [[questionnaire]], in two brackets, above each item")
    items: list[Item] = []
    for number, table in enumerate(tables, 1):
        item = _item(table, number)
        if item.name in [other.name for other in items]:
            raise ValueError(f'there are two items with the name "{item.name}"; rename one of them')
        items.append(item)
    return tuple(items)


def _item(table: Mapping[str, Any], number: int) -> Item:
    name = table.get("name")
    if not isinstance(name, str) or not name.isidentifier() or name in _RESERVED:
        raise ValueError(f'item {number} needs a name of letters, digits and "_", as in name = "age"')

    def problem(message: str) -> ValueError:
        return ValueError(f'item "{name}": {message}')

    kind, when = table.get("kind"), table.get("when", "before")
    if kind not in KINDS:
        raise problem(f"kind must be one of {', '.join(KINDS)}")
    allowed = {"name", "kind", "when", "text", "required"}
    allowed |= {"choice": {"options"}, "several": {"options"}, "number": {"least", "most"}, "text": set(),
                "scale": {"least", "most", "labels"}}[kind]  # fmt: skip
    unknown = sorted(set(table) - allowed)
    if unknown:
        raise problem(f"{unknown[0]} is unknown for a {kind}; use {', '.join(sorted(allowed))}")
    if when not in ("before", "after"):
        raise problem('when must be "before" or "after"')
    if not isinstance(table.get("text"), str) or not table["text"].strip():
        raise problem('text is missing; write text = "..."')
    if not isinstance(table.get("required", True), bool):
        raise problem("required must be true or false")
    usual = (1, 7) if kind == "scale" else (-math.inf, math.inf)
    least, most = table.get("least", usual[0]), table.get("most", usual[1])
    if any(type(limit) not in (int, float) for limit in (least, most)) or not least < most:
        raise problem("least and most must be numbers, and least the smaller one")
    if kind == "scale" and (type(least) is not int or type(most) is not int or most - least >= _MOST_POINTS):
        raise problem(f"least and most must be whole numbers, with at most {_MOST_POINTS} points")
    return Item(
        name, when, kind, table["text"].strip(), _options(table, problem) if "options" in allowed else (), least, most,
        _labels(table, problem), table.get("required", True),
    )  # fmt: skip


def _options(table: Mapping[str, Any], problem: Any) -> tuple[str, ...]:
    options: Any = table.get("options")
    if not _are_texts(options) or len(options) < 2 or len(set(options)) < len(options):
        raise problem('options must be at least two different texts, as in options = ["yes", "no"]')
    return tuple(options)


def _labels(table: Mapping[str, Any], problem: Any) -> tuple[str, ...]:
    labels = table.get("labels", [])
    if labels and (not _are_texts(labels) or len(labels) != 2):
        raise problem('labels must be the two texts at the ends, as in labels = ["not at all", "very"]')
    return tuple(labels)


def _are_texts(values: Any) -> bool:
    return isinstance(values, Sequence) and not isinstance(values, str) and all(
        isinstance(value, str) and value.strip() for value in values
    )  # fmt: skip


def read_comprehension(section: Mapping[str, Any]) -> Comprehension | None:
    """Read the section [comprehension] of study.toml; None if it is empty.

    Examples
    --------
    >>> read_comprehension({"text": "What will you choose?", "options": ["near", "far"], "correct": "near"}).correct
    0
    """
    if not section:
        return None
    for name in ("text", "options", "correct"):
        if name not in section:
            raise ValueError(f"{name} is missing in [comprehension]")
    options = _options(section, ValueError)
    if section["correct"] not in options:
        raise ValueError(f'correct is "{section["correct"]}"; it must be one of the options')
    return Comprehension(
        section["text"].strip(), options, options.index(section["correct"]), section.get("attempts", 3)
    )
