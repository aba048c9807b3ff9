"""Data that may not be shipped: found in the user's folder, or downloaded once and checked."""

import hashlib
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

from closerthan.saving import whole_file

FOLDER = "CLOSERTHAN_DATA"


class Remote(NamedTuple):
    """A public file, and the checksum that it must have."""

    name: str
    address: str
    sha256: str

    def path(self) -> Path:
        """Where the file is on this machine, after a download if need be.

        It is looked for in the folder that the environment variable ``CLOSERTHAN_DATA`` names, then in the user's
        cache folder; a download goes to the first of these that is there.
        """
        places = [folder / self.name for folder in _folders()]
        for place in places:
            if place.exists():
                return self._checked(place)
        return self._downloaded(places[0])

    def _checked(self, path: Path) -> Path:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != self.sha256:
            raise ValueError(f"{path} has sha256 {found}, not {self.sha256}; delete it to have it downloaded again")
        return path

    def _downloaded(self, path: Path) -> Path:
        try:
            with urllib.request.urlopen(self.address, timeout=60) as answer:
                content = answer.read()
        except (urllib.error.URLError, TimeoutError) as error:
            raise ValueError(
                f"{self.address} cannot be read ({error}); download it by other means into a folder as {self.name}, "
                f"and name that folder in the environment variable {FOLDER}"
            ) from None
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise ValueError(f"{self.address} has sha256 {found}, not {self.sha256}; it is not the file that we know")
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            file.write(content)
        return path


def _folders() -> list[Path]:
    named = os.environ.get(FOLDER)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "closerthan"
    return [Path(named), cache] if named else [cache]
