"""A headless Chromium for tests, controlled through its debugging pipe without a driver or further packages."""

import base64
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

# Chromium reads commands from descriptor 3 and writes to 4. Both are first duplicated to high numbers, so that neither
# overwrites the other.
_LAUNCH = """
import fcntl, os, sys
commands, replies = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 20) for number in sys.argv[1:3])
os.dup2(commands, 3); os.dup2(replies, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
_OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    "--remote-debugging-pipe",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--enable-unsafe-swiftshader",
    "--hide-scrollbars",
]
PATIENCE = 60.0  # seconds to wait for the browser


def find_chromium() -> str | None:
    named = os.environ.get("CLOSERTHAN_CHROMIUM")
    return named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Chromium:
    """One page with its events: log messages, requests and warnings."""

    def __init__(self, program: str, profile: Path) -> None:
        read_commands, self._commands = os.pipe()
        self._replies, write_replies = os.pipe()
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                _LAUNCH,
                *map(str, (read_commands, write_replies, program)),
                *_OPTIONS,
                f"--user-data-dir={profile}",
            ],
            pass_fds=(read_commands, write_replies),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_commands)
        os.close(write_replies)
        self._arrived: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def _listen(self) -> None:
        rest = b""
        while part := os.read(self._replies, 1 << 20):
            *whole, rest = (rest + part).split(b"\0")
            for message in whole:
                self._arrived.put(json.loads(message))
        self._arrived.put(None)

    def _next(self) -> dict[str, Any]:
        message = self._arrived.get(timeout=PATIENCE)
        assert message is not None, "Chromium ended"
        if "method" in message:
            self.events.append(message)
            if message["method"] == "Page.javascriptDialogOpening":
                self._send("Page.handleJavaScriptDialog", accept=True)
        return message

    def _send(self, method: str, **parameters: Any) -> int:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        return self._number

    def call(self, method: str, **parameters: Any) -> Any:
        number = self._send(method, **parameters)
        while (message := self._next()).get("id") != number:
            pass
        assert "error" not in message, message["error"]
        return message["result"]

    def ask(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, after awaiting a promise."""
        reply = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in reply, reply["exceptionDetails"]
        return reply["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until a JavaScript condition holds, which is checked every 20 ms inside the page."""
        self.ask(
            f"new Promise((resolve, reject) => {{ const end = performance.now() + {1000 * PATIENCE / 2};"
            f"const look = () => ({condition}) ? resolve(true) : performance.now() > end"
            f" ? reject(new Error('the condition never held')) : setTimeout(look, 20); look(); }})"
        )

    def open(self, page: Path | str, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        self.size(width, height)
        self.media(dark=dark)
        self.events.clear()
        self.call("Page.navigate", url=page if isinstance(page, str) else page.as_uri())
        self.wait_for("document.body && document.body.dataset.ready === 'yes'")

    def size(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, *, dark: bool = False, printed: bool = False) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="print" if printed else "", features=[scheme])

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def press(self, key: str, *, shift: bool = False) -> None:
        # Enter activates a button only if the event also carries its character.
        more = {"Enter": {"text": "\r", "windowsVirtualKeyCode": 13}, "Tab": {"windowsVirtualKeyCode": 9}}.get(key, {})
        for kind in ("keyDown", "keyUp"):
            options = {"modifiers": 8 if shift else 0, **(more if kind == "keyDown" else {})}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, **options)

    def tap(self, element: str) -> None:
        """Tap the centre of the element with this selector."""
        x, y = self.ask(
            f"(() => {{ const box = document.querySelector({json.dumps(element)}).getBoundingClientRect();"
            "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def phone(self, on: bool = True) -> None:
        """Emulate a phone with a small touch screen."""
        if on:
            self.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True)
        self.call("Emulation.setTouchEmulationEnabled", enabled=on)

    def connection(self, on: bool) -> None:
        """Disconnect the browser from all servers, or reconnect it."""
        self.call(
            "Network.emulateNetworkConditions",
            offline=not on,
            latency=0,
            downloadThroughput=-1,
            uploadThroughput=-1,
        )

    def point_at(self, x: float, y: float, *, click: bool = False) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        if click:
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def drag(self, x: float, y: float, to_x: float, to_y: float) -> None:
        button = {"button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **button)
        for fraction in (0.5, 1.0):
            between = {"x": x + fraction * (to_x - x), "y": y + fraction * (to_y - y)}
            self.call("Input.dispatchMouseEvent", type="mouseMoved", buttons=1, **between, **button)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=to_x, y=to_y, **button)

    def touch(self, kind: str, *fingers: tuple[float, float]) -> None:
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(fingers)]
        self.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def requests(self) -> list[str]:
        sent = [event for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def complaints(self) -> list[Any]:
        """Return exceptions, dialogs, and log entries that are warnings or errors."""
        complaints: list[Any] = []
        for event in self.events:
            parameters = event["params"]
            if event["method"] in ("Runtime.exceptionThrown", "Page.javascriptDialogOpening"):
                complaints.append(parameters)
            if event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                complaints.append(parameters["args"])
            if event["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                # "rendering" entries are performance hints of the graphics driver, frequent with a software renderer.
                complaints += [parameters["entry"]] * (parameters["entry"]["source"] != "rendering")
        return complaints

    def close(self) -> None:
        self._session = None
        self._send("Browser.close")
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._commands)
