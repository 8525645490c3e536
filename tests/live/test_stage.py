"""The operator steers a session, and no page can tell its agent anything."""

import json
import threading
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest
from browsers import launched
from page_clients import WAIT, Client, until
from recordings import REGION, small

from bciigl.base.progress import silent
from bciigl.brain.events import Event
from bciigl.cli.pages import Terminal, watching
from bciigl.live import server as servers
from bciigl.live.stage import Stage
from bciigl.live.state import SessionState
from bciigl.loop import Agent, record
from bciigl.protocol.timetable import timetable
from bciigl.recording import open_dataset
from bciigl.recording.trial import NOT_ESTIMATED, Trial
from bciigl.source.display import ClockDisplay, NotSeenError
from bciigl.source.live import Arrival, Feed, LiveSource
from bciigl.source.triggers import Triggers

OPTIONS = ["apple", "brick", "cloud"]
SLOW = 0.001
"""The speed of sessions whose time is that of their last volume."""
KEY = {"trigger": "key", "trigger_from": "t"}


class GivenFeed(Feed):
    """A feed of volumes that the test gives it."""

    def begin_run(self, session, run, past) -> None:
        """Wait for the test."""

    def close(self) -> None:
        """Leave."""


def source_of(protocol, draw=silent, keep=silent) -> LiveSource:
    """Return a live source of volumes that the test gives it."""
    display = lambda keep, elapsed: ClockDisplay(keep, elapsed, draw)  # noqa: E731
    return LiveSource(protocol, REGION, GivenFeed(), display, keep=keep, speed=SLOW)


class Live:
    """A live session with its pages, whose volumes and events the test gives."""

    def __init__(self, kind: str = "rehearsal", past=(), sections=None, **how) -> None:
        self.protocol = small(task={"options": OPTIONS}, **(sections or {}))
        self.state, self.stopped = SessionState(self.protocol, kind, SLOW), threading.Event()
        truth = {"truth": lambda place: None} if kind == "rehearsal" else {}
        self.stage = Stage(self.state, port=0, stop=self.stopped.set, **(truth | how))
        self.notes, self.lines = [], list(past)
        terminal, triggers = Terminal(self.state, self.notes.append), Triggers(self.stage.draw)
        self.stage.notify, self.stage.fallback = terminal.note, terminal.draw
        self.triggers, watched = triggers, watching(self.stage, terminal, triggers)
        self.watched = watched
        self.source = source_of(self.protocol, triggers.draw, self._keep)
        for line in past:
            watched.line(line)
        self.source.gate, self.source.display.paused = watched.gate, watched.paused
        watched.begin(self.source)
        self.source.notify, self.source.past = watched.notify, past
        self.when = timetable(self.protocol, 4, "train", 1)
        self._thread = None

    def _keep(self, session: str, run: int, line: dict) -> None:
        self.lines.append({"session": session, "run": run, **line})
        self.watched.line(self.lines[-1])

    def begin(self, run: int = 1) -> None:
        """Begin a run, as soon as its gate is passed."""
        trials = 5 - run
        frames = timetable(self.protocol, trials, "train", run).frames(1.5)
        self.source.participant("train", run, trials)
        begin = (self.source.begin_run, ("train", run, frames))
        self._thread = threading.Thread(target=begin[0], args=begin[1], daemon=True)
        self._thread.start()

    def begun(self, run: int = 1) -> "Live":
        """Begin a run, and wait until it has begun."""
        if self._thread is None:
            self.begin(run)
        self._thread.join(WAIT)
        assert not self._thread.is_alive()
        self._thread = None
        return self

    def run_until(self, seconds: float) -> None:
        """Let volumes come until a time of the run."""
        known = self.lines_with("volume")
        for index in range(len(known), int(seconds / 1.5)):
            self.source.feed.take(Arrival(index, np.full(len(REGION), 100.0 + index)))

    def show(self, kind: str, trial: int = 0, content=None) -> float | None:
        """Show an event that is due, and return when it was seen."""
        event = Event(kind, float(self.when.onsets[kind][trial]), content)
        self.run_until(event.onset + 2.0)
        self.source.announce(event)
        return self.source.onset(event)

    def decide(self, trial: int, action: int) -> None:
        """Guess."""
        line = Trial(NOT_ESTIMATED, action, 0.5, False, False, NOT_ESTIMATED).as_dict()
        self._keep("train", self.source.place[1], {"decision": trial, **line})

    def lines_with(self, name: str) -> list[dict]:
        """Return the lines of the present run that have something."""
        run = self.source.place[1]
        return [line for line in self.lines if name in line and line["run"] == run]

    @property
    def monitor(self) -> dict:
        """What a monitor is told."""
        return json.loads(json.dumps(self.stage.monitor(), allow_nan=False))

    def say(self, what: str, **more) -> None:
        """Give a command."""
        self.stage.command({"command": what, **more})

    def look(self, visible: bool = True, page: str = "page") -> None:
        """Have a page of the participant's screen, which answers at once."""
        screen = self.stage.screen
        screen.opened(page)
        screen.heard(page, {"visible": visible})

        def answer() -> None:
            screen.sending(page)
            number = screen.snapshot()["id"]
            threading.Timer(0.02, screen.heard, [page, {"seen": number, "delay": 0}]).start()

        screen.changed = answer


@contextmanager
def live(*given, **how):
    """Give a live session, and end it."""
    session = Live(*given, **how)
    with session.stage:
        yield session
        session.source.close()


def test_a_rehearsal_begins_when_the_operator_says_so():
    with live(waits=True) as session, Client(session.stage.server, "monitor") as page:
        session.begin()
        state = page.wait_for(lambda each: each["note"].startswith("press Start on the monitor"))
        assert state["phase"] == "ready"
        assert state["controls"] == ["start", "stop", "truth"]
        assert session.lines == []
        page.say(command="start")
        state = page.wait_for(lambda each: each["note"] == "run 1: waiting for its first volume")
        assert state["phase"] == "waiting"
        assert state["controls"] == ["pause", "stop", "truth"]
        session.begun()
        assert session.notes[-1] == "run 1: waiting for its first volume"
        session.run_until(3.0)
        state = page.wait_for(lambda each: each["phase"] == "running")
        assert state["controls"] == ["pause", "stop", "bad", "truth"]
        # It is asked for once.
        session.begun(run=2)
        assert session.stage.screen.snapshot()["small"] == "Part 2 of 2"


def test_a_session_at_a_scanner_waits_for_the_participant_s_screen():
    with live("session", needs_screen=True) as session:
        session.begin()
        note = "waiting for the participant's screen: " + session.stage.server.link("screen")
        until(lambda: session.monitor["note"] == note)
        assert session.monitor["screen"] == {
            "focused": False,
            "keys": False,
            **{"pages": 0, "visible": 0, "frame_rate": None, "onset_error": None},
            **{"used": False, "link": session.stage.server.link("screen")},
        }
        with Client(session.stage.server, "screen") as page:
            session.begun()
            assert session.monitor["screen"]["used"]
            assert "truth" not in session.monitor["controls"]
            assert page.wait_for(bool)["view"] == "instructions"
            session.run_until(3.0)
            page.wait_for(lambda each: each["view"] == "fixation")


def test_a_key_on_the_screen_is_the_trigger_of_a_rehearsal():
    sections = {"live": KEY}
    with live(sections=sections) as session, Client(session.stage.server, "screen") as page:
        until(lambda: session.stage.screen.visible)
        page.say(key="t", ago=1)  # too early: it is of no run
        until(session.triggers.triggered.is_set)
        for run in (1, 2):
            session.begin(run)
            words = f"run {run}: press t on the participant's screen, as a scanner would"
            until(lambda words=words: session.monitor["note"] == words)
            page.say(key="x", ago=1)
            page.say(key="t", ago=1)
            session.begun(run)


def test_without_a_screen_a_rehearsal_waits_for_no_key():
    with live(sections={"live": KEY}) as session:
        session.begun()
        assert session.notes == ["run 1: waiting for its first volume"]
        assert not session.stage.is_drawn()
        assert session.show("imagination", content="cloud") is not None
        assert session.notes[-1] == "imagine cloud"  # it is shown in the terminal


@pytest.mark.parametrize("kind", ["simulation", "recording"])
def test_the_screen_of_a_session_without_a_gate_counts_runs_and_trials(kind):
    words = {"imagine": "{trial} of {trials}, run {run} of {runs}"}
    protocol = small(task={"options": OPTIONS}, screen=words)
    state = SessionState(protocol, kind, SLOW, sessions=("train", "test"))
    with Stage(state, port=0, folder=None) as stage:
        for session, run, trials, small_text in [
            ("train", 1, 4, "Part 1 of 2"),
            ("train", 2, 3, "Part 2 of 2"),
            ("test", 1, 3, "Part 1 of 1"),
        ]:
            place = {"session": session, "run": run}
            stage.line({**place, "begun": True})
            assert stage.screen.snapshot()["small"] == small_text
            stage.line({**place, "volume": 0, "values": [1.0], "arrived": 1.5})
            assert stage.screen.snapshot()["view"] == "fixation"
            planned = float(timetable(protocol, trials, session, run).onsets["imagination"][1])
            stage.line({**place, "shown": "imagination", "planned": planned, "onset": planned})
            told = stage.screen.snapshot()["text"]
            assert told == f"2 of {trials}, run {run} of {small_text[-1]}"
            stage.line({**place, "written": {}})


def test_pages_see_what_a_simulated_person_sees_but_not_what_they_think():
    with live() as session:
        session.begun()
        session.decide(0, 1)
        for kind in ("imagination", "perception", "judgment"):
            planned = float(session.when.onsets[kind][0])
            session._keep("train", 1, {"shown": kind, "planned": planned, "onset": planned})
            view = session.stage.screen.snapshot()
            told = {"imagination": "Imagine", "perception": "Guess: brick"}
            assert view["text"] == told.get(kind, "Right or wrong?")


def test_events_are_seen_on_the_screen_once_it_is_open_in_a_run():
    with live() as session:
        session.begun()
        assert not session.stage.is_drawn()
        session.look()
        assert session.stage.is_drawn()
        assert session.show("imagination") == pytest.approx(
            session.when.onsets["imagination"][0], abs=2
        )
        assert session.stage.screen.snapshot()["view"] == "imagine"
        session.stage.screen.left("page")
        assert session.show("perception", content="apple") is None
        assert session.stage.is_drawn()  # the person looks there, though it is closed
        session.begun(run=2)
        assert not session.stage.is_drawn()


@pytest.mark.parametrize("how", ["hidden", "closed"])
def test_a_screen_that_goes_in_a_run_alarms_and_its_trials_are_left_out(how):
    with live("session", needs_screen=True) as session:
        session.look()
        session.begun()
        assert session.monitor["alarm"] == ""
        session.run_until(float(session.when.starts[1]) + 3.0)
        session.decide(0, 0)
        session.decide(1, 2)
        assert session.show("imagination", 1) is not None
        if how == "hidden":
            session.look(visible=False)
        else:
            session.stage.screen.left("page")
        alarm = session.monitor["alarm"]
        assert alarm.startswith(f"The participant's screen is {how}: nothing is seen")
        assert session.stage.server.link("screen") in alarm
        (first, second) = session.monitor["guesses"]
        assert (first["left_out"], second["left_out"]) == ("", "unseen")
        assert session.source.left_out == {1: "unseen"}
        words = [each["words"] for each in session.monitor["warnings"]]
        assert words == ["trial 2 is left out: unseen"]
        # What comes while it is away is not seen.
        assert session.show("perception", 1, "cloud") is None
        onset = float(session.when.onsets["perception"][1])
        assert session.monitor["warnings"][-1]["words"] == f"perception at {onset:g} s was not seen"
        with pytest.raises(NotSeenError):
            session.stage.draw(Event("judgment", onset, None))
        session.look()
        assert session.monitor["alarm"] == ""
        assert session.show("judgment", 1) is not None
        assert session.source.left_out == {1: "unseen"}


def test_a_screen_that_goes_between_runs_alarms_nobody():
    with live("session", needs_screen=True) as session:
        session.look()
        session.begun()
        session.stage.screen.left("page")  # before the first volume
        assert (session.monitor["alarm"], session.source.left_out) == ("", {})
        session.look()
        session.run_until(session.when.seconds)
        session._keep("train", 1, {"written": {}})
        session.source.report()
        session.stage.screen.left("page")
        assert (session.monitor["alarm"], session.source.left_out) == ("", {})


def test_a_session_pauses_and_continues_in_a_run():
    with live() as session:
        session.look()
        session.begun()
        session.run_until(3.0)
        session.say("continue")  # it is not paused
        assert session.monitor["phase"] == "running"
        session.say("pause")
        assert session.monitor["phase"] == "paused"
        assert session.monitor["controls"] == ["continue", "stop", "bad", "truth"]
        assert session.stage.screen.snapshot()["view"] == "paused"
        assert session.show("imagination") is None  # nothing is shown meanwhile
        assert session.stage.screen.snapshot()["view"] == "paused"
        session.stage.screen.left("page")  # the person may rest
        assert (session.monitor["alarm"], session.source.left_out) == ("", {})
        session.look()
        session.say("continue")
        assert session.monitor["phase"] == "running"
        assert session.stage.screen.snapshot()["view"] == "fixation"
        assert session.show("imagination", 1) is not None


def test_a_pause_between_runs_holds_the_next_one():
    with live() as session:
        session.begun()
        session.say("pause")  # while the first volume is waited for
        assert session.stage.screen.snapshot()["view"] == "paused"
        session.run_until(3.0)
        assert session.monitor["phase"] == "paused"  # and not as if events were shown
        assert session.stage.screen.snapshot()["view"] == "paused"
        session._keep("train", 1, {"written": {}})
        session.begin(2)
        until(lambda: session.monitor["note"] == "run 2: paused")
        assert session.monitor["phase"] == "paused"
        session.say("continue")
        session.begun(2)
        assert session.monitor["phase"] == "waiting"
        assert session.stage.screen.snapshot()["view"] == "rest"


def test_a_session_is_stopped_by_the_operator():
    with live(waits=True) as session, Client(session.stage.server, "monitor") as page:
        page.say(command="stop")
        assert session.stopped.wait(WAIT)
        page.wait_for(lambda each: each["note"] == "stopping")
        session.say("start")
        session.begun()
        session.stopped.clear()
        session.run_until(3.0)
        session.say("stop")
        assert session.stopped.is_set()


def test_pages_are_told_that_a_session_is_over_or_was_stopped():
    with ExitStack() as stack, live() as session:
        page, screen = (
            stack.enter_context(Client(session.stage.server, each))
            for each in ("monitor", "screen")
        )
        page.wait_for(bool)
        session.stage.__exit__(None)
        state = page.messages[-1]
        assert (state["phase"], state["controls"]) == ("over", ["truth"])
        assert screen.messages[-1]["view"] == "over"
    with pytest.raises(KeyboardInterrupt), live("session") as session:
        raise KeyboardInterrupt
    assert session.monitor["phase"] == "stopped"
    assert session.monitor["controls"] == []


@pytest.mark.parametrize("mark", ["marked bad", "unseen"])
def test_what_is_left_out_before_its_guess_stays_so_on_the_monitor(mark):
    with live("session", needs_screen=True) as session:
        session.look()
        session.begun()
        session.run_until(float(session.when.starts[0]) + 3.0)
        if mark == "unseen":
            session.stage.screen.left("page")
            session.look()
        else:
            session.say("bad", run=1, trial=1, marked=True)
        session.decide(0, 1)
        assert [each["left_out"] for each in session.monitor["guesses"]] == [mark]
        assert session.source.left_out == {0: mark}


def test_a_screen_that_goes_while_another_is_open_leaves_its_trial_out():
    with live("session", needs_screen=True) as session:
        session.look()
        session.begun()
        session.run_until(float(session.when.starts[0]) + 3.0)
        assert session.monitor["alarm"] == ""
        session.look(page="operator's")
        assert session.monitor["alarm"].startswith("2 screens are open, and nobody knows which")
        assert session.source.left_out == {}
        session.stage.screen.left("page")
        assert session.source.left_out == {0: "unseen"}
        assert session.monitor["alarm"] == ""


def test_a_trial_is_marked_bad_and_taken_back():
    with live() as session, Client(session.stage.server, "monitor") as page:
        session.begun()
        session.say("bad", run=1, trial=1)  # there is no trial yet
        session.run_until(float(session.when.starts[1]) + 3.0)
        session.decide(0, 0)
        for _ in range(2):  # as two monitors may
            page.say(command="bad", run=1, trial=1, marked=True)
        left_out = lambda each: [guess["left_out"] for guess in each["guesses"]]  # noqa: E731
        page.wait_for(lambda each: left_out(each) == ["marked bad"])
        assert session.source.left_out == {0: "marked bad"}
        page.say(command="bad", run=1, trial=1, marked=False)
        page.wait_for(lambda each: left_out(each) == [""])
        assert session.source.left_out == {}
        assert [(line["left_out"], line["why"]) for line in session.lines_with("left_out")] == [
            (0, "marked bad"),
            (0, ""),
        ]


@pytest.mark.parametrize(
    "wrong",
    [
        *({}, {"run": 1}, {"trial": 1}, {"run": 2, "trial": 1}, {"run": 1, "trial": 3}),
        *({"run": 1, "trial": 0}, {"run": 1, "trial": -1}, {"run": 1, "trial": 10**30}),
        *({"run": 1, "trial": "1"}, {"run": 1, "trial": 1.0}, {"run": 1, "trial": [1]}),
        *({"run": 1, "trial": None}, {"run": "1", "trial": 1}, {"run": [], "trial": 1}),
        *({"run": 1, "trial": 1, "marked": each} for each in (None, 1, "true", [])),
    ],
)
def test_only_trials_that_have_begun_can_be_marked(marking, wrong):
    marking.say("bad", **{"marked": True} | wrong)
    assert marking.source.left_out == {}


@pytest.fixture(scope="module")
def marking():
    """Give a session in its second trial."""
    with live() as session:
        session.begun()
        session.run_until(float(session.when.starts[1]) + 3.0)
        yield session


def test_what_was_not_seen_cannot_be_taken_back():
    with live("session", needs_screen=True) as session:
        session.look()
        session.begun()
        session.run_until(float(session.when.starts[0]) + 3.0)
        session.stage.screen.left("page")
        for marked in (True, False):
            session.say("bad", run=1, trial=1, marked=marked)
        assert session.source.left_out == {0: "unseen"}


@pytest.mark.slow
def test_a_monitor_draws_trials_that_are_left_out_before_their_guess():
    with live() as session, launched() as browser:
        session.begun()
        session.run_until(float(session.when.starts[1]) + 3.0)
        session.decide(0, 1)
        session.say("bad", run=1, trial=2, marked=True)
        page, complaints = browser.new_page(), []
        page.on("pageerror", lambda each: complaints.append(str(each)))
        page.goto(session.stage.server.link("monitor"))
        page.wait_for_selector("#trials [data-trial='2']")
        page.get_by_text("left out: marked bad").first.wait_for()
        assert page.text_content("#guess") == "brick"  # the last one that there was
        assert page.text_content("#trials [data-trial='2'] .option b") == ""
        assert complaints == []


def test_the_truth_can_be_asked_for_in_rehearsals_alone():
    for kind in ("session", "simulation", "recording"):
        with live(kind) as session:
            session.begun()
            assert "truth" not in session.monitor["controls"]
            session.say("truth")
            assert not session.monitor["truth_shown"]
    with live() as session:
        for shown in (True, False):
            session.say("truth")
            assert session.monitor["truth_shown"] == shown


STRANGE = [
    *({}, {"command": None}, {"command": []}, {"command": {}}, {"command": 1}, {"command": ""}),
    *({"command": "draw"}, {"command": "__exit__"}, {"command": "Start"}, {"cmd": "stop"}),
    {"command": "guess", "option": "cloud"},
]


def test_other_commands_do_nothing(marking):
    def told() -> dict:
        clock = ("elapsed", "seconds_left")
        return {name: each for name, each in marking.monitor.items() if name not in clock}

    before = told()
    for message in STRANGE:
        marking.stage.command(message)
    assert told() == before
    assert not marking.stopped.is_set()


def test_commands_that_cannot_be_given_now_do_nothing():
    with live(waits=True) as session:
        for what in ("pause", "continue", "bad"):
            session.say(what, run=1, trial=1)
        assert session.monitor["phase"] == "ready"
        assert not session.stage.is_paused()
        session.say("start")
        session.begun()
        session.say("start")
        session.stage.end()
        for what in ("start", "pause", "stop", "bad"):
            session.say(what, run=1, trial=1)
        assert session.monitor["phase"] == "over"
        assert not session.stopped.is_set()


def test_a_session_that_was_stopped_joins_its_run_with_its_screen():
    """There is no gate then; what was shown before is not shown again."""
    with live("session") as before:
        before.look()
        before.begun()
        before.decide(0, 1)
        before.show("imagination")
        before.show("perception", content="brick")
        past = list(before.lines)
    with live("session", past, needs_screen=True) as session:
        assert session.stage.screen.snapshot()["view"] == "fixation"
        assert session.stage.is_drawn()
        assert session.monitor["phase"] == "running"
        assert session.monitor["alarm"].startswith("The participant's screen is closed")
        session.look(visible=False)  # nothing is known of trials yet
        session.say("bad", run=1, trial=1)
        assert session.source.left_out == {}
        session.begun()
        assert session.show("judgment") is None
        session.look()
        assert session.show("imagination", 1) is not None
        assert session.monitor["alarm"] == ""
        session.stage.screen.left("page")
        assert session.source.left_out[1] == "unseen"


def test_a_key_before_the_session_begins_is_nobody_s():
    state = SessionState(small(live=KEY, human={"key_press": True}), "rehearsal")
    with Stage(state, port=0) as stage:
        triggers = Triggers(stage.draw)
        watching(stage, Terminal(state, [].append), triggers)
        with Client(stage.server, "screen") as page:
            page.say(key="t", ago=1)
            page.say(key="1", ago=1)
            page.say(test={"frame_rate": 60, "onset_error": [1, 2]})
            until(lambda: stage.screen.about["frame_rate"] == 60)
            assert page.is_open


# Nothing from a page reaches the agent, and nothing that is true reaches a page.


class Listening(Agent):
    """An agent that takes down all that it is given."""

    def __init__(self, heard: list) -> None:
        super().__init__(3)
        self._heard = heard

    def recall(self, past) -> bool:
        """Take it down."""
        self._heard.append(("recall", *(repr(each) for each in vars(past).values())))
        return True

    def begin_run(self, rng) -> None:
        """Take it down."""
        self._heard.append(("begin", str(rng.bit_generator.state)))
        super().begin_run(rng)

    def act(self, context):
        """Take it down, and guess."""
        self._heard.append(("act", context.tobytes()))
        return super().act(context)

    def observe(self, context, action, feedback, propensity, *, catch=False) -> None:
        """Take it down."""
        self._heard.append((context.tobytes(), action, feedback.tobytes(), propensity, catch))


def recorded(out, **how) -> list:
    """Record a session, and return what its agent was given."""
    sections = {"brain": {"region": {"size": 2}}, "estimate": "frame"}
    protocol, heard = small(task={"options": OPTIONS}, **sections), []
    record(protocol, out, agent=Listening(heard), **how)
    return heard


def contents(folder) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*")}


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """Give all messages of a session whose pages say whatever they can, and what its agent got.

    A session without pages is recorded before; it has the same person, whose truth it tells.
    """
    root = tmp_path_factory.mktemp("walked")
    alone = recorded(root / "alone")
    known = open_dataset(root / "alone")
    state = SessionState(known.protocol, "rehearsal", SLOW, sessions=("train", "test"))
    commands = [{"command": each} for each in ("start", "pause", "continue", "stop", "guess")]
    commands += [{"command": "bad", "run": 1, "trial": 1, "marked": True}]
    commands += [{"command": "bad", "match": True}]
    commands += [{"truth": "cloud", "reward": 1, "action": 2}, {"command": "truth", "to": "agent"}]
    # A live session's, so that all commands can be given.
    source = source_of(known.protocol)
    source.participant("train", 1, 4)
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setattr(servers, "PAUSE", 0.02)  # there are many messages all the same
        truth = {"truth": lambda place: known.run_truth(*place)}
        stage = stack.enter_context(Stage(state, port=0, stop=lambda: None, **truth))
        stage.begin(source)
        screen, monitor = (
            stack.enter_context(Client(stage.server, each)) for each in ("screen", "monitor")
        )
        count = 0

        def line(entry: dict) -> None:
            nonlocal count
            stage.line(entry)
            count += 1
            if "shown" in entry:
                number = stage.screen.snapshot()["id"]
                until(lambda: screen.messages and screen.messages[-1]["id"] >= number)
            if count % 10 == 0:
                stage._learning.finish()
                before, said = len(monitor.messages), commands[count // 10 % len(commands)]
                monitor.say(**said)
                screen.say(**said, key="1", ago=1.0)
                stage.server.changed("monitor")
                until(lambda: len(monitor.messages) > before)

        begin = lambda source: setattr(state, "elapsed", source.elapsed)  # noqa: E731
        heard = recorded(root / "watched", line=line, begin=begin)
        stage.end()
        monitor.wait_for(lambda each: each["phase"] == "over")
    source.close()
    return {
        **{"screen": screen.messages, "monitor": monitor.messages, "dataset": known},
        **{"alone": alone, "heard": heard, "folders": (root / "alone", root / "watched")},
    }


def found_in(message, name: str):
    """Yield what a message has under all keys with a name in them."""
    if isinstance(message, dict):
        for key, value in message.items():
            if name in key:
                yield key, value
            yield from found_in(value, name)
    elif isinstance(message, list):
        for each in message:
            yield from found_in(each, name)


def test_pages_that_say_what_they_can_change_nothing_that_the_agent_gets(walked):
    assert len(walked["heard"]) > 10
    assert walked["heard"] == walked["alone"]
    alone, watched = (contents(each) for each in walked["folders"])
    assert alone == watched


def test_without_being_asked_for_no_truth_is_in_any_message(walked):
    shown = [each["truth_shown"] for each in walked["monitor"]]
    assert set(shown) == {True, False}
    for message in walked["monitor"]:
        told = {value for key, value in found_in(message, "tru") if key != "truth_shown"}
        assert message["truth_shown"] or told <= {None}
        names = {key for key, _ in found_in(message, "")}
        assert not names & {"meant", "imagined", "judged", "reward", "content", "seed"}
    # With it, it is there: the test does not look elsewhere.
    asked = [message for message in walked["monitor"] if message["truth_shown"]]
    assert any(guess["truth"] for message in asked for guess in message["guesses"])


def test_no_message_to_the_screen_tells_what_was_imagined_or_judged(walked):
    assert {each["view"] for each in walked["screen"]} >= {"imagine", "guess", "judge"}
    for message in walked["screen"]:
        names = {key for key, _ in found_in(message, "")}
        assert names == {
            *("id", "view", "text", "image", "small", "look", "keys", "images"),
            *("language", "font_size", "text", "background"),
        }
        assert message["image"] is None
        if message["view"] == "imagine":
            assert message["text"] == "Imagine"
        elif message["view"] == "judge":
            assert message["text"] == "Right or wrong?"
        elif message["view"] == "fixation":
            assert message["text"] == ""
    told = {each["id"]: each["text"] for each in walked["screen"] if each["view"] == "guess"}
    dataset = walked["dataset"]
    guesses = iter(
        f"Guess: {OPTIONS[each.action]}"
        for session, runs in (("train", 2), ("test", 1))
        for run in range(1, runs + 1)
        for each in dataset.shown(session, run)
    )
    assert all(each in guesses for each in told.values())  # in this order
