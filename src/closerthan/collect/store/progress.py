"""The progress of a study in numbers, from the totals that the database keeps."""

import time
from dataclasses import dataclass
from typing import Any

from closerthan.collect.store.database import Store

__all__ = ["AWAY", "Progress", "progress"]

AWAY = 1800.0  # seconds without an answer after which a participant counts as dropped out
_HOURS = 48  # length of `by_hour`
_NO_PILOT = "participant NOT IN (SELECT number FROM participants WHERE pilot)"


@dataclass(frozen=True)
class Progress:
    """Numbers of participants and answers, without pilots.

    Attributes
    ----------
    started, finished, failed, running, dropped, declined
        Participants who gave consent, who finished, who finished but failed the checks, who are answering, who stopped
        answering, and who did not give consent.
    excluded, pilots, withdrawn
        Participants whom the researcher left out, pilots, and participants who deleted their answers.
    answers, skipped, ties, last_hour
        Answers without practice: in total, skipped, ties, and those of the last hour, counted by whole minutes.
    faults, faulty
        Questions that could not be shown because a file was missing or broken, practice included, and how often each
        object was the reason.
    kinds
        Answers by kind of question, practice included.
    median_ms
        Median response time in milliseconds, rounded down to hundredths of a second, practice included.
    by_hour
        Answers in each of the last 48 hours, practice included; the current hour comes last.
    """

    started: int
    finished: int
    failed: int
    running: int
    dropped: int
    declined: int
    excluded: int
    pilots: int
    withdrawn: int
    answers: int
    skipped: int
    ties: int
    faults: int
    faulty: dict[str, int]
    last_hour: int
    kinds: dict[str, int]
    median_ms: int | None
    by_hour: list[int]


def progress(store: Store, now: float | None = None) -> Progress:
    """Count participants and answers, as of the time ``now`` in seconds."""
    now = time.time() if now is None else now
    states = _counts(store, "SELECT state, count(*) FROM participants WHERE NOT pilot GROUP BY state")
    dropped = store.value(
        "SELECT count(*) FROM participants WHERE state = 'running' AND NOT pilot AND max(joined_at, seen_at) < ?",
        now - AWAY,
    )
    responses = _counts(store, "SELECT said, sum(number) FROM totals WHERE kind <> 'practice' GROUP BY said")
    minute, hour = int(now // 60), int(now // 3600)
    first_hour = hour - _HOURS + 1
    by_hour = _counts(
        store,
        "SELECT minute / 60 AS hour, sum(answers + practice) FROM minutes WHERE minute >= ? GROUP BY hour",
        first_hour * 60,
    )
    return Progress(
        started=sum(states.values()) - states.get("declined", 0),
        finished=states.get("complete", 0) + states.get("failed", 0),
        failed=states.get("failed", 0),
        running=states.get("running", 0) - dropped,
        dropped=dropped,
        declined=states.get("declined", 0),
        excluded=store.value(f"SELECT count(*) FROM exclusions WHERE {_NO_PILOT}"),
        pilots=store.value("SELECT count(*) FROM participants WHERE pilot"),
        withdrawn=int(store.value("SELECT value FROM about WHERE name = 'withdrawn'") or 0),
        answers=sum(responses.values()) - responses.get("fault", 0),
        skipped=responses.get("skip", 0),
        ties=responses.get("tie", 0),
        faults=store.value("SELECT count(DISTINCT question) FROM faults"),
        faulty=_counts(
            store,
            """SELECT name, count(*) FROM faults JOIN objects ON object = number
            GROUP BY number ORDER BY count(*) DESC, name""",
        ),
        last_hour=store.value("SELECT coalesce(sum(answers), 0) FROM minutes WHERE minute > ?", minute - 60),
        kinds=_counts(store, "SELECT kind, sum(number) FROM totals GROUP BY kind HAVING sum(number) > 0"),
        median_ms=_median_time(store),
        by_hour=[by_hour.get(number, 0) for number in range(first_hour, hour + 1)],
    )


def _median_time(store: Store) -> int | None:
    """Return the median response time in milliseconds, rounded down to hundredths of a second."""
    median: int | None = store.value(
        """SELECT 10 * hundredths FROM (SELECT hundredths, sum(number) OVER (ORDER BY hundredths) AS up_to
        FROM response_times) WHERE up_to > (SELECT sum(number) FROM response_times) / 2 LIMIT 1"""
    )
    return median


def _counts(store: Store, query: str, *values: float) -> dict[Any, int]:
    """Return the result of a query for pairs of a name and a count."""
    return dict(map(tuple, store.rows(query, *values)))
