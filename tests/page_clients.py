"""Clients of live pages: sockets as browsers open them, and conditions to wait for."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from bciigl.live.server import EVERYWHERE, Server

WAIT = 20.0
"""Seconds after which a test has failed."""


def until(condition: Callable[[], Any]) -> Any:
    """Wait for a condition, and return what it returned."""
    end = time.monotonic() + WAIT
    while not (found := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)
    return found


@contextmanager
def socket_of(server: Server, page: str, query: str | None = None, **how: Any) -> Iterator[Any]:
    """Give a socket of a page; its origin and query are those of the page, or as given."""
    address, _, token = server.link(page).partition("?")
    if server._host in EVERYWHERE:  # this computer's name, which need not lead anywhere
        address = f"http://127.0.0.1:{server.port}/{page}"
    token = token if query is None else query
    how = {"origin": address.removesuffix(f"/{page}"), "ping_interval": None, **how}
    target = address.replace("http", "ws", 1) + "/socket" + f"?{token}" * bool(token)
    with connect(target, compression=None, max_size=None, close_timeout=1.0, **how) as found:
        yield found


class Client:
    """A page that keeps all that it is sent; as a context manager."""

    def __init__(self, server: Server, page: str) -> None:
        self._opened = ExitStack()
        self.socket = self._opened.enter_context(socket_of(server, page))
        self.messages: list[dict[str, Any]] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        if page == "screen":
            self.say(visible=True)

    def __enter__(self) -> "Client":
        """Stay open."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the page."""
        self._opened.close()
        self._thread.join(WAIT)

    def _read(self) -> None:
        with suppress(ConnectionClosed):
            for text in self.socket:
                message = json.loads(text, parse_constant=_refused)
                if "ping" in message:
                    self.say(pong=message["ping"])
                else:
                    self.messages.append(message)

    def say(self, **message: Any) -> None:
        """Send a message."""
        with suppress(ConnectionClosed):
            self.socket.send(json.dumps(message))

    def wait_for(self, wanted: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """Return the newest message, when it is one that is wanted."""
        until(lambda: self.messages and wanted(self.messages[-1]))
        return self.messages[-1]

    @property
    def is_open(self) -> bool:
        """Whether the server has not closed the connection."""
        return self._thread.is_alive()


def _refused(constant: str) -> None:
    """Refuse what no browser reads: NaN and infinities."""
    raise AssertionError(f"{constant} is no JSON")
