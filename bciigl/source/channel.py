"""Messages between a session and a simulated scanner, so that the brain answers what is shown.

A scanner listens on loopback and writes `scanner.json` into the folder of its volumes: the port,
a token and the speed. A session connects and sends the token. From then on each side writes
messages, one JSON object a line, whose only key says what it is (docs/live.md).
"""

import json
import logging
import os
import queue
import secrets
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from bciigl.base.errors import BciiglError
from bciigl.base.files import write_text
from bciigl.base.json_files import parse_json, read_json

ADDRESS_FILE = "scanner.json"
LONGEST = 100_000
"""Bytes of a message; a peer that sends more is not one of ours."""
PATIENCE = 10.0
"""Seconds until a session that was killed is surely noticed, on a busy computer, too."""

Handler = Callable[[str, dict[str, Any]], None]
"""Called with what a message is and what it says."""


class Address(BaseModel):
    """Where a simulated scanner listens, how fast it is, and what experiment it is of."""

    port: int = Field(ge=1, le=65_535)
    token: str
    speed: float = Field(gt=0)
    protocol: dict[str, Any] = {}

    def answers(self) -> bool:
        """Tell whether anyone listens there."""
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=5.0).close()
        except OSError:
            return False
        return True


class Connection:
    """One end of a connection. A thread reads messages and hands them over, one at a time."""

    def __init__(self, end: socket.socket, handle: Handler) -> None:
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._end, self._handle = end, handle
        self._sending = threading.Lock()
        self.open = True
        self._thread = threading.Thread(target=self._read, daemon=True)

    def start(self) -> None:
        """Begin to read messages."""
        self._thread.start()

    def send(self, what: str, **content: Any) -> bool:
        """Send a message; return whether the other end is there."""
        line = json.dumps({what: content}).encode() + b"\n"
        try:
            with self._sending:
                self._end.sendall(line)
        except OSError:
            self.open = False
        return self.open

    def close(self) -> None:
        """End the connection."""
        self.open = False
        with suppress(OSError):  # the other end was faster
            self._end.shutdown(socket.SHUT_RDWR)
        self._end.close()

    def _read(self) -> None:
        try:
            with self._end.makefile("rb") as lines:
                while line := lines.readline(LONGEST):
                    ((what, content),) = parse_json(line).items()
                    self._handle(what, dict(content))
        except OSError:
            pass  # the other end is gone
        except Exception as error:  # whatever it may send
            if self.open:
                logging.getLogger("bciigl").warning("a message cannot be read: %s", error)
        self.close()
        self._handle("closed", {})


class Listener:
    """The scanner's end, for one session at a time; as a context manager.

    Parameters
    ----------
    folder : path-like
        Where volumes are written, and `scanner.json`.
    speed : float
        What the session is told.
    handle : function
        Called with the messages, in the order in which they came.
    protocol : dict, optional
        The experiment, so that the session can tell whether it is its own.
    """

    def __init__(
        self,
        folder: str | os.PathLike,
        speed: float,
        handle: Handler,
        protocol: dict[str, Any] | None = None,
    ) -> None:
        before = find_scanner(folder)
        if before is not None and before.answers():
            raise BciiglError(f"{folder}: another simulated scanner writes there")
        self._path, self._handle, self._protocol = Path(folder, ADDRESS_FILE), handle, protocol
        self._token = secrets.token_hex(16)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._speed = speed
        self.connection: Connection | None = None

    def __enter__(self) -> "Listener":
        """Begin to listen."""
        port = self._socket.getsockname()[1]
        protocol = self._protocol or {}
        address = Address(port=port, token=self._token, speed=self._speed, protocol=protocol)
        write_text(self._path, address.model_dump_json() + "\n", overwrite=True)
        self._path.chmod(0o600)  # anybody who knows the token may show things
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening."""
        self._path.unlink(missing_ok=True)
        with suppress(OSError):  # closing it would not wake who waits for connections
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        if self.connection is not None:
            self.connection.close()

    def send(self, what: str, **content: Any) -> bool:
        """Send a message to the session; return whether there is one."""
        return self.connection is not None and self.connection.send(what, **content)

    def _accept(self) -> None:
        while True:
            try:
                end, _ = self._socket.accept()
            except OSError:  # closed
                return
            self._greet(end)

    def _is_taken(self) -> bool:
        """Tell whether there is a session, also a moment later: one that was killed is not."""
        until = time.monotonic() + PATIENCE
        while self.connection is not None and self.connection.open:
            if time.monotonic() > until:
                return True
            time.sleep(0.01)
        return False

    def _knows(self, token: object) -> bool:
        return secrets.compare_digest(str(token).encode(), self._token.encode())

    def _greet(self, end: socket.socket) -> None:
        """Take a session that knows the token, unless there is one."""
        new = Connection(end, lambda *message: hear(*message))

        def hear(what: str, content: dict[str, Any]) -> None:
            if new is self.connection:
                self._handle(what, content)
            elif what == "hello" and self._knows(content.get("token")):
                if self._is_taken():
                    new.send("refused")
                    new.close()
                    return
                self.connection = new
                new.send("welcome")
                self._handle("hello", {})
            elif what != "closed":
                new.close()

        new.start()


def find_scanner(folder: str | os.PathLike) -> Address | None:
    """Return where the simulated scanner of a folder listens; None if there is none."""
    path = Path(folder, ADDRESS_FILE)
    return read_json(path, Address) if path.exists() else None


def connect(address: Address, handle: Handler) -> Connection:
    """Return a connection to a scanner, on which `handle` is called with its messages."""
    try:
        end = socket.create_connection(("127.0.0.1", address.port), timeout=5.0)
    except OSError as error:
        raise BciiglError(
            f"the simulated scanner does not answer at port {address.port} ({error}); if it was "
            f"stopped, delete {ADDRESS_FILE} in the folder of its volumes"
        ) from error
    end.settimeout(None)
    answer: queue.SimpleQueue[str] = queue.SimpleQueue()

    def hear(what: str, content: dict[str, Any]) -> None:
        if what in ("welcome", "refused", "closed"):
            answer.put(what)
        if what not in ("welcome", "refused"):
            handle(what, content)

    connection = Connection(end, hear)
    connection.start()
    connection.send("hello", token=address.token)
    try:
        said = answer.get(timeout=2 * PATIENCE)
    except queue.Empty:
        said = "nothing"
    if said != "welcome":
        connection.close()
        reason = "it does not answer" if said == "nothing" else "another one is connected to it"
        raise BciiglError(f"the simulated scanner takes no session: {reason}")
    return connection
