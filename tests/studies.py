"""Example studies, participants and media files for tests."""

import io
import math
import random
import struct
import wave
import zlib
from pathlib import Path

import numpy as np

from closerthan import datasets
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.study.description import Shares, Study
from closerthan.collect.study.new import make_study
from closerthan.collect.study.recruiters import RECRUITERS
from closerthan.collect.study.stimuli import Stimulus
from closerthan.collect.web.interview import Interview

KEY = "a" * 32

# A true map of a few objects, answers about it, and maps between which new questions decide.
N_OBJECTS = 12
POINTS = np.random.default_rng(0).normal(size=(N_OBJECTS, 2))
ANSWERS = datasets.simulated(POINTS, 120, noise="ste", seed=0)
MAPS = POINTS + 0.3 * np.random.default_rng(1).normal(size=(6, N_OBJECTS, 2))


def study_of(folder: Path, n_objects: int = 10, **settings) -> Study:
    objects = tuple(Stimulus(f"object {number}", "", None, f"text {number}") for number in range(n_objects))
    values = {"number": 20, "practice": 2, **settings}
    return Study(folder, "A study", "You agree.", "Look.", "Which is closer?", objects, **values)


def study_folder(folder: Path, n_objects: int = 10) -> Path:
    """Create a study about words in a new folder, and return that folder."""
    words = folder / "words.csv"
    words.write_text("text\n" + "".join(f"word {number}\n" for number in range(n_objects)))
    make_study(folder / "study", words)
    return folder / "study"


def interview_of(folder: Path, seed: int = 0, clock=lambda: 1000.0, **settings) -> tuple[Interview, Store]:
    store = Store(folder / FILE)
    with store.closed_on_error():
        store.change("PRAGMA synchronous = OFF")  # no test simulates a power failure
        return Interview(study_of(folder, **settings), store, clock=clock, rng=random.Random(seed)), store


def joined(interview: Interview, key: str = KEY, **address: str):
    return interview.join(key, interview.study.consent_version, address)


def answer_all(interview: Interview, key: str = KEY, choose=lambda question: 0):
    """Answer all questions and return the final state."""
    state = interview.state(key)
    while state["stage"] == "questions":
        question = state["questions"][0]
        state = interview.answer(key, question["id"], choose(question), 500)
    return state


def closer_by_number(question):
    """Answer as if objects with close numbers were similar."""
    numbers = [int(thing["text"].split()[1]) ** 1.37 for thing in (question["anchor"], *question["options"])]
    return int(abs(numbers[2] - numbers[0]) < abs(numbers[1] - numbers[0]))


def answered_study(folder: Path, n_people: int = 3, **settings) -> tuple[Study, Store]:
    """Create a study and let people from Prolific answer all questions by `closer_by_number`."""
    settings = {"recruiter": RECRUITERS["prolific"], "shares": Shares(0.3, 0.1, 0.1, 0.1), **settings}
    interview, store = interview_of(folder, **settings)
    for number in range(n_people):
        joined(interview, KEY + str(number), PROLIFIC_PID=f"pid-{number}")
        answer_all(interview, KEY + str(number), choose=closer_by_number)
    return study_of(folder, **settings), store


def picture(path: Path, colour: tuple[int, int, int], size: int = 8) -> Path:
    """Write a PNG file of one colour."""
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


def sound(path: Path, hertz: int = 440, seconds: float = 0.2) -> Path:
    """Write a WAV file with one tone."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        times = range(int(8000 * seconds))
        file.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(time * hertz / 1273))) for time in times))
    return path


def video(path: Path, colour: tuple[int, int, int], size: int = 16, n_frames: int = 5) -> Path:
    """Write a WebM file of one colour, whose frames come from a WebP file, which uses the same codec."""
    from PIL import Image

    still = io.BytesIO()
    Image.new("RGB", (size, size), colour).save(still, "webp", quality=50)
    content = still.getvalue()
    begin = content.index(b"VP8 ") + 8
    frame = content[begin : begin + struct.unpack("<I", content[begin - 4 : begin])[0]]

    def element(name: str, *parts: bytes) -> bytes:
        body = b"".join(parts)
        return bytes.fromhex(name) + (0x0100000000000000 | len(body)).to_bytes(8, "big") + body

    def number(name: str, value: int) -> bytes:
        return element(name, value.to_bytes(2, "big"))

    head = element("1A45DFA3", element("4282", b"webm"), number("4287", 2), number("4285", 2))
    about = element("1549A966", element("2AD7B1", (1_000_000).to_bytes(4, "big")),
                    element("4489", struct.pack(">f", 40.0 * n_frames)))  # fmt: skip
    track = element("AE", number("D7", 1), number("73C5", 1), number("83", 1), element("86", b"V_VP8"),
                    element("E0", number("B0", size), number("BA", size)))  # fmt: skip
    frames = [element("A3", b"\x81" + struct.pack(">h", 40 * index) + b"\x80" + frame) for index in range(n_frames)]
    cluster = element("1F43B675", number("E7", 0), *frames)
    path.write_bytes(head + element("18538067", about, element("1654AE6B", track), cluster))
    return path
