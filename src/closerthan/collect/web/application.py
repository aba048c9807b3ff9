"""The web application of one study."""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from closerthan.collect.choosing.refit_process import RefitProcess
from closerthan.collect.store.access import Access
from closerthan.collect.study.description import Study
from closerthan.collect.web.researcher import Researcher
from closerthan.collect.web.server import Participants, with_headers

__all__ = ["RESCUED", "StudyApplication"]

RESCUED = "rescued-answers.sqlite"
"""The copy of a database whose file was removed, replaced or overwritten while it was in use."""


class StudyApplication:
    """The web application of a study, which an ASGI server runs.

    Parameters
    ----------
    study
        The study.
    refits
        The process that fits the map; None if there is none.
    lost
        Called if the database is removed, replaced or overwritten, after it has been copied to ``RESCUED``. The study
        then refuses all requests.
    clock
        The source of time for limits of rates.
    behind_proxy
        Whether requests may come from a proxy elsewhere in the private network.
    """

    def __init__(
        self,
        study: Study,
        *,
        refits: RefitProcess | None = None,
        lost: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        behind_proxy: bool = False,
    ) -> None:
        self.study, self._refits, self._lost, self._is_lost = study, refits, lost, False
        access = Access(study.folder)
        answered, recounted = (refits.answered, refits.renew) if refits else (_nothing, _nothing)
        self._participants = Participants(
            study, access, answered, recounted=recounted, lost=self._lose, clock=clock, behind_proxy=behind_proxy
        )
        self._researcher = Researcher(study, access, refits, storage=lambda: self._participants.problem)
        routes = [*self._participants.routes(), *self._researcher.routes()]
        app = Starlette(routes=routes, lifespan=self.running)
        app.router.redirect_slashes = False  # these redirects would ignore the path prefix behind a proxy
        self._app = with_headers(app, study.recruiter.frames)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        await self._app(scope, receive, send)

    def hang_up(self) -> None:
        """End the researcher's event streams, which never end by themselves."""
        self._researcher.hang_up()

    @contextlib.asynccontextmanager
    async def running(self, _: Any = None) -> AsyncIterator[None]:
        """Keep the database open until the end of the block, and fit the map."""
        with contextlib.ExitStack() as stack:
            self._participants.open()
            stack.callback(self._participants.close)
            self._researcher.open()
            stack.callback(self._researcher.close)
            if self._refits:
                stack.callback(self._refits.stop)
                self._refits.start()
            watching = asyncio.create_task(self._participants.watch())
            stack.callback(watching.cancel)
            yield

    def _lose(self) -> None:
        if self._is_lost:
            return
        self._is_lost = True
        # The folder may be gone, too, and the database may have been overwritten.
        with contextlib.suppress(OSError, sqlite3.DatabaseError):
            self._participants.rescue(self.study.folder / RESCUED)
        if self._refits:
            self._refits.stop()
        self.hang_up()
        self._lost()


def _nothing() -> None:
    """Ignore what happened in a study whose map is not fitted."""
