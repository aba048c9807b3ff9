"""Create a study: a folder with its stimuli and a study.toml to fill in."""

import json
import math
import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from closerthan.collect.study.description import FILE, Study
from closerthan.collect.study.stimuli import TABLE, Stimulus, read_folder, read_table, write_table
from closerthan.saving import whole_folder, writable_beside

__all__ = ["HEAVY", "make_study", "unfinished"]

CONTACT = "NAME, E-MAIL ADDRESS"  # placeholder in the consent text of the template
HEAVY = 1_000_000  # bytes; larger files load slowly on phones


def make_study(folder: Path, objects: Path, *, title: str | None = None) -> list[Stimulus]:
    """Create a study about the objects in a folder or a CSV file; the stimuli are copied into it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     texts = Path(place) / "words.csv"
    ...     _ = texts.write_text("text\\nant\\nbee\\ncat\\ndog\\n")
    ...     stimuli = make_study(Path(place) / "words", texts)
    ...     sorted(file.name for file in (Path(place) / "words").iterdir())
    ['objects.csv', 'study.toml']
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} already exists; choose another name, or remove it")
    if not objects.exists():
        raise ValueError(f"{objects} does not exist; --objects must be a folder of files or a CSV file")
    if not objects.is_dir() and objects.suffix.lower() != ".csv":
        raise ValueError(f"{objects} is neither a folder nor a .csv file; save a table as CSV in UTF-8")
    stimuli = read_folder(objects) if objects.is_dir() else read_table(objects)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        writable_beside(folder)
    except OSError as error:
        raise ValueError(f"{folder} cannot be created ({error.strerror}); choose another place") from None
    with whole_folder(folder, replace=False) as draft:
        write_table(draft / TABLE, _copied(stimuli, draft / "objects"))
        # JSON strings are also valid TOML strings.
        quoted = json.dumps(title or folder.name.replace("-", " ").replace("_", " "), ensure_ascii=False)
        # Few objects allow only few different questions.
        number = min(Study.number, 3 * len(stimuli) * math.comb(len(stimuli) - 1, 2) // 4)
        (draft / FILE).write_text(_template(quoted, number), encoding="utf-8")
    return stimuli


def _template(title: str, number: int) -> str:
    """Return the text of a new study.toml, with a quoted title."""
    template = files("closerthan.collect.study").joinpath("template.toml").read_text(encoding="utf-8")
    text = template.replace("{title}", title).replace("{number}", str(number))
    return text.replace("{{", "{").replace("}}", "}")


def unfinished(study: Study) -> list[str]:
    """Return what participants would read from the template although it does not fit the study."""
    template = tomllib.loads(_template('""', 1))
    problems = []
    if CONTACT in study.consent:
        problems.append(f"the consent text still contains {CONTACT}")
    if study.kind != "closer":
        texts = {"instructions": study.instructions, "question": study.question}
        old = [name for name, text in texts.items() if text.strip() == template[name]["text"].strip()]
        problems += [f'the text of [{name}] is that for kind = "closer"' for name in old]
    return problems


def _copied(stimuli: Sequence[Stimulus], target: Path) -> list[Stimulus]:
    copies, names = [], set()
    for stimulus in stimuli:
        if stimulus.file is None:
            copies.append(stimulus)
            continue
        target.mkdir(exist_ok=True)
        name, number = stimulus.file.name, 2
        while name.lower() in names:  # files from different folders can have the same name
            name, number = f"{stimulus.file.stem}-{number}{stimulus.file.suffix}", number + 1
        names.add(name.lower())
        shutil.copyfile(stimulus.file, target / name)
        copies.append(replace(stimulus, file=target / name))
    return copies
