"""A study's server under load, and killed under load.

    python -m benchmarks.collect [--quick]

First, 200 participants answer for a minute, each about every two seconds: 95 % of the replies must arrive within 50 ms,
without errors. Then the server is killed 20 times while 50 participants answer as fast as they can: every acknowledged
answer must be in the file exactly once, and all participants must be able to continue. Writes
docs/measured/collect.md, unless quick.
"""

import argparse
import asyncio
import json
import os
import random
import secrets
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from reproduction.machine import machine

from benchmarks.measured import measured_on, write_measured
from closerthan.collect.study.new import make_study

N_OBJECTS = 100
WAIT = 20.0  # seconds in which a server must start


@dataclass
class Replies:
    """The replies that all participants received."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    acknowledged: dict[str, int] = field(default_factory=dict)
    lost: int = 0
    finished: int = 0


class Participant:
    """A participant who joins and answers; lost replies are requested again, as the web page does."""

    def __init__(self, port: int, replies: Replies, *, patient: bool, choose=None) -> None:
        self._port, self._replies, self._patient = port, replies, patient
        self._choose = choose or (lambda question: random.randrange(len(question["options"])))
        self._key = secrets.token_hex(16)
        # An address of its own, as a proxy reports it: the number of joins from one address is limited.
        self._address = ".".join(str(random.randrange(1, 255)) for _ in range(4))
        self._streams = None

    async def take_part(self, end: float, pause: float) -> None:
        await asyncio.sleep(random.uniform(0, min(pause, 2.0)))
        about = await self._ask("GET", "/study")
        state = await self._ask("POST", "/join", {"consent": about["version"], "address": {}})
        while state["stage"] == "questions" and time.perf_counter() < end:
            await asyncio.sleep(random.uniform(0.35, 1.65) * pause)
            question = state["questions"][0]
            choice = self._choose(question)
            body = {"question": question["id"], "choice": choice, "rt_ms": random.randrange(600, 3000)}
            state = await self._ask("POST", "/answer", body)
            self._replies.acknowledged[question["id"]] = choice
        self._replies.finished += state["stage"] != "questions"
        if self._streams:
            self._streams[1].close()

    async def _ask(self, method: str, path: str, body=None):
        while True:
            begun = time.perf_counter()
            try:
                status, reply = await self._exchange(method, path, body)
            except (OSError, asyncio.IncompleteReadError, ValueError) as error:
                self._streams = None
                self._replies.lost += 1
                if not self._patient:
                    self._replies.errors.append(f"{path}: {error!r}")
                await asyncio.sleep(0.1)
                continue
            self._replies.seconds.append(time.perf_counter() - begun)
            if status == 200:
                return json.loads(reply)
            self._replies.errors.append(f"{path}: {status} {reply[:100]!r}")
            await asyncio.sleep(0.5)

    async def _exchange(self, method: str, path: str, body):
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self._key}\r\n"
            f"X-Forwarded-For: {self._address}\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        writer.write(head.encode() + content)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        length = next(int(line.split(":")[1]) for line in lines if line.startswith("content-length"))
        return int(lines[0].split()[1]), await reader.readexactly(length)


class Server:
    """A server in a separate process."""

    def __init__(self, study: Path) -> None:
        self._study = study
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def start(self) -> None:
        command = [sys.executable, "-c", "from closerthan.cli import main; main()", "collect", "serve"]
        self._process = subprocess.Popen(
            [*command, str(self._study), "--port", str(self.port)], stdout=subprocess.DEVNULL
        )
        end = time.perf_counter() + WAIT
        while time.perf_counter() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("the server did not start")

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(20)


def new_study(folder: Path, n_objects: int, number: int) -> Path:
    words = folder / "words.csv"
    words.write_text("text\n" + "".join(f"word {index}\n" for index in range(n_objects)))
    make_study(folder / "study", words)
    path = folder / "study" / "study.toml"
    text = path.read_text(encoding="utf-8").replace("number = 60", f"number = {number}")
    path.write_text(text, encoding="utf-8")
    return folder / "study"


async def under_load(port: int, n_participants: int, seconds: float, pause: float) -> Replies:
    replies = Replies()
    end = time.perf_counter() + seconds
    await asyncio.gather(
        *(Participant(port, replies, patient=False).take_part(end, pause) for _ in range(n_participants))
    )
    return replies


async def killed(server: Server, times: int, n_participants: int) -> tuple[Replies, int]:
    """Return the replies, and the number of participants still answering at the last kill."""
    replies = Replies()
    end = time.perf_counter() + 1e9
    people = [
        asyncio.create_task(Participant(server.port, replies, patient=True).take_part(end, 0.05))
        for _ in range(n_participants)
    ]
    for _ in range(times):
        await asyncio.sleep(random.uniform(0.3, 1.0))
        n_answering = n_participants - replies.finished
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
    await asyncio.gather(*people)
    return replies, n_answering


def check(study: Path, replies: Replies) -> list[str]:
    """Return a list of discrepancies between the file and the acknowledged answers."""
    file = sqlite3.connect(study / "answers.sqlite")
    stored = file.execute("SELECT question, choice FROM answers").fetchall()
    (sound,) = file.execute("PRAGMA integrity_check").fetchone()
    (twice,) = file.execute(
        """SELECT count(*) FROM (SELECT 1 FROM questions JOIN answers ON question = id GROUP BY participant, place
        HAVING count(*) > 1)"""
    ).fetchone()
    file.close()
    choices = dict(stored)
    missing = [question for question, choice in replies.acknowledged.items() if choices.get(question) != choice]
    wrong = []
    if missing:
        wrong.append(f"{len(missing)} acknowledged answers are missing or different")
    if len(choices) < len(stored) or twice:
        wrong.append("some answers were stored twice")
    if len(stored) > len(replies.acknowledged):
        wrong.append(f"{len(stored) - len(replies.acknowledged)} answers were never acknowledged")
    return wrong + ([] if sound == "ok" else [sound])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.collect")
    parser.add_argument("--quick", action="store_true", help="20 people for 5 seconds, and 3 kills")
    parser.add_argument("--participants", type=int, help="number of simultaneous participants (200)")
    options = parser.parse_args()
    n_participants, seconds, kills = (20, 5.0, 3) if options.quick else (200, 60.0, 20)
    n_participants = options.participants or n_participants
    load = os.getloadavg()[0]
    print(f"on {machine()}, load {load:.1f} before the start")
    wrong, sentences = [], []
    with tempfile.TemporaryDirectory() as folder:
        study = new_study(Path(folder), N_OBJECTS, 200)
        server = Server(study)
        server.start()
        replies = asyncio.run(under_load(server.port, n_participants, seconds, 2.0))
        code = server.stop()
        ordered = sorted(1000 * one for one in replies.seconds)
        late = ordered[int(0.95 * len(ordered))]
        sentences.append(
            f"{n_participants} participants for {seconds:.0f} s: {len(ordered):,} replies "
            f"({len(ordered) / seconds:.0f} per second), median {statistics.median(ordered):.1f} ms, "
            f"95 % below {late:.1f} ms, 99 % below {ordered[int(0.99 * len(ordered))]:.1f} ms, "
            f"slowest {ordered[-1]:.0f} ms; {len(replies.errors)} errors; stopped with {code}"
        )
        wrong += (
            check(study, replies)
            + replies.errors[:3]
            + (["too slow"] if late > 50 else [])
            + (["not stopped"] * bool(code))
        )
    with tempfile.TemporaryDirectory() as folder:
        study = new_study(Path(folder), N_OBJECTS, 20 * kills)
        server = Server(study)
        server.start()
        n_people = min(n_participants, 50)
        replies, n_answering = asyncio.run(killed(server, kills, n_people))
        server.stop()
        print(sentences[-1])
        sentences.append(
            f"The server was killed {kills} times while {n_people} participants answered, {n_answering} of them "
            f"until the last kill: {len(replies.acknowledged):,} answers acknowledged, {replies.lost:,} replies "
            f"lost and requested again, {replies.finished} finished, {len(replies.errors)} errors"
        )
        wrong += (
            check(study, replies) + replies.errors[:3] + ([] if replies.finished == n_people else ["not all finished"])
        )
        wrong += [] if n_answering else ["killed when all had finished"]
    sentences[-1] += f"; {', '.join(wrong) or 'every acknowledged answer was stored exactly once'}"
    print(sentences[-1])
    if not options.quick:
        lines = "\n".join(f"- {one}." for one in sentences)
        busy = f"With a load of {load:.0f} on {os.cpu_count()} cores before the start" if load > 1 else ""
        busy += f" (this one had priority {os.nice(0)})" if busy and os.nice(0) else ""
        busy += ":\n\n" if busy else ""
        write_measured("collect", f"{busy}{lines}\n\n{measured_on('python -m benchmarks.collect')}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
