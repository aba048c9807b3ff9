"""Several studies behind one port, each below its own path."""

import contextlib
import re
import sys
import traceback
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from closerthan.collect.study.description import FILE
from closerthan.collect.web.application import StudyApplication
from closerthan.collect.web.server import with_headers

__all__ = ["SeveralStudies", "folders_of"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def folders_of(paths: Sequence[Path]) -> dict[str, Path]:
    """Return the folders of the studies in ``paths`` by their names, which become parts of the addresses.

    A path is the folder of a study, or a folder that contains the folders of studies.
    """
    folders: dict[str, Path] = {}
    for path in paths:
        inner = sorted(file.parent for file in path.glob(f"*/{FILE}")) if not (path / FILE).exists() else []
        for folder in inner or [path]:
            name = folder.resolve().name
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f"the name of {folder} cannot be part of an address; rename the folder, with letters without "
                    "accents, digits, and - only"
                )
            if name in folders:
                raise ValueError(f"{folders[name]} and {folder} have the same name; rename one of the folders")
            folders[name] = folder
    return folders


class SeveralStudies:
    """An ASGI application that passes a request for ``/NAME/...`` to the study with that name.

    A study that cannot be opened, or whose database is lost, does not affect the others.
    """

    def __init__(self, studies: Mapping[str, StudyApplication]) -> None:
        self._studies, self._faulty = studies, set[str]()
        app = Starlette(lifespan=self._running, exception_handlers={404: _not_found})
        self._own: ASGIApp = with_headers(app, "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or the start and the end of the server."""
        if scope["type"] != "http":
            await self._own(scope, receive, send)
            return
        name, slash, rest = scope["path"].removeprefix("/").partition("/")
        if name not in self._studies:
            await self._own(scope, receive, send)
        elif not slash:
            await Response(status_code=307, headers={"Location": f"{name}/"})(scope, receive, send)
        elif name in self._faulty:
            await PlainTextResponse("This study is not running.", 503)(scope, receive, send)
        else:
            await self._studies[name]({**scope, "path": f"/{rest}"}, receive, send)

    def hang_up(self) -> None:
        """End all event streams."""
        for study in self._studies.values():
            study.hang_up()

    @contextlib.asynccontextmanager
    async def _running(self, _: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for name, study in self._studies.items():
                try:
                    await stack.enter_async_context(study.running())
                except Exception as error:  # the other studies still run
                    self._faulty.add(name)
                    print(f"{name} cannot be served: {error}", file=sys.stderr)
                    traceback.print_exc()
            yield


def _not_found(_: Request, __: Exception) -> Response:
    """Return a reply that does not reveal which studies there are."""
    return PlainTextResponse("There is no study at this address.", 404)
