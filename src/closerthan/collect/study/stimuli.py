"""Stimuli: the picture, short video, sound or text that represents an object."""

import csv
import hashlib
import hmac
import mimetypes
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from closerthan.checks import distinct
from closerthan.collect.study.tables import check_cells, open_table
from closerthan.files.formats.tables import MISSING, is_number

__all__ = ["ENDINGS", "TABLE", "Stimulus", "StimulusMessage", "read_folder", "read_table", "write_table"]

TABLE = "objects.csv"
_COLUMNS = ("name", "file", "text", "alt")

ENDINGS = {
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg"), "image"),
    **dict.fromkeys((".mp4", ".webm"), "video"),
    **dict.fromkeys((".mp3", ".ogg", ".wav", ".m4a"), "sound"),
    ".txt": "text",
}
"""Types of files that browsers can show, by file extension."""

_TYPES = {".webp": "image/webp", ".avif": "image/avif", ".m4a": "audio/mp4", ".ogg": "audio/ogg", ".wav": "audio/wav"}


class StimulusMessage(TypedDict):
    """A stimulus as the page receives it: a text, or the address of a file with its alternative text."""

    form: str
    text: NotRequired[str]
    source: NotRequired[str]
    alt: NotRequired[str]


@dataclass(frozen=True)
class Stimulus:
    """The stimulus of one object.

    Attributes
    ----------
    name
        The name of the object in files and on the map; participants do not see it.
    alt
        The alternative text for screen readers and for pictures that fail to load.
    file
        A picture, video or sound; None for a text.
    text
        The text to show; "" if there is a file.
    """

    name: str
    alt: str
    file: Path | None = None
    text: str = ""

    @property
    def form(self) -> str:
        """The form of presentation: image, video, sound or text."""
        return "text" if self.file is None else ENDINGS[self.file.suffix.lower()]

    @property
    def media_type(self) -> str:
        """The MIME type of the file."""
        assert self.file is not None
        ending = self.file.suffix.lower()
        return _TYPES.get(ending) or mimetypes.types_map.get(ending, "application/octet-stream")

    def address(self, key: bytes) -> str:
        """Return a file name that reveals nothing about the object, because participants can read addresses."""
        assert self.file is not None
        return hmac.new(key, self.name.encode(), hashlib.sha256).hexdigest()[:20] + self.file.suffix.lower()

    def message(self, key: bytes) -> StimulusMessage:
        """Return the stimulus as the page receives it."""
        if self.file is None:
            return {"form": "text", "text": self.text}
        return {"form": self.form, "source": f"media/{self.address(key)}", "alt": self.alt}


def read_folder(folder: Path) -> list[Stimulus]:
    """Read a folder of stimuli; each file is one object, named after the file."""
    files = sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    unknown = [file for file in files if file.suffix.lower() not in ENDINGS]
    if unknown:
        raise ValueError(
            f"{unknown[0]}: browsers cannot show {unknown[0].suffix or 'files without an extension'}; convert it to "
            f"one of {', '.join(ENDINGS)}, or move it elsewhere"
        )
    stems = Counter(file.stem for file in files)
    # File readers expect either numbers or names, so 1.png and ant.png keep their extensions.
    mixed = len({is_number(stem) for stem in stems}) > 1
    stimuli = []
    for file in files:
        name = file.stem if stems[file.stem] == 1 and not mixed else file.name
        text = _text(file) if file.suffix.lower() == ".txt" else ""
        _check_picture(file)
        stimuli.append(Stimulus(name, "", None, text) if text else Stimulus(name, _words_of(file.stem), file))
    if not stimuli and any(entry.is_dir() for entry in folder.iterdir()):
        raise ValueError(f"{folder} contains only folders, which are not searched; put all files into one folder")
    return _checked(stimuli, folder)


def read_table(path: Path, *, needs_files: bool = True) -> list[Stimulus]:
    """Read a CSV file with columns name, file or text, and alt; file names are relative to its folder.

    Unless ``needs_files``, pictures, videos and sounds may be missing, as when a study is only exported.
    """
    with open_table(path, "it lists the stimuli, so restore it, or create the study again") as (columns, table):
        unknown = [name for name in columns if name not in _COLUMNS]
        if unknown or not {"file", "text"} & set(columns):
            raise ValueError(
                f"{path}, line 1: the columns are {', '.join(columns)[:200] or 'missing'}; "
                "expected name, file or text, and alt, separated by commas"
            )
        return _checked([_stimulus(path, table.line_num, row, needs_files) for row in table], path)


def write_table(path: Path, stimuli: Iterable[Stimulus]) -> None:
    """Write objects.csv; file names are relative to its folder."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(_COLUMNS)
        for stimulus in stimuli:
            name = "" if stimulus.file is None else stimulus.file.relative_to(path.parent).as_posix()
            table.writerow([stimulus.name, name, stimulus.text, stimulus.alt])


def _stimulus(path: Path, line: int, row: dict[str, Any], needs_files: bool) -> Stimulus:
    def problem(message: str) -> ValueError:
        return ValueError(f"{path}, line {line}: {message}")

    check_cells(row, f"{path}, line {line}")
    file_name, text = (row.get("file") or "").strip(), (row.get("text") or "").strip()
    if bool(file_name) == bool(text):
        raise problem("write either a file or a text")
    name = (row.get("name") or "").strip() or (Path(file_name).stem if file_name else text[:60])
    if text:
        return Stimulus(name, "", None, text)
    file = path.parent / file_name
    if not file.resolve().is_relative_to(path.parent.resolve()):
        raise problem(f"{file_name} is outside {path.parent}; copy it into that folder")
    is_text = file.suffix.lower() == ".txt"
    if not file.is_file() and (needs_files or is_text):
        raise problem(f"the file {file_name} does not exist")
    if file.suffix.lower() not in ENDINGS:
        raise problem(f"browsers cannot show {file_name}; convert it to one of {', '.join(ENDINGS)}")
    if is_text:
        return Stimulus(name, "", None, _text(file))
    if needs_files:
        _check_picture(file)
    return Stimulus(name, (row.get("alt") or "").strip(), file)


def _check_picture(file: Path) -> None:
    """Raise an error unless the first bytes, by which browsers recognise the format, are those of a picture."""
    if file.suffix.lower() in (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif"):
        with open(file, "rb") as opened:
            first = opened.read(64)
        # The first box of an AVIF file lists several brands; avif need not be the first of them.
        is_avif = first[4:8] == b"ftyp" and any(brand in first for brand in (b"avif", b"avis"))
        if not (first.startswith((b"\x89PNG", b"\xff\xd8\xff", b"GIF8")) or first[8:12] == b"WEBP" or is_avif):
            raise ValueError(f"{file} is not a picture that browsers can show; save it again as .png or .jpg")


def _text(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8-sig").strip()
    except UnicodeDecodeError:
        raise ValueError(f"{file} is not a text in UTF-8; save it as such") from None
    if not text:
        raise ValueError(f"{file} is empty; write the text to show, or move it elsewhere")
    return text


def _words_of(stem: str) -> str:
    return re.sub(r"[\s_-]+", " ", stem).strip()


def _checked(stimuli: list[Stimulus], where: Path) -> list[Stimulus]:
    if len(stimuli) < 4:
        raise ValueError(f"{where} has {len(stimuli)} objects; a study needs at least 4")
    names = [stimulus.name for stimulus in stimuli]
    distinct(names, str(where))
    missing = next((name for name in names if name in MISSING), None)
    if missing is not None:
        raise ValueError(f"{where}: the name {missing!r} denotes a missing value in data files; choose another name")
    if len({is_number(name) for name in names}) > 1:
        number = next(name for name in names if is_number(name))
        raise ValueError(
            f"{where}: some names are numbers ({number}) and others are not; rename those that are numbers"
        )
    return stimuli
