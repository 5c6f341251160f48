"""Chromium without a window, driven through its DevTools protocol over two pipes: nothing to install but Chromium."""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-first-run",
    "--no-default-browser-check",
    "--proxy-server=127.0.0.1:9",  # the network is off: nothing listens there, and no name is looked up
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
]
PATIENCE = 60.0  # seconds until an answer that does not come is an error


def executable() -> str | None:
    """Where Chromium is, if it is."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Chromium:
    """A browser with one page. `events` holds what it reported, as (method, parameters)."""

    def __init__(self, program: str, folder: Path) -> None:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # DevTools reads from descriptor 3 and writes to descriptor 4; ours move out of their way first.
        to_read, to_write = _moved(to_read), _moved(to_write)
        shell = f'exec "$0" "$@" 3<&{to_read} 4>&{to_write} {to_read}<&- {to_write}>&-'
        command = ["bash", "-c", shell, program, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        self._log = (folder / "chromium.log").open("wb")
        self._process = subprocess.Popen(
            command,
            pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer, self._last, self._session = b"", 0, None
        self.events: list[tuple[str, dict[str, Any]]] = []
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and wait for its result."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def wait(self, method: str) -> None:
        """Wait for an event, unless it was reported already."""
        while all(name != method for name, _ in self.events):
            self._next()

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError(f"Chromium did not answer within {PATIENCE:g} seconds")
            chunk = os.read(self._read, 1 << 20)
            if not chunk:
                raise RuntimeError(f"Chromium ended: {Path(self._log.name).read_text(errors='replace')[-2000:]}")
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(line)
        if "method" in message:
            self.events.append((message["method"], message.get("params", {})))
        return message

    # --- what the tests ask ------------------------------------------------------------------------------------------

    def open(self, file: Path, width: int, dark: bool, height: int = 900) -> None:
        """Show a file from disk at a width, light or dark."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.events.clear()
        self.call("Page.navigate", url=file.resolve().as_uri())
        self.wait("Page.loadEventFired")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, once its promise is kept."""
        words = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        answer = self.call("Runtime.evaluate", **words)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description"))
        return answer["result"].get("value")

    def requests(self) -> list[str]:
        """Addresses that the page asked for."""
        return [told["request"]["url"] for name, told in self.events if name == "Network.requestWillBeSent"]

    def complaints(self) -> list[str]:
        """What the console says: errors, warnings, refusals of the content policy, dialogs."""
        found = []
        for name, told in self.events:
            if name == "Log.entryAdded":
                found.append(told["entry"]["text"])
            elif name == "Runtime.consoleAPICalled":
                found.append(" ".join(str(argument.get("value")) for argument in told["args"]))
            elif name == "Runtime.exceptionThrown":
                found.append(told["exceptionDetails"]["text"])
            elif name == "Page.javascriptDialogOpening":
                found.append(told["message"])
        return found

    def screenshot(self, file: Path) -> None:
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))

    def screenshot_of_view(self, file: Path) -> None:
        """What the window shows, without what must be scrolled to."""
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def pdf(self, file: Path) -> None:
        """Print to a file, on A4."""
        words = {"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": True}
        file.write_bytes(base64.b64decode(self.call("Page.printToPDF", printBackground=False, **words)["data"]))

    def close(self) -> None:
        with contextlib.suppress(RuntimeError, OSError, TimeoutError):
            self._session = None
            self.call("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for descriptor in (self._read, self._write):
            os.close(descriptor)
        self._log.close()


def _moved(descriptor: int) -> int:
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 20)
    os.close(descriptor)
    return high


@contextlib.contextmanager
def chromium(program: str) -> Iterator[Chromium]:
    """A browser with a fresh profile, closed at the end."""
    with tempfile.TemporaryDirectory(prefix="dropstep-chromium-", ignore_cleanup_errors=True) as folder:
        browser = Chromium(program, Path(folder))
        try:
            yield browser
        finally:
            browser.close()
