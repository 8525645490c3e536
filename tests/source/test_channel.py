"""The message channel: only who knows the token is heard, and nothing that is sent ends it."""

import json
import queue
import socket
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from bciigl.base.errors import BciiglError
from bciigl.source import channel
from bciigl.source.channel import (
    ADDRESS_FILE,
    LONGEST,
    Address,
    Listener,
    connect,
    find_scanner,
)

LONG = 60.0
"""Seconds that no test waits for unless it fails."""


class Heard(queue.Queue):
    """Messages in the order in which they came."""

    def __call__(self, what: str, content: dict) -> None:
        """Keep a message."""
        self.put((what, content))

    def next(self) -> tuple[str, dict]:
        """Return the next message."""
        return self.get(timeout=LONG)


@contextmanager
def listening(folder: Path):
    """Give a listener, where it is, and what it hears."""
    heard = Heard()
    with Listener(folder, 20.0, heard) as listener:
        yield listener, find_scanner(folder), heard


def raw(address: Address, *messages: bytes) -> socket.socket:
    """Return a socket that has sent the token and then whatever it is told to."""
    end = socket.create_connection(("127.0.0.1", address.port), timeout=LONG)
    end.sendall(line("hello", token=address.token) + b"".join(messages))
    return end


def line(what: str, **content: object) -> bytes:
    return json.dumps({what: content}).encode() + b"\n"


def is_closed(end: socket.socket) -> bool:
    """Wait until the other side has closed a connection."""
    try:
        while end.recv(4096):  # what it has said before
            pass
        return True
    except ConnectionResetError:
        return True


def test_messages_come_in_order_both_ways(tmp_path):
    with listening(tmp_path) as (listener, address, heard):
        assert address.speed == 20.0
        assert not listener.send("nobody is there yet")
        mine = Heard()
        session = connect(address, mine)
        assert heard.next() == ("hello", {})
        for number in range(100):
            assert session.send("show", number=number, content="é\n", nothing=None)
            assert listener.send("shown", onset=number / 3)
        said = [heard.next() for _ in range(100)]
        assert said == [
            ("show", {"number": number, "content": "é\n", "nothing": None}) for number in range(100)
        ]
        # Numbers are the same to the last bit.
        assert [mine.next() for _ in range(100)] == [
            ("shown", {"onset": number / 3}) for number in range(100)
        ]
        session.close()
        assert heard.next() == ("closed", {})


def test_threads_may_send_at_once(tmp_path):
    with listening(tmp_path) as (_, address, heard):
        session = connect(address, Heard())
        heard.next()

        def send(sender: int) -> None:
            for number in range(200):
                session.send("show", sender=sender, number=number)

        threads = [threading.Thread(target=send, args=(sender,)) for sender in range(4)]
        for thread in threads:
            thread.start()
        said = [heard.next()[1] for _ in range(800)]
        for sender in range(4):
            assert [each["number"] for each in said if each["sender"] == sender] == [*range(200)]


@pytest.mark.parametrize(
    "first",
    [
        *(line("hello", token=each) for each in ("", "0" * 32, "é", None, 7)),
        line("hello"),
        line("run", session="train", run=1),
    ],
)
def test_who_does_not_know_the_token_is_refused(tmp_path, first):
    with listening(tmp_path) as (listener, address, heard):
        end = socket.create_connection(("127.0.0.1", address.port), timeout=LONG)
        end.sendall(first)
        assert is_closed(end)
        assert listener.connection is None
        session = connect(address, Heard())
        session.send("run", run=2)
        assert [heard.next(), heard.next()] == [("hello", {}), ("run", {"run": 2})]


def test_session_learns_that_it_was_refused(tmp_path):
    with listening(tmp_path) as (_, address, _):
        mine = Heard()
        with pytest.raises(BciiglError, match="takes no session"):
            connect(address.model_copy(update={"token": "another"}), mine)


def test_second_session_is_refused_until_the_first_is_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(channel, "PATIENCE", 0.3)
    with listening(tmp_path) as (listener, address, heard):
        mine = Heard()
        first = connect(address, mine)
        assert heard.next() == ("hello", {})
        with pytest.raises(BciiglError, match="another one is connected"):
            connect(address, Heard())
        assert listener.send("shown")
        assert mine.next() == ("shown", {})
        first.close()
        assert heard.next() == ("closed", {})
        second = connect(address, Heard())
        assert heard.next() == ("hello", {})
        second.send("show", of="the second")
        assert heard.next() == ("show", {"of": "the second"})


def test_second_scanner_is_refused_unless_the_first_is_gone(tmp_path):
    with listening(tmp_path):
        with pytest.raises(BciiglError, match="another simulated scanner writes there"):
            Listener(tmp_path, 1.0, Heard())
    (tmp_path / ADDRESS_FILE).write_text('{"port": 1, "token": "x", "speed": 20.0}')
    with listening(tmp_path):
        assert find_scanner(tmp_path).port != 1


GARBAGE = {
    "no JSON": b"hello\n",
    "no text": bytes(range(128, 256)) + b"\n",
    "no object": b"[1, 2]\n",
    "a number": b"7\n",
    "empty object": b"{}\n",
    "two keys": b'{"show": {}, "run": {}}\n',
    "empty line": b"\n",
    "no content": b'{"show": 5}\n',
    "a list": b'{"show": [1, 2]}\n',
    "deep": b"[" * 90_000 + b"\n",
    "too long": b'{"show": {"x": "' + b"x" * LONGEST + b'"}}\n',
    "endless": b" " * (3 * LONGEST),
    "half a line": b'{"show"',
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_garbage_ends_the_connection_and_nothing_else(tmp_path, garbage, caplog):
    with listening(tmp_path) as (_, address, heard):
        end = raw(address, line("show", number=1), garbage)
        end.shutdown(socket.SHUT_WR)
        assert [heard.next(), heard.next()] == [("hello", {}), ("show", {"number": 1})]
        assert heard.next() == ("closed", {})
        assert is_closed(end)
        assert "a message cannot be read" in caplog.text
        connect(address, Heard()).send("show", number=2)
        assert [heard.next(), heard.next()] == [("hello", {}), ("show", {"number": 2})]


def test_message_that_nobody_can_handle_ends_the_connection(tmp_path, caplog):
    closed = threading.Event()

    def handle(what: str, content: dict) -> None:
        if what == "closed":
            closed.set()
        else:
            content["onset"]

    with listening(tmp_path) as (listener, address, heard):
        session = connect(address, handle)
        heard.next()
        listener.send("shown", kind="imagination")
        assert closed.wait(LONG)
        assert not session.open
        assert heard.next() == ("closed", {})
    assert "a message cannot be read: 'onset'" in caplog.text


def test_longest_message_is_read(tmp_path):
    with listening(tmp_path) as (_, address, heard):
        empty = len(line("show", text=""))
        raw(address, line("show", text="x" * (LONGEST - empty)))
        heard.next()
        assert len(heard.next()[1]["text"]) == LONGEST - empty


def test_peer_that_is_gone_is_noticed(tmp_path):
    with listening(tmp_path) as (listener, address, heard):
        mine = Heard()
        session = connect(address, mine)
        heard.next()
        listener.connection.close()
        assert mine.next() == ("closed", {})
        assert not session.send("show")
        assert heard.next() == ("closed", {})
        assert not listener.send("shown")
        # A process that was killed: what it had not read is lost, and the connection is reset.
        end = raw(address)
        assert heard.next() == ("hello", {})
        listener.send("shown", text="x" * 1000)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        end.close()
        assert heard.next() == ("closed", {})
        assert not listener.send("shown")


def test_address_is_there_as_long_as_the_scanner(tmp_path):
    assert find_scanner(tmp_path) is None
    with listening(tmp_path) as (_, address, _):
        assert find_scanner(tmp_path) == address
        mine = Heard()
        connect(address, mine)
    assert mine.next() == ("closed", {})
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(BciiglError, match=f"does not answer at port {address.port}.*delete scanne"):
        connect(address, Heard())


def test_address_that_makes_no_sense_is_refused(tmp_path):
    path = tmp_path / ADDRESS_FILE
    for content in ("", "7", '{"port": 80}', '{"port": 0, "token": "x", "speed": 1.0}'):
        path.write_text(content)
        with pytest.raises(BciiglError, match=str(path)):
            find_scanner(tmp_path)


def test_only_this_machine_is_listened_to(tmp_path):
    with listening(tmp_path) as (listener, _, _):
        assert listener._socket.getsockname()[0] == "127.0.0.1"
