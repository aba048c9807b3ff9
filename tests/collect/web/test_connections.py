import asyncio
import socket
import threading

import pytest

pytest.importorskip("uvicorn", reason="a server needs uvicorn")
import uvicorn
from uvicorn.server import ServerState

from closerthan.collect.web.connections import limited_protocol
from closerthan.collect.web.serving import listening_at


@pytest.fixture
def port():
    """The port of a server that waits for requests for a fifth of a second and has at most three connections."""

    async def app(scope, receive, send):
        while scope["type"] == "http" and (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    listening = listening_at("127.0.0.1", 0)
    config = uvicorn.Config(app, log_level="error", lifespan="off", http=limited_protocol(patience=0.2, most=3))
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join()
    listening.close()


def reply_to(port, *parts):
    """Send parts of requests, and return all replies until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        for part in parts:
            connection.sendall(part)
        received = b""
        try:
            while part := connection.recv(1000):
                received += part
        except ConnectionResetError:
            pass
        return received


WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
BODY = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"


@pytest.mark.parametrize("half", [b"", b"GET / HT", WHOLE[:-2], BODY, BODY + b"abc"])
def test_a_request_that_is_never_completed_is_closed_without_a_reply(port, half):
    assert reply_to(port, half) == b""


@pytest.mark.parametrize("half", [WHOLE[:-2], BODY])
def test_the_second_request_of_a_connection_has_the_same_limit(port, half):
    assert reply_to(port, WHOLE, half).count(b"200 OK") == 1
    assert reply_to(port, WHOLE + half).count(b"200 OK") == 1  # it arrives before the reply to the first one


def test_complete_requests_are_answered(port):
    assert (
        reply_to(port, BODY, b"abcd", WHOLE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")).count(b"200 OK")
        == 2
    )


def test_connections_beyond_the_limit_are_closed_and_later_ones_accepted(port):
    several = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(3)]
    last = WHOLE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    several[0].sendall(last)
    assert several[0].recv(1000).startswith(b"HTTP/1.1 200")
    for connection in several:
        connection.close()
    assert b"200 OK" in reply_to(port, last)


class Transport:
    """A connection from an address on the internet."""

    def __init__(self, address):
        self._names, self.aborted = {"peername": (address, 5000), "sockname": ("192.0.2.1", 80)}, False

    def get_extra_info(self, name):
        return self._names.get(name)

    def abort(self):
        self.aborted = True


def test_one_computer_cannot_take_all_connections():
    protocol, state = limited_protocol(most_per_caller=2), ServerState()
    config = uvicorn.Config(lambda *_: None, log_level="error", lifespan="off", loop="asyncio")
    config.load()

    async def connect(*addresses):
        transports = [Transport(address) for address in addresses]
        for transport in transports:
            protocol(config, state, {}).connection_made(transport)
        return [transport.aborted for transport in transports]

    # Two addresses of one IPv6 network are one computer; a proxy on this computer has no limit of its own.
    addresses = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "203.0.113.5", *["127.0.0.1"] * 3]
    assert asyncio.run(connect(*addresses)) == [False, False, True, False, False, False, False]


def test_one_connection_too_many_gets_no_reply(port):
    several = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(3)]
    for connection in several:
        connection.sendall(WHOLE)
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
    assert reply_to(port, WHOLE) == b""
    for connection in several:
        connection.close()
