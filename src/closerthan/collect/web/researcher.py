"""The researcher's page: live progress and downloads. All requests except those for static files need the token."""

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

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

_PULSE = 15.0  # seconds without an event after which a comment is sent, so that proxies keep the connection open


class _Snapshot(NamedTuple):
    """The state of the study, with the version of the database and the time at which it was read."""

    version: int
    read_at: float
    state: dict[str, Any]


class Researcher:
    """The researcher's requests. A separate thread answers them, so that participants need not wait.

    Parameters
    ----------
    study, access
        The study and its secrets.
    interval
        Seconds between two reads of the database for an event stream.
    """

    def __init__(self, study: Study, access: Access, *, interval: float = 2.0) -> None:
        self._study, self._access, self._interval = study, access, interval
        self._thread = ThreadPoolExecutor(1, "reader")
        self._stopped = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._cache: _Snapshot | None = None

    def open(self) -> None:
        """Open a second connection to the database, for reading."""
        self._loop = asyncio.get_running_loop()
        self._store = self._thread.submit(Store, self._study.folder / FILE).result()

    def close(self) -> None:
        """Close the connection to the database."""
        self._thread.submit(self._store.close).result()
        self._thread.shutdown()

    def hang_up(self) -> None:
        """End all open event streams."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)

    def routes(self) -> list[Route]:
        """Return the researcher's routes. The page itself contains no data and needs no token."""
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
        return StreamingResponse(self.stream(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    async def stream(self) -> AsyncIterator[str]:
        """Yield the state of the study as server-sent events, whenever it changes."""
        sent, map_sent, quiet_since = None, None, time.monotonic()
        while not self._stopped.is_set():
            state = (await self._read(self._snapshot)).state
            if state is not sent:
                version = state["map"] and state["map"]["version"]
                # The map and the objects are large and change rarely, so they are sent only when the map is new.
                omitted = () if sent is None or version != map_sent else ("map", "objects")
                update = {name: value for name, value in state.items() if name not in omitted}
                yield f"event: state\ndata: {json.dumps(update)}\n\n"
                sent, map_sent, quiet_since = state, version, time.monotonic()
            elif time.monotonic() - quiet_since > _PULSE:
                yield ": still here\n\n"
                quiet_since = time.monotonic()
            try:
                await asyncio.wait_for(self._stopped.wait(), self._interval)
            except TimeoutError:
                continue

    def _snapshot(self) -> _Snapshot:
        """Return the current state, which is cached until the database changes, for at most a minute."""
        version = self._store.value("PRAGMA data_version")
        cache = self._cache
        if cache is None or cache.version != version or time.monotonic() - cache.read_at > 60:
            self._cache = cache = _Snapshot(version, time.monotonic(), {
                "title": self._study.title,
                "kind": self._study.kind,
                "dimensions": self._study.dimensions,
                "objects": [
                    {"name": stimulus.name, **stimulus.message(self._access.key)} for stimulus in self._study.objects
                ],
                "number": self._study.number,
                "progress": asdict(progress(self._store)),
                "people": [person.to_data() for person in people(self._store, self._study, self._access)],
                "map": self._latest_map(),
            })  # fmt: skip
        return cache

    def _latest_map(self) -> dict[str, Any] | None:
        row = self._store.row("SELECT * FROM maps WHERE judgement IS NOT NULL ORDER BY version DESC LIMIT 1")
        if row is None:
            return None
        names = [named["name"] for named in self._store.rows("SELECT name FROM objects ORDER BY number")]
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
