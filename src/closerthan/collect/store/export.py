"""Export a study (answers for ``closerthan fit``, the map, a ZIP archive), and delete participants."""

import csv
import io
import json
import tempfile
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.study.description import Study

__all__ = ["answer_lines", "forget", "map_lines", "write_study"]

_SIDES = ("left", "right")
_RESPONSE = ("rt_ms", "kind", "place")
_SELECTION = ("repeats_place", "score", "map", "probability")  # how the question was selected


def answer_lines(
    store: Store, study: Study, access: Access, *, everything: bool = False, identities: bool = False
) -> Iterator[str]:
    """Yield the lines of answers.csv.

    Parameters
    ----------
    everything
        Whether to include practice questions, skipped questions and ties, which ``closerthan fit`` does not use. Checks
        are always included; ``closerthan fit`` ignores them because of their kind.
    identities
        Whether to write the recruiter's ids instead of their keyed hashes.
    """
    names = {row["number"]: row["name"] for row in store.rows("SELECT number, name FROM objects")}
    is_closer = study.kind == "closer"
    question_columns = ("anchor", "near", "far", "near_side") if is_closer else ("item_1", "item_2", "item_3", "odd")
    extra_columns = (("left", "right", "said") if is_closer else ("said",)) if everything else ()
    yield _line(["participant", *question_columns, *_RESPONSE, *extra_columns, *_SELECTION, "time"])
    rows = store.rows(
        """SELECT questions.*, said, choice, rt_ms, at, value AS person,
        (SELECT place FROM questions AS earlier WHERE earlier.id = questions.repeats) AS repeats_place
        FROM answers JOIN questions ON question = id
        LEFT JOIN identities ON identities.participant = questions.participant AND role = 'person'
        ORDER BY questions.participant, place"""
    )
    for row in rows:
        if not everything and (row["said"] != "choice" or row["kind"] == "practice"):
            continue
        person = row["person"] if identities and row["person"] else access.pseudonym(row["participant"], row["person"])
        objects = [names[row[column]] for column in ("first", "second", "third")]
        extra = [*objects[1:], row["said"]] if is_closer else [row["said"]]
        time = datetime.fromtimestamp(row["at"], UTC).isoformat(timespec="milliseconds")
        cells = [person, *_answer_cells(study.kind, objects, row["choice"]), *(row[column] for column in _RESPONSE)]
        cells += extra if everything else ()
        yield _line([*cells, *(row[column] for column in _SELECTION), time])


def _answer_cells(kind: str, objects: list[str], choice: int | None) -> list[Any]:
    if kind == "odd":
        return [*objects, "" if choice is None else objects[choice]]
    if choice is None:
        return [objects[0], "", "", ""]
    return [objects[0], objects[1 + choice], objects[2 - choice], _SIDES[choice]]


def map_lines(store: Store) -> Iterator[str]:
    """Yield the lines of map.csv: the latest map for ``closerthan predict``, or only the header if there is none."""
    places = json.loads(store.value("SELECT places FROM maps ORDER BY version DESC LIMIT 1") or "[]")
    names = [row["name"] for row in store.rows("SELECT name FROM objects ORDER BY number")]
    yield _line(["name", *(f"x{number + 1}" for number in range(len(places[0]) if places else 2))])
    for name, place in zip(names, places, strict=False):
        yield _line([name, *place])


def write_study(store: Store, study: Study, access: Access, path: Path) -> None:
    """Write the whole study, without its secrets, as a ZIP archive: study.toml, stimuli, answers, map and a backup."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        copy = Path(folder) / FILE
        store.backup(copy)
        archive.write(copy, FILE)
        for name in ("study.toml", "objects.csv"):
            archive.write(study.folder / name, name)
        for stimulus in study.objects:
            if stimulus.file is not None:
                name = stimulus.file.relative_to(study.folder).as_posix()
                archive.write(stimulus.file, name, zipfile.ZIP_STORED)
        archive.writestr("answers.csv", "".join(answer_lines(store, study, access)))
        archive.writestr("all-answers.csv", "".join(answer_lines(store, study, access, everything=True)))
        archive.writestr("map.csv", "".join(map_lines(store)))


def forget(store: Store, access: Access, person: str) -> int:
    """Delete a person with all of their answers, and return the number of these answers.

    ``person`` is the recruiter's id or the name in the exported answers.
    """
    rows = store.rows(
        """SELECT number, value AS person FROM participants
        LEFT JOIN identities ON participant = number AND role = 'person'"""
    )
    numbers = [
        row["number"] for row in rows if person in (row["person"], access.pseudonym(row["number"], row["person"]))
    ]
    if not numbers:
        raise ValueError(
            f"there is no participant {person!r}; pass the recruiter's id, or the name in the column participant of "
            "the exported answers"
        )
    with store.writing():
        (number,) = numbers
        answers = store.value(
            "SELECT count(*) FROM answers JOIN questions ON question = id WHERE participant = ?", number
        )
        store.change("DELETE FROM participants WHERE number = ?", number)
    store.tidy()
    return int(answers)


def _line(cells: list[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(["" if cell is None else cell for cell in cells])
    return text.getvalue()
