"""A Chromium without a window, spoken to over the DevTools protocol: opens a page as a reader would have it."""

from __future__ import annotations

import asyncio
import re
import shutil
from asyncio.subprocess import DEVNULL, PIPE, create_subprocess_exec
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

PATIENCE = 60.0
"""Seconds until a browser that starts, or a page that draws, is given up: plenty on a machine that has more to do."""

_COMPLAINTS = {"Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"}


@dataclass
class Browser:
    """A browser with one page. Each method raises TimeoutError when an answer does not come.

    Attributes:
        socket: The connection to the page.
        complaints: What scripts and the browser complained of, as the protocol words it.
    """

    socket: aiohttp.ClientWebSocketResponse
    complaints: list[dict[str, Any]] = field(default_factory=list)
    _number: int = 0

    async def open(self, path: Path, *, width: int, scheme: str) -> None:
        """Open a file in a window of some width, in pixels, for a reader who prefers the scheme (light, dark)."""
        for domain in ("Page", "Runtime", "Log"):
            await self.do(f"{domain}.enable")
        await self.do("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        await self.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        await self.do("Page.navigate", url=path.as_uri())
        while (await self._message()).get("method") != "Page.loadEventFired":
            pass

    async def until(self, condition: str) -> None:
        """Wait until an expression of JavaScript is true in the page."""
        look = f"const look = () => {condition} ? met({{}}) : setTimeout(look, 50)"
        await self.value(f"new Promise((met) => {{ {look}; look(); }})")

    async def value(self, expression: str) -> dict[str, Any]:
        """Return the object that an expression of JavaScript is in the page."""
        answer = await self.do("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        value: dict[str, Any] = answer["result"]["value"]
        return value

    async def press_tab(self) -> None:
        """Press the key that goes to the next stop of the keyboard."""
        for kind in ("rawKeyDown", "keyUp"):
            await self.do("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)

    async def do(self, method: str, **parameters: object) -> dict[str, Any]:
        """Do what a method of the protocol does, and return its result."""
        self._number += 1
        await self.socket.send_json({"id": self._number, "method": method, "params": parameters})
        while (message := await self._message()).get("id") != self._number:
            pass
        assert "error" not in message, (method, message)
        result: dict[str, Any] = message["result"]
        return result

    async def _message(self) -> dict[str, Any]:
        message: dict[str, Any] = await self.socket.receive_json(timeout=PATIENCE)
        if message.get("method") in _COMPLAINTS:
            self.complaints.append(message)
        return message


@asynccontextmanager
async def browser(folder: Path) -> AsyncIterator[Browser]:
    """Start a browser that keeps what it must in a folder; it has ended when this has."""
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", f"--user-data-dir={folder}")
    process = await create_subprocess_exec(str(CHROMIUM), *options, "about:blank", stdout=DEVNULL, stderr=PIPE)
    try:
        assert process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            said = await process.stderr.readuntil(b"/devtools/browser/")
        address = re.findall(r"ws://([^/]+)/", said.decode())[-1]
        async with aiohttp.ClientSession(f"http://{address}") as session:
            async with session.get("/json/list") as answer:
                page = next(each for each in await answer.json(content_type=None) if each["type"] == "page")
            async with session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                yield Browser(socket)
    finally:
        process.terminate()
        await process.wait()
