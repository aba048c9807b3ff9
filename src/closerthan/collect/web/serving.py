"""``closerthan collect serve``: serve studies until the server is stopped."""

import contextlib
import errno
import functools
import ipaddress
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import uvicorn

from closerthan.collect.choosing.refit_process import RefitProcess
from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.store.keyed_codes import pilot_ticket
from closerthan.collect.store.lock import study_lock
from closerthan.collect.study.description import Study, read_study
from closerthan.collect.study.folders import studies_in
from closerthan.collect.study.new import unfinished
from closerthan.collect.web.application import RESCUED, StudyApplication
from closerthan.collect.web.connections import MOST_CONNECTIONS, limited_protocol
from closerthan.collect.web.interview import Interview
from closerthan.collect.web.several import SeveralStudies
from closerthan.operating_system import allow_many_files, allow_restart

__all__ = ["DatabaseLostError", "serve"]

ABOUT = """\
{title}: {objects} objects, {number} questions per participant

  participants   {participants}
  pilot          {pilot}
  researcher     {researcher}

"""

FIRST_STEPS = """\
First steps: open the pilot's address, take part once yourself, and watch the researcher's page. The answers of pilots
do not count; each start of the server prints a new address for them.
{reach}The researcher's page needs the token in {token}, which gives access to all data: keep it secret.
Answers are saved to {file} immediately. Ctrl-C stops the server; after a restart, participants continue where
they stopped.
"""

ON_THIS_COMPUTER = """\
These addresses work only on this computer, unless you pass another --host; the guide shows how to publish a study.
"""


class DatabaseLostError(ValueError):
    """The database of a study was lost; the exit status tells service managers that a restart does not help."""

    exit_status = 4


class _Server(uvicorn.Server):
    """A server that ends the researcher's event streams on exit, because these never end by themselves."""

    application: StudyApplication | SeveralStudies

    def stop(self) -> None:
        """Stop the server."""
        self.should_exit = True
        self.application.hang_up()

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.application.hang_up()
        super().handle_exit(sig, frame)


def serve(
    paths: Sequence[Path],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    address: str | None = None,
    behind_proxy: bool = False,
) -> None:
    """Serve studies until Ctrl-C or SIGTERM: one at the root, or several, each below a path with its name.

    A path is the folder of a study, or a folder with several studies. With ``behind_proxy``, computers in the private
    network are taken for proxies that report the addresses of participants.
    """
    if address is not None and not address.startswith(("https://", "http://")):
        raise ValueError(f"--address is {address}; it must start with https://, as in https://{address}")
    folders = studies_in(paths)
    is_single = "" in folders
    with contextlib.ExitStack() as locks:
        studies = _open_studies(folders, locks)
        listening = listening_at(host, port)
        listening_address, port = listening.getsockname()[:2]
        base = (address or url_of(host, port)).rstrip("/") + "/"
        for name, study in studies.items():
            _print_addresses(study, base + (f"{name}/" if name else ""))
        first = next(iter(studies.values())).folder
        place = first if is_single else f"each study's folder, such as {first}"
        for study in studies.values():
            for problem in unfinished(study):
                print(f"Before people take part, edit {study.folder / 'study.toml'}: {problem}.")
        is_local = ipaddress.ip_address(listening_address).is_loopback
        reach = ON_THIS_COMPUTER if address is None and is_local else ""
        token = f"{Access.FILES[0]} in {place}"
        print(FIRST_STEPS.format(reach=reach, token=token, file=f"{FILE} there"), flush=True)
        lost: list[Path] = []

        def lose(folder: Path) -> None:
            lost.append(folder)
            print(_loss(folder), file=sys.stderr, flush=True)
            if len(lost) == len(studies):
                server.stop()

        applications = {
            name: StudyApplication(
                study,
                refits=RefitProcess(study.folder, every=len(study.objects)),
                lost=functools.partial(lose, study.folder),
                behind_proxy=behind_proxy,
            )
            for name, study in studies.items()
        }
        application = applications[""] if is_single else SeveralStudies(applications)
        n_files = allow_many_files(2 * MOST_CONNECTIONS) or 2 * MOST_CONNECTIONS
        config = uvicorn.Config(
            application,
            # Some files are needed for the database, stimuli and downloads.
            http=limited_protocol(most=min(MOST_CONNECTIONS, n_files // 2), behind_proxy=behind_proxy),
            # asyncio accepts up to this number of connections before it closes those beyond the limit.
            backlog=max(4, min(1024, n_files // 8)),
            log_level="warning",
            access_log=False,  # the log would contain IP addresses and recruiters' ids
            server_header=False,
            date_header=False,
            proxy_headers=False,
            lifespan="on",
            timeout_graceful_shutdown=5,
        )
        server = _Server(config)
        server.application = application
        # After it has stopped, uvicorn raises the signal again, although there is nothing left to interrupt.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        server.run(sockets=[listening])
        if lost:
            raise DatabaseLostError("; ".join(map(_loss, lost)))
        print("stopped; all answers are saved", file=sys.stderr)


def _open_studies(folders: Mapping[str, Path], locks: contextlib.ExitStack) -> dict[str, Study]:
    """Read the studies and lock them; of several, those that cannot be served are reported and left out."""
    studies, errors = {}, []
    for name, folder in folders.items():
        try:
            study = read_study(folder, needs_files=True)
            locks.enter_context(study_lock(folder))
            _check_nothing_was_lost(folder)
            with Store(folder / FILE) as store:
                Interview(study, store)  # reports conflicts with existing answers before the first participant arrives
        except ValueError as error:
            if len(folders) == 1:
                raise
            print(f"not served: {error}", file=sys.stderr, flush=True)
            errors.append(error)
            continue
        studies[name] = study
    if not studies:
        all_lost = all(isinstance(error, DatabaseLostError) for error in errors)
        kind = DatabaseLostError if all_lost else ValueError
        raise kind("none of the studies can be served; the messages above say why")
    return studies


def _check_nothing_was_lost(folder: Path) -> None:
    """Raise an error if the database was lost: after a restart by systemd or Docker, an empty study would hide that."""
    database, rescued = folder / FILE, folder / RESCUED
    if rescued.exists():
        raise DatabaseLostError(
            f"{rescued} has the answers of a study whose database was lost; rename it to {FILE}, or move it elsewhere"
        )
    if database.exists() and not database.stat().st_size:
        raise DatabaseLostError(f"{database} is empty; restore a backup, or delete the file if there were no answers")


def _print_addresses(study: Study, base: str) -> None:
    access = Access(study.folder)
    token = access.token
    parameters = "&".join(f"{name}=..." for name in study.recruiter.parameters.values())
    print(
        ABOUT.format(
            title=study.title,
            objects=len(study.objects),
            number=study.number,
            participants=base + (f"?{parameters}" if parameters else ""),
            pilot=f"{base}?pilot={pilot_ticket(access.key)}",
            # The output of a service ends up in a log, which others may read.
            researcher=f"{base}researcher/" + (f"#{token}" if sys.stdout.isatty() else ""),
        ),
        end="",
    )


def _loss(folder: Path) -> str:
    saved = f"the answers until then are in {folder / RESCUED}" if (folder / RESCUED).exists() else "restore a backup"
    return (
        f"{folder / FILE} was removed, replaced or overwritten while the study was running, so the study has stopped; "
        f"{saved}"
    )


def url_of(host: str, port: int) -> str:
    """Return the URL at which this computer reaches a server that listens at an address.

    Examples
    --------
    >>> url_of("0.0.0.0", 8000), url_of("::1", 8000)
    ('http://127.0.0.1:8000', 'http://[::1]:8000')
    """
    name = "127.0.0.1" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"


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
