"""Data files that are not part of the package: found on this machine, or downloaded once and verified."""

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
_TIMEOUT = 60  # seconds without data
_CHUNK = 1 << 20  # bytes read at a time


class Remote(NamedTuple):
    """A public file and its checksum.

    Attributes
    ----------
    name
        Name of the file on this machine.
    address
        Web address to download it from.
    sha256
        Checksum of the file.
    size
        Size in bytes, if it is known; otherwise the server's figure is used.
    checksum_source
        Publisher of the checksum, if it was not computed from the file itself. A local copy with another checksum is
        then used with a warning; a download with another checksum is always refused.
    licence
        Licence, as far as the source states one.
    """

    name: str
    address: str
    sha256: str
    size: int | None = None
    checksum_source: str | None = None
    licence: str = "not stated"

    def here(self) -> Path | None:
        """Return the path of the file on this machine; None if it is not there.

        It is looked up in the folder named by the environment variable ``CLOSERTHAN_DATA``, then in the user's cache
        folder.
        """
        return next((place for place in self._places() if place.exists()), None)

    def path(self) -> Path:
        """Return the path of the file, after downloading it to the first writable folder if necessary."""
        path = self.here()
        return self._downloaded() if path is None else self._checked(path)

    def _places(self) -> list[Path]:
        folder = os.environ.get(FOLDER)
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "closerthan"
        return [place / self.name for place in ([Path(folder), cache] if folder else [cache])]

    def _checked(self, path: Path) -> Path:
        with open(path, "rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        if sha256 == self.sha256:
            return path
        problem = f"{path} has sha256 {sha256}, not {self.sha256}"
        if self.checksum_source is None:
            raise ValueError(f"{problem}; delete it, and it will be downloaded again")
        # The frames in between are Remote.path and the loader.
        warnings.warn(
            f"{problem}, which {self.checksum_source} published; it is another version of the file, or damaged",
            stacklevel=4,
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
            f"{self.name} cannot be written in {folders}; set the environment variable {FOLDER} to a writable folder"
        )

    def _download(self, path: Path) -> None:
        """Download the file; it appears only if it is complete and has the right checksum."""
        digest, n_bytes = hashlib.sha256(), 0
        try:
            response = urllib.request.urlopen(self.address, timeout=_TIMEOUT)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._unreachable(path, error) from None
        with response, whole_file(path) as file:
            expected = self._expected_size(response)
            size = "a file of unknown size" if expected is None else file_size(expected)
            print(
                f"downloading {self.name} ({size}; licence: {self.licence}) from {self.address} to {path.parent}",
                file=sys.stderr,
            )
            for chunk in self._chunks(path, response):
                digest.update(chunk)
                n_bytes += len(chunk)
                file.write(chunk)
            if expected is not None and n_bytes < expected:
                raise self._unreachable(path, f"it ended after {n_bytes:,} of {expected:,} bytes")
            if digest.hexdigest() != self.sha256:
                raise ValueError(
                    f"{self.address} has sha256 {digest.hexdigest()}, not {self.sha256}; it is not the expected "
                    "file and was discarded"
                )

    def _expected_size(self, response: Any) -> int | None:
        length = response.headers.get("Content-Length")
        return int(length) if length is not None and length.isdecimal() else self.size

    def _chunks(self, path: Path, response: Any) -> Iterator[bytes]:
        while True:
            try:
                chunk = response.read(_CHUNK)
            except (OSError, http.client.HTTPException) as error:
                raise self._unreachable(path, error) from None
            if not chunk:
                return
            yield chunk

    def _unreachable(self, path: Path, error: object) -> ValueError:
        return ValueError(
            f"{self.address} cannot be read ({error}); download it by other means and save it as {path}, or as "
            f"{self.name} in the folder named by the environment variable {FOLDER}"
        )
