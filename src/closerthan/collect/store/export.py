"""Taking things out of a study: answers as a CSV file for ``closerthan fit``, the map, everything; forgetting."""

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


def answer_lines(
    store: Store, study: Study, access: Access, *, everything: bool = False, identities: bool = False
) -> Iterator[str]:
    """The lines of answers.csv.

    Parameters
    ----------
    everything
        Practice, skipped questions and ties too; ``closerthan fit`` has no use for them. (It leaves checks out by their
        kind.)
    identities
        The recruiter's ids instead of their keyed hashes.
    """
    names = {row["number"]: row["name"] for row in store.rows("SELECT number, name FROM objects")}
    asked = ("anchor", "near", "far", "near_side") if study.kind == "closer" else ("item_1", "item_2", "item_3", "odd")
    more = ("left", "right", "said") if study.kind == "closer" and everything else ("said",) if everything else ()
    yield _line(
        ["participant", *asked, "rt_ms", "kind", "place", *more, "repeats_place", "score", "map", "probability", "time"]
    )
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
        shown = [*objects[1:], row["said"]] if study.kind == "closer" else [row["said"]]
        time = datetime.fromtimestamp(row["at"], UTC).isoformat(timespec="milliseconds")
        yield _line([
            person,
            *_said(study.kind, objects, row["choice"]),
            row["rt_ms"],
            row["kind"],
            row["place"],
            *(shown if everything else ()),
            row["repeats_place"],
            row["score"],
            row["map"],
            row["probability"],
            time,
        ])  # fmt: skip


def _said(kind: str, objects: list[str], choice: int | None) -> list[Any]:
    if kind == "odd":
        return [*objects, "" if choice is None else objects[choice]]
    if choice is None:
        return [objects[0], "", "", ""]
    return [objects[0], objects[1 + choice], objects[2 - choice], _SIDES[choice]]


def map_lines(store: Store) -> Iterator[str]:
    """The lines of map.csv: the latest map, as ``closerthan predict`` reads it; nothing but titles if there is none."""
    places = json.loads(store.value("SELECT places FROM maps ORDER BY version DESC LIMIT 1") or "[]")
    names = [row["name"] for row in store.rows("SELECT name FROM objects ORDER BY number")]
    yield _line(["name", *(f"x{number + 1}" for number in range(len(places[0]) if places else 2))])
    for name, place in zip(names, places, strict=False):
        yield _line([name, *place])


def write_study(store: Store, study: Study, access: Access, path: Path) -> None:
    """Write the whole study as one .zip: study.toml, what was shown, answers, map and a backup; no secrets."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        copy = Path(folder) / FILE
        store.backup(copy)
        archive.write(copy, FILE)
        for name in ("study.toml", "objects.csv"):
            archive.write(study.folder / name, name)
        for one in study.objects:
            if one.file is not None:
                archive.write(one.file, one.file.relative_to(study.folder).as_posix(), zipfile.ZIP_STORED)
        archive.writestr("answers.csv", "".join(answer_lines(store, study, access)))
        archive.writestr("all-answers.csv", "".join(answer_lines(store, study, access, everything=True)))
        archive.writestr("map.csv", "".join(map_lines(store)))


def forget(store: Store, access: Access, person: str) -> int:
    """Delete a person and all his answers, and say how many there were.

    ``person`` is a recruiter's id, or a name of the exported table.
    """
    rows = store.rows(
        """SELECT number, value AS person FROM participants
        LEFT JOIN identities ON participant = number AND role = 'person'"""
    )
    found = [row["number"] for row in rows if person in (row["person"], access.pseudonym(row["number"], row["person"]))]
    if not found:
        raise ValueError(
            f"nobody is called {person!r}; give the id of the recruiter, or the name in the column participant of the "
            "exported answers"
        )
    with store.writing():
        (number,) = found
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
