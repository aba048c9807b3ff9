"""The researcher's page: live progress and downloads. All requests except those for static files need the token."""

import asyncio
import contextlib
import json
import multiprocessing
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from closerthan.collect.choosing.quality import Page, Votes, n_people, people, shared_votes
from closerthan.collect.choosing.refit_process import RefitProcess
from closerthan.collect.store.access import Access
from closerthan.collect.store.admission import admission, places_by_condition, places_taken, set_state, study_state
from closerthan.collect.store.database import FILE, Store, problem_of_file
from closerthan.collect.store.download import DISK_FULL, write_download
from closerthan.collect.store.keyed_codes import pilot_ticket
from closerthan.collect.store.participants import exclude, include
from closerthan.collect.store.progress import progress
from closerthan.collect.study.description import Study
from closerthan.collect.web.interview import Refused
from closerthan.collect.web.server import bearer, body_of, page, refusal
from closerthan.registry import JsonObject

__all__ = ["Researcher"]

PEOPLE_PER_PAGE = 50
_PULSE = 15.0  # seconds without an event after which a comment is sent, so that proxies keep the connection open


class _Snapshot(NamedTuple):
    """The state of the study, with the version of the database, the current problems, and the time of reading."""

    version: int
    problems: tuple[str, str]
    read_at: float
    state: dict[str, Any]


class Researcher:
    """The researcher's requests. A separate thread answers them, so that participants need not wait.

    Parameters
    ----------
    study, access
        The study and its secrets.
    refits
        The process that fits the map; None if there is none.
    storage
        Returns why answers cannot be saved at the moment, or "".
    interval
        Seconds between two reads of the database for an event stream.
    """

    def __init__(
        self,
        study: Study,
        access: Access,
        refits: RefitProcess | None = None,
        *,
        storage: Callable[[], str] = str,
        interval: float = 2.0,
    ) -> None:
        self._study, self._access, self._refits, self._interval = study, access, refits, interval
        self._storage = storage
        self._thread = ThreadPoolExecutor(1, "reader")
        self._stopped = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._cache: _Snapshot | None = None
        self._map: dict[str, Any] | None = None
        self._votes: tuple[int, Votes] | None = None
        self._objects = [{"name": stimulus.name, **stimulus.message(access.key)} for stimulus in study.objects]

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
            Route("/researcher/labels.mjs", page("labels.mjs")),
            Route("/researcher/events", self._for_researcher(self._events)),
            Route("/researcher/answers.csv", self._for_researcher(self._answers)),
            Route("/researcher/participants.csv", self._for_researcher(self._participants)),
            Route("/researcher/people", self._for_researcher(self._people)),
            Route("/researcher/exclude", self._for_researcher(self._exclude), methods=["POST"]),
            Route("/researcher/include", self._for_researcher(self._include), methods=["POST"]),
            Route("/researcher/admission", self._for_researcher(self._admission), methods=["POST"]),
            Route("/researcher/pilot", self._for_researcher(self._pilot), methods=["POST"]),
            Route("/researcher/map.csv", self._for_researcher(self._map_table)),
            Route("/researcher/study.zip", self._for_researcher(self._whole)),
        ]

    def _for_researcher(self, handle: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Any]:
        async def reply(request: Request) -> Response:
            try:
                self._check(bearer(request))
                return await handle(request)
            except Refused as refused:
                return refusal(refused)

        return reply

    def _check(self, token: str) -> None:
        """Raise Refused if a token gives no access."""
        try:
            is_allowed = self._access.allows(token)
        except (OSError, ValueError) as error:
            print(f"tokens cannot be checked: {error}", file=sys.stderr, flush=True)
            raise Refused(503, "tokens cannot be checked; the server's log says why") from None
        if not is_allowed:
            raise Refused(401, "this needs the researcher's token")

    def _is_allowed(self, token: str) -> bool:
        with contextlib.suppress(Refused):
            self._check(token)
            return True
        return False

    async def _read(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _events(self, request: Request) -> Response:
        token = bearer(request)
        stream = self.stream(lambda: self._is_allowed(token))
        return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    async def stream(self, is_allowed: Callable[[], bool] = lambda: True) -> AsyncIterator[str]:
        """Yield the state of the study as server-sent events, whenever it changes; end when the token is revoked."""
        sent, map_sent, quiet_since = None, None, time.monotonic()
        while not self._stopped.is_set() and is_allowed():
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
        problems = (self._refits.problem if self._refits else "", self._storage())
        if cache is None or cache[:2] != (version, problems) or time.monotonic() - cache.read_at > 60:
            self._cache = cache = _Snapshot(version, problems, time.monotonic(), {
                "title": self._study.title,
                "kind": self._study.kind,
                "dimensions": self._study.dimensions,
                "objects": self._objects,
                "number": self._study.number,
                "state": study_state(self._store),
                "admission": admission(self._study, self._store),
                "places": self._study.places,
                "taken": places_taken(self._store, time.time()),
                "until": self._study.until,
                "problem": problems[0],
                "storage": problems[1],
                "progress": asdict(progress(self._store)),
                "conditions": self._conditions(),
                "map": self._latest_map(),
            })  # fmt: skip
        return cache

    def _conditions(self) -> list[JsonObject]:
        """Return, for each condition, how many people started and finished, and how many places are taken."""
        if not self._study.conditions:
            return []
        places = places_by_condition(self._store, time.time())
        states = self._store.rows(
            """SELECT condition, state, count(*) AS number FROM participants
            WHERE NOT pilot AND state <> 'declined' GROUP BY condition, state"""
        )
        return [
            {
                "name": name,
                "started": sum(row["number"] for row in states if row["condition"] == name),
                "finished": sum(
                    row["number"] for row in states if row["condition"] == name and row["state"] != "running"
                ),
                "taken": places.get(name, 0),
            }
            for name in self._study.condition_names
        ]

    def _latest_map(self) -> JsonObject | None:
        version = self._store.value("SELECT max(version) FROM maps WHERE judgement IS NOT NULL")
        if self._map is None or self._map["version"] != version:
            latest = self._store.rows(
                """SELECT *, max(version) FROM maps WHERE judgement IS NOT NULL
                GROUP BY condition ORDER BY version DESC"""
            )
            by_condition = {row["condition"]: self._map_of(row) for row in latest if row["places"] != "[]"}
            maps = [by_condition[name] for name in self._study.condition_names if name in by_condition]
            maps = maps or list(by_condition.values())[:1]
            self._map = {**maps[0], "version": version, "others": maps[1:]} if maps else None
        return self._map

    def _map_of(self, row: Any) -> JsonObject:
        judgement = json.loads(row["judgement"])
        names = [named["name"] for named in self._store.rows("SELECT name FROM objects ORDER BY number")]
        names = [names[number] for number in judgement.get("objects", range(len(names)))]
        about = {name: row[name] for name in ("version", "made_at", "answers", "condition")}
        return {**about, "names": names, **judgement}

    async def _people(self, request: Request) -> Response:
        """Return a page of the table of participants."""
        begin, only = request.query_params.get("from", "0"), request.query_params.get("only", "")
        if not begin.isdecimal() or len(begin) > 9 or only not in ("", "check", "excluded"):
            raise Refused(422, "from must be a number, and only must be empty, check or excluded")
        return JSONResponse(await self._read(lambda: self._page(Page(int(begin), PEOPLE_PER_PAGE, only))))

    def _page(self, page: Page) -> JsonObject:
        rows = people(self._store, self._study, self._access, page, self._shared_votes())
        return {
            "people": [person.to_data() for person in rows], "from": page.begin, "only": page.only,
            "per_page": PEOPLE_PER_PAGE, "total": n_people(self._store, page),
        }  # fmt: skip

    def _shared_votes(self) -> Votes:
        """Return the votes on shared questions, counted again when there are a fiftieth more answers."""
        n_answers = progress(self._store).answers
        if self._votes is None or not self._votes[0] <= n_answers < 1.02 * self._votes[0]:
            self._votes = (n_answers, shared_votes(self._store, self._study))
        return self._votes[1]

    async def _answers(self, request: Request) -> Response:
        everything = request.query_params.get("all") == "yes"
        return await self._download("all-answers.csv" if everything else "answers.csv")

    async def _participants(self, _: Request) -> Response:
        return await self._download("participants.csv")

    async def _map_table(self, request: Request) -> Response:
        condition = request.query_params.get("condition", "")
        if condition not in self._study.condition_names:
            raise Refused(404, "there is no such condition")
        return await self._download(f"map-{condition}.csv" if condition else "map.csv")

    async def _whole(self, _: Request) -> Response:
        return await self._download("study.zip")

    async def _download(self, name: str) -> Response:
        """Return a file that a separate process writes, because a large one would keep the server busy for long."""
        folder = tempfile.TemporaryDirectory()
        path = Path(folder.name) / name
        process = multiprocessing.get_context("spawn").Process(target=write_download, args=(self._study, path))
        try:
            process.start()
            try:
                await asyncio.to_thread(process.join)
            finally:
                process.kill()  # if the researcher did not wait
            if process.exitcode == DISK_FULL:
                raise Refused(507, f"{name} cannot be written: the disk of the server is full")
            if process.exitcode:
                raise Refused(500, f"{name} cannot be written; the server's log says why")
        except OSError as error:
            folder.cleanup()
            raise Refused(503, f"{name} cannot be written ({error.strerror}); try again later") from None
        except BaseException:
            folder.cleanup()
            raise
        return FileResponse(path, filename=name, background=BackgroundTask(folder.cleanup))

    async def _exclude(self, request: Request) -> Response:
        body = await body_of(request)
        person, reason = str(body.get("participant", "")), str(body.get("reason", ""))
        return await self._decide(lambda: exclude(self._store, self._access, person, reason))

    async def _include(self, request: Request) -> Response:
        person = str((await body_of(request)).get("participant", ""))
        return await self._decide(lambda: include(self._store, self._access, person))

    async def _admission(self, request: Request) -> Response:
        state = str((await body_of(request)).get("state", ""))
        return await self._decide(lambda: set_state(self._store, state))

    async def _pilot(self, _: Request) -> Response:
        """Return a new address, relative to that of this page, for taking part without being counted."""
        return JSONResponse({"address": f"../?pilot={pilot_ticket(self._access.key)}"})

    async def _decide(self, decision: Callable[[], object]) -> Response:
        """Carry out a decision of the researcher."""
        try:
            await self._read(decision)
        except ValueError as error:
            raise Refused(422, str(error)) from None
        except sqlite3.DatabaseError as error:
            problem = problem_of_file(error)
            if not problem:
                raise
            raise Refused(503, f"this cannot be saved: {problem}") from None
        self._votes = None
        self._cache = None  # the version of the database does not change for the connection that wrote
        return Response(status_code=204)
