"""The HTTP interface for participants: routes, size and rate limits, and security headers."""

import asyncio
import contextlib
import json
import re
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store, problem_of_file
from closerthan.collect.store.file_watch import FileWatch
from closerthan.collect.store.participants import n_recounts
from closerthan.collect.study.description import Study
from closerthan.collect.web.callers import computer, is_proxy
from closerthan.collect.web.interview import Interview, Refused, StateMessage
from closerthan.collect.web.origins import allow_origins
from closerthan.collect.web.rate_limiter import RateLimiter

__all__ = ["Participants", "bearer", "body_of", "page", "refusal", "with_headers"]

LARGEST_BODY = 4096  # bytes
MOST_PRELOADED = 50_000_000  # bytes; the files of larger studies are loaded shortly before they are needed
LARGEST_FORM = 65536  # bytes of a filled-in questionnaire
_KEY = re.compile(r"[A-Za-z0-9_-]{16,64}")
_TYPES = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "mjs": "text/javascript",
    "svg": "image/svg+xml",
}

_POLICY = "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors {frames}"
# An SVG picture can contain scripts, so a picture that is opened by itself runs in a sandbox.
_MEDIA_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


def with_headers(app: ASGIApp, frames: str) -> ASGIApp:
    """Wrap an application so that its replies carry security headers: no other hosts, no referrer and no caching."""
    defaults = {
        b"content-security-policy": _POLICY.format(frames=frames or "'none'").encode(),
        b"x-content-type-options": b"nosniff",
        b"referrer-policy": b"no-referrer",
        b"cross-origin-opener-policy": b"same-origin",
        b"permissions-policy": b"camera=(), microphone=(), geolocation=()",
        b"cache-control": b"no-store",
    }

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *((name, value) for name, value in defaults.items() if name not in present),
                ]
            await send(message)

        await app(scope, receive, send_with_headers)

    return wrapped


def page(name: str) -> Callable[[Request], Response]:
    """Return a handler that serves one of the static files."""
    content = files("closerthan.collect.web").joinpath("pages", name).read_bytes()
    media_type = _TYPES[name.rpartition(".")[2]]

    def reply(_: Request) -> Response:
        return Response(content, media_type=media_type)

    return reply


class Participants:
    """The participants' requests. A separate thread writes, so that the event loop never waits for the disk.

    ``problem`` says why answers cannot be saved at the moment, for example because the disk is full.
    """

    def __init__(
        self,
        study: Study,
        access: Access,
        answered: Callable[[], None] = lambda: None,
        *,
        recounted: Callable[[], None] = lambda: None,
        lost: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        behind_proxy: bool = False,
    ) -> None:
        self._study, self._access, self._answered, self._lost = study, access, answered, lost
        self._behind_proxy = behind_proxy
        self._recounted, self._n_recounts = recounted, 0
        self.problem = ""
        self._thread = ThreadPoolExecutor(1, "writer")
        # A person presses a key at most about five times a second, while a whole class may join at once.
        self._requests = RateLimiter(burst=40, rate=8.0, clock=clock)
        self._joining = RateLimiter(burst=1000, rate=50.0, clock=clock)
        # The limit for one computer is far below that for all of them, so it cannot keep others out.
        self._joining_by_caller = RateLimiter(burst=300, rate=5.0, clock=clock)
        self._media = {
            stimulus.address(access.key): stimulus for stimulus in study.objects if stimulus.file is not None
        }
        total = sum(stimulus.file.stat().st_size for stimulus in study.objects if stimulus.file is not None)
        self._preloaded = [f"media/{name}" for name in self._media] if total <= MOST_PRELOADED else []

    def open(self) -> None:
        """Open the database in the writing thread, which owns the connection."""
        self._store, self._interview = self._thread.submit(self._opened).result()
        self._watch = FileWatch(self._store.path)

    def _opened(self) -> tuple[Store, Interview]:
        store = Store(self._study.folder / FILE)
        with store.closed_on_error():
            self._n_recounts = n_recounts(store)
            return store, Interview(self._study, store, self._access.key)

    async def watch(self) -> None:
        """Look at the database every second, because other programs change it, too.

        The study is stopped if the file was removed or replaced. The map is fitted again if people were excluded,
        included or deleted, whether on this page, by a command, or by themselves.
        """
        loop = asyncio.get_running_loop()
        while self._has_database():
            with contextlib.suppress(sqlite3.Error):  # such as a locked file; the next look may succeed
                number = await loop.run_in_executor(self._thread, n_recounts, self._store)
                if number != self._n_recounts:
                    self._n_recounts = number
                    self._recounted()
            await asyncio.sleep(1.0)

    def _has_database(self) -> bool:
        """Return whether the file of the database is still in place; if not, report it."""
        if self._watch.is_same:
            return True
        self._lost()
        return False

    def rescue(self, path: Path) -> None:
        """Copy the open database, whose file was removed or replaced, to another path."""
        self._thread.submit(self._store.backup, path).result()

    def close(self) -> None:
        """Finish pending writes, and close the database."""
        self._thread.submit(self._store.close).result()
        self._thread.shutdown()
        self._watch.close()

    def routes(self) -> list[Route]:
        """Return the participants' routes, which need no token."""
        routes = [
            Route("/", page("participant.html")),
            Route("/icon.svg", page("icon.svg")),
            Route("/participant.css", page("participant.css")),
            Route("/participant.js", page("participant.js")),
            Route("/markdown.mjs", page("markdown.mjs")),
            Route("/questionnaire.mjs", page("questionnaire.mjs")),
            Route("/picks.mjs", page("picks.mjs")),
            Route("/study", self._about),
            Route("/jspsych-closerthan.js", page("jspsych-closerthan.js")),
            Route("/media.mjs", page("media.mjs")),
            Route("/media/{name}", self._medium),
            Route("/arrive", self._guarded(self._arrive), methods=["POST"]),
            Route("/respond", self._guarded(self._respond, largest=LARGEST_FORM), methods=["POST"]),
            Route("/withdraw", self._guarded(self._withdraw), methods=["POST"]),
            Route("/join", self._guarded(self._join, self._admit_join), methods=["POST"]),
            Route("/decline", self._guarded(self._decline, self._admit), methods=["POST"]),
            Route("/state", self._guarded(self._state)),
            Route("/answer", self._guarded(self._answer), methods=["POST"]),
        ]
        return allow_origins(routes, self._study.origins)

    def _about(self, _: Request) -> Response:
        study = self._study
        return JSONResponse({
            "title": study.title,
            "language": study.language,
            "direction": study.words.direction,
            "consent": study.consent,
            "version": study.consent_version,
            "instructions": study.instructions,
            "question": study.question,
            "kind": study.kind,
            "picks": study.screen.n_picks if study.screen.picks_several else 0,
            "pause_ms": study.pause_ms,
            "skip": study.skip,
            "tie": study.tie,
            "keys": study.keys,
            "must_play": study.must_play,
            "media": self._preloaded,
            "break_after": study.break_after,
            "before": [item.message() for item in study.questionnaire if item.when == "before"],
            "after": [item.message() for item in study.questionnaire if item.when == "after"],
            "comprehension": study.comprehension and {
                "text": study.comprehension.text, "options": study.comprehension.options
            },
            "parameters": ["pilot", *study.recruiter.parameters.values()],
            "texts": study.texts,
        })  # fmt: skip

    def _medium(self, request: Request) -> Response:
        stimulus = self._media.get(request.path_params["name"])
        if stimulus is None or stimulus.file is None or not stimulus.file.is_file():
            return refusal(Refused(404, "this file does not exist"))
        headers = {"Cache-Control": "max-age=3600", "Content-Security-Policy": _MEDIA_POLICY}
        return FileResponse(stimulus.file, media_type=stimulus.media_type, headers=headers)

    def _guarded(
        self,
        handle: Callable[[str, Mapping[str, Any]], StateMessage],
        admit: Callable[[Request, Mapping[str, Any]], None] = lambda *_: None,
        largest: int = LARGEST_BODY,
    ) -> Callable[[Request], Any]:
        """Return a handler for requests with a participant's key; ``admit`` may raise Refused."""

        async def reply(request: Request) -> Response:
            try:
                body = await body_of(request, largest) if request.method == "POST" else {}
                key = bearer(request)
                if not _KEY.fullmatch(key):
                    raise Refused(401, "requests need a participant's key of 16 to 64 letters and digits")
                if not self._requests.allows(key):
                    raise Refused(429, "too many requests; wait a moment")
                admit(request, body)
                loop = asyncio.get_running_loop()
                state = await loop.run_in_executor(self._thread, self._handled, handle, key, body)
                if not self._has_database():  # the data just stored were lost with the file
                    raise Refused(503, "the study has stopped")
                return JSONResponse(state)
            except Refused as refused:
                return refusal(refused)
            except ClientDisconnect:
                return Response(status_code=400)

        return reply

    def _handled(
        self, handle: Callable[[str, Mapping[str, Any]], StateMessage], key: str, body: Mapping[str, Any]
    ) -> StateMessage:
        """Handle a request, and note whether the file and its disk accept data."""
        n_changes = self._store.n_changes
        try:
            state = handle(key, body)
        except sqlite3.DatabaseError as error:
            problem = problem_of_file(error)
            if not problem:
                raise
            if problem != self.problem:
                self.problem = problem
                print(f"answers cannot be saved: {self._store.path}: {problem}", file=sys.stderr, flush=True)
            raise Refused(503, "the server cannot save data at the moment; try again later") from None
        if self._store.n_changes > n_changes:
            self.problem = ""
        return state

    def _arrive(self, _: str, body: Mapping[str, Any]) -> StateMessage:
        return self._interview.arrive(_address(body))

    def _respond(self, key: str, body: Mapping[str, Any]) -> StateMessage:
        return self._interview.respond(key, body.get("form"), body.get("values"))

    def _withdraw(self, key: str, _: Mapping[str, Any]) -> StateMessage:
        return self._interview.withdraw(key)

    def _admit_join(self, request: Request, body: Mapping[str, Any]) -> None:
        """Refuse people who cannot join before they count towards the limits, so that they keep nobody out."""
        self._interview.check_join(str(body.get("consent")), _address(body))
        self._admit(request, body)

    def _admit(self, request: Request, _: Mapping[str, Any]) -> None:
        """Limit the rate of joins, by caller and in total."""
        if not (self._joining_by_caller.allows(caller(request, self._behind_proxy)) and self._joining.allows("all")):
            raise Refused(429, "too many people are joining at once; try again soon")

    def _join(self, key: str, body: Mapping[str, Any]) -> StateMessage:
        return self._interview.join(key, str(body.get("consent")), _address(body))

    def _decline(self, key: str, _: Mapping[str, Any]) -> StateMessage:
        return self._interview.decline(key)

    def _state(self, key: str, _: Mapping[str, Any]) -> StateMessage:
        return self._interview.state(key)

    def _answer(self, key: str, body: Mapping[str, Any]) -> StateMessage:
        state = self._interview.answer(key, body.get("question"), body.get("choice"), body.get("rt_ms"))
        self._answered()
        return state


def _address(body: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters in the address of the participant's page."""
    address = body.get("address", {})
    if not isinstance(address, dict) or not all(isinstance(value, str) for value in address.values()):
        raise Refused(422, "address must be an object with texts as values")
    return address


def caller(request: Request, behind_proxy: bool) -> str:
    """Return the computer that a request came from: for a proxy, the one that the proxy reports.

    It is kept in memory for a while, to limit the rate of joins, and never stored.
    """
    address = "" if request.client is None else request.client.host
    if is_proxy(address, behind_proxy):
        address = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip() or address
    return computer(address)


def bearer(request: Request) -> str:
    """Return the bearer token of a request, or "" if there is none."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def refusal(refused: Refused) -> Response:
    """Return the reply to a refused request."""
    headers = {"Retry-After": "2"} if refused.status == 429 else {}
    return JSONResponse({"error": refused.reason}, refused.status, headers)


async def body_of(request: Request, largest: int = LARGEST_BODY) -> dict[str, Any]:
    """Read the JSON object in a request, up to the size limit."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > largest:
            raise Refused(413, f"a request may have at most {largest} bytes")
    try:
        content = json.loads(body)
        json.dumps(content, ensure_ascii=False).encode()  # half of a surrogate pair cannot be stored as text
    except (ValueError, RecursionError):
        raise Refused(400, "the request is not JSON") from None
    if not isinstance(content, dict):
        raise Refused(400, "the request is not a JSON object")
    return content
