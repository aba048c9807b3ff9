"""Descriptions of data sets, available before they are loaded."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from closerthan.checks import checked
from closerthan.datasets.fetching import Remote
from closerthan.wording import file_size, html_table

__all__ = ["About", "Catalogue"]

TITLES = ("name", "answers", "objects", "download", "here", "licence", "what")  # of the columns of a catalogue


@dataclasses.dataclass(frozen=True, repr=False)
class About:
    """Description of a data set.

    Attributes
    ----------
    name
        Name of the data set.
    what
        The question and the objects, in a few words.
    answers, n_objects
        Number of answers (as text, since it may be approximate) and number of objects.
    licence
        Licence, as far as the source states one.
    page
        Reference and web page.
    load
        Function that loads the data set.
    files
        Files to download; empty if the data is part of the package.
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
        """True if all files are on this machine, so that nothing needs to be downloaded."""
        return all(file.here() is not None for file in self.files)

    @property
    def size(self) -> str:
        """Size of the download in words; "unknown" if it is not known in advance."""
        if not self.files:
            return "shipped"
        sizes = [file.size for file in self.files if file.size is not None]
        return file_size(sum(sizes)) if len(sizes) == len(self.files) else "unknown"

    def __repr__(self) -> str:
        return f"About({self.name}: {self.answers} answers about {self.n_objects:,} objects, {self.what})"

    def __str__(self) -> str:
        return "\n".join([f"{self.name}: {self.what}", *(f"{name}: {text}" for name, text in self._lines.items())])

    def _repr_html_(self) -> str:
        return html_table("", ("", ""), list({self.name: self.what, **self._lines}.items()))

    @property
    def _lines(self) -> dict[str, str]:
        lines = {
            "answers": f"{self.answers}, about {self.n_objects:,} objects",
            "licence": self.licence,
            "more": self.page,
        }
        for file in self.files:
            place, publisher = file.here(), f", as {file.checksum_source} published it" if file.checksum_source else ""
            size = "size unknown" if file.size is None else file_size(file.size)
            where = f"{file.address} ({size})" if place is None else str(place)
            lines[file.name] = f"{where}, sha256 {file.sha256[:12]}...{publisher}"
        return lines


class Catalogue(tuple[About, ...]):
    """A tuple of data sets that is printed as a table and can be searched by name."""

    __slots__ = ()

    @checked
    def named(self, name: str) -> About:
        """Return the data set with this name."""
        about = next((one for one in self if one.name == name), None)
        if about is None:
            raise ValueError(f"there is no data set {name!r}; choose from: {', '.join(one.name for one in self)}")
        return about

    def __repr__(self) -> str:
        return _aligned([TITLES, *self._rows()])

    def _repr_html_(self) -> str:
        return html_table("", TITLES, self._rows())

    def _rows(self) -> list[tuple[str, ...]]:
        return [
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


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines)
