"""Export a study as a Psych-DS dataset: tables with keywords in their names, and a description of every variable.

The rules of Psych-DS (https://psychds-docs.readthedocs.io): a file ``dataset_description.json`` in JSON-LD with the
vocabulary of schema.org and a description of all columns, and a folder ``data`` with CSV files in UTF-8 that are called
``KEYWORD-VALUE_..._data.csv``, have a header, and have as many cells in each row as the header.
"""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from closerthan.collect.store.access import Access
from closerthan.collect.store.database import Store
from closerthan.collect.store.export import map_tables, table_lines
from closerthan.collect.study.description import Study
from closerthan.files.writing.csv_text import csv_line
from closerthan.saving import whole_folder
from closerthan.wording import counted

__all__ = ["described_columns", "write_psych_ds"]

_DESCRIPTIONS = {
    "participant": "Pseudonym of the participant: a keyed hash, the same in all tables",
    "anchor": "Name of the object with which the others were compared",
    "near": "Name of the object that the participant chose as closer to the anchor",
    "far": "Name of the object that the participant did not choose",
    "label": "0 if the participant called both objects equally close to the anchor, 1 if one was chosen",
    "near_side": "Side on which the chosen object was shown: left or right",
    "odd": "Name of the object that the participant chose as the odd one out",
    "left": "Name of the object that was shown on the left",
    "right": "Name of the object that was shown on the right",
    "rt_ms": "Response time in milliseconds",
    "kind": "How the question was selected: chosen by expected information, random, shared by all participants, "
    "repeat of an earlier question, check of attention, own question of the researcher, or practice",
    "place": "Position of the question in the participant's sequence, from 1; practice questions have smaller numbers",
    "said": "Whether the participant made a choice, skipped the question or called it a tie; or fault, if a stimulus "
    "could not be shown",
    "repeats_place": "Position of the question that this one repeats",
    "score": "Expected information of the answer when the question was chosen, in nats",
    "map": "Version of the map from which the question was chosen",
    "probability": "Probability with which the question was drawn",
    "time": "Time of the answer, in UTC",
    "excluded": "Whether the researcher left the participant's answers out of the analysis: yes or no",
    "exclusion_reason": "Why the researcher left the participant's answers out",
    "condition": "Experimental condition of the participant",
    "state": "State of the interview: running, complete, or failed (too many wrong checks)",
    "started": "Time at which the participant gave consent, in UTC",
    "ended": "Time at which the interview ended, in UTC",
    "answers": "Number of answers, without practice and questions that could not be shown",
    "checks": "Number of check questions that were answered",
    "checks_passed": "Number of check questions that were answered correctly",
    "repeats": "Number of repeated questions, or of their comparisons",
    "repeats_consistent": "Number of these that were answered as before",
    "shared": "Number of shared questions, or of their comparisons, that could be compared with the other participants",
    "agreements": "Number of these that were answered like most others",
    "median_ms": "Median response time in milliseconds",
    "lapse_rate": "Estimated fraction of answers at random",
    "verdict": "Assessment of the answers by closerthan",
    "reasons": "Reasons of the assessment",
    "consent": "Version of the consent text to which the participant agreed",
    "name": "Name of the object",
    "form": "Form of the stimulus: image, video, sound or text",
    "text": "The stimulus itself, if it is a text",
    "alternative_text": "Description of the stimulus for those who cannot see or hear it",
}
_PATTERNS = {
    r"item_\d+": "Name of an object that was shown, in the order of presentation",
    r"shown_\d+": "Name of an option that was shown, in the order of presentation",
    r"nearest_\d+": "Name of an object that the participant chose as among the closest to the anchor",
    r"rank_\d+": "Name of the object at this rank of closeness to the anchor; 1 is the closest",
    r"x\d+": "Coordinate of the object on the map",
    r"response_\w+": "Answer to an item that is no longer part of the questionnaire",
}
_UNITS = {"rt_ms": "milliseconds", "median_ms": "milliseconds", "score": "nats"}


def write_psych_ds(store: Store, study: Study, access: Access, target: Path, *, replace: bool = False) -> list[str]:
    """Write a dataset to a folder, atomically, and return a line about each of its tables."""
    keyword = re.sub(r"[^A-Za-z0-9]", "", study.folder.resolve().name) or "untitled"
    tables = {
        "answers": table_lines(store, study, access, "answers.csv"),
        "allAnswers": table_lines(store, study, access, "all-answers.csv"),
        "participants": table_lines(store, study, access, "participants.csv"),
        "objects": _object_lines(study),
    }
    for name in map_tables(study):
        part = re.sub(r"[^A-Za-z0-9]", "", name)[: -len("csv")]  # parts of a name consist of letters and digits
        while part in tables:
            part += "2"
        tables[part] = table_lines(store, study, access, name)
    columns: list[str] = []
    summary = []
    with whole_folder(target, replace=replace) as draft:
        (draft / "data").mkdir()
        with store.reading():  # the tables agree, although people may be answering
            for name, lines in tables.items():
                path = draft / "data" / f"study-{keyword}_description-{name}_data.csv"
                header, n_rows = _write_table(path, lines)
                columns += [column for column in header if column not in columns]
                summary.append(f"{path.relative_to(draft).as_posix()}  {counted(n_rows, 'row')}")
        variables = described_columns(columns, study)
        about = {
            "@context": "https://schema.org",
            "@type": "Dataset",
            "name": study.title,
            "description": f"Judgements of similarity about {counted(len(study.objects), 'object')}, collected with "
            f'closerthan. The question was: "{study.question}"',
            "schemaVersion": "Psych-DS 0.4.0",
            "dateModified": f"{datetime.now(UTC):%Y-%m-%d}",
            "variableMeasured": variables,
        }
        text = json.dumps(about, ensure_ascii=False, indent=2) + "\n"
        (draft / "dataset_description.json").write_text(text, encoding="utf-8")
        (draft / "documentation").mkdir()
        _write_table(draft / "documentation" / "data-dictionary.csv", _dictionary(variables))
        (draft / "README.md").write_text(_readme(study, summary), encoding="utf-8")
        changes = f"# Changes\n\n## 1.0.0 ({datetime.now(UTC):%Y-%m-%d})\n\n- Exported with closerthan.\n"
        (draft / "CHANGES.md").write_text(changes, encoding="utf-8")
    return summary


def described_columns(columns: Iterable[str], study: Study) -> list[dict[str, str]]:
    """Return a schema.org description of each column.

    Examples
    --------
    >>> described_columns(["rt_ms"], Study(Path(), "", "", "", "", ()))[0]["unitText"]
    'milliseconds'
    """
    items = {f"response_{item.name}": f"Answer to: {item.text}" for item in study.questionnaire}
    items["response_comprehension"] = "Attempts at the question about the instructions"
    variables = []
    for column in columns:
        patterns = (text for pattern, text in _PATTERNS.items() if re.fullmatch(pattern, column))
        text = items.get(column) or _DESCRIPTIONS.get(column) or next(patterns, None)
        variable = {"@type": "PropertyValue", "name": column, "description": text or f"The column {column}"}
        if column in _UNITS:
            variable["unitText"] = _UNITS[column]
        variables.append(variable)
    return variables


def _write_table(path: Path, lines: Iterable[str]) -> tuple[list[str], int]:
    """Write a CSV file; return its columns and the number of its rows."""
    header, n_rows = "", -1
    with open(path, "wb") as file:
        for line in lines:
            header, n_rows = header or line, n_rows + 1
            file.write(line.encode())
    return header.strip("\n").split(","), n_rows


def _object_lines(study: Study) -> Iterator[str]:
    yield csv_line(["name", "form", "text", "alternative_text"])
    for stimulus in study.objects:
        yield csv_line([stimulus.name, stimulus.form, stimulus.text, stimulus.alt])


def _dictionary(variables: Iterable[dict[str, str]]) -> Iterator[str]:
    yield csv_line(["variable", "description", "unit"])
    for variable in variables:
        yield csv_line([variable["name"], variable["description"], variable.get("unitText", "")])


def _readme(study: Study, tables: Iterable[str]) -> str:
    lines = "\n".join(f"- {line}" for line in tables)
    return f"""# {study.title}

This dataset follows Psych-DS. `dataset_description.json` and `documentation/data-dictionary.csv` describe every column.

The question was: {study.question}

{lines}

Participants have pseudonyms: keyed hashes that only the researchers could match with the recruiter's ids. Answers to
open questions of a questionnaire are included as they were written; check that they identify nobody.

The map of the objects can be fitted again with `closerthan fit`, which reads the table called "answers". "allAnswers"
adds practice questions and skipped questions.
"""
