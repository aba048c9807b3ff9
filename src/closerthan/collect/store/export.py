"""Export a study: answers for ``closerthan fit``, participants, the map, and a ZIP archive of everything."""

import json
import math
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from closerthan.collect.choosing.participant_table import participant_lines
from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.study.description import Study
from closerthan.files.formats.study import answer_header, answer_rows, has_ties
from closerthan.files.writing.csv_text import csv_line, spreadsheet_safe

__all__ = ["TABLES", "answer_lines", "map_lines", "map_tables", "table_lines", "write_study"]

TABLES = ("answers.csv", "all-answers.csv", "participants.csv")
"""The tables of a study, as CSV files, besides those of :func:`map_tables`."""


def answer_lines(
    store: Store, study: Study, access: Access, *, everything: bool = False, identities: bool = False
) -> Iterator[str]:
    """Yield the lines of answers.csv.

    Parameters
    ----------
    everything
        Whether to include practice questions, skipped questions and all ties. Without them, checks are included,
        which ``closerthan fit`` ignores because of their kind, and ties between two objects. Their label is 0, so that
        they are kept apart from the other answers.
    identities
        Whether to write the recruiter's ids instead of their keyed hashes.

    The column excluded marks the answers of people whom the researcher left out. Pilots are never written.
    """

    def name_of(participant: int, person: str | None) -> str:
        return spreadsheet_safe(person) if identities and person else access.pseudonym(participant, person)

    options = {"everything": everything, "ties": has_ties(store.stream, study.screen)}
    yield csv_line(answer_header(study.screen, **options))
    yield from map(csv_line, answer_rows(store.stream, study.screen, name_of, **options))


def map_lines(store: Store, condition: str = "") -> Iterator[str]:
    """Yield the lines of map.csv: the latest map for ``closerthan predict``, or only the header if there is none."""
    query = "SELECT places FROM maps WHERE condition = ? ORDER BY version DESC LIMIT 1"
    places = json.loads(store.value(query, condition) or "[]")
    names = [row["name"] for row in store.rows("SELECT name FROM objects ORDER BY number")]
    yield csv_line(["name", *(f"x{number + 1}" for number in range(len(places[0]) if places else 2))])
    for name, place in zip(names, places, strict=False):
        if not math.isnan(place[0]):  # the object is part of the condition
            yield csv_line([name, *place])


def write_study(store: Store, study: Study, access: Access, path: Path) -> None:
    """Write the whole study, without its secrets, as a ZIP archive: study.toml, stimuli, answers, map and a backup."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        copy = Path(folder) / FILE
        store.backup(copy)
        archive.write(copy, FILE)
        for name in ("study.toml", "objects.csv", *study.lists):
            archive.write(study.folder / name, name)
        for stimulus in study.objects:
            if stimulus.file is not None:
                name = stimulus.file.relative_to(study.folder).as_posix()
                archive.write(stimulus.file, name, zipfile.ZIP_STORED)
        for name in (*TABLES, *map_tables(study)):
            with archive.open(name, "w", force_zip64=True) as file:
                file.writelines(line.encode() for line in table_lines(store, study, access, name))


def map_tables(study: Study) -> list[str]:
    """Return the names of the tables with the map of the study, or of each condition."""
    return [f"map-{condition.name}.csv" for condition in study.conditions] or ["map.csv"]


def table_lines(store: Store, study: Study, access: Access, name: str) -> Iterator[str]:
    """Yield the lines of one of the ``TABLES`` or of :func:`map_tables`."""
    if name.startswith("map"):
        return map_lines(store, name.removeprefix("map").removeprefix("-").removesuffix(".csv"))
    if name == "participants.csv":
        return participant_lines(store, study, access)
    return answer_lines(store, study, access, everything=name == "all-answers.csv")
