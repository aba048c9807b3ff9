"""The description of a study, read from study.toml; errors name the line and a remedy."""

import dataclasses
import difflib
import hashlib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

from closerthan.collect.study.conditions import Condition, read_conditions
from closerthan.collect.study.languages import ENGLISH, Language, find_language, is_language_tag
from closerthan.collect.study.own_questions import read_questions
from closerthan.collect.study.questionnaire import Comprehension, Item, read_comprehension, read_items
from closerthan.collect.study.recruiters import RECRUITERS, Recruiter
from closerthan.collect.study.stimuli import TABLE, Stimulus, read_table
from closerthan.comparisons.screen import KINDS, Screen

__all__ = ["SETTINGS", "Codes", "Shares", "Study", "read_study"]

FILE = "study.toml"


@dataclass(frozen=True)
class Shares:
    """Fractions of a participant's questions by kind; the remaining questions are chosen by expected information."""

    random: float = 0.15
    shared: float = 0.05
    repeat: float = 0.05
    check: float = 0.05
    own: float = 0.0


@dataclass(frozen=True)
class Codes:
    """Completion codes, which tell the recruiter how the participation ended."""

    complete: str = ""
    no_consent: str = ""
    checks_failed: str = ""
    study_full: str = ""


@dataclass(frozen=True)
class Study:
    """A study: its texts, objects, kinds of questions and recruiter.

    Attributes
    ----------
    objects
        The stimuli. The database assigns a number to each name.
    kind
        "closer": which of two objects is more similar to the anchor; "odd": which of three is the odd one out;
        "nearest": which ``picks`` of the ``shown`` objects are the most similar to the anchor; "rank": the same in
        order, the most similar one first.
    shown, picks
        The number of options, and how many of them to pick, for the kinds "nearest" and "rank".
    number, practice
        The numbers of questions and of preceding practice questions per participant.
    pause_ms
        The duration of the blank page between two questions, in milliseconds.
    checks_wrong
        The largest fraction of check questions that a participant may answer wrongly (:meth:`fails_checks`).
    must_play
        Whether sounds and videos must have been played to the end before a question can be answered. Response times
        then start when the last of them ends.
    feedback, break_after
        Whether practice questions have a correct answer that is shown afterwards; and the number of questions after
        which participants are offered a break (0: never).
    own_questions, own_order
        The researcher's own questions, as the names of their objects, and their order: "random", where those that have
        been asked least often come first, or "listed", where everybody gets them in the order of the list.
    conditions
        The experimental conditions, of which each participant gets one.
    lists
        The names of the CSV files, besides objects.csv, that describe the study.
    questionnaire, comprehension, debriefing
        The items before and after the questions, the question about the instructions, and the text of the last page.
    places, until
        The number of complete participants after which nobody else is admitted (0: no limit), and the time after which
        nobody is, in seconds since 1970 (None for no limit).
    dimensions
        The dimension of the map.
    origins
        Other sites whose pages may ask the study's server for questions, such as "https://lab.example.org".
    """

    folder: Path
    title: str
    consent: str
    instructions: str
    question: str
    objects: tuple[Stimulus, ...]
    kind: str = "closer"
    shown: int = 8
    picks: int = 2
    number: int = 60
    practice: int = 3
    pause_ms: int = 200
    skip: bool = False
    tie: bool = False
    keys: bool = True
    must_play: bool = True
    feedback: bool = False
    break_after: int = 0
    own_questions: tuple[tuple[str, ...], ...] = ()
    own_order: str = "random"
    conditions: tuple[Condition, ...] = ()
    lists: tuple[str, ...] = ()
    questionnaire: tuple[Item, ...] = ()
    comprehension: Comprehension | None = None
    debriefing: str = ""
    checks_wrong: float = 0.34
    places: int = 0
    until: float | None = None
    dimensions: int = 2
    language: str = "en"
    shares: Shares = Shares()
    recruiter: Recruiter = RECRUITERS["none"]
    codes: Codes = Codes()
    buttons: Mapping[str, str] = field(default_factory=dict)
    origins: tuple[str, ...] = ()

    def of_condition(self, name: str) -> Self:
        """Return the study as the participants of a condition see it; the study itself for "" and unknown names.

        Examples
        --------
        >>> study = Study(Path(), "", "", "", "Which is closer?", (), conditions=(Condition("b", "Which is alike?"),))
        >>> study.of_condition("b").question, study.of_condition("").question
        ('Which is alike?', 'Which is closer?')
        """
        condition = next((condition for condition in self.conditions if condition.name == name), None)
        if condition is None:
            return self
        among = condition.objects or [stimulus.name for stimulus in self.objects]
        return dataclasses.replace(
            self,
            question=condition.question or self.question,
            instructions=condition.instructions or self.instructions,
            objects=tuple(stimulus for stimulus in self.objects if stimulus.name in among),
            own_questions=condition.own_questions or self.own_questions,
        )

    @property
    def condition_names(self) -> tuple[str, ...]:
        """The names of the conditions; one empty name if there are none."""
        return tuple(condition.name for condition in self.conditions) or ("",)

    @cached_property
    def screen(self) -> Screen:
        """The screen on which a question is shown, with the number of options to pick."""
        return Screen.of(self.kind, self.shown, self.picks)

    @cached_property
    def consent_version(self) -> str:
        """A hash of the consent text, which changes with the text."""
        return hashlib.sha256(self.consent.encode()).hexdigest()[:12]

    @cached_property
    def texts(self) -> dict[str, str]:
        """The texts of the buttons and messages, in the language of the study."""
        return {**self.words.words, **self.buttons}

    @cached_property
    def words(self) -> Language:
        """The words of the language, without those that the study replaces, and the direction of writing."""
        return find_language(self.language, self.folder)

    def count_of(self, kind: str) -> int:
        """Return the number of questions of a kind per participant."""
        if kind == "chosen":
            return self.number - sum(self.count_of(other) for other in ("random", "shared", "repeat", "check", "own"))
        fraction: float = getattr(self.shares, kind)
        return round(fraction * self.number)

    def ending(self, state: str) -> str:
        """Return the completion code for the final state of a participant."""
        return {
            "complete": self.codes.complete,
            "failed": self.codes.checks_failed,
            "declined": self.codes.no_consent,
            "full": self.codes.study_full,
        }[state]

    def fails_checks(self, n_checks: int, n_wrong: int) -> bool:
        """Return whether a participant answered too many check questions wrongly.

        A single slip among fewer than three checks does not count as a failure.

        Examples
        --------
        >>> study = Study(Path(), "", "", "", "", ())
        >>> study.fails_checks(1, 1), study.fails_checks(2, 2), study.fails_checks(3, 1), study.fails_checks(3, 2)
        (False, True, False, True)
        """
        return (n_checks >= 3 or n_wrong >= 2) and n_wrong > self.checks_wrong * n_checks


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
    "": {"title": _TEXT, "language": _Setting(str, 'a language tag, such as "en" or "pt-BR"', is_language_tag)},
    "consent": {"text": _TEXT},
    "instructions": {"text": _TEXT},
    "debriefing": {"text": _TEXT},
    "comprehension": {
        "text": _TEXT,
        "options": _Setting(list),
        "correct": _TEXT,
        "attempts": _between(int, 1, 100),
    },
    "question": {
        "kind": _one_of(*KINDS),
        "shown": _between(int, 3, 20),
        "picks": _between(int, 1, 19),
        "text": _TEXT,
        "number": _between(int, 1, 2000),
        "practice": _between(int, 0, 50),
        "pause_ms": _between(int, 0, 5000),
        "skip": _Setting(bool),
        "tie": _Setting(bool),
        "keys": _Setting(bool),
        "must_play": _Setting(bool),
        "feedback": _Setting(bool),
        "break_after": _between(int, 0, 2000),
    },
    "shares": dict.fromkeys(("random", "shared", "repeat", "check", "own"), _FRACTION),
    "own": {"file": _TEXT, "order": _one_of("random", "listed")},
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
    "limits": {
        "participants": _between(int, 0, 10_000_000),
        "until": _Setting(
            date, "in the years 2000 to 9000; leave it out if there is no end", lambda value: 2000 <= value.year <= 9000
        ),
    },
    "embed": {
        "origins": _Setting(
            list,
            'a list of sites without paths, as in ["https://lab.example.org"]',
            lambda value: all(isinstance(one, str) and re.fullmatch(r"https?://[^/\s*]+", one) for one in value),
        )
    },
    "codes": dict.fromkeys(("complete", "no_consent", "checks_failed", "study_full"), _Setting(str)),
    "buttons": dict.fromkeys(ENGLISH.words, _TEXT),
}
"""The sections of study.toml and their settings."""

_PARSED = ("questionnaire", "condition")  # sections that are lists of tables and have their own parsers

_TYPES = {
    str: 'a text in quotes, as in "..."',
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a section",
    list: 'a list, as in ["yes", "no"]',
    date: "a date without quotes, as in 2030-12-31 or 2030-12-31T18:00:00",
}
_REQUIRED = (("", "title"), ("consent", "text"), ("instructions", "text"), ("question", "text"))


def read_study(folder: str | Path, *, needs_files: bool = False) -> Study:
    """Read the study in a folder; ``needs_files``: raise an error if a picture, video or sound is missing."""
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
        objects=tuple(read_table(folder / TABLE, needs_files=needs_files)),
        questionnaire=document.parsed("questionnaire", read_items, []),
        comprehension=document.parsed("comprehension", read_comprehension, {}),
        debriefing=value("debriefing", "text", "").strip(),
        checks_wrong=value("checks", "most_wrong", Study.checks_wrong),
        places=value("limits", "participants", Study.places),
        until=_end_of(value("limits", "until")),
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
        own_order=value("own", "order", Study.own_order),
        origins=tuple(value("embed", "origins", Study.origins)),
        **{name: setting for name, setting in values["question"].items() if name != "text"},
    )
    _check_screen(study, document)
    names = {stimulus.name for stimulus in study.objects}
    conditions = document.parsed("condition", lambda tables: read_conditions(tables, folder, study.screen, names), [])
    study = dataclasses.replace(study, own_questions=_own_questions(study, document), conditions=conditions)
    sections = [values.get("own", {}), *values.get("condition", [])]
    lists = dict.fromkeys(section[key] for section in sections for key in ("file", "objects", "own") if key in section)
    study = dataclasses.replace(study, lists=tuple(lists))
    for condition in study.condition_names:
        part = study.of_condition(condition)
        try:
            _check_combinations(part, document)
            _check_own_questions(part, document)
        except ValueError as error:
            raise ValueError(f"{error} (condition {condition})" if condition else str(error)) from None
    return study


def _own_questions(study: Study, document: "_Document") -> tuple[tuple[str, ...], ...]:
    """Return the researcher's own questions; the list and the fraction of such questions require each other."""
    file, number = document.value("own", "file"), study.count_of("own")
    if file is None:
        if number:
            raise document.problem("shares", "own", 'own needs a list of questions; write file = "..." in [own]')
        return ()
    if not number:
        raise document.problem(
            "own", "file", "none of these questions would be asked; raise own in [shares], as in own = 0.2"
        )
    path = study.folder / file
    if not path.resolve().is_relative_to(study.folder.resolve()):
        raise document.problem("own", "file", f"{file} is outside {study.folder}; copy it into that folder")
    return read_questions(path, study.screen, {stimulus.name for stimulus in study.objects})


def _check_own_questions(study: Study, document: "_Document") -> None:
    number, questions = study.count_of("own"), study.own_questions
    names = {stimulus.name for stimulus in study.objects}
    if not all(names.issuperset(question) for question in questions):
        raise document.problem(
            "own",
            "file",
            "some of these questions are about objects that the condition does not have; give it own = ...",
        )
    if number > len(questions):
        raise document.problem(
            "shares", "own",
            f"own gives everybody {number} questions from a list of only {len(questions)}; lower own, or add questions",
        )  # fmt: skip


def _end_of(until: date | None) -> float | None:
    """Return the time at which a study ends, in seconds since 1970: the given time, or the end of the given day."""
    if until is None:
        return None
    if not isinstance(until, datetime):
        until = datetime.combine(until + timedelta(days=1), time())
    return until.timestamp()  # a time without a zone is in the time zone of this computer


def _check_combinations(study: Study, document: "_Document") -> None:
    """Check rules that involve several values."""
    try:
        find_language(study.language, study.folder)
    except ValueError as error:
        raise document.problem("", "language", str(error)) from None
    if study.count_of("chosen") < 0:
        raise document.problem("shares", "random", "the sum of the shares is larger than 1; lower some of them")
    n = len(study.objects)
    possible = study.screen.number(n)
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
    if study.count_of("repeat") > sum(study.count_of(kind) for kind in ("chosen", "random", "own")):
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


def _check_screen(study: Study, document: "_Document") -> None:
    screen, n = study.screen, len(study.objects)
    for name in () if screen.picks_several else ("shown", "picks"):
        if document.value("question", name) is not None:
            raise document.problem(
                "question", name, f'{name} is only for the kinds "nearest" and "rank", but kind is "{study.kind}"; '
                "remove the line, or change kind",
            )  # fmt: skip
    if screen.picks_several and study.picks >= study.shown:
        raise document.problem(
            "question", "picks" if document.value("question", "picks") else "shown",
            f"picks is {study.picks}, but shown is {study.shown}; at least one option must remain: lower picks",
        )  # fmt: skip
    if screen.n_objects > n:
        raise document.problem(
            "question", "shown",
            f"a question shows {screen.n_objects} objects, but there are only {n}; lower shown, or add objects",
        )  # fmt: skip


class _Document:
    """The values of study.toml with their line numbers."""

    def __init__(self, path: Path, text: str, values: Mapping[str, Any]) -> None:
        self._path, self._values, self._lines = path, values, _lines_of_keys(text)

    def value(self, section: str, name: str, default: Any = None) -> Any:
        """Return a value, or its default if it is missing."""
        settings = self._values if not section else self._values.get(section, {})
        return settings.get(name, default)

    def parsed(self, section: str, parse: Callable[[Any], Any], default: Any) -> Any:
        """Return the value of a section that has its own parser, whose errors get the line of the section."""
        try:
            return parse(self._values.get(section, default))
        except ValueError as error:
            raise self.problem(section, "", str(error)) from None

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
            if name in _PARSED:
                continue
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
