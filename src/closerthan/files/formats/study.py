"""Answers of a study run by ``closerthan collect``: read from its database, with the columns of an export.

The export of a study and ``closerthan fit STUDY`` read the same rows, so both give the same map.
"""

import contextlib
import hmac
import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from closerthan.comparisons.screen import Screen
from closerthan.files.formats.opening import NoAnswerError
from closerthan.files.formats.tables import Column, LoadedTable
from closerthan.wording import counted

__all__ = [
    "ANSWERED",
    "APPLICATION",
    "DATABASE",
    "KEY",
    "StudyTable",
    "answer_header",
    "answer_rows",
    "has_ties",
    "is_study",
    "marks_ties",
    "numbers_in",
    "objects_of",
    "picks_of",
    "pseudonym",
]

DATABASE = "answers.sqlite"
"""Name of the file in the folder of a study that holds the answers."""

KEY = "pseudonym-key.txt"
"""Name of the file in the folder of a study that holds the secret key from which pseudonyms are derived."""

APPLICATION = 0x436C5468
"""SQLite application id of the databases of closerthan: the characters "ClTh"."""

_USUAL_DIMENSIONS = 2  # the default of a fit
_OLDEST = 4  # first version of the database that has all columns used here
_SIDES = ("left", "right")
_RESPONSE = ("rt_ms", "kind", "place")
_SELECTION = ("repeats_place", "score", "map", "probability")  # how the question was selected

ANSWERED = "questions.*, said, choice, answers.more AS later_choices, rt_ms, at"
"""The columns of questions and their answers, for :func:`objects_of` and :func:`picks_of`."""

Query = Callable[[str], Iterator[sqlite3.Row]]
"""A function that runs a query and returns its rows."""


def is_study(folder: Path) -> bool:
    """Return whether a folder holds a study that has been served, so that it has a database."""
    return (folder / DATABASE).is_file()


def pseudonym(key: bytes, participant: int, person: str | None) -> str:
    """Return the anonymous name of a participant in tables, which is the same for the same person.

    Examples
    --------
    >>> pseudonym(b"key", 1, None), pseudonym(b"key", 2, "ann") == pseudonym(b"key", 3, "ann")
    ('41c1fcebbf76', True)
    """
    identity = f"participant {participant}" if person is None else f"person {person}"
    return hmac.new(key, identity.encode(), "sha256").hexdigest()[:12]


def objects_of(row: Any) -> tuple[int, ...]:
    """Return the objects of a stored question, in the order of presentation: the anchor first, if there is one."""
    return (row["first"], row["second"], row["third"], *numbers_in(row["more"]))


def picks_of(row: Any) -> tuple[int, ...]:
    """Return the positions of the options that were picked, in the order in which they were picked."""
    return () if row["choice"] is None else (row["choice"], *numbers_in(row["later_choices"]))


def numbers_in(text: str) -> tuple[int, ...]:
    """Return numbers that are stored as a text, separated by colons.

    Examples
    --------
    >>> numbers_in("2:5"), numbers_in("")
    ((2, 5), ())
    """
    return tuple(map(int, text.split(":"))) if text else ()


def has_ties(query: Query, screen: Screen) -> bool:
    """Return whether participants called two objects equally close, other than in practice and checks."""
    if screen.kind != "closer":
        return False
    rows = query(
        "SELECT 1 FROM answers JOIN questions ON question = id "
        "WHERE said = 'tie' AND kind NOT IN ('practice', 'check') LIMIT 1"
    )
    return next(iter(rows), None) is not None


def marks_ties(names: Collection[str | None]) -> bool:
    """Return whether a table with these columns holds the answers of a study, with ties labelled 0.

    Examples
    --------
    >>> header = answer_header(Screen.of("closer"), ties=True)
    >>> marks_ties(header), marks_ties(["anchor", "near", "far", "label"])
    (True, False)
    """
    return {"near_side", "label", "kind", "excluded"} <= {*names}


def answer_header(screen: Screen, *, everything: bool = False, ties: bool = False) -> list[str]:
    """Return the names of the columns of :func:`answer_rows`, by which the kind of question is recognised.

    Examples
    --------
    >>> answer_header(Screen.of("rank", 3, 2))[1:6]
    ['anchor', 'shown_1', 'shown_2', 'shown_3', 'rank_1']
    """
    extra = ["said"] if everything else []
    if screen.kind == "closer":
        question, extra = ["anchor", "near", "far", "near_side"], ["left", "right", *extra] if everything else []
        question += ["label"] if ties else []
    elif screen.kind == "odd":
        question = [*screen.columns, "odd"]
    else:
        question = [*screen.columns]
        question += [f"{screen.kind}_{place + 1}" for place in range(screen.n_picks)]
    return ["participant", *question, *_RESPONSE, *extra, *_SELECTION, "time", "excluded", "condition"]


def answer_rows(
    query: Query,
    screen: Screen,
    name_of: Callable[[int, str | None], str],
    *,
    everything: bool = False,
    ties: bool = False,
) -> Iterator[list[Any]]:
    """Yield one row of cells per answer, ordered by participant and place; pilot participants are left out.

    Parameters
    ----------
    query
        Runs a query on the database.
    screen
        The kind of the study's questions.
    name_of
        Returns the name of a participant, given the number and the recruiter's id.
    everything
        Whether to include practice questions and skipped questions, which are not fitted, and all ties.
    ties
        Whether to include ties between two objects, with the label 0, and the label 1 for choices.
    """
    names = {row["number"]: row["name"] for row in query("SELECT number, name FROM objects")}
    rows = query(
        f"""SELECT {ANSWERED}, value AS person, condition,
        (SELECT place FROM questions AS earlier WHERE earlier.id = questions.repeats) AS repeats_place,
        questions.participant IN (SELECT participant FROM exclusions) AS excluded
        FROM questions JOIN answers ON question = id
        JOIN participants ON number = questions.participant AND NOT pilot
        LEFT JOIN identities ON identities.participant = questions.participant AND role = 'person'
        ORDER BY questions.participant, place"""
    )
    for row in rows:
        is_tie = ties and screen.kind == "closer" and row["said"] == "tie" and (everything or row["kind"] != "check")
        if not everything and ((row["said"] != "choice" and not is_tie) or row["kind"] == "practice"):
            continue
        objects = [names[number] for number in objects_of(row)]
        extra = [*objects[1:], row["said"]] if screen.kind == "closer" else [row["said"]]
        time = datetime.fromtimestamp(row["at"], UTC).isoformat(timespec="milliseconds")
        answer = [*objects, ""] if is_tie else _answer_cells(screen, objects, picks_of(row))
        cells = [name_of(row["participant"], row["person"]), *answer]
        label = 0 if is_tie else 1 if row["said"] == "choice" else ""
        cells += [label] if ties and screen.kind == "closer" else []
        cells += [*(row[column] for column in _RESPONSE), *(extra if everything else ())]
        yield [
            *cells,
            *(row[column] for column in _SELECTION),
            time,
            "yes" if row["excluded"] else "no",
            row["condition"],
        ]


def _answer_cells(screen: Screen, objects: Sequence[str], picks: Sequence[int]) -> list[str]:
    """Return the cells of the objects and of the answer; the latter are empty without a choice."""
    if screen.kind == "closer":
        if not picks:
            return [objects[0], "", "", ""]
        return [objects[0], objects[1 + picks[0]], objects[2 - picks[0]], _SIDES[picks[0]]]
    picked = [objects[screen.has_anchor + pick] for pick in picks]
    return [*objects, *picked, *[""] * (screen.n_picks - len(picked))]


class StudyTable(LoadedTable):
    """The answers of a study, read from its database, which may be in use and is never changed."""

    def __init__(self, path: Path) -> None:
        key = path.with_name(KEY)
        secret = key.read_bytes().strip() if key.is_file() else b""

        def name_of(participant: int, person: str | None) -> str:
            return pseudonym(secret, participant, person) if secret else str(participant)

        with contextlib.closing(_opened(path)) as connection:
            connection.row_factory = sqlite3.Row
            _check(connection, path)
            about = connection.execute("SELECT value FROM about WHERE name = 'kind'").fetchone()
            screen = Screen.named("closer" if about is None else about[0])
            ties = has_ties(connection.execute, screen)
            rows = list(answer_rows(connection.execute, screen, name_of, ties=ties))
            n_dims = _dimensions_of_map(connection)
        if not rows:
            raise NoAnswerError(f"{path} holds no answers that can be fitted yet")
        cells = zip(*rows, strict=True)
        columns = [Column.of_cells(["" if cell is None else str(cell) for cell in column]) for column in cells]
        super().__init__(
            path, "study of closerthan collect", list(zip(answer_header(screen, ties=ties), columns, strict=True))
        )
        if not secret:
            self.notes.append(f"participants are named by their numbers, because the folder has no file {KEY}")
        if n_dims not in (None, _USUAL_DIMENSIONS):
            self.notes.append(
                f"the live map of the study has {counted(n_dims, 'dimension')}; a fit has {_USUAL_DIMENSIONS} unless "
                "you pass another number"
            )


def _dimensions_of_map(connection: sqlite3.Connection) -> int | None:
    """Return the number of dimensions of the latest map of a study; None if there is no map."""
    latest = "SELECT places FROM maps WHERE places <> '[]' ORDER BY version DESC LIMIT 1"
    row = connection.execute(latest).fetchone()
    return None if row is None else len(json.loads(row[0])[0])


def _opened(path: Path) -> sqlite3.Connection:
    address = f"{path.resolve().as_uri()}?mode=ro"
    # In a folder that cannot be written to, SQLite opens the file only if no other process can be using it.
    for immutable in ("", "&immutable=1"):
        connection = sqlite3.connect(address + immutable, uri=True, isolation_level=None, timeout=10)
        try:
            connection.execute("PRAGMA application_id").fetchone()
            return connection
        except sqlite3.DatabaseError as error:
            connection.close()
            is_used = path.with_name(f"{path.name}-wal").exists()
            if immutable or is_used or not isinstance(error, sqlite3.OperationalError):
                raise ValueError(f"{path} is not the database of a study ({error})") from None
    raise AssertionError


def _check(connection: sqlite3.Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise ValueError(f"{path} is not the database of a study; expected one made by closerthan collect")
    if version < _OLDEST:
        raise ValueError(
            f"{path} was written by an older version of closerthan; update it with: "
            f"closerthan collect status {path.parent}"
        )
