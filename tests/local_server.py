"""A study's server on the loopback address, in a thread, and a client for it."""

import contextlib
import http.client
import json
import threading
import time
from types import SimpleNamespace

import uvicorn

from closerthan.collect.web.application import StudyApplication
from closerthan.collect.web.serving import listening_at


@contextlib.contextmanager
def serving(study, port=0, path="/", clock=time.monotonic, refits=None):
    """Serve until the end of the block, by default without refits. A path is handled as if a proxy removed it."""
    inner = StudyApplication(study, refits=refits, clock=clock)

    async def app(scope, receive, send):
        if scope["type"] == "http" and path != "/":
            if not scope["path"].startswith(path):
                raise ValueError(f"the request for {scope['path']} is not below {path}")
            scope = {**scope, "path": scope["path"].removeprefix(path.rstrip("/"))}
        await inner(scope, receive, send)

    listening = listening_at("127.0.0.1", port)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=10))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    client = Client(listening.getsockname()[1], path)
    try:
        yield client
    finally:
        client.close()
        inner.hang_up()
        server.should_exit = True
        thread.join()
        listening.close()


class Client:
    def __init__(self, port, path):
        self.port, self.address = port, f"http://127.0.0.1:{port}{path}"
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def get(self, path, headers=None):
        return self.ask("GET", path, None, headers)

    def post(self, path, json=None, content=None, headers=None):
        return self.ask("POST", path, _text(json) if content is None else content, headers)

    def ask(self, method, path, content=None, headers=None):
        self._connection.request(method, path, content, headers or {})
        reply = self._connection.getresponse()
        body = reply.read()
        return SimpleNamespace(
            status_code=reply.status,
            headers={name.lower(): value for name, value in reply.getheaders()},
            content=body,
            text=body.decode(errors="replace"),
            json=lambda: json.loads(body),
        )

    def close(self):
        self._connection.close()


def _text(value):
    return json.dumps(value).encode()
