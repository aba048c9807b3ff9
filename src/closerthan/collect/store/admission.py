"""Admission to a study, which the researcher can pause or close, and which can be full or over."""

import time

from closerthan.collect.store.database import Store
from closerthan.collect.store.participants import COUNTED
from closerthan.collect.store.progress import AWAY
from closerthan.collect.study.description import Study

__all__ = ["STATES", "admission", "places_by_condition", "places_taken", "set_state", "study_state"]

STATES = ("open", "paused", "closed")
"""The states that a researcher can choose. A paused study asks no questions; a closed one admits nobody new."""


def study_state(store: Store) -> str:
    """Return the state that the researcher chose."""
    return store.value("SELECT value FROM about WHERE name = 'state'") or "open"


def set_state(store: Store, state: str) -> None:
    """Open, pause or close the study."""
    if state not in STATES:
        raise ValueError(f"state is {state!r}; it can be {', '.join(STATES)}")
    with store.writing():
        store.change("INSERT OR REPLACE INTO about VALUES ('state', ?)", state)


def places_taken(store: Store, now: float) -> int:
    """Return the number of places that are taken: by those who finished, and by those who are answering now.

    People who failed the checks, were excluded, or stopped answering free their places.
    """
    return sum(places_by_condition(store, now).values())


def places_by_condition(store: Store, now: float) -> dict[str, int]:
    """Return the number of places that are taken in each condition, without conditions that nobody has."""
    rows = store.rows(
        f"""SELECT condition, count(*)
        FROM (SELECT number AS participant, state, condition, max(joined_at, seen_at) AS seen_at FROM participants)
        WHERE {COUNTED} AND (state = 'complete' OR (state = 'running' AND seen_at >= ?)) GROUP BY condition""",
        now - AWAY,
    )
    return dict(map(tuple, rows))


def admission(study: Study, store: Store, now: float | None = None) -> str:
    """Return "open", "paused", or "full" if nobody new may join: the study is closed or over, or has no free place."""
    now = time.time() if now is None else now
    state = study_state(store)
    if state == "paused":
        return state
    if state == "closed" or (study.until is not None and now > study.until):
        return "full"
    return "full" if study.places and places_taken(store, now) >= study.places else "open"
