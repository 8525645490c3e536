"""Pages of others, and protocols with code in their texts, in a real browser."""

import functools
import http.server
import socket
import threading

import pytest
from browsers import launched
from page_clients import until
from recordings import small

from bciigl.brain.events import Event
from bciigl.live.stage import Stage
from bciigl.live.state import SessionState

pytestmark = pytest.mark.slow

DRAWN = "() => new Promise((go) => requestAnimationFrame(() => setTimeout(go)))"
"""Waits until what has changed is drawn."""
SIZES = [(390, 844), (844, 390), (1366, 768), (1920, 1080), (800, 600)]
CODE = "<img src=x onerror=hacked=1>"
# One white pixel.
GIF = bytes.fromhex("47494638396101000100800000ffffff0000002c00000000010001000002024401003b")
ATTACK = """<!doctype html><title>hostile</title><iframe src="http://{host}/monitor"></iframe>
<script>
const found = {{ sockets: [], read: [], frames: 0 }};
for (const path of ["/monitor/socket", "/screen/socket"]) {{
  const socket = new WebSocket("ws://{host}" + path);
  socket.onopen = () => {{
    found.sockets.push(path);
    for (const command of ["start", "stop", "truth"]) socket.send(JSON.stringify({{ command }}));
  }};
}}
const body = JSON.stringify({{ command: "start" }});
for (const path of ["/monitor", "/monitor/socket", "/"]) {{
  fetch("http://{host}" + path, {{ method: "POST", mode: "no-cors", body }}).catch(() => 0);
  fetch("http://{host}" + path).then((answer) => found.read.push(answer.url), () => 0);
}}
window.found = found;
</script>"""


@pytest.fixture
def chromium():
    with launched() as found:
        yield found


def stage_of(tmp_path, folder="", host="127.0.0.1", **sections):
    """Return a rehearsal's stage, which keeps whether it was stopped."""
    state = SessionState(small(**sections), "rehearsal", 20.0)
    stopped = threading.Event()
    stage = Stage(state, folder=folder, host=host, port=0, waits=True, stop=stopped.set)
    stage.stopped = stopped
    return stage


def test_a_page_of_another_origin_can_neither_steer_nor_read(chromium, tmp_path):
    with stage_of(tmp_path) as stage:
        gate = threading.Thread(target=stage.gate, args=(1,), daemon=True)
        gate.start()
        host = f"127.0.0.1:{stage.server.port}"
        (tmp_path / "hostile.html").write_text(ATTACK.format(host=host))
        quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": print})
        handler = functools.partial(quiet, directory=str(tmp_path))
        other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=other.serve_forever, daemon=True).start()
        page = chromium.new_page()
        # The same name, too: then only the port tells them apart.
        for name in ("127.0.0.1", "localhost"):
            page.goto(f"http://{name}:{other.server_port}/hostile.html")
            page.wait_for_timeout(1000)
            assert page.evaluate("window.found") == {"sockets": [], "read": [], "frames": 0}
            assert not any("monitor" in each.title().lower() for each in page.frames[1:])
        other.shutdown()
        assert stage.state.phase == "ready", "it was started"
        assert not stage.stopped.is_set()
        assert not stage.state.truth_shown
        # Our own monitor can.
        page.goto(stage.server.link("monitor"))
        page.click("#start")
        gate.join(20)
        assert not gate.is_alive()


def test_code_in_a_protocol_is_shown_as_text(chromium, tmp_path):
    task = {"options": [CODE, "brick", "<b>cloud</b>"]}
    texts = {"instructions": f"Hello {CODE} {{options}}", "guess": f"{CODE}: {{option}}"}
    with stage_of(tmp_path, task=task, screen=texts) as stage:
        complaints = []
        screen, monitor = chromium.new_page(), chromium.new_page()
        for page, name in ((screen, "screen"), (monitor, "monitor")):
            page.on("console", lambda each: complaints.append(each.text))
            page.on("pageerror", lambda each: complaints.append(str(each)))
            page.goto(stage.server.link(name))
        until(lambda: stage.screen.visible)
        screen.wait_for_selector("body[data-view=instructions]")
        assert CODE in screen.text_content("#text")
        place = {"session": "train", "run": 1}
        stage.line({**place, "begun": True})
        trial = {"action": 0, "propensity": 0.3, "explored": True, "catch": False}
        stage.line({**place, "decision": 0, **trial})
        stage.line({**place, "fault": CODE, "number": None, "seconds": 1.0})
        stage.say(CODE)
        stage.screen._show_event(Event("perception", 21.0, CODE))
        screen.wait_for_selector("body[data-view=guess]")
        assert screen.text_content("#text") == f"{CODE}: {CODE}"
        monitor.locator("#warnings li").get_by_text(CODE).wait_for()
        assert monitor.text_content("#guess") == CODE
        assert monitor.text_content("#note") == CODE
        for page in (screen, monitor):
            assert page.evaluate("window.hacked") is None
            assert page.locator("main img[src=x], main b:has-text('cloud') b").count() == 0
            assert page.locator("body script").count() == 0
        assert complaints == []


def test_words_are_shown_below_an_image(chromium, tmp_path):
    (tmp_path / "brick.gif").write_bytes(GIF)
    sections = {"task": {"options": ["apple", "brick", "cloud"]}, "timing": {"together": True}}
    sections["screen"] = {"images": {"brick": "brick.gif"}}
    with stage_of(tmp_path, folder=tmp_path, host="0.0.0.0", **sections) as stage:  # noqa: S104
        link = stage.server.link("screen").replace(socket.gethostname(), "127.0.0.1")
        page = chromium.new_page()
        page.goto(link)
        until(lambda: stage.screen.visible)
        stage.screen._show_event(Event("perception", 21.0, "brick"))
        page.wait_for_selector("body[data-view=guess]")
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            page.evaluate(DRAWN)
            image, text = (page.locator(each).bounding_box() for each in ("#image", "#text"))
            assert page.evaluate("document.getElementById('image').naturalWidth") == 1
            assert page.text_content("#text").split("\n") == ["Guess: brick", "Right or wrong?"]
            assert 0 <= image["y"] and image["y"] + image["height"] <= text["y"] + 1
            assert text["y"] + text["height"] <= height + 1
        stage.screen._show_event(Event("perception", 21.0, "cloud"))
        page.wait_for_function("document.getElementById('image').hidden")


@pytest.mark.parametrize("language", ["en", "de"])
def test_all_that_the_screen_says_is_in_its_window(chromium, tmp_path, language):
    options = ["a mouse that runs across a large garden", "brick", "cloud"]
    live = {"answers": ["1", "2"], "trigger": "key", "trigger_from": "5"}
    sections = {"screen": {"language": language}, "human": {"key_press": True}, "live": live}
    with stage_of(tmp_path, task={"options": options}, **sections) as stage:
        page = chromium.new_page()
        page.goto(stage.server.link("screen"))
        for view, kind in (("instructions", None), ("guess", "perception"), ("judge", "judgment")):
            if kind is not None:
                stage.screen._show_event(Event(kind, 21.0, options[0]))
            page.wait_for_selector(f"body[data-view={view}]")
            for width, height in SIZES:
                page.set_viewport_size({"width": width, "height": height})
                page.evaluate(DRAWN)
                box, footer = (page.locator(each).bounding_box() for each in ("#text", "footer"))
                lowest = footer["y"] if kind is None else height
                assert 0 <= box["x"] and box["x"] + box["width"] <= width + 1
                assert 0 <= box["y"] and box["y"] + box["height"] <= lowest + 1
