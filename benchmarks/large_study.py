"""A study with a million answers beside an empty one: latency of answering, and the queue of chosen questions.

    python -m benchmarks.large_study [--quick]     writes docs/measured/large-study.md, unless quick

A database is filled with the answers of 10,000 people, and its first map is fitted. Then two servers, one of this study
and one of an empty study about the same objects, take turns: people answer 157 questions per second for a while, and a
researcher's page is open.

Reported are the latencies of the replies, the CPU time of the server per answer, and how many of the questions that
were to be chosen were. The large study begins with the queue that is in its file, as after any restart; in the empty
one, people answer until it has a map. Both servers listen on 127.0.0.1 only.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.collect import Participant, Replies, Server, new_study
from benchmarks.measured import measured_on, write_measured
from benchmarks.tables import table
from closerthan.collect.choosing.question_drawer import QuestionDrawer
from closerthan.collect.choosing.refit import refit
from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.study.description import read_study

COMMAND = "python -m benchmarks.large_study"
N_OBJECTS = 300
NUMBER = 100  # questions per person
RATE = 157  # answers per second
TURNS = 2
WARM_UP = 300.0  # seconds in which the first map must be fitted
AT_ONCE = 500  # people who are written in one transaction


@dataclass
class Measured:
    """What one server did in all its turns."""

    seconds: list[float] = field(default_factory=list)
    cpu: float = 0.0
    answers: int = 0
    chosen: int = 0
    planned: int = 0
    elapsed: float = 0.0
    errors: list[str] = field(default_factory=list)

    def percentile(self, fraction: float) -> float:
        return 1000 * sorted(self.seconds)[int(fraction * len(self.seconds))]


def fill(folder: Path, n_people: int) -> int:
    """Write the answers of people who have finished; return their number."""
    study, rng = read_study(folder), np.random.default_rng(0)
    points = rng.normal(size=(N_OBJECTS, 2))
    began = time.time() - 7 * 24 * 3600
    with Store(folder / FILE) as store:
        numbers = store.name_objects([stimulus.name for stimulus in study.objects])
        drawer = QuestionDrawer(study, store, numbers, random.Random(0))
        with store.writing():
            drawer.choose_shared()
        shared = {
            row["place"]: (row["first"], row["second"], row["third"]) for row in store.rows("SELECT * FROM shared")
        }
        store.change("PRAGMA synchronous = OFF")
        for first in range(1, n_people + 1, AT_ONCE):
            with store.writing():
                for person in range(first, min(first + AT_ONCE, n_people + 1)):
                    now = began + 60.0 * person
                    _write_person(store, person, drawer.plan(), shared, points, rng, now)
        store.change("PRAGMA synchronous = FULL")
        store.tidy()
        return int(store.value("SELECT count(*) FROM answers"))


def _write_person(store, person, plan, shared, points, rng, now) -> None:
    store.insert("participants", number=person, state="complete", joined_at=now, ended_at=now + 500.0, plan=plan)
    kinds = {"c": "chosen", "r": "random", "s": "shared", "a": "random", "k": "random"}
    for place, letter in enumerate(plan, 1):
        objects = shared[place] if letter == "s" else tuple(rng.choice(N_OBJECTS, 3, replace=False).tolist())
        near = [np.linalg.norm(points[objects[0]] - points[other]) for other in objects[1:]]
        choice = int(near[1] < near[0]) if rng.random() > 0.1 else int(rng.integers(2))
        at, name = now + 5.0 * place, f"{person:x}-{place:x}-{rng.integers(1 << 40):x}"
        low, high = sorted(objects[1:])
        store.insert(
            "questions", id=name, participant=person, place=place, kind=kinds[letter], first=objects[0],
            second=objects[1], third=objects[2], content=f"{objects[0]}:{low}:{high}/{place}", asked_at=at,
        )  # fmt: skip
        store.insert("answers", question=name, said="choice", choice=choice, rt_ms=int(rng.integers(600, 3000)), at=at)


async def watch(port: int, token: str, end: float) -> int:
    """Keep the researcher's page open: read its events, and load the table of participants after each of them."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"Host: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
    writer.write(f"GET /researcher/events HTTP/1.1\r\n{head}".encode())
    n_events = 0
    while time.perf_counter() < end:
        try:
            line = await asyncio.wait_for(reader.readline(), max(0.01, end - time.perf_counter()))
        except (TimeoutError, ValueError):  # the first event, with the map, is longer than the buffer
            continue
        if line.startswith(b"event"):
            n_events += 1
            page_reader, page_writer = await asyncio.open_connection("127.0.0.1", port)
            page_writer.write(f"GET /researcher/people?from=0&only= HTTP/1.1\r\nConnection: close\r\n{head}".encode())
            await page_reader.read()
            page_writer.close()
    writer.close()
    return n_events


async def turn(server: Server, study: Path, seconds: float, replies: Replies) -> None:
    """Let people answer at the given rate for a while, beside an open researcher's page."""
    pause = 1.0
    end = time.perf_counter() + seconds
    people = [Participant(server.port, replies, patient=False) for _ in range(round(RATE * pause))]
    await asyncio.gather(
        *(person.take_part(end, pause) for person in people), watch(server.port, Access(study).token, end)
    )


def has_queue(study: Path) -> bool:
    with Store(study / FILE) as store:
        return bool(store.value("SELECT count(*) FROM queue WHERE map > 0 AND score IS NOT NULL"))


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used, without that of its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(study: Path, seconds: float, measured: Measured) -> None:
    """Start the server of a study, let it fit a map, and measure it for a while."""
    server = Server(study)
    server.start()
    try:
        end = time.perf_counter() + WARM_UP
        while time.perf_counter() < end and not has_queue(study):  # an empty study has no map yet
            asyncio.run(turn(server, study, 5.0, Replies()))
        with Store(study / FILE) as store:
            before = store.value("SELECT max(number) FROM participants")
        replies, cpu = Replies(), cpu_seconds(server.pid)
        asyncio.run(turn(server, study, seconds, replies))
        measured.cpu += cpu_seconds(server.pid) - cpu
    finally:
        server.stop()
    measured.elapsed += seconds
    measured.seconds += replies.seconds
    measured.answers += len(replies.acknowledged)
    measured.errors += replies.errors
    with Store(study / FILE) as store:
        for row in store.rows(
            """SELECT kind = 'chosen' AS chosen, count(*) AS number FROM questions
            JOIN participants ON participants.number = participant
            WHERE participant > ? AND place > 0 AND substr(plan, place, 1) = 'c' GROUP BY 1""", before
        ):  # fmt: skip
            measured.planned += row["number"]
            measured.chosen += row["number"] * row["chosen"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="100 people and short turns; nothing is written")
    parser.add_argument("--keep", type=Path, help="folder in which to keep the filled study, or which has one already")
    options = parser.parse_args()
    n_people, seconds = (100, 6.0) if options.quick else (10_000, 30.0)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in ("empty", "full"):
            (folder / name).mkdir()
        studies = {name: new_study(folder / name, N_OBJECTS, NUMBER) for name in ("empty", "full")}
        if options.keep and options.keep.exists():
            shutil.copy(options.keep, studies["full"] / FILE)
            n_answers = n_people * NUMBER
        else:
            n_answers = fill(studies["full"], n_people)
            with Store(studies["full"] / FILE) as store:
                refit(read_study(studies["full"]), store)
            if options.keep:
                shutil.copy(studies["full"] / FILE, options.keep)
        print(f"{n_answers:,} answers, {(studies['full'] / FILE).stat().st_size / 1e6:.0f} MB", flush=True)
        measured = {name: Measured() for name in studies}
        for _ in range(1 if options.quick else TURNS):
            for name, study in studies.items():
                measure(study, seconds, measured[name])
                one = measured[name]
                print(name, json.dumps(row_of(name, one)), one.errors[:2], flush=True)
    rows = [
        row_of({"empty": "an empty study", "full": f"{n_answers:,} answers"}[name], one)
        for name, one in measured.items()
    ]
    header = ["", "answers", "per second", "median, ms", "99 %, ms", "CPU per answer, ms", "chosen, of those to choose"]
    if not options.quick:
        note = (
            f"With a load of {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores: two servers in turn, {TURNS} times "
            f"{seconds:.0f} s each, with a researcher's page open."
        )
        write_measured("large-study", "\n\n".join([table(header, rows), note, measured_on(COMMAND)]))
    return int(any(one.errors for one in measured.values()))


def row_of(name: str, one: Measured) -> list[str]:
    """Return a row of the table."""
    return [
        name,
        f"{one.answers:,}",
        f"{one.answers / one.elapsed:.0f}",
        f"{1000 * statistics.median(one.seconds):.1f}",
        f"{one.percentile(0.99):.0f}",
        f"{1000 * one.cpu / max(1, one.answers):.2f}",
        f"{100 * one.chosen / max(1, one.planned):.0f} %",
    ]


if __name__ == "__main__":
    sys.exit(main())
