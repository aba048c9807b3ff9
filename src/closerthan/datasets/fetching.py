"""Data that may not be shipped: found in the user's folder, or downloaded once and checked."""

import errno
import hashlib
import http.client
import os
import sys
import urllib.request
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from closerthan.saving import whole_file
from closerthan.wording import file_size

__all__ = ["FOLDER", "Remote"]

FOLDER = "CLOSERTHAN_DATA"
_TIMEOUT = 60  # seconds without a byte
_PIECE = 1 << 20  # bytes


class Remote(NamedTuple):
    """A public file, and the checksum that it must have.

    Attributes
    ----------
    name
        What the file is called on this machine.
    address
        Where it is downloaded from.
    sha256
        Its checksum.
    size
        Its bytes, if they are known; the server says them otherwise.
    vouched
        Who published the checksum, if the file was never seen by us. A local copy with another checksum is read then,
        with a warning; a download with another one is refused in any case.
    licence
        Under what conditions it may be used, as far as its source says.
    """

    name: str
    address: str
    sha256: str
    size: int | None = None
    vouched: str | None = None
    licence: str = "not stated"

    def here(self) -> Path | None:
        """Where the file is on this machine; None if it is not.

        It is looked for in the folder that the environment variable ``CLOSERTHAN_DATA`` names, then in the user's
        cache folder.
        """
        return next((place for place in self._places() if place.exists()), None)

    def path(self) -> Path:
        """Where the file is on this machine, after a download if need be; it goes to the first folder that takes it."""
        found = self.here()
        return self._downloaded() if found is None else self._checked(found)

    def _places(self) -> list[Path]:
        named = os.environ.get(FOLDER)
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "closerthan"
        return [folder / self.name for folder in ([Path(named), cache] if named else [cache])]

    def _checked(self, path: Path) -> Path:
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found == self.sha256:
            return path
        problem = f"{path} has sha256 {found}, not {self.sha256}"
        if self.vouched is None:
            raise ValueError(f"{problem}; delete it to have it downloaded again")
        # Two frames up: Remote.path, the loader, and who called that.
        warnings.warn(
            f"{problem}, which {self.vouched} published; it is another version of the file, or damaged", stacklevel=4
        )
        return path

    def _downloaded(self) -> Path:
        places = self._places()
        for path in places:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._download(path)
                return path
            except OSError as error:
                if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                    raise
        folders = " nor in ".join(str(path.parent) for path in places)
        raise ValueError(
            f"{self.name} cannot be written in {folders}; name a folder of yours in the environment variable {FOLDER}"
        )

    def _download(self, path: Path) -> None:
        """The file appears whole, with the right checksum, or not at all."""
        digest, n_bytes = hashlib.sha256(), 0
        try:
            answer = urllib.request.urlopen(self.address, timeout=_TIMEOUT)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._unreachable(path, error) from None
        with answer, whole_file(path) as file:
            promised = self._promised(answer)
            size = "a file of unknown size" if promised is None else file_size(promised)
            print(
                f"downloading {self.name} ({size}; licence: {self.licence}) from {self.address} to {path.parent}",
                file=sys.stderr,
            )
            for piece in self._pieces(path, answer):
                digest.update(piece)
                n_bytes += len(piece)
                file.write(piece)
            if promised is not None and n_bytes < promised:
                raise self._unreachable(path, f"it ended after {n_bytes:,} of {promised:,} bytes")
            if digest.hexdigest() != self.sha256:
                raise ValueError(
                    f"{self.address} has sha256 {digest.hexdigest()}, not {self.sha256}; it is not the file that we "
                    "know, and not kept"
                )

    def _promised(self, answer: Any) -> int | None:
        said = answer.headers.get("Content-Length")
        return int(said) if said is not None and said.isdecimal() else self.size

    def _pieces(self, path: Path, answer: Any) -> Iterator[bytes]:
        while True:
            try:
                piece = answer.read(_PIECE)
            except (OSError, http.client.HTTPException) as error:
                raise self._unreachable(path, error) from None
            if not piece:
                return
            yield piece

    def _unreachable(self, path: Path, error: object) -> ValueError:
        return ValueError(
            f"{self.address} cannot be read ({error}); download it by other means and save it as {path}, or as "
            f"{self.name} in a folder that the environment variable {FOLDER} names"
        )
