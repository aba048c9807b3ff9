"""Studies to try things on."""

import random
import struct
import zlib
from pathlib import Path

from closerthan.collect.interview import Interview
from closerthan.collect.stimuli import Stimulus
from closerthan.collect.store import FILE, Store
from closerthan.collect.study import Study

KEY = "a" * 32


def study_of(folder: Path, n_objects: int = 10, **settings) -> Study:
    objects = tuple(Stimulus(f"object {number}", "", None, f"text {number}") for number in range(n_objects))
    given = {"number": 20, "practice": 2, **settings}
    return Study(folder, "A study", "You agree.", "Look.", "Which is closer?", objects, **given)


def interview_of(folder: Path, seed: int = 0, clock=lambda: 1000.0, **settings) -> tuple[Interview, Store]:
    store = Store(folder / FILE)
    store.change("PRAGMA synchronous = OFF")  # no test cuts the power
    return Interview(study_of(folder, **settings), store, clock=clock, rng=random.Random(seed)), store


def joined(interview: Interview, key: str = KEY, **address: str):
    return interview.join(key, interview._study.consent_version, address)


def answer_all(interview: Interview, key: str = KEY, choose=lambda question: 0):
    """Answer until the end, and say how it ended."""
    state = interview.state(key)
    while state["stage"] == "questions":
        question = state["questions"][0]
        state = interview.answer(key, question["id"], choose(question), 500)
    return state


def picture(path: Path, colour: tuple[int, int, int], size: int = 8) -> Path:
    """A PNG of one colour."""
    rows = (b"\0" + bytes(colour) * size) * size
    parts = {
        b"IHDR": struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0),
        b"IDAT": zlib.compress(rows),
        b"IEND": b"",
    }
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts.items()
    )
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))
    return path
