"""Limits for connections: the time in which a request must arrive, and the number of open connections."""

import asyncio
from collections import Counter

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from closerthan.collect.web.callers import computer, is_proxy

__all__ = ["MOST_CONNECTIONS", "limited_protocol"]

PATIENCE = 20.0  # seconds in which the head and the body of a request must arrive; both are at most a few kilobytes
MOST_CONNECTIONS = 4000
MOST_PER_CALLER = 500  # maximum number of connections from one address, which a whole lecture hall may share


def limited_protocol(
    patience: float = PATIENCE,
    most: int = MOST_CONNECTIONS,
    most_per_caller: int = MOST_PER_CALLER,
    behind_proxy: bool = False,
) -> type[H11Protocol]:
    """Return a protocol for uvicorn that closes connections which are too slow or too many.

    uvicorn waits for the rest of a request without a limit, so that a thousand half-sent requests would take all files
    that a process may open. Connections of a proxy are not counted by caller. Addresses are kept in memory, only as
    long as their connections.
    """
    callers: Counter[str] = Counter()

    class LimitedProtocol(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None
        _caller = ""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            address = "" if self.client is None else self.client[0]
            self._caller = "" if is_proxy(address, behind_proxy) else computer(address)
            callers[self._caller] += bool(self._caller)
            if len(self.connections) > most or callers[self._caller] > most_per_caller:
                transport.abort()
            else:
                self._watch()

        def handle_events(self) -> None:
            # Also called after a reply, if the rest of the next request has arrived before it.
            super().handle_events()
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._caller:
                callers[self._caller] -= 1
                if not callers[self._caller]:
                    del callers[self._caller]
                self._caller = ""
            self._end_watch()
            super().connection_lost(exc)

        def _watch(self) -> None:
            """Start the time limit while a request is incomplete, and end it when the request has arrived."""
            if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
                self._end_watch()
            elif self._deadline is None:
                self._deadline = self.loop.call_later(patience, self.transport.abort)

        def _end_watch(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return LimitedProtocol
