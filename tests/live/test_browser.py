"""A rehearsal with both pages in a real browser, from the command to the dataset."""

import re
import subprocess
import sys
from contextlib import contextmanager

import pytest
from browsers import launched

from bciigl.recording import open_dataset

SIZES = {"phone": (390, 844), "tablet": (820, 1180), "laptop": (1366, 768)}
SIZES["projector"] = (1920, 1080)
TRIALS, CLOSED = 7, 4
"""How many there are, and in which the screen is closed."""
SETTINGS = {
    "task.trials": TRIALS,
    "timing.isi": 4.0,
    "brain.region.size": 2,
    "live.realign": "false",
    "live.trigger": "key",
    "human.key_press": "true",
    "learners": "[ai_igl]",
}
RECORD = "document.addEventListener('shown', event => window.record(event.detail))"

pytestmark = pytest.mark.slow


@contextmanager
def rehearsal(out, **changes):
    """Give a running `bciigl rehearse` and the links that it prints."""
    call = [sys.executable, "-m", "bciigl.cli.main", "rehearse", "--out", str(out), "--port", "0"]
    call += ["--speed", "5", "--noise", "0.3", "--seed", "3"]
    for name, value in (SETTINGS | changes).items():
        call += ["--set", f"{name}={value}"]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(call, text=True, **pipes) as process:
        links = {}
        for line in process.stderr:
            if found := re.search(r"http://\S+/(screen|monitor)$", line.strip()):
                links[found[1]] = found[0]
            if len(links) == 2:
                break
        try:
            yield process, links
        finally:
            process.terminate()
            process.communicate(timeout=30)


class Browser:
    """Pages of several windows, with all that they showed, asked for and complained of."""

    def __init__(self, browser):
        self._browser = browser
        self.shown, self.complaints, self.requests = [], [], []

    def window(self, size):
        """Return a window of some size."""
        width, height = SIZES[size]
        look = {"viewport": {"width": width, "height": height}}
        look["color_scheme"] = "dark" if size == "tablet" else "light"
        context = self._browser.new_context(**look)
        context.expose_function("record", lambda each: self.shown.append(each))
        context.add_init_script(RECORD)
        return context

    def open(self, context, link):
        """Open a page in a window."""
        page = context.new_page()
        page.on("console", lambda each: self.complaints.append(each.text))
        page.on("pageerror", lambda each: self.complaints.append(str(each)))
        page.on("request", lambda each: self.requests.append(each.url))
        page.goto(link)
        return page


@pytest.fixture
def browser():
    with launched() as found:
        yield Browser(found)


def events(out):
    return open_dataset(out).events("train", 1)


def test_a_rehearsal_on_both_pages_is_what_the_dataset_has(browser, tmp_path):
    """The test is trigger and person: it presses keys, and closes the screen in one trial."""
    out, answers = tmp_path / "out", {}
    with rehearsal(out) as (process, links):
        window = browser.window("laptop")
        screen = browser.open(window, links["screen"])
        monitors = {size: browser.open(browser.window(size), links["monitor"]) for size in SIZES}
        screen.wait_for_selector("body[data-view=instructions]")
        assert "7, 8, 9" in screen.text_content("#text")
        monitors["laptop"].click("#start")
        monitors["laptop"].get_by_text("press 5 on the participant").first.wait_for()
        screen.keyboard.press("5")
        known, closed = 0, False
        while process.poll() is None:
            monitors["laptop"].wait_for_timeout(20)
            new, known = browser.shown[known:], len(browser.shown)
            for each in new:
                if each["view"] == "judge":
                    answers[each["id"]] = "12"[len(answers) % 2]
                    screen.keyboard.press(answers[each["id"]])
                if each["view"] == "guess" and len(answers) == CLOSED - 1 and not closed:
                    closed = True
                    screen.close()
                    monitors["phone"].get_by_text("screen is closed").first.wait_for()
                    screen = browser.open(window, links["screen"])
                    screen.wait_for_selector("body[data-view]")
                    monitors["phone"].wait_for_selector("#alarm", state="hidden")
                    monitors["phone"].close()
                    monitors["phone"] = browser.open(browser.window("phone"), links["monitor"])
                for name, (width, height) in SIZES.items():  # as the person's window may be
                    if each["id"] % len(SIZES) == [*SIZES].index(name):
                        screen.set_viewport_size({"width": width, "height": height})
        screen_wide = screen.evaluate("document.documentElement.scrollWidth > window.innerWidth")
        assert not screen_wide, "the screen should not scroll"
        colours = {
            name: page.evaluate("getComputedStyle(document.body).backgroundColor")
            for name, page in monitors.items()
        }
        assert colours["tablet"] != colours["laptop"] == colours["phone"]
        for monitor in monitors.values():
            monitor.get_by_text(f"{TRIALS} of {TRIALS}").first.wait_for()
            wide = monitor.evaluate("document.documentElement.scrollWidth > window.innerWidth")
            assert not wide, "a monitor should not scroll sideways"
            listed = monitor.locator("#trials [data-trial]").count()
            assert listed == TRIALS
    assert process.returncode == 0
    complaints = [each for each in browser.complaints if "WebSocket connection" not in each]
    assert complaints == []
    assert {each.split("/")[2].split(":")[0] for each in browser.requests} == {"127.0.0.1"}
    check_against_dataset(browser.shown, answers, out)


def check_against_dataset(shown, answers, out):
    """Compare what the screen showed, and which keys were pressed there, with the dataset.

    Of the trial in which the screen was closed, and of one that may have begun before it was open
    again, only that they are not learned from is known.
    """
    dataset, recorded = open_dataset(out), events(out)
    views = {"imagination": "imagine", "perception": "guess", "judgment": "judge"}
    drawn = list({each["id"]: each for each in shown if each["view"] in views.values()}.values())
    seen = by_trial(drawn, [each["view"] == "imagine" for each in drawn])
    kept = by_trial(recorded, [each.kind == "imagination" for each in recorded])
    whole = [each for each in kept if len(each) == 3 and each[0].left_out == "n/a"]
    after = sum(each[0].trial > CLOSED for each in whole)
    assert [each[0].trial for each in whole][: CLOSED - 1] == list(range(1, CLOSED))
    assert after >= TRIALS - CLOSED - 1
    assert "unseen" in {each.left_out for each in recorded if each.trial == CLOSED}
    assert dataset.sessions["train"].interactions.trials == len(whole)
    keys = dataset.keys("train", 1)
    for mine, theirs in zip(seen[: CLOSED - 1] + seen[-after:], whole, strict=True):
        assert [each["view"] for each in mine] == [views[each.kind] for each in theirs]
        assert mine[1]["text"] == f"Guess: {theirs[1].guess}"
        for each, event in zip(mine, theirs, strict=True):
            late = event.onset - dataset_plan(dataset, event)
            # In a fast rehearsal time stands still while a page draws. What is more than the page's
            # delay is the way there, and a server that has other things to do: two frames, or ten
            # on a busy computer.
            assert each["delay"] / 1000 <= late + 1e-6 < each["delay"] / 1000 + 10 / 60
        assert keys[theirs[0].trial - 1].match == (answers[mine[2]["id"]] == "1")


def by_trial(rows, begins):
    """Return rows as one list for each trial, given which rows begin one."""
    starts = [place for place, begin in enumerate(begins) if begin]
    return [rows[one:other] for one, other in zip(starts, [*starts[1:], None], strict=True)]


def dataset_plan(dataset, event):
    from bciigl.protocol.timetable import timetable

    when = timetable(dataset.protocol, TRIALS, "train", 1)
    return float(when.onsets[event.kind][event.trial - 1])


def test_ctrl_c_ends_scanner_session_and_pages(tmp_path):
    with rehearsal(tmp_path / "out") as (process, links):
        process.send_signal(2)
        _, told = process.communicate(timeout=30)
    assert "stopped" in told
    assert process.returncode not in (0, None)
    assert not list(tmp_path.glob(".volumes_*"))


def test_stop_button_ends_the_session(browser, tmp_path):
    with rehearsal(tmp_path / "out", **{"live.trigger": "volume"}) as (process, links):
        monitor = browser.open(browser.window("laptop"), links["monitor"])
        monitor.click("#start")
        monitor.wait_for_selector("#trials [data-trial]")
        monitor.click("#stop")
        monitor.click("#stop-yes")
        process.communicate(timeout=30)
    assert process.returncode not in (0, None)
