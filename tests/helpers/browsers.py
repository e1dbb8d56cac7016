"""Chromium and Firefox without a window, by the protocols that they have themselves: no driver, nothing to download."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase, BufferedRWPair, RawIOBase
from pathlib import Path
from typing import Any, Final

import pytest
from processes import started, wait_until

COMMANDS: Final = {
    "chromium": ("chromium", "chromium-browser", "google-chrome"),
    "firefox": ("firefox-esr", "firefox"),
}
KEYS: Final = {" ": " ", "ArrowRight": "\ue014", "ArrowLeft": "\ue012", "Tab": "\ue004"}
"""Names of keys in DevTools, and their letters in the WebDriver standard."""
CODES: Final = {" ": 32, "ArrowRight": 39, "ArrowLeft": 37, "Tab": 9}
CHROMIUM: Final = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe")
LEAST: Final = 500
"""Width of the narrowest window of Firefox [px]; in it a page is magnified to be narrower."""
QUIET: Final = {
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "marionette.port": 0,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "security.sandbox.content.level": 0,
    "toolkit.telemetry.enabled": False,
}


class Browser:
    """One page of a browser."""

    @property
    def errors(self) -> list[str]:
        """Errors of scripts so far."""
        raise NotImplementedError

    def open(self, address: str) -> None:
        """Load a page to its end."""
        raise NotImplementedError

    def value(self, expression: str) -> Any:
        """Evaluate JavaScript, for what JSON can write."""
        raise NotImplementedError

    def press(self, key: str) -> None:
        """Press one of `KEYS`."""
        raise NotImplementedError

    def picture(self, path: Path) -> None:
        """Write what is seen as a PNG."""
        raise NotImplementedError


class Chromium(Browser):
    """By the DevTools protocol, over a pair of pipes."""

    def __init__(self, said: RawIOBase, heard: BufferedIOBase, width: int, is_dark: bool, is_calm: bool) -> None:
        self.said, self.heard, self.number, self.session = said, heard, 0, ""
        self.is_loaded = False
        self.heard_errors: list[str] = []
        target = self._do("Target.createTarget", url="about:blank")["targetId"]
        self.session = self._do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._do(f"{domain}.enable")
        self._do("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        wanted = {"color-scheme": "dark" if is_dark else "light", "reduced-motion": "reduce" if is_calm else ""}
        features = [{"name": f"prefers-{name}", "value": value} for name, value in wanted.items()]
        self._do("Emulation.setEmulatedMedia", features=features)

    @property
    def errors(self) -> list[str]:
        return self.heard_errors

    def open(self, address: str) -> None:
        self.is_loaded = False
        self._do("Page.navigate", url=address)
        while not self.is_loaded:
            self._hear()

    def value(self, expression: str) -> Any:
        said = self._do("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def press(self, key: str) -> None:
        about = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": CODES[key]}
        self._do("Input.dispatchKeyEvent", type="keyDown", text=" " if key == " " else "", **about)
        self._do("Input.dispatchKeyEvent", type="keyUp", **about)

    def picture(self, path: Path) -> None:
        said = self._do("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(said["data"]))

    def _do(self, method: str, **parameters: Any) -> dict[str, Any]:
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        message |= {"sessionId": self.session} if self.session else {}
        self.said.write(json.dumps(message).encode() + b"\0")
        while (said := self._hear()).get("id") != self.number:
            pass
        assert "error" not in said, said
        return dict(said["result"])

    def _hear(self) -> dict[str, Any]:
        text = b""
        while not text.endswith(b"\0"):
            byte = self.heard.read(1)
            assert byte, "the browser is gone"
            text += byte
        said = json.loads(text[:-1])
        method, about = said.get("method"), said.get("params", {})
        self.is_loaded |= method == "Page.loadEventFired"
        is_bad = method == "Runtime.exceptionThrown"
        is_bad |= method == "Runtime.consoleAPICalled" and about["type"] == "error"
        if is_bad or (method == "Log.entryAdded" and about["entry"]["level"] == "error"):
            self.heard_errors.append(json.dumps(about)[:500])
        return dict(said)


class Firefox(Browser):
    """By Marionette, over a socket."""

    def __init__(self, file: BufferedRWPair, width: int) -> None:
        self.file, self.number = file, 0
        self._hear()
        self._do("WebDriver:NewSession")
        self.zoom = max(1.0, LEAST / width)
        self._do("WebDriver:SetWindowRect", width=round(width * self.zoom), height=900)

    def open(self, address: str) -> None:
        self._do("WebDriver:Navigate", url=address)
        self._inside(f"gBrowser.selectedBrowser.fullZoom = {self.zoom}")

    def value(self, expression: str) -> Any:
        return self._do("WebDriver:ExecuteScript", script=f"return ({expression})", args=[])["value"]

    def press(self, key: str) -> None:
        steps = [{"type": kind, "value": KEYS[key]} for kind in ("keyDown", "keyUp")]
        self._do("WebDriver:PerformActions", actions=[{"type": "key", "id": "keys", "actions": steps}])

    def picture(self, path: Path) -> None:
        said = self._do("WebDriver:TakeScreenshot", full=True)
        path.write_bytes(base64.b64decode(said["value"]))

    @property
    def errors(self) -> list[str]:
        script = "Services.console.getMessageArray().filter(m => m instanceof Ci.nsIScriptError)"
        is_ours = 'm.category == "content javascript" && !(m.flags & m.warningFlag)'
        return list(self._inside(f"{script}.filter(m => {is_ours}).map(String)"))

    def _inside(self, expression: str) -> Any:
        """Evaluate JavaScript in the browser itself, not in its page."""
        self._do("Marionette:SetContext", value="chrome")
        found = self.value(expression)
        self._do("Marionette:SetContext", value="content")
        return found

    def _do(self, name: str, **parameters: Any) -> dict[str, Any]:
        self.number += 1
        message = json.dumps([0, self.number, name, parameters]).encode()
        self.file.write(b"%d:%s" % (len(message), message))
        self.file.flush()
        _, number, error, result = self._hear()
        assert (number, error) == (self.number, None), error
        return dict(result or {})

    def _hear(self) -> Any:
        length = b""
        while not length.endswith(b":"):
            byte = self.file.read(1)
            assert byte, "the browser is gone"
            length += byte
        return json.loads(self.file.read(int(length[:-1])))


@contextmanager
def browsing(
    name: str, folder: Path, *, width: int = 1400, is_dark: bool = False, is_calm: bool = False
) -> Iterator[Browser]:
    """Start a browser with its profile in `folder`; skip the test if it is not here."""
    command = next(filter(None, map(shutil.which, COMMANDS[name])), None)
    if command is None:
        pytest.skip(f"no {name} here: a browser is needed (Debian: apt-get install chromium firefox-esr)")
    if name == "chromium":
        (their_in, said), (heard, their_out) = os.pipe(), os.pipe()
        shell = ("sh", "-c", f'exec "$@" 3</dev/fd/{their_in} 4>/dev/fd/{their_out}', "sh")
        options: dict[str, Any] = {"pass_fds": (their_in, their_out)}
        called = (*shell, command, *CHROMIUM, f"--user-data-dir={folder}")
        with (
            open(said, "wb", 0) as to_it,
            open(heard, "rb") as from_it,
            started(*called, stderr=subprocess.DEVNULL, **options),
        ):
            os.close(their_in)
            os.close(their_out)
            yield Chromium(to_it, from_it, width, is_dark, is_calm)
        return
    wanted = {**QUIET, "ui.systemUsesDarkTheme": int(is_dark), "ui.prefersReducedMotion": int(is_calm)}
    text = "".join(f"user_pref({json.dumps(key)}, {json.dumps(value)});\n" for key, value in wanted.items())
    (folder / "user.js").write_text(text, encoding="utf-8")
    port = folder / "MarionetteActivePort"
    words = ("--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile", folder)
    with started(command, *words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: port.is_file() and bool(port.read_text()), process)
        with socket.create_connection(("127.0.0.1", int(port.read_text()))) as there, there.makefile("rwb") as file:
            yield Firefox(file, width)
