"""The server of pages: who gets them, who may command, and that no page can hold it up."""

import http.client
import json
import socket
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from urllib.parse import urlsplit

import pytest
from page_clients import WAIT, Client, socket_of, until
from recordings import small
from websockets.exceptions import ConnectionClosed, InvalidStatus

from bciigl.base.errors import BciiglError
from bciigl.live import server as servers
from bciigl.live.screen import ParticipantScreen
from bciigl.live.server import Server

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


class Given:
    """Pages whose state the test sets, and what they were asked to do."""

    def __init__(self, screen: ParticipantScreen) -> None:
        self.screen, self.state, self.commands = screen, {"number": 0}, []

    def monitor(self) -> dict:
        """Return the state."""
        return dict(self.state)

    def command(self, message: dict) -> None:
        """Take down a command."""
        self.commands.append(message)


@contextmanager
def serving(pages: Given, *where: object) -> Iterator[Server]:
    """Give a server at a free port."""
    with Server(pages, *where or ("127.0.0.1", 0)) as server:
        server.pages = pages
        pages.screen.changed = lambda: server.changed("screen")
        yield server


def made(folder="") -> Given:
    """Return pages of a small experiment, of which one option has an image."""
    (folder / "brick.png").write_bytes(PNG)
    task = {"options": ["apple", "brick", "cloud"]}
    protocol = small(task=task, screen={"images": {"brick": "brick.png"}})
    return Given(ParticipantScreen(protocol, folder=folder))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Give a server for this computer alone, and no pause between messages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(servers, "PAUSE", 0.0)
        with serving(made(tmp_path_factory.mktemp("images"))) as found:
            yield found


@pytest.fixture(scope="module")
def open_server(tmp_path_factory):
    """Give a server for other computers, too."""
    with serving(made(tmp_path_factory.mktemp("images")), "0.0.0.0", 0) as found:  # noqa: S104
        yield found


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
    """Return the answer to a request, whose path is sent as it is."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT)
    with closing(connection):
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        answer.body = answer.read()
    return answer


def path_of(link: str) -> str:
    parts = urlsplit(link)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def test_pages_are_served_to_this_computer_without_a_token(server):
    for page in ("screen", "monitor"):
        assert server.link(page) == f"http://127.0.0.1:{server.port}/{page}"
        answer = ask(server, f"/{page}")
        assert answer.status == 200
        assert answer.headers["Content-Type"].startswith("text/html")
        for name in (f"{page}.js", f"{page}.css", "socket.js"):
            found = ask(server, f"/pages/{name}")
            kind = "text/css" if name.endswith("css") else "text/javascript"
            assert (found.status, found.headers.get_content_type()) == (200, kind)
            if name != "socket.js":
                assert f"/pages/{name}".encode() in answer.body
    start = ask(server, "/")
    assert (start.status, start.headers["Location"]) == (307, server.link("monitor"))
    assert ask(server, "/screen", Host=f"localhost:{server.port}").status == 200


def test_pages_may_load_nothing_from_elsewhere_and_be_in_no_frame(server):
    for path in ("/monitor", "/pages/screen.js", "/images/0", "/pages/nothing.js"):
        headers = ask(server, path).headers
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; ")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "http" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"  # or links would tell the token
        assert headers["Cache-Control"] == "no-store"


def test_only_images_of_the_protocol_are_served(server):
    answer = ask(server, "/images/0")
    assert (answer.status, answer.headers["Content-Type"], answer.body) == (200, "image/png", PNG)
    assert server.pages.screen.snapshot()["images"] == ["/images/0"]
    for path in ("/images/1", "/images/-1", f"/images/{10**30}", "/images/x", "/images/brick.png"):
        assert ask(server, path).status == 404


@pytest.mark.parametrize(
    "path",
    [
        *("/pages/", "/pages/nothing.js", "/server.py", "/pages/server.py", "/etc/passwd"),
        *("/pages/../server.py", "/pages/%2e%2e/server.py", "/pages/..%2fserver.py"),
        *("/pages/..%5cserver.py", "/pages/%252e%252e%252fserver.py", "/../../etc/passwd"),
        *("/pages//etc/passwd", "/pages/screen.js%00", "//etc/passwd", "/pages/./screen.js"),
    ],
)
def test_other_files_are_not_served(server, path):
    assert ask(server, path).status == 404


def test_requests_for_another_host_are_refused(server):
    for host in ("evil.example", f"evil.example:{server.port}", "[", "127.0.0.1.evil.example", ""):
        for path in ("/monitor", "/", "/pages/screen.js", "/images/0"):
            assert ask(server, path, Host=host).status in (400, 404), host


def test_other_computers_need_the_token_of_the_link(open_server):
    link = path_of(open_server.link("monitor"))
    token = link.partition("?token=")[2]
    assert len(token) > 20
    for path in ("/monitor", "/screen", "/", "/monitor?token=", f"{link}x", link[:-1], "/images/0"):
        assert ask(open_server, path).status == 404
    assert ask(open_server, f"/images/0?token={token}").body == PNG
    assert ask(open_server, "/monitor?token=%E4").status == 404  # no ASCII
    assert ask(open_server, link).status == 200
    # Whatever other computers call this one.
    assert ask(open_server, link, Host=f"scanner-pc:{open_server.port}").status == 200
    for page in ("screen", "monitor"):
        for query in ("", "token=", "token=x", f"token={token}x", f"other={token}"):
            with pytest.raises(InvalidStatus, match="403"), socket_of(open_server, page, query):
                pass
        with Client(open_server, page) as client:
            client.wait_for(bool)


def test_a_host_may_be_named_in_capitals(tmp_path):
    with serving(made(tmp_path), "LOCALHOST", 0) as found:
        assert urlsplit(found.link("monitor")).hostname == "localhost"
        assert ask(found, "/monitor", Host=f"localhost:{found.port}").status == 200


def test_each_server_has_its_own_token(open_server, tmp_path):
    other = Server(made(tmp_path), "0.0.0.0", 0)  # noqa: S104
    with closing(other._socket):
        assert path_of(other.link("screen")) != path_of(open_server.link("screen"))


@pytest.mark.parametrize("page", ["screen", "monitor"])
def test_pages_of_others_cannot_open_a_socket(server, page):
    ours, pages = f"127.0.0.1:{server.port}", server.pages
    origins = [None, "null", "http://evil.example", f"http://127.0.0.1:{server.port + 1}"]
    origins += [f"http://{ours}.evil.example", "http://127.0.0.1", "http://[", ours]
    for origin in origins:
        with pytest.raises(InvalidStatus, match="403"), socket_of(server, page, origin=origin):
            pass
    # A name of theirs that they have let point to this computer: DNS rebinding.
    name = f"evil.example:{server.port}"
    with socket.create_connection(("127.0.0.1", server.port), WAIT) as end:
        keys = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        keys += "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        asked = f"GET /{page}/socket HTTP/1.1\r\nHost: {name}\r\nOrigin: http://{name}\r\n{keys}"
        end.sendall(f"{asked}\r\n".encode())
        assert b" 403 " in end.recv(1000).splitlines()[0]
    assert pages.commands == []
    assert pages.screen.about["pages"] == 0


def test_a_page_is_told_what_changes_and_a_new_one_what_is_so_now(server):
    with Client(server, "monitor") as first:
        first.wait_for(lambda state: state == server.pages.state)
        server.pages.state = {"number": 7}
        server.changed("monitor")
        first.wait_for(lambda state: state == {"number": 7})
        with Client(server, "monitor") as second:
            second.wait_for(lambda state: state == {"number": 7})
    with Client(server, "screen") as screen:
        assert screen.wait_for(bool)["view"] == "instructions"
        server.pages.screen.fixate()
        screen.wait_for(lambda state: state["view"] == "fixation")
    with Client(server, "screen") as again:
        assert again.wait_for(bool)["view"] == "fixation"


def test_pages_that_open_hide_and_close_are_known(server):
    screen = server.pages.screen
    with Client(server, "screen") as one, Client(server, "screen") as other:
        until(lambda: screen.about["visible"] == 2)
        one.say(visible=False)
        until(lambda: screen.about["visible"] == 1)
        assert (screen.visible, screen.about["pages"]) == (True, 2)
        other.say(visible=False)
        until(lambda: not screen.visible)
    until(lambda: screen.about["pages"] == 0)


def test_the_way_to_a_page_is_timed(server):
    screen = server.pages.screen
    with Client(server, "screen"):
        until(lambda: [each["trip"] for each in screen._pages.values() if each["trip"] > 0])


def test_commands_are_handed_over_as_they_are(server):
    with Client(server, "monitor") as monitor:
        monitor.say(command="bad", run=1, trial=2)
        until(lambda: server.pages.commands)
    assert server.pages.commands == [{"command": "bad", "run": 1, "trial": 2}]
    server.pages.commands.clear()


HUGE = "9" * 400
WRONG = [
    *('"text"', "[1]", "7", "null", "{}", '{"pong": []}', '{"pong": {"a": 1}}', '{"pong": 99}'),
    *('{"visible": "yes"}', '{"visible": null}', '{"seen": "1", "delay": 1}', '{"seen": 1}'),
    *('{"seen": 1, "delay": -1}', '{"seen": 1, "delay": NaN}', f'{{"seen": 1, "delay": {HUGE}}}'),
    *('{"key": 1, "ago": 1}', '{"key": "1", "ago": NaN}', f'{{"key": "1", "ago": {HUGE}}}'),
    *('{"key": "1", "ago": null}', f'{{"key": "{HUGE}", "ago": 1}}', '{"test": {}}', '{"test": 1}'),
    '{"test": {"frame_rate": Infinity, "onset_error": [1, 2]}}',
    '{"test": {"frame_rate": 60, "onset_error": [1, NaN]}}',
    '{"test": {"frame_rate": 60, "onset_error": [1, 2, 3]}}',
    f'{{"test": {{"frame_rate": {HUGE}, "onset_error": [1, 2]}}}}',
]


def test_messages_of_wrong_types_are_ignored(server):
    screen, keys = server.pages.screen, []
    screen.pressed = lambda *key: keys.append(key)
    with Client(server, "screen") as page:
        until(lambda: screen.visible)
        for text in WRONG:
            page.socket.send(text)
        page.say(key="1", ago=250)
        until(lambda: keys)
        assert page.is_open
    assert keys == [("1", 0.25)]
    assert screen.about["frame_rate"] is None


@pytest.mark.parametrize("page", ["screen", "monitor"])
@pytest.mark.parametrize(
    "message", ["no JSON", "[" * 9000, "x" * 20_000, b"{}"], ids=["text", "deep", "long", "bytes"]
)
def test_what_is_no_message_of_a_page_ends_that_connection_alone(server, page, message):
    with Client(server, "monitor") as other, socket_of(server, page) as strange:
        strange.send(message)
        with pytest.raises(ConnectionClosed):
            while True:
                strange.recv(WAIT)
        until(lambda: server.pages.screen.about["pages"] == 0)  # or it would be waited for
        server.pages.state = {"number": len(message)}
        server.changed("monitor")
        other.wait_for(lambda state: state == {"number": len(message)})
    assert server.pages.commands == []


def test_a_page_whose_state_cannot_be_told_is_closed_and_not_left_with_an_old_one(tmp_path, capfd):
    pages = made(tmp_path)
    with serving(pages) as server:
        with Client(server, "monitor") as page:
            page.wait_for(bool)
            pages.state = None
            server.changed("monitor")
            until(lambda: not page.is_open)
        pages.state = {"number": 2}
        with Client(server, "monitor") as page:
            page.wait_for(lambda state: state == {"number": 2})
    assert "TypeError" in capfd.readouterr().err


def test_a_monitor_that_never_reads_holds_up_nobody_and_fills_no_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(servers, "PAUSE", 0.0)
    pages, large, count = made(tmp_path), "x" * 500_000, 60
    with ExitStack() as stuck, serving(pages) as server:
        with Client(server, "monitor") as other:
            stuck.enter_context(socket_of(server, "monitor", max_queue=1))
            tracemalloc.start()
            for number in range(count):
                pages.state = {"number": number, "large": large}
                server.changed("monitor")
                other.wait_for(lambda state, number=number: state["number"] == number)
                other.messages.clear()
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert most < count * len(large) / 3
        server.__exit__()  # it ends all the same
        assert not server._thread.is_alive()


def test_the_last_state_reaches_pages_before_the_server_ends(tmp_path):
    pages = made(tmp_path)
    with serving(pages) as server:
        with Client(server, "monitor") as page:
            page.wait_for(bool)
            pages.state = {"phase": "over"}
            server.changed("monitor")
            server.__exit__()
            until(lambda: not page.is_open)
            assert page.messages[-1] == {"phase": "over"}
        server.changed("monitor")  # nobody is there, and nothing happens
        with pytest.raises(OSError):
            ask(server, "/monitor")


def test_changes_are_told_from_any_thread_and_the_newest_counts(server):
    def change(number: int) -> None:
        for _ in range(50):
            server.changed("monitor")

    with Client(server, "monitor") as page:
        page.wait_for(bool)
        threads = [threading.Thread(target=change, args=(number,)) for number in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        server.pages.state = {"number": "last"}
        server.changed("monitor")
        page.wait_for(lambda state: state == {"number": "last"})


def test_a_port_that_is_taken_is_refused_if_it_was_asked_for(server, tmp_path, monkeypatch):
    pages = made(tmp_path)
    reason = f"pages cannot be served at 127.0.0.1, port {server.port}: Address already in use"
    with pytest.raises(BciiglError, match=reason):
        Server(pages, port=server.port)
    monkeypatch.setattr(servers, "PORT", server.port)
    other = Server(pages)
    with closing(other._socket):
        assert other.port != server.port


@pytest.mark.parametrize(
    ("host", "port", "reason"),
    [
        ("192.0.2.1", 0, "Cannot assign requested address"),
        ("127.0.0.1", 70_000, "port must be 0-65535"),
    ],
)
def test_an_address_that_cannot_be_is_refused(tmp_path, host, port, reason):
    message = f"pages cannot be served at {host}, port {port}: .*{reason}"
    with pytest.raises(BciiglError, match=message):
        Server(made(tmp_path), host, port)


def test_links_name_addresses_of_version_6_as_browsers_want_them(tmp_path):
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    with serving(made(tmp_path), "::1", 0) as server:
        assert server.link("screen") == f"http://[::1]:{server.port}/screen"
        with Client(server, "monitor") as page:
            page.wait_for(bool)


def test_a_state_is_told_as_json(server):
    server.pages.state = {"words": "</script>é", "none": None}
    server.changed("monitor")
    with Client(server, "monitor") as page:
        page.wait_for(lambda state: state == server.pages.state)
    json.dumps(server.pages.screen.snapshot(), allow_nan=False)
