"""A headless Chromium, driven through chromedriver (the WebDriver protocol over HTTP) with the standard library."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

DRIVER = shutil.which("chromedriver")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One window. Use it in a `with` statement, which ends both programs."""

    def __init__(self, width: int = 1200, height: int = 900, dark: bool = False):
        self._driver = subprocess.Popen([str(DRIVER), "--port=0"], stdout=subprocess.PIPE, text=True)
        line = ""
        while not (found := re.search(r"started successfully on port (\d+)", line)):
            line = self._driver.stdout.readline()
            assert line, "chromedriver did not start"
        self._base = f"http://127.0.0.1:{found[1]}"
        arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            f"--window-size={width},{height}",
            *(["--blink-settings=preferredColorScheme=0"] if dark else []),
        ]
        options = {"binary": CHROMIUM, "args": arguments}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        session = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._base += f"/session/{session['sessionId']}"

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *about: object) -> None:
        try:
            self._call("DELETE", "")
        finally:
            self._driver.terminate()
            self._driver.wait(10)
            self._driver.stdout.close()

    def open(self, url: str) -> None:
        self._call("POST", "/url", {"url": url})

    def resize(self, width: int, height: int) -> None:
        """Give the window an exact size, also one that is narrower than a desktop's window can be."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": size})

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script and return its value."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, condition: str, seconds: float = 20) -> None:
        """Wait until an expression of JavaScript is true."""
        end = time.monotonic() + seconds
        while not self.run(f"return Boolean({condition})"):
            assert time.monotonic() < end, f"{condition} did not come to hold"
            time.sleep(0.05)

    def click(self, selector: str, place: int = 0) -> None:
        """Click with the mouse on one of the elements of a CSS selector, at its position in the window."""
        found = self._call("POST", "/elements", {"using": "css selector", "value": selector})
        (reference,) = found[place].values()
        self._call("POST", f"/element/{reference}/click", {})

    def type(self, selector: str, text: str) -> None:
        """Type into a field, which is emptied first; \\n is Enter."""
        found = self._call("POST", "/element", {"using": "css selector", "value": selector})
        (reference,) = found.values()
        self._call("POST", f"/element/{reference}/clear", {})
        self._call("POST", f"/element/{reference}/value", {"text": text})

    def text(self, selector: str) -> str:
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._call("GET", "/screenshot")))

    def log(self) -> list[str]:
        """The messages that the page wrote to the console, with errors."""
        return [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"})]

    def _call(self, method: str, path: str, body: dict | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from None
