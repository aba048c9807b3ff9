"""The server: addresses, sizes, paces and headers. What a request means is decided elsewhere."""

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.study.description import Study
from closerthan.collect.web.interview import Interview, Refused
from closerthan.collect.web.rate_limiter import RateLimiter

__all__ = ["participants_side", "with_headers"]

LARGEST_BODY = 4096
_KEY = re.compile(r"[A-Za-z0-9_-]{16,64}")
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

_POLICY = "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors {frames}"
# A picture may be a document with scripts (SVG): opened by itself, it may do nothing at all.
_MEDIA_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


def with_headers(app: ASGIApp, frames: str) -> ASGIApp:
    """The same application, whose replies tell the browser to ask no other host, and to send nobody our address."""
    usual = {
        b"content-security-policy": _POLICY.format(frames=frames or "'none'").encode(),
        b"x-content-type-options": b"nosniff",
        b"referrer-policy": b"no-referrer",
        b"cross-origin-opener-policy": b"same-origin",
        b"permissions-policy": b"camera=(), microphone=(), geolocation=()",
        b"cache-control": b"no-store",
    }

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *((name, value) for name, value in usual.items() if name not in given),
                ]
            await send(message)

        await app(scope, receive, sent)

    return answered


def page(name: str) -> Callable[[Request], Response]:
    """The route of one of our own files."""
    content = files("closerthan.collect.web").joinpath("pages", name).read_bytes()
    media_type = _TYPES[name.rpartition(".")[2]]

    def reply(_: Request) -> Response:
        return Response(content, media_type=media_type)

    return reply


class Participants:
    """The participants' side: one thread writes, so that the others never wait for the disk."""

    def __init__(self, study: Study, access: Access, answered: Callable[[], None] = lambda: None) -> None:
        self._study, self._access, self._answered = study, access, answered
        self._thread = ThreadPoolExecutor(1, "writer")
        # A person presses a key about five times a second at most; a whole class may join at once.
        self._requests, self._joining = RateLimiter(burst=40, rate=8.0), RateLimiter(burst=1000, rate=50.0)
        self._media = {one.address(access.key): one for one in study.objects if one.file is not None}

    def open(self) -> None:
        """Open the file of answers; the thread that writes owns it."""
        self._store, self._interview = self._thread.submit(self._opened).result()

    def _opened(self) -> tuple[Store, Interview]:
        store = Store(self._study.folder / FILE)
        with store.closed_on_error():
            return store, Interview(self._study, store, self._access.key)

    def close(self) -> None:
        """Finish what is being written, and close the file."""
        self._thread.submit(self._store.close).result()
        self._thread.shutdown()

    def routes(self) -> list[Route]:
        """All addresses that need no token."""
        return [
            Route("/", page("participant.html")),
            Route("/icon.svg", page("icon.svg")),
            Route("/participant.css", page("participant.css")),
            Route("/participant.js", page("participant.js")),
            Route("/study", self._about),
            Route("/media/{name}", self._medium),
            Route("/join", self._guarded(self._join), methods=["POST"]),
            Route("/decline", self._guarded(self._decline), methods=["POST"]),
            Route("/state", self._guarded(self._state)),
            Route("/answer", self._guarded(self._answer), methods=["POST"]),
        ]

    def _about(self, _: Request) -> Response:
        study = self._study
        return JSONResponse({
            "title": study.title,
            "language": study.language,
            "consent": study.consent,
            "version": study.consent_version,
            "instructions": study.instructions,
            "question": study.question,
            "kind": study.kind,
            "pause_ms": study.pause_ms,
            "skip": study.skip,
            "tie": study.tie,
            "keys": study.keys,
            "parameters": list(study.recruiter.parameters.values()),
            "texts": study.texts,
        })  # fmt: skip

    def _medium(self, request: Request) -> Response:
        stimulus = self._media.get(request.path_params["name"])
        if stimulus is None or stimulus.file is None:
            return refusal(Refused(404, "there is no such file"))
        headers = {"Cache-Control": "max-age=3600", "Content-Security-Policy": _MEDIA_POLICY}
        return FileResponse(stimulus.file, media_type=stimulus.media_type, headers=headers)

    def _guarded(self, handle: Callable[[str, Mapping[str, Any]], Any]) -> Callable[[Request], Any]:
        async def reply(request: Request) -> Response:
            try:
                body = await body_of(request) if request.method == "POST" else {}
                key = bearer(request)
                if not _KEY.fullmatch(key):
                    raise Refused(401, "a participant has a key of 16 to 64 letters and digits")
                if not self._requests.allows(key):
                    raise Refused(429, "too many requests; wait a little")
                loop = asyncio.get_running_loop()
                return JSONResponse(await loop.run_in_executor(self._thread, handle, key, body))
            except Refused as refused:
                return refusal(refused)
            except ClientDisconnect:
                return Response(status_code=400)

        return reply

    def _join(self, key: str, body: Mapping[str, Any]) -> dict[str, Any]:
        address = body.get("address", {})
        if not isinstance(address, dict) or not all(isinstance(one, str) for one in address.values()):
            raise Refused(422, "address must be an object of texts")
        if not self._joining.allows("all"):
            raise Refused(429, "too many people join at once; try again soon")
        return self._interview.join(key, str(body.get("consent")), address)

    def _decline(self, key: str, _: Mapping[str, Any]) -> dict[str, Any]:
        if not self._joining.allows("all"):
            raise Refused(429, "too many requests; try again soon")
        return self._interview.decline(key)

    def _state(self, key: str, _: Mapping[str, Any]) -> dict[str, Any]:
        return self._interview.state(key)

    def _answer(self, key: str, body: Mapping[str, Any]) -> dict[str, Any]:
        state = self._interview.answer(key, body.get("question"), body.get("choice"), body.get("rt_ms"))
        self._answered()
        return state


def bearer(request: Request) -> str:
    """The secret that comes with a request; "" if there is none."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def refusal(refused: Refused) -> Response:
    """The reply to a request that is not granted."""
    headers = {"Retry-After": "2"} if refused.status == 429 else {}
    return JSONResponse({"error": refused.reason}, refused.status, headers)


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object that a request brings, if it is not too large; no more of it is read than that."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            raise Refused(413, f"a request may have {LARGEST_BODY} bytes")
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "the request is not JSON") from None
    if not isinstance(found, dict):
        raise Refused(400, "the request is not a JSON object")
    return found


def participants_side(study: Study, access: Access) -> ASGIApp:
    """The participants' side alone, to be tried without a researcher."""
    participants = Participants(study, access)

    @contextlib.asynccontextmanager
    async def open_while_serving(_: Starlette) -> AsyncIterator[None]:
        participants.open()
        yield
        participants.close()

    return with_headers(Starlette(routes=participants.routes(), lifespan=open_while_serving), study.recruiter.frames)
