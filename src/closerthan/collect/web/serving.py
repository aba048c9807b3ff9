"""``closerthan collect serve``: serve a study until the server is stopped."""

import contextlib
import errno
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from closerthan.collect.choosing.refit_process import RefitProcess
from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.store.lock import study_lock
from closerthan.collect.study.description import Study, read_study
from closerthan.collect.web.interview import Interview
from closerthan.collect.web.researcher import Researcher
from closerthan.collect.web.server import Participants, with_headers
from closerthan.operating_system import allow_restart

__all__ = ["application", "serve"]

FIRST_STEPS = """\
{title}: {objects} objects, {number} questions per participant

  participants   {participants}
  researcher     {researcher}

First steps: open the participants' address, take part once yourself, and watch the answers on the researcher's page.
These addresses work only on this computer, unless you pass --host; the guide shows how to publish a study.
The researcher's address gives access to all data: keep it secret. Its token is stored in {token}.
Answers are saved to {file} immediately. Ctrl-C stops the server; after a restart, participants continue where
they stopped.
"""


def application(
    study: Study, *, refits: RefitProcess | None = None, clock: Callable[[], float] = time.monotonic
) -> tuple[ASGIApp, Researcher]:
    """Return the web application of a study, and the researcher's part of it."""
    access = Access(study.folder)
    participants = Participants(study, access, refits.answered if refits else lambda: None, clock=clock)
    researcher = Researcher(study, access)

    @contextlib.asynccontextmanager
    async def open_while_serving(_: Starlette) -> AsyncIterator[None]:
        participants.open()
        researcher.open()
        if refits:
            refits.request()
        yield
        if refits:
            refits.stop()
        researcher.close()
        participants.close()

    routes = [*participants.routes(), *researcher.routes()]
    app = Starlette(routes=routes, lifespan=open_while_serving)
    app.router.redirect_slashes = False  # these redirects would ignore the path prefix behind a proxy
    return with_headers(app, study.recruiter.frames), researcher


class _Server(uvicorn.Server):
    """A server that ends the researcher's event streams on exit, because these never end by themselves."""

    researcher: Researcher

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.researcher.hang_up()
        super().handle_exit(sig, frame)


def serve(folder: Path, *, host: str = "127.0.0.1", port: int = 8000, address: str | None = None) -> None:
    """Serve a study until Ctrl-C or SIGTERM."""
    study = read_study(folder)
    if address is not None and not address.startswith(("https://", "http://")):
        raise ValueError(f"--address is {address}; it must start with https://, as in https://{address}")
    with study_lock(folder):
        with Store(folder / FILE) as store:
            Interview(study, store)  # reports conflicts with existing answers before the first participant arrives
        listening = listening_at(host, port)
        port = listening.getsockname()[1]
        base = (address or f"http://{'127.0.0.1' if host in ('0.0.0.0', '::') else host}:{port}").rstrip("/") + "/"
        access = Access(folder)
        parameters = "&".join(f"{name}=TEST" for name in study.recruiter.parameters.values())
        print(
            FIRST_STEPS.format(
                title=study.title,
                objects=len(study.objects),
                number=study.number,
                participants=base + (f"?{parameters}" if parameters else ""),
                researcher=f"{base}researcher/#{access.token}",
                token=folder / Access.FILES[0],
                file=folder / FILE,
            ),
            flush=True,
        )
        app, researcher = application(study, refits=RefitProcess(folder, every=len(study.objects)))
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,  # the log would contain IP addresses and recruiters' ids
            server_header=False,
            date_header=False,
            proxy_headers=False,
            lifespan="on",
            timeout_graceful_shutdown=5,
        )
        server = _Server(config)
        server.researcher = researcher
        # After it has stopped, uvicorn raises the signal again, although there is nothing left to interrupt.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        server.run(sockets=[listening])
        print("stopped; all answers are saved", file=sys.stderr)


def listening_at(host: str, port: int) -> socket.socket:
    """Return a listening socket; connections wait until the server is ready."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With an explicit protocol, asyncio sets TCP_NODELAY, which sends small replies 40 ms sooner.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    allow_restart(listening, socket)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        remedy = {
            errno.EADDRINUSE: f"another program uses this port: try --port {port + 1}",
            errno.EACCES: "ports below 1024 are reserved for the system: try --port 8000",
        }.get(error.errno or 0, "--host must be an address of this computer, such as 127.0.0.1 or 0.0.0.0")
        raise ValueError(f"{host}:{port} cannot be used ({error.strerror}); {remedy}") from None
    listening.listen(1024)
    return listening
