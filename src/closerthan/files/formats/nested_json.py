"""Nested JSON, made into records: people with lists of screens, lists by person, and NEXT's exports.

What is said once about a person (or a block) is repeated in each of its records.
"""

import functools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from closerthan.comparisons.column_names import NUMBERED, fits, number_in, plain

__all__ = ["NEXT", "Records", "holds_records", "names_object", "records_in", "screens_of"]

_LEVELS = 8  # people, sessions, blocks, screens, and some to spare
_OBJECTS = ("anchor", "near", "far", "left", "right", "near_1", "near_2", "far_1", "far_2")
_LISTED = ("items", "ranking", "shown")
_SPLITS = frozenset({"train", "training", "test", "testing", "validation"})
NEXT = "participant_responses"
"""Where NEXT keeps what people answered."""


class Records(NamedTuple):
    """One row per record, and what a reader of the summary should know about where they were."""

    rows: list[Any]
    notes: tuple[str, ...] = ()
    tool: str | None = None


def holds_records(content: Any) -> bool:
    """Whether there are records somewhere in an object (or NEXT put none there), and not the object itself is one."""
    return isinstance(content, dict) and (NEXT in content or records_in(content) is not None)


def records_in(content: Any, level: int = 0) -> Records | None:
    """The records that a JSON value holds; None if there are none.

    Examples
    --------
    >>> one = {"participant": "p1", "age": 30, "trials": [{"anchor": "ant", "near": "bee", "far": "cat"}]}
    >>> records_in([one]).rows
    [{'participant': 'p1', 'age': 30, 'anchor': 'ant', 'near': 'bee', 'far': 'cat'}]
    """
    if isinstance(content, list):
        if content and all(_is_table(one) for one in content):
            parts = [(str(number), part) for number, part in enumerate(content, 1)]
            note = f"each of the {len(parts):,} lists is taken as one person's"
            return Records(_of_people(parts), () if _says_who(content[0][0]) else (note,))
        return Records(list(_flat(content)))
    if not isinstance(content, dict):
        return None
    if isinstance(content.get(NEXT), dict):
        return _of_next(content[NEXT])
    if screens_of(content) is not None:
        return Records(list(_flat([content])))
    parts = [(name, value) for name, value in content.items() if _is_part(value)]
    if len(parts) == len(content) and parts:
        return _by_name(parts)
    if level == _LEVELS:
        return None
    inner = [records_in(value, level + 1) for value in content.values() if isinstance(value, dict)]
    found = [records for records in inner if records is not None]
    return found[0] if len(found) == 1 else None  # {"participants": {"p1": ...}}


def screens_of(record: Any) -> str | None:
    """Under which name a record has a list of further records, if it is no answer itself."""
    if not isinstance(record, dict) or any(fits(role, name) for role in _OBJECTS for name in record):
        return None
    listed = any(names_object(name) for name in record)  # of an answer, or all objects of a study
    lists = [name for name, value in record.items() if _is_table(value) and not names_object(name)]
    if len(lists) > 1 or listed:  # such as trials and a survey
        lists = [name for name in lists if any(map(_is_answer_or_more, record[name]))]
    return lists[0] if len(lists) == 1 else None


def _flat(records: list[Any], inherited: Mapping[str, Any] | None = None, level: int = 0) -> Iterator[Any]:
    said = inherited or {}
    for record in records:
        inner = screens_of(record) if level < _LEVELS else None
        if inner is not None:
            plainly = {name: value for name, value in record.items() if not isinstance(value, dict | list)}
            yield from _flat(record[inner], {**said, **plainly}, level + 1)
        else:
            yield {**said, **record} if isinstance(record, dict) and said else record


def _by_name(parts: list[tuple[str, Any]]) -> Records:
    """An object of answers, or of people and what they answered."""
    if all(isinstance(part, dict) and _is_answer(part) for _, part in parts):
        return Records([part for _, part in parts])  # a database calls each record by some name
    names = [name for name, _ in parts]
    shown = ", ".join(names[:3]) + ", ..." * (len(names) > 3)
    if {plain(name) for name in names} <= _SPLITS:
        return Records(_of_people(parts, "split"))
    return Records(_of_people(parts), (f"the lists called {shown} are taken as one person's each",))


def _of_people(parts: list[tuple[str, Any]], title: str = "participant") -> list[Any]:
    found: list[Any] = []
    for name, part in parts:
        records = part if isinstance(part, list) else [part]
        said = (
            {} if title == "participant" and any(map(_says_who, [*records[:1], *_flat(records[:1])])) else {title: name}
        )
        found += _flat(records, said)
    return found


def _of_next(people: Mapping[str, Any]) -> Records | None:
    """What NEXT exports: each person's queries, with the targets at the center, on the left and on the right."""
    found, open_queries = [], 0
    for person, queries in people.items():
        for query in queries if isinstance(queries, list) else ():
            shown = _targets(query)
            if shown is None:
                return None
            winner = query.get("target_winner")
            if winner is None and "index_winner" in query:
                winner = next((one.name for one in shown.values() if one.index == query["index_winner"]), None)
            if winner is None:
                open_queries += 1
                continue
            record = {"participant": person.rpartition("_")[2] or person}
            record |= {place: one.name for place, one in shown.items()}
            record["answer"] = winner
            record |= {name: query[name] for name in ("response_time", "alg_label") if name in query}
            found.append(record)
    if not found:
        return None
    notes = (f"{open_queries:,} queries were not answered, and are left out",) if open_queries else ()
    return Records(found, notes, "NEXT")


class _Target(NamedTuple):
    name: Any
    index: Any


def _targets(query: Any) -> dict[str, _Target] | None:
    listed = query.get("target_indices") if isinstance(query, dict) else None
    found: dict[str, _Target] = {}
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict):
            inner = one.get("target")
            target = {**one, **inner} if isinstance(inner, dict) else one
            found[str(one.get("label"))] = _Target(target.get("target_id", one.get("index")), one.get("index"))
    return found if {"center", "left", "right"} <= set(found) else None


# ---- what a value is ----


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _is_part(value: Any) -> bool:
    """Whether a value is what one person answered, or an answer."""
    return _is_table(value) or (isinstance(value, dict) and _is_answer_or_more(value))


def _is_answer_or_more(record: dict[str, Any]) -> bool:
    return _is_answer(record) or screens_of(record) is not None


def _is_answer(record: dict[str, Any]) -> bool:
    return any(names_object(name) for name in record)


@functools.lru_cache(maxsize=1 << 12)  # asked of each record
def names_object(name: str) -> bool:
    """Whether a column of this name usually holds objects that are compared.

    Examples
    --------
    >>> names_object("left"), names_object("stim_2"), names_object("age")
    (True, True, False)
    """
    if any(fits(role, name) for role in _OBJECTS):
        return True
    return any(plain(name) in NUMBERED[role] or number_in(role, name) is not None for role in _LISTED)


def _says_who(record: Any) -> bool:
    return isinstance(record, dict) and any(fits("participant", name) for name in record)
