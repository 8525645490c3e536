"""What an operator sees of a session, put together from the lines of its journal."""

import base64
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bciigl.base.progress import silent
from bciigl.protocol import Protocol
from bciigl.protocol.hrf import event_response
from bciigl.protocol.schedule import durations, session_trials, trials_per_run
from bciigl.protocol.timetable import Timetable, timetable
from bciigl.recording.bids import confounds
from bciigl.recording.trial import NO_GUESS, RunId, Trial
from bciigl.source.live import MISSED

MOST_WARNINGS = 50
DOING = {
    "imagination": "imagines an option",
    "perception": "sees the guess",
    "judgment": "judges the guess",
    "rest": "rests",
}
NOT_YET, OK, LATE, LOST = ".", "o", "l", "m"

Line = Mapping[str, Any]


@dataclass
class Guess:
    """What is known of the guess of one trial."""

    option: str | None
    propensity: float = 0.0
    explored: bool = False
    catch: bool = False
    probabilities: list[float] | None = None
    """Of the options, as the learner had learned before."""
    match: float | None = None
    """Decoded probability that the person judged it a match."""
    left_out: str = ""
    truth: str | None = None


@dataclass
class RunState:
    """What is known of one run."""

    place: RunId
    when: Timetable  # with the times at which events were seen
    frames: np.ndarray  # (frames, voxels), not numbers where there are none
    status: list[str]
    delay: list[float | None]
    movement: np.ndarray
    expected: np.ndarray
    events: list[dict[str, Any]] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    guesses: dict[int, Guess] = field(default_factory=dict)
    answers: dict[float, bool] = field(default_factory=dict)
    over: bool = False


class SessionState:
    """The state of a session; `take` lines of its journal, and ask for a `snapshot`.

    It may be used by several threads.

    Parameters
    ----------
    protocol : Protocol
        The experiment, of one person.
    kind : str
        ``"rehearsal"``, ``"session"``, ``"simulation"`` or ``"recording"``.
    speed : float
        How many times as fast as a scanner it is.
    sessions : sequence of str
        Which sessions it has.
    blinded : bool
        Whether nothing may be shown that tells whose guesses are shown.
    elapsed : function
        Returns the seconds since the present run began; negative before.
    """

    def __init__(
        self,
        protocol: Protocol,
        kind: str,
        speed: float = 1.0,
        *,
        sessions: tuple[str, ...] = ("train",),
        blinded: bool = False,
        elapsed: Callable[[], float] = lambda: -1.0,
    ) -> None:
        self.protocol, self.kind, self.speed, self.blinded = protocol, kind, speed, blinded
        self.elapsed = elapsed
        self.changed: Callable[[], None] = silent
        self.note, self.phase = "", "ready"
        self.learning: dict[str, Any] | None = None
        self.truth_shown = False
        self.runs: dict[RunId, RunState] = {}
        self.lock = threading.RLock()
        self._trials = {
            RunId(session, run): count
            for session in sessions
            for run, count in enumerate(
                trials_per_run(protocol, session_trials(protocol)[session]), start=1
            )
        }
        self._place = next(iter(self._trials))
        self._warnings: list[dict[str, Any]] = []
        self._options = [str(each) for each in protocol.task.options]
        self._lasts = durations(protocol)

    @property
    def run(self) -> RunState | None:
        """The present run; None before the first begins."""
        return self.runs.get(self._place)

    def say(self, note: str) -> None:
        """Take notice of what the session says of itself."""
        with self.lock:
            self.note = note
        self.changed()

    def enter(self, phase: str) -> None:
        """Take notice that the session is in another phase."""
        with self.lock:
            self.phase = phase
        self.changed()

    def take(self, line: Line) -> None:
        """Take notice of a line of the journal."""
        with self.lock:
            place = RunId(line["session"], line["run"])
            if place not in self.runs:
                self._begin(place)
            run = self.runs[place]
            for name in ("volume", "shown", "decision", "trial", "fault", "left_out", "key"):
                if name in line:
                    getattr(self, f"_take_{name}")(run, line)
                    break
            if "written" in line:
                run.over = True
                self.phase = "over" if place == [*self._trials][-1] else "waiting"
        self.changed()

    def _begin(self, place: RunId) -> None:
        planned = timetable(self.protocol, self._trials[place], *place)
        when = planned.copy()
        for onsets in when.onsets.values():
            onsets[:] = np.nan
        length = planned.frames(self.protocol.timing.tr)
        movement = np.full((length, 6), np.nan)
        if self.protocol.estimate.motion:  # where nothing is known of it, it is not regressed out
            when = replace(when, confounds=movement)
        self._place, self.phase = place, "waiting"
        self.runs[place] = RunState(
            place,
            when,
            np.full((length, 0), np.nan),
            [NOT_YET] * length,
            [None] * length,
            movement,
            np.zeros(length),
        )

    def _take_volume(self, run: RunState, line: Line) -> None:
        index, values = line["volume"], line["values"]
        if isinstance(values, str):
            values = np.frombuffer(base64.b64decode(values), "<f4")
        if not run.frames.shape[1]:
            run.frames = np.full((len(run.status), len(values)), np.nan)
        run.frames[index] = values
        run.status[index] = LATE if line.get("late") else OK
        behind = line["arrived"] - (index + 1) * self.protocol.timing.tr
        run.delay[index] = round(max(behind, 0.0) / self.speed, 3)
        if line.get("movement") is not None:
            run.movement[index] = line["movement"]
        if self.phase in ("waiting", "ready"):
            self.phase = "running"

    def _take_shown(self, run: RunState, line: Line) -> None:
        kind, onset = line["shown"], line["onset"]
        planned = timetable(self.protocol, run.when.trials, *run.place).onsets[kind]
        trial = int(np.argmin(np.abs(planned - line["planned"])))
        seen = onset is not None
        event = {"kind": kind, "onset": onset if seen else line["planned"], "trial": trial}
        run.events.append(event | {"seconds": self._lasts[kind], "seen": seen})
        if seen:
            run.when.onsets[kind][trial] = onset
            tr = self.protocol.timing.tr
            at = (np.arange(len(run.expected)) + 0.5) * tr - onset
            run.expected += event_response(at, self._lasts[kind])

    def _take_decision(self, run: RunState, line: Line) -> None:
        told = {name: line[name] for name in ("propensity", "explored", "catch")}
        before = run.guesses.get(line["decision"])
        left_out = "" if before is None else before.left_out
        guess = Guess(self._options[line["action"]], **told, left_out=left_out)
        run.guesses[line["decision"]] = guess

    def _take_trial(self, run: RunState, line: Line) -> None:
        trial, number = Trial.from_dict(line), line["trial"]
        run.trials.append(trial)
        if trial.action == NO_GUESS:
            known = run.guesses.get(number)
            run.guesses[number] = Guess(None, left_out=known and known.left_out or "not shown")
        elif not trial.usable and trial.context.size:
            guess = run.guesses[number]
            unseen = any(each["trial"] == number and not each["seen"] for each in run.events)
            why = "not shown" if unseen else "volumes missing"
            guess.left_out = guess.left_out or why

    def _take_fault(self, run: RunState, line: Line) -> None:
        number, what = line["number"], line["fault"]
        if what == MISSED:
            # A simulation has no dummy volumes.
            index = number - 1 - self.protocol.live.dummies * (self.kind != "simulation")
            if run.status[index] == NOT_YET:
                run.status[index] = LOST
        words = what if number is None else f"volume {number} {what}"
        self._warnings.append({"run": run.place.run, "seconds": line["seconds"], "words": words})
        del self._warnings[:-MOST_WARNINGS]

    def _take_left_out(self, run: RunState, line: Line) -> None:
        trial, why = line["left_out"], line["why"]
        run.guesses.setdefault(trial, Guess(None)).left_out = why
        run.when.left_out.pop(trial, None)
        if why:
            run.when.left_out[trial] = why

    def _take_key(self, run: RunState, line: Line) -> None:
        run.answers[line["key"]] = line["match"]

    def snapshot(self) -> dict[str, Any]:
        """Return all that a monitor shows, as plain data."""
        with self.lock:
            run, protocol = self.run, self.protocol
            elapsed = self.elapsed() if self.phase in ("running", "paused") else -1.0
            runs = [place for place in self._trials if place.session == self._place.session]
            found = {
                "protocol": protocol.name,
                "kind": self.kind,
                "speed": self.speed,
                "tr": protocol.timing.tr,
                "options": self._options,
                "blinded": self.blinded,
                "session": self._place.session,
                "run": self._place.run,
                "runs": len(runs),
                "trial": None,
                "trials": self._trials[self._place],
                "phase": self.phase,
                "note": self.note,
                "now": None,
                "warnings": list(self._warnings),
                "learning": None if self.blinded else self._learning(),
                "truth_shown": self.truth_shown,
                "guesses": [row for each in self.runs.values() for row in self._guesses(each)],
            }
            return found | (self._no_run() if run is None else self._run(run, elapsed))

    def _learning(self) -> dict[str, Any] | None:
        """Return what was learned; how often that is right only if the truth may be shown."""
        if self.learning is None:
            return None
        history = [dict(each) for each in self.learning["history"]]
        for each in history:
            each["true_accuracy"] = each["true_accuracy"] if self.truth_shown else None
        true = history[-1]["true_accuracy"] if history else None
        return {**self.learning, "history": history, "true_accuracy": true}

    def _no_run(self) -> dict[str, Any]:
        planned = timetable(self.protocol, self._trials[self._place], *self._place)
        return {
            "elapsed": 0.0,
            "length": planned.seconds,
            "seconds_left": self._seconds_after(None) + planned.seconds,
            "volumes": {"due": planned.frames(self.protocol.timing.tr), "arrived": 0, "late": 0}
            | {"lost": 0, "status": "", "delay": []},
            "signal": [],
            "expected": [],
            "events": [],
            "movement": None,
        }

    def _run(self, run: RunState, elapsed: float) -> dict[str, Any]:
        status, tr = "".join(run.status).rstrip(NOT_YET), self.protocol.timing.tr
        known = len(status)
        if elapsed < 0:
            elapsed = known * tr
        elapsed = min(elapsed, run.when.seconds)
        trial = int(np.searchsorted(run.when.starts, elapsed, side="right"))
        left = 0.0 if run.over else max(run.when.seconds - elapsed, 0.0)
        return {
            "trial": min(max(trial, 1), run.when.trials) if known else None,
            "now": self._now(run, elapsed),
            "elapsed": round(elapsed, 3),
            "length": run.when.seconds,
            "seconds_left": round(left + self._seconds_after(run.place), 3),
            "volumes": {
                "due": len(run.status),
                "arrived": status.count(OK) + status.count(LATE),
                "late": status.count(LATE),
                "lost": status.count(LOST),
                "status": status,
                "delay": run.delay[:known],
            },
            "signal": _signal(run.frames[:known]),
            # A little of what is to come, too.
            "expected": _rounded(run.expected[: known + 10] / max(run.expected.max(), 1.0)),
            "events": [self._event(run, each) for each in run.events],
            "movement": _movement(run.movement[:known]),
        }

    def _seconds_after(self, place: RunId | None) -> float:
        """Return how long the runs after one take; without one, those after the first."""
        places = [*self._trials]
        later = places[1 + (0 if place is None else places.index(place)) :]
        times = (timetable(self.protocol, self._trials[each], *each) for each in later)
        return sum(each.seconds for each in times)

    def _now(self, run: RunState, elapsed: float) -> dict[str, Any]:
        present = next((each for each in reversed(run.events) if each["seen"]), None)
        if present is None or not 0 <= elapsed - present["onset"] < present["seconds"]:
            since = 0.0 if present is None else present["onset"] + present["seconds"]
            return {"kind": "rest", "words": DOING["rest"], "since": since}
        words = DOING[present["kind"]]
        if present["kind"] == "perception":
            words += f": {self._event(run, present)['words']}"
        return {"kind": present["kind"], "words": words, "since": present["onset"]}

    def _event(self, run: RunState, event: Mapping[str, Any]) -> dict[str, Any]:
        guess = run.guesses.get(event["trial"])
        shown = guess is not None and event["kind"] == "perception"
        return {**event, "words": (guess.option or "") if guess is not None and shown else ""}

    def _guesses(self, run: RunState) -> list[dict[str, Any]]:
        place = {"session": run.place.session, "run": run.place.run}
        rows = []
        for trial, guess in sorted(run.guesses.items()):
            row = {**place, "trial": trial + 1, **vars(guess)}
            if self.blinded:  # these would tell a learning agent from another session's guesses
                row |= {"propensity": None, "explored": None, "probabilities": None, "match": None}
            row["truth"] = guess.truth if self.truth_shown else None
            rows.append(row)
        return rows


def _rounded(values: np.ndarray, digits: int = 3) -> list[float | None]:
    return [None if value != value else round(value, digits) for value in values.tolist()]


def _signal(frames: np.ndarray) -> list[float | None]:
    """Return the percent by which the region's mean differs from that of the run so far."""
    if not frames.size:
        return []
    mean = frames.mean(axis=1)
    base = np.nanmean(mean) if np.isfinite(mean).any() else 0.0
    return _rounded(100 * (mean / base - 1)) if base else _rounded(mean - base)


def _movement(movement: np.ndarray) -> dict[str, Any] | None:
    if not np.isfinite(movement).any():
        return None
    displacement = dict(confounds(movement))["framewise_displacement"]
    return {
        "displacement": _rounded(displacement),
        "translation": [_rounded(each) for each in movement[:, :3]],
        "rotation": [_rounded(each) for each in np.degrees(movement[:, 3:])],
    }
