"""Write the files with which a server runs a study."""

import re
import shutil
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from urllib.parse import urlsplit

from closerthan.saving import whole_folder

__all__ = ["Deployment", "write_deployment"]

_TEMPLATES = ("closerthan.service", "Dockerfile", "compose.yaml", "nginx-http.conf", "nginx-server.conf", "Caddyfile")
_FOLDER = re.compile(r"[^\x00-\x1f\"'$%\\:]+")  # other characters have a meaning in one of the files


@dataclass(frozen=True)
class Deployment:
    """The place of a study on a server, and its address.

    Attributes
    ----------
    folder
        The folder of the study on the server.
    address
        The public address, such as https://lab.example.org/animals/.
    port
        The port on which the study's server listens, on the server itself only.
    user
        The user of the operating system who owns the folder.

    Examples
    --------
    >>> Deployment(Path("/srv/animals"), "https://lab.example.org/animals/").values()["unit"]
    'closerthan-animals'
    """

    folder: Path
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
        folder = str(self.folder.resolve())
        if not _FOLDER.fullmatch(folder):
            raise ValueError(
                f"the path {folder} contains a character that is not safe in all of the files, such as a quotation "
                "mark; rename the folder"
            )
        name = re.sub(r"[^A-Za-z0-9-]+", "-", self.folder.resolve().name).strip("-") or "study"
        unit = f"closerthan-{name}"
        program = shutil.which("closerthan") or str(Path(sys.executable).parent / "closerthan")
        return {
            "name": name, "unit": unit, "service": f"{unit}.service", "folder": folder, "user": self.user,
            "port": self.port, "host": parts.hostname or "", "path": path, "address": f"https://{parts.hostname}{path}",
            "version": __version__, "program": program,
        }  # fmt: skip


def write_deployment(deployment: Deployment, target: Path, *, replace: bool = False) -> list[Path]:
    """Write all files to a folder and return their paths."""
    values = deployment.values()
    with whole_folder(target, replace=replace) as draft:
        for name in _TEMPLATES:
            text = files("closerthan.collect.deployment").joinpath(name).read_text(encoding="utf-8")
            own = values["service"] if name == "closerthan.service" else name
            (draft / str(own)).write_text(Template(text).substitute(values), encoding="utf-8")
    return sorted(target.iterdir())
