"""``closerthan collect serve``: one study, one server, until it is told to stop."""

import contextlib
import errno
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from closerthan.collect.choosing.refitting import Refits
from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.store.lock import alone
from closerthan.collect.study.description import Study, read_study
from closerthan.collect.web.interview import Interview
from closerthan.collect.web.researcher import Researcher
from closerthan.collect.web.server import Participants, with_headers
from closerthan.operating_system import allow_restart

__all__ = ["application", "serve"]

FIRST_STEPS = """\
{title}: {objects} objects, {number} questions per person

  participants   {participants}
  researcher     {researcher}

First steps: open the participants' address and take part once yourself; watch it arrive on the researcher's page.
Only this computer can open these addresses, unless --host says otherwise; the guide shows how to ask the world.
Whoever has the researcher's address sees everything: keep it to yourself. It is kept in {token}.
Everything is saved in {file} at once. Ctrl-C stops the server; people go on where they were when it starts again.
"""


def application(study: Study, *, refits: Refits | None = None) -> tuple[ASGIApp, Researcher]:
    """All of a study's pages."""
    access = Access(study.folder)
    participants = Participants(study, access, refits.answered if refits else lambda: None)
    researcher = Researcher(study, access)

    @contextlib.asynccontextmanager
    async def open_while_serving(_: Starlette) -> AsyncIterator[None]:
        participants.open()
        researcher.open()
        if refits:
            refits.ask()
        yield
        if refits:
            refits.stop()
        researcher.close()
        participants.close()

    routes = [*participants.routes(), *researcher.routes()]
    app = Starlette(routes=routes, lifespan=open_while_serving)
    app.router.redirect_slashes = False  # a redirect of its own would not know the path behind a proxy
    return with_headers(app, study.recruiter.frames), researcher


class _Server(uvicorn.Server):
    """Tells the researcher's page to hang up first: its connection would never end by itself."""

    researcher: Researcher

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.researcher.hang_up()
        super().handle_exit(sig, frame)


def serve(folder: Path, *, host: str = "127.0.0.1", port: int = 8000, address: str | None = None) -> None:
    """Serve a study until Ctrl-C or SIGTERM."""
    study = read_study(folder)
    if address is not None and not address.startswith(("https://", "http://")):
        raise ValueError(f"--address is {address}; it begins with https://, as in https://{address}")
    with alone(folder):
        with Store(folder / FILE) as store:
            Interview(study, store)  # whatever does not fit the file is said before anybody comes
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
        app, researcher = application(study, refits=Refits(folder, every=len(study.objects)))
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,  # it would hold addresses of computers, and ids of recruiters
            server_header=False,
            date_header=False,
            proxy_headers=False,
            lifespan="on",
            timeout_graceful_shutdown=5,
        )
        server = _Server(config)
        server.researcher = researcher
        # uvicorn raises the signal again once it has stopped; by then there is nothing left to interrupt.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        server.run(sockets=[listening])
        print("stopped; everything is saved", file=sys.stderr)


def listening_at(host: str, port: int) -> socket.socket:
    """A socket that people can connect to; those who come before the server is ready wait."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol must be named: only then does asyncio send small replies at once (TCP_NODELAY), 40 ms sooner.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    allow_restart(listening, socket)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        way_out = {
            errno.EADDRINUSE: f"another program uses it: try --port {port + 1}",
            errno.EACCES: "numbers below 1024 are the system's: try --port 8000",
        }.get(error.errno or 0, "--host is an address of this computer, as in 127.0.0.1 or 0.0.0.0")
        raise ValueError(f"{host}:{port} cannot be used ({error.strerror}); {way_out}") from None
    listening.listen(1024)
    return listening
