"""The researcher's side: what is going on, live, and downloads. Every address needs the token."""

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from closerthan.collect.choosing.quality import people
from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.store.export import answer_lines, map_lines, write_study
from closerthan.collect.store.progress import progress
from closerthan.collect.study.description import Study
from closerthan.collect.web.interview import Refused
from closerthan.collect.web.server import bearer, page, refusal

__all__ = ["Researcher"]

_EVERY = 2.0  # seconds between two looks at the file
_PULSE = 15.0  # seconds of silence after which something is sent, so that proxies keep the connection


class Researcher:
    """What the researcher sees; a thread of its own reads, so that participants do not wait."""

    def __init__(self, study: Study, access: Access) -> None:
        self._study, self._access = study, access
        self._thread = ThreadPoolExecutor(1, "reader")
        self._stopped = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._known: tuple[int, float, dict[str, Any]] | None = None

    def open(self) -> None:
        """Open the file of answers a second time, to read."""
        self._loop = asyncio.get_running_loop()
        self._store = self._thread.submit(Store, self._study.folder / FILE).result()

    def close(self) -> None:
        """Close the file."""
        self._thread.submit(self._store.close).result()
        self._thread.shutdown()

    def hang_up(self) -> None:
        """End all connections that stay open."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)

    def routes(self) -> list[Route]:
        """All addresses of the researcher. The page itself is empty until it has shown a token."""
        return [
            Route("/researcher", lambda _: Response(status_code=307, headers={"Location": "researcher/"})),
            Route("/researcher/", page("researcher.html")),
            Route("/researcher/researcher.css", page("researcher.css")),
            Route("/researcher/researcher.js", page("researcher.js")),
            Route("/researcher/events", self._for_researcher(self._events)),
            Route("/researcher/answers.csv", self._for_researcher(self._answers)),
            Route("/researcher/map.csv", self._for_researcher(self._map)),
            Route("/researcher/study.zip", self._for_researcher(self._whole)),
        ]

    def _for_researcher(self, handle: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Any]:
        async def reply(request: Request) -> Response:
            if not self._access.allows(bearer(request)):
                return refusal(Refused(401, "this needs the researcher's token"))
            return await handle(request)

        return reply

    async def _read(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _events(self, _: Request) -> Response:
        return StreamingResponse(self._stream(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    async def _stream(self) -> AsyncIterator[str]:
        sent, map_sent, quiet_since = None, None, time.monotonic()
        while not self._stopped.is_set():
            _, _, state = await self._read(self._state)
            if state is not sent:
                drawn = state["map"] and state["map"]["version"]
                # The map, and what is drawn on it, are large and seldom new.
                old = () if sent is None or drawn != map_sent else ("map", "objects")
                told = {name: one for name, one in state.items() if name not in old}
                yield f"event: state\ndata: {json.dumps(told)}\n\n"
                sent, map_sent, quiet_since = state, drawn, time.monotonic()
            elif time.monotonic() - quiet_since > _PULSE:
                yield ": still here\n\n"
                quiet_since = time.monotonic()
            try:
                await asyncio.wait_for(self._stopped.wait(), _EVERY)
            except TimeoutError:
                continue

    def _state(self) -> tuple[int, float, dict[str, Any]]:
        """What is shown; counted again only if something was written since, or a minute has passed."""
        version = self._store.value("PRAGMA data_version")
        if self._known is None or self._known[0] != version or time.monotonic() - self._known[1] > 60:
            self._known = version, time.monotonic(), {
                "title": self._study.title,
                "kind": self._study.kind,
                "dimensions": self._study.dimensions,
                "objects": [
                    {"name": one.name, **one.shown(self._access.key)} for one in self._study.objects
                ],
                "number": self._study.number,
                "progress": progress(self._store),
                "people": [person.to_data() for person in people(self._store, self._study, self._access)],
                "map": self._latest_map(),
            }  # fmt: skip
        return self._known

    def _latest_map(self) -> dict[str, Any] | None:
        row = self._store.row("SELECT * FROM maps WHERE judgement IS NOT NULL ORDER BY version DESC LIMIT 1")
        if row is None:
            return None
        names = [one["name"] for one in self._store.rows("SELECT name FROM objects ORDER BY number")]
        about = {"version": row["version"], "made_at": row["made_at"], "answers": row["answers"]}
        return {**about, "names": names, **json.loads(row["judgement"])}

    async def _answers(self, request: Request) -> Response:
        everything = request.query_params.get("all") == "yes"
        text = await self._read(
            lambda: "".join(answer_lines(self._store, self._study, self._access, everything=everything))
        )
        return _download(text, "answers.csv")

    async def _map(self, _: Request) -> Response:
        return _download(await self._read(lambda: "".join(map_lines(self._store))), "map.csv")

    async def _whole(self, _: Request) -> Response:
        folder = tempfile.TemporaryDirectory()
        path = Path(folder.name) / "study.zip"
        await self._read(lambda: write_study(self._store, self._study, self._access, path))
        return FileResponse(path, filename=path.name, background=BackgroundTask(folder.cleanup))


def _download(text: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)
