"""A session with its pages: who may begin it, pause it, and leave trials out of it."""

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

from bciigl.base.progress import Notify, silent
from bciigl.brain.events import Event
from bciigl.live.learning import LearningWatch
from bciigl.live.screen import ParticipantScreen
from bciigl.live.server import LOOPBACK, Server
from bciigl.live.state import Line, SessionState
from bciigl.recording.trial import RunId
from bciigl.source.display import Draw
from bciigl.source.live import LiveSource

CLOSED = (
    "The participant's screen is {how}: nothing is seen, and trials are left out of learning. "
    "Open it in a window of its own: {link}"
)
SEVERAL = (
    "{pages} screens are open, and nobody knows which one the participant sees. Close all others, "
    "also one that you have opened yourself."
)
MOST_GUESSES = 50
"""The latest guesses, which a monitor is told."""
BAD, UNSEEN = "marked bad", "unseen"


def interrupt() -> None:
    """Stop this program as Ctrl-C does."""
    os.kill(os.getpid(), signal.SIGINT)


class Stage:
    """Serves the pages of a session, and lets their operator steer it; as a context manager.

    Parameters
    ----------
    state : SessionState
        What the monitor shows.
    folder : path-like
        What paths of the protocol's images are relative to.
    host, port
        As in `Server`.
    truth : function
        As in `LearningWatch`; only a rehearsal has one.
    needs_screen : bool
        Whether runs begin only when the participant's screen is open.
    waits : bool
        Whether the first run begins only when the operator says so.
    stop : function
        Called when the operator stops the session.
    """

    def __init__(
        self,
        state: SessionState,
        *,
        folder: str | os.PathLike | None = "",
        host: str = LOOPBACK,
        port: int | None = None,
        truth: Callable[[RunId], Any] = silent,
        needs_screen: bool = False,
        waits: bool = False,
        stop: Callable[[], None] = interrupt,
    ) -> None:
        self.state, self._stop = state, stop
        self.screen = ParticipantScreen(state.protocol, state.speed, folder)
        self._learning, self._knows_truth = LearningWatch(state, truth), truth is not silent
        self.server = Server(self, host, port)
        self._needs_screen, self._waits = needs_screen, waits
        self._start, self._paused = threading.Event(), False
        self._triggered: threading.Event | None = None
        # Whether a run has begun, and whether what is shown in it is seen on pages.
        self._began = self._used = False
        self._visible = 0  # pages, when they last changed
        self._source: LiveSource | None = None
        self.notify: Notify = silent
        self.fallback: Draw = silent
        """Shows an event where no page does."""
        state.changed = lambda: self.server.changed("monitor")
        self.screen.changed = lambda: self.server.changed("screen")
        self.screen.pages_changed = self._pages_changed

    def __enter__(self) -> "Stage":
        """Begin to serve."""
        self.server.__enter__()
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        """Show that the session is over, and serve no more."""
        if kind is None:
            self.end()
        elif self.state.phase != "over":
            self.state.note = ""
            self.state.enter("stopped")
            self.screen.pause(True, False)  # perhaps it is resumed: the person is not told goodbye
        self._learning.close()
        self.server.__exit__(kind, *_)

    def end(self) -> None:
        """Show that the session is over."""
        self._learning.finish()
        self.state.note = ""
        self.state.enter("over")
        self.screen.finish()

    def wait_for_end(self) -> None:
        """Serve until the program is stopped."""
        while True:
            threading.Event().wait(1.0)

    def begin(self, source: LiveSource, triggered: threading.Event | None = None) -> None:
        """Take notice of the source of a live session, and of triggers by keys in a rehearsal."""
        self._source, self.state.elapsed = source, source.elapsed
        by_key = source.rehearsed and source.protocol.live.trigger == "key"
        self._triggered = triggered if by_key else None
        run = self.state.run
        if run is not None and not run.over:  # a session that was stopped joins it, without a gate
            self.screen.begin_run(run.place.run)
            if self.state.phase == "running":
                self.screen.fixate()
            self._open_run()

    def line(self, line: Line) -> None:
        """Take notice of a line of the journal."""
        live = self.state.kind in ("session", "rehearsal")
        if not live and "begun" in line:  # there is no gate
            self.screen.begin_run(line["run"], line["session"])
        began = self.state.phase in ("ready", "waiting")
        self.state.take(line)
        self._learning.take(line)
        past = live and self._source is None  # before a session was stopped
        if began and self.state.phase == "running" and not past:
            if self._paused:
                self.state.enter("paused")
            else:
                self.screen.fixate()
        if "decision" in line:
            self.screen.guess = (
                self.state.runs[RunId(line["session"], line["run"])]
                .guesses[line["decision"]]
                .option
            )
        if "shown" in line and line["onset"] is not None and not self._used and not past:
            self._mirror(line)

    def _mirror(self, line: Line) -> None:
        """Show on pages that happen to be open what the person has seen elsewhere."""
        run = self.state.runs[RunId(line["session"], line["run"])]
        content = None
        if line["shown"] == "perception":
            trial = run.events[-1]["trial"]
            content = run.guesses[trial].option if trial in run.guesses else None
        self.screen.mirror(Event(line["shown"], line["planned"], content))

    def say(self, note: str) -> None:
        """Take notice of what the session does or waits for."""
        self.state.say(note)
        self.notify(note)

    def is_drawn(self) -> bool:
        """Tell whether what is shown in this run is seen on pages."""
        return self._used

    def is_paused(self) -> bool:
        """Tell whether nothing is to be shown now."""
        return self._paused

    def draw(self, event: Event) -> float | None:
        """Show an event on pages, or elsewhere; see `bciigl.source.display.Draw`."""
        return self.screen.draw(event) if self._used else self.fallback(event)

    def gate(self, run: int) -> None:
        """Return when a run may begin."""
        self._used = self._began = False
        self.screen.begin_run(run)
        if self._waits:
            self.state.enter("ready")
            self._wait(self._start.is_set, "press Start on the monitor, or Enter here")
            self._waits = False
        self.state.enter("waiting")
        if self._paused:
            self.state.enter("paused")
            self._wait(lambda: not self._paused, f"run {run}: paused")
            self.state.enter("waiting")
        if self._needs_screen:
            link = self.server.link("screen")
            self._wait(lambda: self.screen.visible, f"waiting for the participant's screen: {link}")
        if self._triggered is not None and self.screen.visible:
            self._triggered.clear()
            key = self.state.protocol.live.trigger_from
            words = f"run {run}: press {key} on the participant's screen, as a scanner would"
            self._wait(self._triggered.is_set, words)
        self._open_run()

    def _open_run(self) -> None:
        self._used = self._needs_screen or self.screen.visible
        self._began = True
        self.state.changed()

    def _wait(self, done: Callable[[], bool], note: str) -> None:
        if not done():
            self.say(note)
        while not done():
            threading.Event().wait(0.05)  # so that Ctrl-C is heard

    def monitor(self) -> dict[str, Any]:
        """Return all that a monitor shows, as plain data."""
        found = self.state.snapshot()
        found["guesses"] = found["guesses"][-MOST_GUESSES:]
        screen = self.screen.about | {"used": self._used, "link": self.server.link("screen")}
        return found | {"screen": screen, "alarm": self._alarm(), "controls": self._controls()}

    def _alarm(self) -> str:
        about = self.screen.about
        if not self._used or about["visible"] == 1 or self.state.phase != "running":
            return ""
        if about["visible"]:
            return SEVERAL.format(pages=about["visible"])
        how = "hidden" if about["pages"] else "closed"
        return CLOSED.format(how=how, link=self.server.link("screen"))

    def _controls(self) -> list[str]:
        phase, found = self.state.phase, []
        if phase == "ready" and self._waits and not self._start.is_set():
            found.append("start")
        if phase in ("waiting", "running", "paused"):
            found.append("continue" if self._paused else "pause")
        if phase not in ("over", "stopped"):
            found.append("stop")
        if phase in ("running", "paused") and self._source is not None:
            found.append("bad")
        may_show = self.state.kind == "rehearsal" and not self.state.blinded
        return found + ["truth"] * (may_show and self._knows_truth)

    def command(self, message: dict[str, Any]) -> None:
        """Do what an operator asks for, if it can be done now; called from any thread."""
        what = message.get("command")
        if what not in self._controls():
            return
        if what == "start":
            self.start()
        elif what in ("pause", "continue"):
            self._pause(what == "pause")
        elif what == "stop":
            self.state.say("stopping")
            self._stop()
        elif what == "truth":
            self.state.truth_shown = not self.state.truth_shown
        elif what == "bad":
            self._mark(message.get("run"), message.get("trial"), message.get("marked"))
        self.state.changed()

    def start(self) -> None:
        """Let the first run begin."""
        self._start.set()

    def _pause(self, paused: bool) -> None:
        run = self.state.run
        running = run is not None and not run.over and self.state.phase in ("running", "paused")
        self._paused = paused
        if running:
            self.state.enter("paused" if paused else "running")
        self.screen.pause(paused, running)

    def _mark(self, run: Any, trial: Any, marked: Any) -> None:
        """Leave a trial of this run out of learning, or take it back in."""
        present = self.state.run
        if present is None or run != present.place.run or not isinstance(trial, int):
            return
        if not isinstance(marked, bool):
            return
        if self._source is None or not self._source.place[1]:  # a run that is joined, but not yet
            return
        known = self._source.left_out.get(trial - 1)
        if known in (None, BAD) and marked != (known == BAD):  # what was not seen stays left out
            self._source.leave_out(BAD if marked else "", trial - 1)

    def _pages_changed(self) -> None:
        before, self._visible = self._visible, self.screen.about["visible"]
        # Once a page was open in a run, the person looks at it, or at one of several.
        self._used = self._used or (self._began and self._visible > 0)
        gone = self._visible < max(before, 1)
        unseen = self._used and self.state.phase == "running" and gone
        # Not before a run is joined.
        if unseen and self._source is not None and self._source.place[1]:
            self._source.leave_out(UNSEEN)
        self.state.changed()
