"""The progress of a study in numbers, counted in the database on request."""

import time
from dataclasses import dataclass
from typing import Any

from closerthan.collect.store.database import Store

__all__ = ["AWAY", "Progress", "progress"]

AWAY = 1800.0  # seconds without an answer after which a participant counts as dropped out
_HOURS = 48  # length of `by_hour`


@dataclass(frozen=True)
class Progress:
    """Numbers of participants and answers.

    Attributes
    ----------
    started, finished, failed, running, dropped, declined
        Participants who gave consent, who finished, who finished but failed the checks, who are answering, who stopped
        answering, and who did not give consent.
    answers, skipped, ties, last_hour
        Answers without practice: in total, skipped, ties, and those of the last hour.
    kinds
        Answers by kind of question, practice included.
    median_ms
        Median response time in milliseconds, practice included.
    by_hour
        Answers in each of the last 48 hours, practice included; the current hour comes last.
    """

    started: int
    finished: int
    failed: int
    running: int
    dropped: int
    declined: int
    answers: int
    skipped: int
    ties: int
    last_hour: int
    kinds: dict[str, int]
    median_ms: int | None
    by_hour: list[int]


def progress(store: Store, now: float | None = None) -> Progress:
    """Count participants and answers, as of the time ``now`` in seconds."""
    now = time.time() if now is None else now
    states = _counts(store, "SELECT state, count(*) FROM participants GROUP BY state")
    dropped = store.value(
        """SELECT count(*) FROM participants WHERE state = 'running' AND joined_at < ?1 AND NOT EXISTS
        (SELECT 1 FROM questions WHERE participant = number AND asked_at >= ?1)""",
        now - AWAY,
    )
    responses = _counts(
        store,
        """SELECT said, count(*) FROM answers JOIN questions ON question = id
        WHERE kind <> 'practice' GROUP BY said""",
    )
    n_times = store.value("SELECT count(rt_ms) FROM answers")
    hour = int(now // 3600)
    first_hour = hour - _HOURS + 1
    by_hour = _counts(
        store,
        "SELECT CAST(at / 3600 AS INTEGER) AS hour, count(*) FROM answers WHERE at >= ? GROUP BY hour",
        first_hour * 3600,
    )
    return Progress(
        started=sum(states.values()) - states.get("declined", 0),
        finished=states.get("complete", 0) + states.get("failed", 0),
        failed=states.get("failed", 0),
        running=states.get("running", 0) - dropped,
        dropped=dropped,
        declined=states.get("declined", 0),
        answers=sum(responses.values()),
        skipped=responses.get("skip", 0),
        ties=responses.get("tie", 0),
        last_hour=store.value(
            "SELECT count(*) FROM answers JOIN questions ON question = id WHERE kind <> 'practice' AND at >= ?",
            now - 3600,
        ),
        kinds=_counts(store, "SELECT kind, count(*) FROM answers JOIN questions ON question = id GROUP BY kind"),
        median_ms=store.value(
            "SELECT rt_ms FROM answers WHERE rt_ms IS NOT NULL ORDER BY rt_ms LIMIT 1 OFFSET ?", n_times // 2
        ),
        by_hour=[by_hour.get(number, 0) for number in range(first_hour, hour + 1)],
    )


def _counts(store: Store, query: str, *values: float) -> dict[Any, int]:
    """Return the result of a query for pairs of a name and a count."""
    return dict(map(tuple, store.rows(query, *values)))
