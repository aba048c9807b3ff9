"""A new study: a folder with study.toml to fill in, and all that is shown."""

import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from closerthan.collect.study.description import FILE, Study
from closerthan.collect.study.stimuli import TABLE, Stimulus, read_folder, read_table, write_table
from closerthan.saving import whole_folder, writable_beside

__all__ = ["HEAVY", "make_study"]

HEAVY = 1_000_000  # bytes: a picture above it makes people on phones wait


def make_study(folder: Path, objects: Path, *, title: str | None = None) -> list[Stimulus]:
    """Write a study about the objects of a folder or a CSV file; what is shown is copied into it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     texts = Path(place) / "words.csv"
    ...     _ = texts.write_text("text\\nant\\nbee\\ncat\\ndog\\n")
    ...     made = make_study(Path(place) / "words", texts)
    ...     sorted(file.name for file in (Path(place) / "words").iterdir())
    ['objects.csv', 'study.toml']
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} is there already; choose another name, or remove it")
    if not objects.exists():
        raise ValueError(f"{objects} is not there; --objects is a folder of files, or a CSV file")
    if not objects.is_dir() and objects.suffix.lower() != ".csv":
        raise ValueError(f"{objects} is neither a folder nor a .csv file; save a table as CSV in UTF-8")
    stimuli = read_folder(objects) if objects.is_dir() else read_table(objects)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        writable_beside(folder)
    except OSError as error:
        raise ValueError(f"{folder} cannot be made ({error.strerror}); choose another place") from None
    with whole_folder(folder, replace=False) as draft:
        write_table(draft / TABLE, _copied(stimuli, draft / "objects"))
        template = files("closerthan.collect.study").joinpath("template.toml").read_text(encoding="utf-8")
        # A text in JSON is one in TOML too.
        quoted = json.dumps(title or folder.name.replace("-", " ").replace("_", " "), ensure_ascii=False)
        # Few objects make few questions.
        number = min(Study.number, 3 * len(stimuli) * math.comb(len(stimuli) - 1, 2) // 4)
        text = template.replace("{title}", quoted).replace("{number}", str(number))
        text = text.replace("{{", "{").replace("}}", "}")
        (draft / FILE).write_text(text, encoding="utf-8")
    return stimuli


def _copied(stimuli: Sequence[Stimulus], target: Path) -> list[Stimulus]:
    copies, taken = [], set()
    for one in stimuli:
        if one.file is not None:
            target.mkdir(exist_ok=True)
            name, number = one.file.name, 2
            while name.lower() in taken:  # files of several folders can have the same name
                name, number = f"{one.file.stem}-{number}{one.file.suffix}", number + 1
            taken.add(name.lower())
            shutil.copyfile(one.file, target / name)
            one = replace(one, file=target / name)
        copies.append(one)
    return copies
