"""Write the files with which a server runs one or several studies."""

import json
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from urllib.parse import urlsplit

from closerthan.saving import whole_folder

__all__ = ["Deployment", "write_deployment"]

_TEMPLATES = ("closerthan.service", "Dockerfile", "compose.yaml", "nginx-http.conf", "nginx-server.conf", "Caddyfile")
_FOLDER = re.compile(r"[^\x00-\x1f\"'$%\\:]+")  # other characters have a special meaning in one of the files


@dataclass(frozen=True)
class Deployment:
    """The place of studies on a server, and their address.

    Attributes
    ----------
    folders
        The folders on the server: that of one study, those of several, or a folder that contains several studies.
    address
        The public address, such as https://lab.example.org/animals/. Several studies are below it, by their names.
    port
        The port on which the studies' server listens, on the server itself only.
    user
        The user of the operating system who owns the folders.

    Examples
    --------
    >>> Deployment([Path("/srv/animals")], "https://lab.example.org/animals/").values()["unit"]
    'closerthan-animals'
    """

    folders: Sequence[Path]
    address: str
    port: int = 8000
    user: str = "study"

    def values(self) -> dict[str, str | int]:
        """Return the values that fill the templates; bad ones raise an error."""
        from closerthan import __version__

        parts = urlsplit(self.address)
        if parts.scheme != "https" or not re.fullmatch(r"[A-Za-z0-9.-]+", parts.hostname or "") or parts.port:
            raise ValueError(
                f"--address is {self.address}; it must start with https:// and a host name, as in "
                "https://lab.example.org/animals/"
            )
        path = f"{parts.path.rstrip('/')}/"
        if parts.query or parts.fragment or not re.fullmatch(r"/([A-Za-z0-9._~-]+/)*", path):
            raise ValueError(
                f"--address is {self.address}; after the host, it may have a path of letters, digits and - only"
            )
        if not re.fullmatch(r"[a-z_][a-z0-9_-]{0,30}", self.user):
            raise ValueError(f"--user is {self.user}; it must be the name of a user, in lower-case letters")
        folders = [self._safe(folder) for folder in self.folders]
        places = ["/studies"] if len(folders) == 1 else [f"/studies/{Path(folder).name}" for folder in folders]
        repeated = next((place for place in places if places.count(place) > 1), None)
        if repeated is not None:
            raise ValueError(f"two folders have the name {Path(repeated).name}; rename one of them")
        names = "-".join(Path(folder).name for folder in folders)
        name = re.sub(r"[^A-Za-z0-9-]+", "-", names)[:60].strip("-") or "study"
        unit, address = f"closerthan-{name}", f"https://{parts.hostname}{path}"
        serve = ["closerthan", "collect", "serve", *places, "--host", "0.0.0.0", "--port", "8000", "--behind-proxy"]
        return {
            "name": name, "unit": unit, "service": f"{unit}.service", "folders": ", ".join(folders), "user": self.user,
            "quoted_folders": " ".join(f'"{folder}"' for folder in folders),
            "volumes": "\n".join(f'      - "{one}:{place}"' for one, place in zip(folders, places, strict=True)),
            "command": json.dumps([*serve, "--address", address]),
            "port": self.port, "host": parts.hostname or "", "path": path, "address": address, "version": __version__,
            "redirect": f"\n\tredir {path[:-1]} {path}?{{query}}" if len(path) > 1 else "",
            "program": shutil.which("closerthan") or str(Path(sys.executable).parent / "closerthan"),
        }  # fmt: skip

    @staticmethod
    def _safe(folder: Path) -> str:
        """Return the absolute path of a folder; a character with a special meaning in one of the files is an error."""
        path = str(folder.resolve())
        if not _FOLDER.fullmatch(path):
            raise ValueError(
                f"the path {path} contains a character that is not safe in all of the files, such as a quotation "
                "mark; rename the folder"
            )
        return path


def write_deployment(deployment: Deployment, target: Path, *, replace: bool = False) -> list[Path]:
    """Write all files to a folder and return their paths."""
    values = deployment.values()
    with whole_folder(target, replace=replace) as draft:
        for name in _TEMPLATES:
            text = files("closerthan.collect.deployment").joinpath(name).read_text(encoding="utf-8")
            own = values["service"] if name == "closerthan.service" else name
            (draft / str(own)).write_text(Template(text).substitute(values), encoding="utf-8")
    return sorted(target.iterdir())
