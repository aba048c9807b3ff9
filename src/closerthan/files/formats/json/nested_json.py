"""Flatten nested JSON to records: people with lists of screens, lists by person, and exports of NEXT.

A value that is stored once for a person or a block is repeated in each of its records.
"""

import functools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from closerthan.comparisons.column_names import NUMBERED, fits, number_in, plain
from closerthan.files.formats.tables import abbreviated

__all__ = ["NEXT", "Records", "holds_records", "is_object_column", "list_of_records", "records_in"]

_LEVELS = 8  # maximum depth; people, sessions, blocks and screens need fewer
_OBJECTS = ("anchor", "near", "far", "left", "right", "near_1", "near_2", "far_1", "far_2")
_LIST_ROLES = ("items", "ranking", "shown")
_SPLITS = frozenset({"train", "training", "test", "testing", "validation"})
NEXT = "participant_responses"
"""Key under which NEXT stores the answers."""


class Records(NamedTuple):
    """Records, one per row, with remarks for the summary and the tool that exported them, if recognised."""

    rows: list[Any]
    notes: tuple[str, ...] = ()
    tool: str | None = None


def holds_records(content: Any) -> bool:
    """Return whether an object contains records (or is an export of NEXT), rather than being a record itself."""
    return isinstance(content, dict) and (NEXT in content or records_in(content) is not None)


def records_in(content: Any, level: int = 0) -> Records | None:
    """Return the records that a JSON value contains, or None.

    Examples
    --------
    >>> one = {"participant": "p1", "age": 30, "trials": [{"anchor": "ant", "near": "bee", "far": "cat"}]}
    >>> records_in([one]).rows
    [{'participant': 'p1', 'age': 30, 'anchor': 'ant', 'near': 'bee', 'far': 'cat'}]
    """
    if isinstance(content, list):
        if content and all(_is_table(value) for value in content):
            parts = [(str(number), part) for number, part in enumerate(content, 1)]
            note = f"each of the {len(parts):,} lists is taken as the answers of one person"
            return Records(_of_people(parts), () if _has_participant(content[0][0]) else (note,))
        return Records(list(_flat(content)))
    if not isinstance(content, dict):
        return None
    if isinstance(content.get(NEXT), dict):
        return _of_next(content[NEXT])
    if list_of_records(content) is not None:
        return Records(list(_flat([content])))
    parts = [(name, value) for name, value in content.items() if _is_part(value)]
    if len(parts) == len(content) and parts:
        return _by_name(parts)
    if level == _LEVELS:
        return None
    inner = [records_in(value, level + 1) for value in content.values() if isinstance(value, dict)]
    nested = [records for records in inner if records is not None]
    return nested[0] if len(nested) == 1 else None  # {"participants": {"p1": ...}}


def list_of_records(record: Any) -> str | None:
    """Return the key under which a record lists further records; None if there is none or the record is an answer."""
    if not isinstance(record, dict) or any(fits(role, name) for role in _OBJECTS for name in record):
        return None
    has_objects = any(
        is_object_column(name) for name in record
    )  # either the objects of one answer, or a list of all objects of the study
    lists = [name for name, value in record.items() if _is_table(value) and not is_object_column(name)]
    if len(lists) > 1 or has_objects:  # for example trials and a survey
        lists = [name for name in lists if any(map(_is_answer_or_more, record[name]))]
    return lists[0] if len(lists) == 1 else None


def _flat(records: list[Any], inherited: Mapping[str, Any] | None = None, level: int = 0) -> Iterator[Any]:
    shared = inherited or {}
    for record in records:
        inner = list_of_records(record) if level < _LEVELS else None
        if inner is not None:
            scalars = {name: value for name, value in record.items() if not isinstance(value, dict | list)}
            yield from _flat(record[inner], {**shared, **scalars}, level + 1)
        else:
            yield {**shared, **record} if isinstance(record, dict) and shared else record


def _by_name(parts: list[tuple[str, Any]]) -> Records:
    """Return the records of an object whose values are answers, or people with their answers."""
    if all(isinstance(part, dict) and _is_answer(part) for _, part in parts):
        return Records([part for _, part in parts])  # databases store each record under a key
    names = [name for name, _ in parts]
    if {plain(name) for name in names} <= _SPLITS:
        return Records(_of_people(parts, "split"))
    return Records(
        _of_people(parts), (f"the lists {abbreviated(names, 3)} are each taken as the answers of one person",)
    )


def _of_people(parts: list[tuple[str, Any]], title: str = "participant") -> list[Any]:
    rows: list[Any] = []
    for name, part in parts:
        records = part if isinstance(part, list) else [part]
        names_person = any(map(_has_participant, [*records[:1], *_flat(records[:1])]))
        rows += _flat(records, {} if title == "participant" and names_person else {title: name})
    return rows


def _of_next(people: Mapping[str, Any]) -> Records | None:
    """Return the records of an export of NEXT, which lists the queries of each person with three targets."""
    rows, n_unanswered = [], 0
    for person, queries in people.items():
        for query in queries if isinstance(queries, list) else ():
            targets = _targets(query)
            if targets is None:
                return None
            winner = query.get("target_winner")
            if winner is None and "index_winner" in query:
                index = query["index_winner"]
                winner = next((target.name for target in targets.values() if target.index == index), None)
            if winner is None:
                n_unanswered += 1
                continue
            record = {"participant": person.rpartition("_")[2] or person}
            record |= {place: target.name for place, target in targets.items()}
            record["answer"] = winner
            record |= {name: query[name] for name in ("response_time", "alg_label") if name in query}
            rows.append(record)
    if not rows:
        return None
    notes = (f"{n_unanswered:,} queries were not answered and are left out",) if n_unanswered else ()
    return Records(rows, notes, "NEXT")


class _Target(NamedTuple):
    name: Any
    index: Any


def _targets(query: Any) -> dict[str, _Target] | None:
    entries = query.get("target_indices") if isinstance(query, dict) else None
    targets: dict[str, _Target] = {}
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            inner = entry.get("target")
            target = {**entry, **inner} if isinstance(inner, dict) else entry
            name = target.get("target_id", entry.get("index"))
            targets[str(entry.get("label"))] = _Target(name, entry.get("index"))
    return targets if {"center", "left", "right"} <= set(targets) else None


# ---- classification of JSON values ----


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)


def _is_part(value: Any) -> bool:
    """Return whether a value is an answer or all answers of a person."""
    return _is_table(value) or (isinstance(value, dict) and _is_answer_or_more(value))


def _is_answer_or_more(record: dict[str, Any]) -> bool:
    return _is_answer(record) or list_of_records(record) is not None


def _is_answer(record: dict[str, Any]) -> bool:
    return any(is_object_column(name) for name in record)


@functools.lru_cache(maxsize=1 << 12)  # called for each record
def is_object_column(name: str) -> bool:
    """Return whether a column of this name usually holds compared objects.

    Examples
    --------
    >>> is_object_column("left"), is_object_column("stim_2"), is_object_column("age")
    (True, True, False)
    """
    if any(fits(role, name) for role in _OBJECTS):
        return True
    return any(plain(name) in NUMBERED[role] or number_in(role, name) is not None for role in _LIST_ROLES)


def _has_participant(record: Any) -> bool:
    return isinstance(record, dict) and any(fits("participant", name) for name in record)
