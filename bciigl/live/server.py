"""Serves the participant's screen and the operator's monitor to browsers on this computer.

Each page has one WebSocket, on which every message is the whole state: a page that is opened again,
or that was too slow for some messages, has missed nothing.
"""

import asyncio
import ipaddress
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from bciigl.base.errors import BciiglError, needs
from bciigl.base.progress import silent
from bciigl.live.screen import ParticipantScreen

LOOPBACK, PORT = "127.0.0.1", 8765
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 (only where it is asked for)
"""Hosts that stand for all addresses of this computer."""
LONGEST = 10_000
"""Bytes of a message from a page."""
PINGS = 8
"""Messages by which the way to a page is timed; the fastest counts."""
ALIVE = 5.0
"""Seconds in which a page's computer answers; a pulled cable tells nothing."""
PAUSE = 0.25
"""Seconds between two messages to a monitor."""
POLICY = "; ".join(
    ("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'")
    + ("connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'")
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Pages(Protocol):
    """What is served."""

    screen: ParticipantScreen

    def monitor(self) -> dict[str, Any]:
        """Return the state that monitors show."""

    def command(self, message: dict[str, Any]) -> None:
        """Do what an operator asks for; called from the server's thread."""


class _Topic:
    """A state of which each subscriber gets the newest version."""

    def __init__(self, state: Callable[[], dict[str, Any]], pause: float = 0.0) -> None:
        self.version, self._pause, self._state = 0, pause, state
        self._text: tuple[int, str] = -1, ""
        self._waiting: set[asyncio.Event] = set()
        self._making = asyncio.Lock()

    def change(self) -> None:
        """Let everybody know of a new version; in the server's thread."""
        self.version += 1
        for each in self._waiting:
            each.set()

    async def text(self) -> str:
        """Return the newest version; made once for all subscribers.

        One that takes long is made beside the server's thread, which must not keep events waiting.
        """
        async with self._making:
            if self._text[0] != self.version:
                version = self.version
                made = asyncio.to_thread(self._made) if self._pause else None
                self._text = version, self._made() if made is None else await made
        return self._text[1]

    def _made(self) -> str:
        return json.dumps(self._state())

    async def send_to(self, page: Any, sending: Callable[[], None] = silent) -> None:
        """Send each new version to a page, as fast as it takes them, and tell of it just before."""
        changed = asyncio.Event()
        self._waiting.add(changed)
        try:
            changed.set()
            while True:
                await changed.wait()
                changed.clear()
                text = await self.text()
                sending()
                await page.send_text(text)
                if self._pause:
                    await asyncio.sleep(self._pause)
        finally:
            self._waiting.discard(changed)


class Server:
    """Serves pages from a thread of its own; as a context manager.

    Parameters
    ----------
    pages : Pages
        What is served.
    host : str
        The address to listen at. Any but a loopback address needs a token, which is in the links.
    port : int, optional
        By default 8765, or any that is free.
    """

    def __init__(self, pages: Pages, host: str = LOOPBACK, port: int | None = None) -> None:
        try:
            import uvicorn
        except ImportError as error:
            raise needs("serving pages", "starlette", "live") from error
        host = host.lower()  # as browsers write it
        self._pages, self._host = pages, host
        self._token = "" if _is_loopback(host) else secrets.token_urlsafe(16)
        self._socket = _listen(host, port)
        self.port = self._socket.getsockname()[1]
        self._topics = {
            "screen": _Topic(pages.screen.snapshot),
            "monitor": _Topic(pages.monitor, PAUSE),
        }
        config = uvicorn.Config(
            self._app(),
            log_level="error",
            ws="websockets-sansio",
            ws_max_size=LONGEST,
            ws_per_message_deflate=False,  # it takes longer than the way
            ws_ping_interval=ALIVE,
            ws_ping_timeout=ALIVE,
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def link(self, page: str) -> str:
        """Return the address of the page ``"screen"`` or ``"monitor"``."""
        host = socket.gethostname() if self._host in EVERYWHERE else self._host
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}/{page}" + (f"?token={self._token}" * bool(self._token))

    def __enter__(self) -> "Server":
        """Begin to serve."""
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        """Serve no more, when all pages have got the last state."""
        time.sleep(2 * PAUSE if any(each._waiting for each in self._topics.values()) else 0.0)
        self._server.should_exit = True
        self._thread.join(5.0)
        self._socket.close()

    def changed(self, page: str) -> None:
        """Let pages know that what they show has changed; from any thread, without waiting."""
        if self._loop is not None:
            with suppress(RuntimeError):  # it has just been closed
                self._loop.call_soon_threadsafe(self._topics[page].change)

    def _run(self) -> None:
        async def serve() -> None:
            self._loop = asyncio.get_running_loop()
            await self._server.serve([self._socket])

        asyncio.run(serve())

    def _app(self) -> Any:
        from starlette.applications import Starlette
        from starlette.requests import Request
        from starlette.responses import PlainTextResponse, RedirectResponse, Response
        from starlette.routing import BaseRoute, Route, WebSocketRoute

        folder = Path(str(resources.files("bciigl.live") / "pages"))
        kinds = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
        files = {
            path.name: (kinds[path.suffix], path.read_bytes())
            for path in folder.iterdir()
            if path.suffix in kinds
        }
        images = list(self._pages.screen.images.values())

        def answer(kind: str, content: bytes) -> Response:
            return Response(content, media_type=kind, headers=HEADERS)

        refused = PlainTextResponse("not found", 404, HEADERS)

        async def page(request: Request) -> Response:
            if not self._is_ours(request) or not self._has_token(request):
                return refused
            return answer(*files[f"{request.url.path.strip('/')}.html"])

        async def start(request: Request) -> Response:
            return RedirectResponse(self.link("monitor")) if self._is_ours(request) else refused

        async def file(request: Request) -> Response:
            found = files.get(request.path_params["name"])
            return answer(*found) if found and self._is_ours(request) else refused

        async def image(request: Request) -> Response:
            number = request.path_params["number"]
            known = number < len(images) and self._is_ours(request) and self._has_token(request)
            return answer(*images[number]) if known else refused

        async def icon(request: Request) -> Response:
            return Response(status_code=204, headers=HEADERS)  # browsers ask for one

        routes: list[BaseRoute] = [Route(f"/{each}", page) for each in self._topics]
        routes += [Route("/favicon.ico", icon)]
        routes += [Route("/pages/{name}", file), Route("/images/{number:int}", image)]
        routes += [] if self._token else [Route("/", start)]
        routes += [WebSocketRoute("/screen/socket", self._screen)]
        routes += [WebSocketRoute("/monitor/socket", self._monitor)]
        return Starlette(routes=routes)

    def _is_ours(self, request: Any) -> bool:
        """Tell whether a request is meant for this server: other names may be an attack."""
        if self._host in EVERYWHERE:
            return True
        ours = (self._host, *(("localhost", LOOPBACK, "::1") * _is_loopback(self._host)))
        try:
            return urlsplit(f"//{request.headers.get('host', '')}").hostname in ours
        except ValueError:  # no host at all
            return False

    def _has_token(self, request: Any) -> bool:
        given = request.query_params.get("token", "")
        return secrets.compare_digest(given.encode(), self._token.encode())

    def _may_talk(self, page: Any) -> bool:
        """Tell whether a socket is one of our own pages': others' pages may not send commands."""
        _, _, origin = page.headers.get("origin", "").partition("://")
        own = bool(origin) and origin == page.headers.get("host")
        return own and self._is_ours(page) and self._has_token(page)

    async def _screen(self, page: Any) -> None:
        screen = self._pages.screen
        sent: dict[int, float] = {}

        def heard(message: dict[str, Any]) -> None:
            number = message.get("pong")
            if isinstance(number, int) and number in sent:
                screen.round_trip(page, time.monotonic() - sent[number])
            else:
                screen.heard(page, message)

        async def ping() -> None:
            for number in range(PINGS):
                sent[number] = time.monotonic()
                await page.send_text(json.dumps({"ping": number}))
                await asyncio.sleep(PAUSE)

        if not self._may_talk(page):
            await page.close()
            return
        await page.accept()
        screen.opened(page)
        pinging = asyncio.create_task(ping())
        try:
            await self._talk(page, "screen", heard, lambda: screen.sending(page))
        finally:  # a page that is taken for open would be waited for
            screen.left(page)
            await _ended(pinging)

    async def _monitor(self, page: Any) -> None:
        if self._may_talk(page):
            await page.accept()
            await self._talk(page, "monitor", self._pages.command)
        else:
            await page.close()

    async def _talk(
        self,
        page: Any,
        topic: str,
        heard: Callable[[dict[str, Any]], None],
        sending: Callable[[], None] = silent,
    ) -> None:
        """Send a page its state, and hand over what it says, until it is gone."""
        from starlette.websockets import WebSocketDisconnect

        async def hear() -> None:
            with suppress(ValueError, KeyError, RecursionError):  # no page of ours
                while True:
                    message = json.loads(await page.receive_text())
                    if isinstance(message, dict):
                        heard(message)

        # If one of both ends, so does the other: a page that is told nothing more would not know.
        both = self._topics[topic].send_to(page, sending), hear()
        tasks = [asyncio.create_task(each) for each in both]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        except (WebSocketDisconnect, RuntimeError):
            pass  # closed
        finally:
            for each in tasks:
                await _ended(each)


async def _ended(task: asyncio.Task) -> None:
    """End a task, whatever became of it."""
    task.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await task


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def _listen(host: str, port: int | None) -> socket.socket:
    """Return a socket at a port, or at any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for wanted in (PORT, 0) if port is None else (port,):
        try:
            return socket.create_server((host, wanted), family=family)
        except (OSError, OverflowError) as error:
            code = getattr(error, "errno", None) or 0
            problem = os.strerror(code) if code > 0 else getattr(error, "strerror", error)
    raise BciiglError(f"pages cannot be served at {host}, port {port}: {problem}")
