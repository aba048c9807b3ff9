"""What is shown for an object: a picture, a short video, a sound or a text, with a name and an alternative text."""

import csv
import hashlib
import hmac
import mimetypes
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from closerthan.checks import distinct
from closerthan.files.formats.tables import MISSING

__all__ = ["ENDINGS", "TABLE", "Stimulus", "read_folder", "read_table", "write_table"]

TABLE = "objects.csv"
_COLUMNS = ("name", "file", "text", "alt")

ENDINGS = {
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg"), "image"),
    **dict.fromkeys((".mp4", ".webm"), "video"),
    **dict.fromkeys((".mp3", ".ogg", ".wav", ".m4a"), "sound"),
    ".txt": "text",
}
"""What browsers can show, by the ending of the file."""

_TYPES = {".webp": "image/webp", ".avif": "image/avif", ".m4a": "audio/mp4", ".ogg": "audio/ogg", ".wav": "audio/wav"}


@dataclass(frozen=True)
class Stimulus:
    """What is shown for one object.

    Attributes
    ----------
    name
        Of the object, in files and on the map; participants do not see it.
    alt
        What a screen reader says of it, and what is seen if a picture does not load.
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
        """image, video, sound or text."""
        return "text" if self.file is None else ENDINGS[self.file.suffix.lower()]

    @property
    def media_type(self) -> str:
        """What the file is, in the words of HTTP."""
        assert self.file is not None
        ending = self.file.suffix.lower()
        return _TYPES.get(ending) or mimetypes.types_map.get(ending, "application/octet-stream")

    def address(self, key: bytes) -> str:
        """A file name that says nothing about the object: participants can read addresses."""
        assert self.file is not None
        return hmac.new(key, self.name.encode(), hashlib.sha256).hexdigest()[:20] + self.file.suffix.lower()

    def shown(self, key: bytes) -> dict[str, Any]:
        """What the page is told."""
        if self.file is None:
            return {"form": "text", "text": self.text}
        return {"form": self.form, "source": f"media/{self.address(key)}", "alt": self.alt}


def read_folder(folder: Path) -> list[Stimulus]:
    """The objects of a folder: each file is one, called like the file."""
    files = sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    unknown = [file for file in files if file.suffix.lower() not in ENDINGS]
    if unknown:
        raise ValueError(
            f"{unknown[0]}: a browser cannot show {unknown[0].suffix or 'a file without an ending'}; "
            f"it can show {', '.join(ENDINGS)}: convert it or move it away"
        )
    stems = Counter(file.stem for file in files)
    mixed = len({_is_number(stem) for stem in stems}) > 1  # 1.png and ant.png: numbers among names confuse every reader
    found = []
    for file in files:
        name = file.stem if stems[file.stem] == 1 and not mixed else file.name
        text = _text(file) if file.suffix.lower() == ".txt" else ""
        _check_picture(file)
        found.append(Stimulus(name, "", None, text) if text else Stimulus(name, _spoken(file.stem), file))
    if not found and any(one.is_dir() for one in folder.iterdir()):
        raise ValueError(f"{folder} has no files, and those in its folders are not read; put them together in one")
    return _checked(found, folder)


def read_table(path: Path) -> list[Stimulus]:
    """The objects of a CSV file with columns name, file or text, and alt; files are found from its folder."""
    if not path.is_file():
        raise ValueError(f"{path} is not there; it says what is shown: put it back, or make the study again")
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file, strict=True)
            columns = [name.strip().lower() for name in table.fieldnames or ()]
            table.fieldnames = columns
            unknown = [name for name in columns if name not in _COLUMNS]
            if unknown or not {"file", "text"} & set(columns):
                raise ValueError(
                    f"{path}, line 1: the columns are {', '.join(columns)[:200] or 'missing'}; "
                    "expected name, file or text, and alt, with commas between them"
                )
            return _checked([_stimulus(path, table.line_num, row) for row in table], path)
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is not a CSV file in UTF-8 ({error}); save it as such") from None


def write_table(path: Path, stimuli: Iterable[Stimulus]) -> None:
    """Write objects.csv; files are named from its folder."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(_COLUMNS)
        for one in stimuli:
            place = "" if one.file is None else one.file.relative_to(path.parent).as_posix()
            table.writerow([one.name, place, one.text, one.alt])


def _stimulus(path: Path, line: int, row: dict[str, Any]) -> Stimulus:
    def problem(what: str) -> ValueError:
        return ValueError(f"{path}, line {line}: {what}")

    if None in row or None in row.values():
        raise problem("it has more or fewer cells than there are columns; put texts with commas in quotes")
    given, text = (row.get("file") or "").strip(), (row.get("text") or "").strip()
    if bool(given) == bool(text):
        raise problem("give either a file or a text")
    name = (row.get("name") or "").strip() or (Path(given).stem if given else text[:60])
    if text:
        return Stimulus(name, "", None, text)
    file = path.parent / given
    if not file.resolve().is_relative_to(path.parent.resolve()):
        raise problem(f"{given} is outside of {path.parent}; copy it into that folder")
    if not file.is_file():
        raise problem(f"the file {given} is not there")
    if file.suffix.lower() not in ENDINGS:
        raise problem(f"a browser cannot show {given}; it can show {', '.join(ENDINGS)}")
    if file.suffix.lower() == ".txt":
        return Stimulus(name, "", None, _text(file))
    _check_picture(file)
    return Stimulus(name, (row.get("alt") or "").strip(), file)


def _check_picture(file: Path) -> None:
    """Browsers look at how a picture begins, whatever its ending is."""
    if file.suffix.lower() in (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif"):
        with open(file, "rb") as opened:
            first = opened.read(64)
        # AVIF is one of the brands that the first box of a file lists, not always the first of them.
        is_avif = first[4:8] == b"ftyp" and any(brand in first for brand in (b"avif", b"avis"))
        if not (first.startswith((b"\x89PNG", b"\xff\xd8\xff", b"GIF8")) or first[8:12] == b"WEBP" or is_avif):
            raise ValueError(f"{file} is no picture that a browser can show; save it again as .png or .jpg")


def _text(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8-sig").strip()
    except UnicodeDecodeError:
        raise ValueError(f"{file} is not a text in UTF-8; save it as such") from None
    if not text:
        raise ValueError(f"{file} is empty; write the text to show, or move it away")
    return text


def _spoken(stem: str) -> str:
    return re.sub(r"[\s_-]+", " ", stem).strip()


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _checked(found: list[Stimulus], where: Path) -> list[Stimulus]:
    if len(found) < 4:
        raise ValueError(f"{where} has {len(found)} objects; a study needs at least 4")
    names = [one.name for one in found]
    distinct(names, str(where))
    missing = next((name for name in names if name in MISSING), None)
    if missing is not None:
        raise ValueError(f"{where}: the name {missing!r} means a missing value in a file; choose another name")
    if len({_is_number(name) for name in names}) > 1:
        number = next(name for name in names if _is_number(name))
        raise ValueError(f"{where}: some names are numbers ({number}) and others are not; rename those that are")
    return found
