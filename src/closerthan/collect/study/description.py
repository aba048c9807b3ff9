"""The description of a study, read from study.toml; errors name the line and a remedy."""

import difflib
import hashlib
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from closerthan.collect.study.languages import TEXTS
from closerthan.collect.study.recruiters import RECRUITERS, Recruiter
from closerthan.collect.study.stimuli import TABLE, Stimulus, read_table

__all__ = ["KINDS", "SETTINGS", "Codes", "Shares", "Study", "read_study"]

FILE = "study.toml"
KINDS = ("closer", "odd")
"""The kinds of questions: which of two objects is closer to the anchor, and which of three is the odd one out."""


@dataclass(frozen=True)
class Shares:
    """Fractions of a participant's questions by kind; the remaining questions are chosen by expected information."""

    random: float = 0.15
    shared: float = 0.05
    repeat: float = 0.05
    check: float = 0.05


@dataclass(frozen=True)
class Codes:
    """Completion codes, which tell the recruiter how the participation ended."""

    complete: str = ""
    no_consent: str = ""
    checks_failed: str = ""


@dataclass(frozen=True)
class Study:
    """A study: its texts, objects, kinds of questions and recruiter.

    Attributes
    ----------
    objects
        The stimuli. The database assigns a number to each name.
    kind
        "closer": which of two objects is more similar to the anchor; "odd": which of three is the odd one out.
    number, practice
        The numbers of questions and of preceding practice questions per participant.
    pause_ms
        The duration of the blank page between two questions, in milliseconds.
    checks_wrong
        The largest fraction of check questions that a participant may answer wrongly.
    dimensions
        The dimension of the map.
    """

    folder: Path
    title: str
    consent: str
    instructions: str
    question: str
    objects: tuple[Stimulus, ...]
    kind: str = "closer"
    number: int = 60
    practice: int = 3
    pause_ms: int = 200
    skip: bool = False
    tie: bool = False
    keys: bool = True
    checks_wrong: float = 0.34
    dimensions: int = 2
    language: str = "en"
    shares: Shares = Shares()
    recruiter: Recruiter = RECRUITERS["none"]
    codes: Codes = Codes()
    buttons: Mapping[str, str] = field(default_factory=dict)

    @property
    def options(self) -> int:
        """The number of options of a question."""
        return 2 if self.kind == "closer" else 3

    @cached_property
    def consent_version(self) -> str:
        """A hash of the consent text, which changes with the text."""
        return hashlib.sha256(self.consent.encode()).hexdigest()[:12]

    @cached_property
    def texts(self) -> dict[str, str]:
        """The texts of the buttons and messages, in the language of the study."""
        return {**TEXTS[self.language], **self.buttons}

    def count_of(self, kind: str) -> int:
        """Return the number of questions of a kind per participant."""
        if kind == "chosen":
            return self.number - sum(self.count_of(other) for other in ("random", "shared", "repeat", "check"))
        fraction: float = getattr(self.shares, kind)
        return round(fraction * self.number)

    def ending(self, state: str) -> str:
        """Return the completion code for the final state of a participant."""
        return {
            "complete": self.codes.complete,
            "failed": self.codes.checks_failed,
            "declined": self.codes.no_consent,
        }[state]


class _Setting(NamedTuple):
    """The type of a value, and a rule that it must satisfy, as text and as a function."""

    type: type
    rule: str = ""
    holds: Any = None


def _between(type: type, low: float, high: float) -> _Setting:
    return _Setting(type, f"from {low:g} to {high:g}", lambda value: low <= value <= high)


def _one_of(*names: str) -> _Setting:
    return _Setting(str, f"one of {', '.join(names)}", lambda value: value in names)


_TEXT = _Setting(str, "a text that is not empty", lambda value: bool(value.strip()))
_FRACTION = _between(float, 0, 1)

SETTINGS: Mapping[str, Mapping[str, _Setting]] = {
    "": {"title": _TEXT, "language": _one_of(*TEXTS)},
    "consent": {"text": _TEXT},
    "instructions": {"text": _TEXT},
    "question": {
        "kind": _one_of(*KINDS),
        "text": _TEXT,
        "number": _between(int, 1, 2000),
        "practice": _between(int, 0, 50),
        "pause_ms": _between(int, 0, 5000),
        "skip": _Setting(bool),
        "tie": _Setting(bool),
        "keys": _Setting(bool),
    },
    "shares": dict.fromkeys(("random", "shared", "repeat", "check"), _FRACTION),
    "checks": {"most_wrong": _FRACTION},
    "map": {"dimensions": _between(int, 1, 20)},
    "recruiter": {
        "name": _one_of(*RECRUITERS),
        "redirect": _Setting(
            str,
            "an address that starts with https://, or empty",
            lambda value: not value or value.startswith("https://"),
        ),
        "parameters": _Setting(dict),
    },
    "codes": dict.fromkeys(("complete", "no_consent", "checks_failed"), _Setting(str)),
    "buttons": dict.fromkeys(TEXTS["en"], _TEXT),
}
"""The sections of study.toml and their settings."""

_TYPES = {str: 'a text in quotes, as in "..."', int: "a whole number", float: "a number", bool: "true or false",
          dict: "a section"}  # fmt: skip
_REQUIRED = (("", "title"), ("consent", "text"), ("instructions", "text"), ("question", "text"))


def read_study(folder: str | Path) -> Study:
    """Read the study in a folder."""
    folder = Path(folder)
    path = folder / FILE
    if not path.is_file():
        raise ValueError(
            f"{folder} has no {FILE}; create a study with: closerthan collect new {folder} --objects FOLDER"
        )
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"{path}, line {line}: the file is not in UTF-8; save it in that encoding") from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}{_explained(error)}") from None
    document = _Document(path, text, values)
    document.check()
    value = document.value
    recruiter = RECRUITERS[value("recruiter", "name", "none")]
    study = Study(
        folder=folder,
        title=value("", "title").strip(),
        consent=value("consent", "text").strip(),
        instructions=value("instructions", "text").strip(),
        question=value("question", "text").strip(),
        objects=tuple(read_table(folder / TABLE)),
        checks_wrong=value("checks", "most_wrong", Study.checks_wrong),
        dimensions=value("map", "dimensions", Study.dimensions),
        language=value("", "language", Study.language),
        shares=Shares(**values.get("shares", {})),
        recruiter=Recruiter(
            value("recruiter", "parameters", recruiter.parameters),
            value("recruiter", "redirect", recruiter.redirect) or recruiter.redirect,
            recruiter.frames,
        ),
        codes=Codes(**values.get("codes", {})),
        buttons=values.get("buttons", {}),
        **{name: setting for name, setting in values["question"].items() if name != "text"},
    )
    _check_combinations(study, document)
    return study


def _check_combinations(study: Study, document: "_Document") -> None:
    """Check rules that involve several values."""
    if study.count_of("chosen") < 0:
        raise document.problem("shares", "random", "the sum of the shares is larger than 1; lower some of them")
    n = len(study.objects)
    possible = n * math.comb(n - 1, 2) if study.kind == "closer" else math.comb(n, 3)
    needed = study.number - study.count_of("check") + (study.practice > 0)
    if needed > possible:
        raise document.problem(
            "question",
            "number",
            f"{study.number} questions per person require {needed} different ones, but {n} objects allow {possible}; "
            "lower number, or add objects",
        )
    if study.dimensions >= n:
        raise document.problem(
            "map",
            "dimensions",
            f"dimensions is {study.dimensions}, but there are only {n} objects; 2 or 3 dimensions are usual",
        )
    if study.count_of("repeat") > study.count_of("chosen") + study.count_of("random"):
        raise document.problem("shares", "repeat", "there are more repeats than questions to repeat; lower repeat")
    for role, parameter in study.recruiter.parameters.items():
        if not isinstance(parameter, str) or not parameter:
            raise document.problem(
                "recruiter.parameters", role, f'the name of a parameter must be a text, as in {role} = "PROLIFIC_PID"'
            )
    unknown = set(re.findall(r"\{(\w*)\}", study.recruiter.redirect)) - {"code", *study.recruiter.parameters}
    if unknown:
        allowed = ", ".join(f"{{{name}}}" for name in ("code", *study.recruiter.parameters))
        raise document.problem("recruiter", "redirect", f"{{{unknown.pop()}}} is unknown; use one of {allowed}")


class _Document:
    """The values of study.toml with their line numbers."""

    def __init__(self, path: Path, text: str, values: Mapping[str, Any]) -> None:
        self._path, self._values, self._lines = path, values, _lines_of_keys(text)

    def value(self, section: str, name: str, default: Any = None) -> Any:
        """Return a value, or its default if it is missing."""
        settings = self._values if not section else self._values.get(section, {})
        return settings.get(name, default)

    def problem(self, section: str, name: str, message: str) -> ValueError:
        """Return an error that names the file and the line."""
        outer, _, inner = section.rpartition(".")
        places = ((section, name), (f"{section}.{name}", ""), (section, ""), (outer, inner))
        line = next((self._lines[place] for place in places if place in self._lines), None)
        place = f", line {line}" if line else ""
        return ValueError(f"{self._path}{place}: {message}")

    def check(self) -> None:
        """Check the names, types and ranges of all values."""
        for name, value in self._values.items():
            if name in SETTINGS and name and not isinstance(value, dict):
                raise self.problem(name, "", f"{name} must be a section; write [{name}] on a line of its own")
            if isinstance(value, dict) and name in SETTINGS and name:
                for key, setting in value.items():
                    self._check_value(name, key, setting)
            elif isinstance(value, dict):
                raise self.problem(
                    name, "", f"the section [{name}] is unknown{_suggestion(name, [s for s in SETTINGS if s])}"
                )
            else:
                self._check_value("", name, value)
        for section, name in _REQUIRED:
            if self.value(section, name) is None:
                where = f" in [{section}]" if section else ""
                raise self.problem(section, "", f'{name} is missing{where}; write {name} = "..."')

    def _check_value(self, section: str, name: str, value: Any) -> None:
        settings = SETTINGS[section]
        if name not in settings:
            where = f" in [{section}]" if section else ""
            raise self.problem(section, name, f"{name} is unknown{where}{_suggestion(name, list(settings))}")
        setting = settings[name]
        fits = isinstance(value, setting.type) or (setting.type is float and isinstance(value, int))
        if not fits or (isinstance(value, bool) and setting.type is not bool):
            raise self.problem(section, name, f"{name} is {_as_toml(value)}; it must be {_TYPES[setting.type]}")
        if setting.holds is not None and not setting.holds(value):
            raise self.problem(section, name, f"{name} is {_as_toml(value)}; it must be {setting.rule}")


def _as_toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _suggestion(name: str, allowed: list[str]) -> str:
    close = difflib.get_close_matches(name, allowed, 1)
    return f"; did you mean {close[0]}?" if close else f"; use one of {', '.join(allowed)}"


def _explained(error: tomllib.TOMLDecodeError) -> str:
    match = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", str(error))
    if match is None:
        return f": it cannot be read ({error}); check whether a closing quote is missing"
    message, line, column = match.groups()
    if "overwrite" in message or "twice" in message:
        return f", line {line}: the name occurs twice; keep one of them"
    if "Illegal character" in message:
        return f", line {line}: a closing quote is missing, or a character is not allowed ({message})"
    return (
        f", line {line}: it cannot be read at column {column} ({message}); texts need quotes, true and false do not, "
        "and numbers are written as 0.2"
    )


def _lines_of_keys(text: str) -> dict[tuple[str, str], int]:
    """Return the line number of each (section, key), ignoring the content of multi-line texts."""
    lines: dict[tuple[str, str], int] = {}
    section, closing = "", ""
    for number, line in enumerate(text.splitlines(), 1):
        if closing:
            closing = "" if closing in line else closing
            continue
        if header := re.match(r"\s*\[+\s*([\w.-]+)\s*\]", line):
            section = header[1]
            lines.setdefault((section, ""), number)
        elif key := re.match(r"""\s*["']?([\w-]+)["']?[\w.-]*\s*=\s*(.*)""", line):
            lines.setdefault((section, key[1]), number)
            for quotes in ('"""', "'''"):
                if key[2].startswith(quotes) and quotes not in key[2][3:]:
                    closing = quotes
    return lines
