"""What is known about a data set before it is loaded: one line of the list."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from closerthan.checks import checked
from closerthan.datasets.fetching import Remote
from closerthan.wording import file_size

__all__ = ["About", "Catalogue"]


@dataclasses.dataclass(frozen=True)
class About:
    """A data set: what it is, whose it is, and where its files are.

    Attributes
    ----------
    name
        What it is called here.
    what
        The question and the objects, in a few words.
    answers, n_objects
        How many answers there are (in words, where only that is known), and about how many objects.
    licence
        Under what conditions it may be used, as far as its source says.
    page
        Where to read more, and whom to cite.
    load
        The loader.
    files
        What is downloaded if it is not here; nothing for what is shipped.
    """

    name: str
    what: str
    answers: str
    n_objects: int
    licence: str
    page: str
    load: Callable[[], Any]
    files: tuple[Remote, ...] = ()

    @property
    def is_here(self) -> bool:
        """Whether its files are on this machine, so that nothing is downloaded."""
        return all(file.here() is not None for file in self.files)

    @property
    def size(self) -> str:
        """How much a download is, as far as that is known before."""
        if not self.files:
            return "shipped"
        sizes = [file.size for file in self.files if file.size is not None]
        return file_size(sum(sizes)) if len(sizes) == len(self.files) else "unknown"

    def __str__(self) -> str:
        lines = {
            "": f"{self.name}: {self.what}",
            "answers": f"{self.answers}, about {self.n_objects:,} objects",
            "licence": self.licence,
            "more": self.page,
        }
        for file in self.files:
            place, whose = file.here(), f", as {file.vouched} published it" if file.vouched else ""
            size = "size unknown" if file.size is None else file_size(file.size)
            where = f"{file.address} ({size})" if place is None else str(place)
            lines[file.name] = f"{where}, sha256 {file.sha256[:12]}...{whose}"
        return "\n".join(f"{name + ': ' if name else ''}{text}" for name, text in lines.items())


class Catalogue(tuple[About, ...]):
    """Data sets; prints as a table, and finds one by its name."""

    __slots__ = ()

    @checked
    def named(self, name: str) -> About:
        """The data set of this name."""
        found = next((one for one in self if one.name == name), None)
        if found is None:
            raise ValueError(f"there is no data set {name!r}; known are: {', '.join(one.name for one in self)}")
        return found

    def __repr__(self) -> str:
        header = ("name", "answers", "objects", "download", "here", "licence", "what")
        rows = [
            (
                one.name,
                one.answers,
                f"{one.n_objects:,}",
                one.size,
                "yes" if one.is_here else "no",
                one.licence,
                one.what,
            )
            for one in self
        ]
        return _aligned([header, *rows])


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines)
