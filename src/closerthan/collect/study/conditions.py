"""Experimental conditions: each participant gets one, which can have its own question, objects and question list."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from closerthan.collect.study.own_questions import read_questions
from closerthan.collect.study.tables import open_table
from closerthan.comparisons.screen import Screen

__all__ = ["Condition", "read_conditions"]

_TEXTS = ("name", "question", "instructions", "objects", "own")


@dataclass(frozen=True)
class Condition:
    """A condition of a study. Empty attributes stand for those of the study.

    Attributes
    ----------
    name
        The name in tables.
    question, instructions
        The texts for these participants.
    objects
        The names of the objects.
    own_questions
        The questions of the researcher's list for this condition.
    """

    name: str
    question: str = ""
    instructions: str = ""
    objects: tuple[str, ...] = ()
    own_questions: tuple[tuple[str, ...], ...] = ()


def read_conditions(tables: Any, folder: Path, screen: Screen, names: Collection[str]) -> tuple[Condition, ...]:
    """Read the sections [[condition]] of study.toml.

    Examples
    --------
    >>> tables = [{"name": "colour", "question": "Which has a similar colour?"}, {"name": "shape"}]
    >>> [condition.name for condition in read_conditions(tables, Path(), Screen.of("closer"), [])]
    ['colour', 'shape']
    """
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ValueError("write [[condition]], in double brackets, above each condition")
    conditions = tuple(_condition(table, folder, screen, names) for table in tables)
    if len(conditions) == 1:
        raise ValueError("there is only one condition; describe at least two, or none")
    all_names = [condition.name for condition in conditions]
    repeated = next((name for name in all_names if all_names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"two conditions have the name {repeated!r}; choose another name for one of them")
    return conditions


def _condition(table: dict[str, Any], folder: Path, screen: Screen, names: Collection[str]) -> Condition:
    name = table.get("name", "")
    if not isinstance(name, str) or not name.strip():
        raise ValueError('a condition has no name; write name = "..." below [[condition]]')
    if not re.fullmatch(r"\w[\w-]{,39}", name):
        raise ValueError(
            f"the condition {name!r} must have a name of letters, digits, - and _, for tables and files; "
            "it cannot begin with -"
        )
    for key, value in table.items():
        if key not in _TEXTS:
            raise ValueError(f"condition {name}: {key} is unknown; use {', '.join(_TEXTS)}")
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f'condition {name}: {key} must be a text in quotes that is not empty, as in "..."')
    for key in ("objects", "own"):
        if key in table and not (folder / table[key]).resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"condition {name}: {table[key]} is outside {folder}; copy it into that folder")
    objects = _objects(folder / table["objects"], names) if "objects" in table else ()
    own = read_questions(folder / table["own"], screen, objects or names) if "own" in table else ()
    texts = {key: table.get(key, "").strip() for key in ("question", "instructions")}
    return Condition(name, **texts, objects=objects, own_questions=own)


def _objects(path: Path, names: Collection[str]) -> tuple[str, ...]:
    """Read the names of objects from the column "name" of a CSV file."""
    with open_table(path, "list the objects of the condition in it, in a column called name") as (columns, table):
        if "name" not in columns:
            raise ValueError(f"{path}, line 1: the column name is missing; list the objects of the condition in it")
        listed = tuple(dict.fromkeys((row["name"] or "").strip() for row in table))
    unknown = next((name for name in listed if name not in names), None)
    if unknown is not None:
        raise ValueError(f"{path}: there is no object {unknown!r} in objects.csv; use the names there")
    return listed
