"""How a study is going, in numbers: counted in the file, whenever somebody looks."""

import time
from typing import Any

from closerthan.collect.store.database import Store

__all__ = ["AWAY", "progress"]

AWAY = 1800.0  # seconds without an answer after which somebody has dropped out
_HOURS = 48  # of the curve


def progress(store: Store, now: float | None = None) -> dict[str, Any]:
    """Participants by where they are, answers by kind and by hour, and the usual time."""
    now = time.time() if now is None else now
    states = {row["state"]: row["number"] for row in store.rows(
        "SELECT state, count(*) AS number FROM participants GROUP BY state"
    )}  # fmt: skip
    running = states.get("running", 0)
    dropped = store.value(
        """SELECT count(*) FROM participants WHERE state = 'running' AND joined_at < ?1 AND NOT EXISTS
        (SELECT 1 FROM questions WHERE participant = number AND asked_at >= ?1)""",
        now - AWAY,
    )
    said = {row["said"]: row["number"] for row in store.rows(
        """SELECT said, count(*) AS number FROM answers JOIN questions ON question = id
        WHERE kind <> 'practice' GROUP BY said"""
    )}  # fmt: skip
    kinds = {row["kind"]: row["number"] for row in store.rows(
        "SELECT kind, count(*) AS number FROM answers JOIN questions ON question = id GROUP BY kind"
    )}  # fmt: skip
    number = store.value("SELECT count(rt_ms) FROM answers")
    median = store.value(
        "SELECT rt_ms FROM answers WHERE rt_ms IS NOT NULL ORDER BY rt_ms LIMIT 1 OFFSET ?", number // 2
    )
    hour = int(now // 3600)
    by_hour = {row["hour"]: row["number"] for row in store.rows(
        "SELECT CAST(at / 3600 AS INTEGER) AS hour, count(*) AS number FROM answers WHERE at >= ? GROUP BY hour",
        (hour - _HOURS + 1) * 3600,
    )}  # fmt: skip
    return {
        "started": sum(states.values()) - states.get("declined", 0),
        "finished": states.get("complete", 0) + states.get("failed", 0),
        "failed": states.get("failed", 0),
        "running": running - dropped,
        "dropped": dropped,
        "declined": states.get("declined", 0),
        "answers": sum(said.values()),
        "skipped": said.get("skip", 0),
        "ties": said.get("tie", 0),
        "kinds": kinds,
        "last_hour": store.value(
            "SELECT count(*) FROM answers JOIN questions ON question = id WHERE kind <> 'practice' AND at >= ?",
            now - 3600,
        ),
        "median_ms": median,
        "by_hour": [by_hour.get(one, 0) for one in range(hour - _HOURS + 1, hour + 1)],
    }
