"""The table of participants: how each interview went, and whether the answers count."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from closerthan.collect.choosing.quality import people
from closerthan.collect.store.access import Access
from closerthan.collect.store.database import Store
from closerthan.collect.study.description import Study
from closerthan.files.writing.csv_text import csv_line, spreadsheet_safe
from closerthan.wording import counted

__all__ = ["participant_lines"]

_COLUMNS = (
    "participant", "condition", "state", "started", "ended", "answers", "checks_passed", "checks",
    "repeats_consistent", "repeats", "agreements", "shared", "median_ms", "lapse_rate", "verdict", "reasons",
    "excluded", "exclusion_reason", "consent",
)  # fmt: skip


def participant_lines(store: Store, study: Study, access: Access, *, identities: bool = False) -> Iterator[str]:
    """Yield the lines of participants.csv, for all participants who gave their consent, without pilots.

    With ``identities``, the recruiter's ids follow in further columns.
    """
    roles = [row["role"] for row in store.rows("SELECT DISTINCT role FROM identities ORDER BY role")]
    roles = roles if identities else []
    items = [item.name for item in study.questionnaire]
    items += ["comprehension"] if study.comprehension else []
    responses = {(row["participant"], row["item"]): row["value"] for row in store.rows("SELECT * FROM responses")}
    items += sorted({item for _, item in responses}.difference(items))  # they are no longer part of study.toml
    yield csv_line([*_COLUMNS, *(f"response_{name}" for name in items), *(f"recruiter_{role}" for role in roles)])
    rows = {row["number"]: row for row in store.rows("SELECT * FROM participants WHERE state <> 'declined'")}
    ids = {(row["participant"], row["role"]): row["value"] for row in store.rows("SELECT * FROM identities")}
    for person in reversed(people(store, study, access)):
        row = rows[person.number]
        cells = [
            person.name, person.condition, person.state, _time(row["joined_at"]), _time(row["ended_at"]),
            person.answers, *person.checks,
            *person.repeats, *person.shared, person.median_ms, person.lapse, person.verdict, person.reasons,
            "no" if person.excluded is None else "yes", spreadsheet_safe(person.excluded or ""), row["consent"],
        ]  # fmt: skip
        cells += [_response(responses.get((person.number, name))) for name in items]
        yield csv_line([*cells, *(spreadsheet_safe(ids.get((person.number, role), "")) for role in roles)])


def _response(value: str | None) -> Any:
    """Return a stored response as a cell: several options are separated by semicolons."""
    response = None if value is None else json.loads(value)
    if isinstance(response, dict):  # the question about the instructions
        return f"{'passed' if response['passed'] else 'failed'} after {counted(response['attempts'], 'attempt')}"
    if isinstance(response, list):
        return spreadsheet_safe("; ".join(response))
    return spreadsheet_safe(response) if isinstance(response, str) else response


def _time(seconds: Any) -> str:
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
