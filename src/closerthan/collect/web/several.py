"""Several studies behind one port, each below its own path."""

import contextlib
import sys
import traceback
from collections.abc import AsyncIterator, Mapping

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from closerthan.collect.web.application import StudyApplication
from closerthan.collect.web.server import with_headers

__all__ = ["SeveralStudies"]


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
            query = scope["query_string"].decode("latin-1")  # with the recruiter's ids
            address = f"{name}/" + (f"?{query}" if query else "")
            await Response(status_code=307, headers={"Location": address})(scope, receive, send)
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
