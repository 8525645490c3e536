"""A simulated scanner and person as a process of their own: volumes as a real one exports them.

The person reacts to what a session says is shown to them (`bciigl.source.channel`), so a rehearsal
is a closed loop through files. The region's voxels are those of the in-process session with the
same seed. All others have simpler noise: see `Background`.
"""

import os
import queue
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bciigl.base.errors import BciiglError
from bciigl.base.progress import Notify, silent
from bciigl.base.seeds import Seed, run_seed
from bciigl.brain import Brain, Event
from bciigl.loop.session import participant_of
from bciigl.protocol import Protocol, draw
from bciigl.protocol.schedule import series, session_trials, trials_per_run
from bciigl.recording.bids import write_truth
from bciigl.recording.layout import TRUTH, run_stem
from bciigl.recording.trial import NO_GUESS, RunId
from bciigl.source import SimulatedSource
from bciigl.source.channel import Listener
from bciigl.source.exported import Background, HeadMovement, volume_writer
from bciigl.source.lsl import lsl_writer

HOLD = 60.0
"""Seconds for which a scanner that is faster than a real one waits for a session to act."""


class SimulatedScanner:
    """Scans the runs of a protocol's training session, each when the session asks for it.

    Parameters
    ----------
    protocol : Protocol
        The experiment; its seed is the person.
    folder : path-like
        Where volumes are written, where the session finds the scanner, and where the truth is
        written when a run is over.
    kind : str
        What volumes are written as: ``"nifti"``, or ``"dicom"`` for Siemens-like mosaics.
    speed : float
        How many times as fast as real time. Above 1 the scanner waits for the session at every
        event: what is shown in the time that takes is shown as planned, so that a session is not
        late only because the rehearsal is fast.
    motion : float
        How far the head strays, in mm; 0 for a head that does not move.
    lsl : str, optional
        The name of the LSL stream to which the region's values are sent, in place of volumes.
    paths : path-like, optional
        What paths in the protocol are relative to.
    notify : function
        Called with what the scanner does.
    """

    def __init__(
        self,
        protocol: Protocol,
        folder: str | os.PathLike,
        kind: str = "nifti",
        *,
        speed: float = 1.0,
        motion: float = 0.0,
        lsl: str | None = None,
        paths: str | os.PathLike | None = None,
        notify: Notify = silent,
    ) -> None:
        self.protocol = draw(protocol)
        if len(series(protocol)) > 1:
            raise BciiglError("a scanner gives one series of volumes: use recording: shared")
        self._source = SimulatedSource(self.protocol, paths)
        self.brain: Brain = self._source.brain
        self._folder = Path(folder)
        if lsl is None:
            self.write = volume_writer(kind, self._folder, self.protocol, self.brain.subject)
        else:
            self.write = lsl_writer(lsl, self.brain.region, self.protocol.timing.tr)
        self._speed, self._motion, self._notify = speed, motion, notify
        seed = Seed(self.protocol.seed)
        self._background = Background(self.brain.subject, self.protocol.brain.noise, seed)
        self._messages: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
        self._later: list[tuple[str, dict[str, Any]]] = []  # messages about another run
        self._here = False  # whether there is a session
        counts = trials_per_run(self.protocol, session_trials(self.protocol)["train"])
        self._runs = {RunId("train", run): count for run, count in enumerate(counts, start=1)}

    def serve(self, alone: bool = False) -> None:
        """Scan all runs, each when it is asked for; or at once and `alone`, with nothing shown."""
        # Made before anyone watches: new folders confuse some watchers.
        for place in self._runs:
            path = self._folder / TRUTH / run_stem(self.protocol, *place)
            path.parent.mkdir(parents=True, exist_ok=True)
        left = dict(self._runs)
        if alone:
            for place in left:
                self._scan(place)
            return
        about = self.protocol.model_dump(mode="json")
        put = lambda *each: self._messages.put(each)  # noqa: E731
        listener = Listener(self._folder, self._speed, put, about)
        with listener as self._listener:
            self._notify("waiting for a session")
            while left or self._here:
                what, content = self._later.pop(0) if self._later else self._messages.get()
                self._greet_or_part(what)
                place = RunId(content.get("session", ""), content.get("run", 0))
                if what == "run" and place in left:
                    self._notify(f"run {place.run} of {len(self._runs)}")
                    later, self._later = self._later, []
                    self._scan(place, later)
                    del left[place]
                elif what == "show":
                    self._tell_shown(content, None)  # of a run that is over

    def _greet_or_part(self, what: str) -> None:
        if what in ("hello", "closed"):
            self._here = what == "hello"

    def _scan(self, place: RunId, told: Iterable[tuple[str, dict[str, Any]]] = ()) -> None:
        self._place = place
        run = _Run(self.brain, self._source, place, self._runs[place])
        rng = run_seed(self.protocol.seed, *place).rng("rest of the brain")
        motion = HeadMovement(self._motion, self.brain.subject, rng) if self._motion else None
        tr, dummies = self.protocol.timing.tr, self.protocol.live.dummies
        self._zero = time.monotonic() + dummies * tr / self._speed
        self._shown: list[tuple[float, float, dict[str, Any]]] = []
        for each in told:
            self._hear(*each)
        for index in range(-dummies, run.frames):
            self._listen_until((index + 1) * tr)
            volume = self._background.draw(rng)
            if index >= 0:
                self._let_happen(run, (index + 0.5) * tr)
                volume[self.brain.region.index] = next(run.scanner)
            if motion is not None:
                volume = motion.moved(volume, motion.next())
            self.write(place, index + dummies + 1, volume)
        write_truth(self._folder, self.protocol, place, run.truth())

    def _now(self) -> float:
        return (time.monotonic() - self._zero) * self._speed

    def _listen_until(self, seconds: float) -> None:
        """Take messages until a time of the run."""
        while (left := (seconds - self._now()) / self._speed) > 0:
            self._listen(left)

    def _listen(self, seconds: float) -> None:
        """Take a message, if one comes."""
        try:
            what, content = self._messages.get(timeout=seconds)
        except queue.Empty:
            return
        self._greet_or_part(what)
        self._hear(what, content)

    def _hear(self, what: str, content: dict[str, Any]) -> None:
        """Take notice of a message about this run; keep one about another for later."""
        if what in ("run", "show") and content.get("run") != self._place.run:
            self._later.append((what, content))
        elif what == "show":
            self._shown.append((content["onset"], self._now(), content))
        elif what == "closed":
            self._later.clear()
            # A screen that is gone shows nothing of what was still to come.
            self._shown = [each for each in self._shown if each[0] <= self._now()]

    def _let_happen(self, run: "_Run", sampled: float) -> None:
        """Let the person see what is shown before a frame is sampled."""
        began = time.monotonic()
        self._see(run, sampled)
        while self._waits() and run.expects(sampled, self._shown):
            left = HOLD - (time.monotonic() - began)
            if left <= 0:
                break
            self._listen(left)
            # At once: a session that was resumed asks again, and waits for the answer.
            self._see(run, sampled)
        self._zero += time.monotonic() - began  # time stood still

    def _waits(self) -> bool:
        """Tell whether there is a session to wait for, which is in this run."""
        return self._speed > 1 and self._here and not self._later

    def _see(self, run: "_Run", sampled: float) -> None:
        """Let the person see what was shown before a frame is sampled, and tell the session."""
        for planned, told, content in sorted(self._shown, key=lambda each: each[0]):
            onset = content.get("seen")
            if onset is None:
                onset = planned if self._speed > 1 else max(planned, told)
            # A frame that was given does not change any more.
            onset = max(onset, sampled - self.protocol.timing.tr)
            if onset >= sampled:
                continue
            self._shown.remove((planned, told, content))
            seen = run.see(content, onset)
            self._tell_shown(content, seen)
            key = None if seen is None else run.key(content)
            if key is not None:
                self._listener.send("key", planned=planned, **key._asdict())

    def _tell_shown(self, content: dict[str, Any], onset: float | None) -> None:
        about = {"run": content["run"], "kind": content["kind"], "planned": content["onset"]}
        self._listener.send("shown", **about, onset=onset)


class _Run:
    """One run: the brain in the scanner, and the person whose it is."""

    def __init__(self, brain: Brain, source: SimulatedSource, place: RunId, trials: int) -> None:
        self.scanner = brain.scan(*place, trials=trials)
        self.frames = self.scanner.frames
        self._person: Any = participant_of(brain.protocol, source, place, trials)
        self._options = list(brain.protocol.task.options)
        self._planned = {
            (kind, float(onset)): trial
            for kind, onsets in self._person.when.onsets.items()
            for trial, onset in enumerate(onsets)
        }
        self._guesses = [NO_GUESS] * trials
        self._cued: set[int] = set()
        self._seen: dict[tuple[str, float], float | None] = {}
        self._answered: set[tuple[str, float]] = set()  # seen, or too late to be seen

    def expects(self, sampled: float, shown: list[tuple[float, float, dict[str, Any]]]) -> bool:
        """Tell whether something is planned just before a frame that nobody has shown yet."""
        told = {*self._answered, *((each["kind"], each["onset"]) for *_, each in shown)}
        return any(
            sampled - self.scanner.tr <= event[1] < sampled
            and event not in told
            and (event[0] == "imagination" or trial in self._cued)
            for event, trial in self._planned.items()
        )

    def see(self, content: dict[str, Any], onset: float) -> float | None:
        """Let the person see something, and return when they first did; None if never."""
        event = content["kind"], content["onset"]
        in_time = event in self._planned and onset <= content["latest"]
        if in_time and event not in self._seen:
            self._seen[event] = self._see(*event, content["content"], onset)
        self._answered.add(event)
        return self._seen.get(event)

    def _see(self, kind: str, planned: float, shown: Any, onset: float) -> float | None:
        trial = self._planned[kind, planned]
        if kind == "imagination":
            self._cued.add(trial)
            if shown in self._options:  # a cue
                self._person.meant[trial] = self._person.imagined[trial] = self._options.index(
                    shown
                )
            happens = self._person.imagine(trial)
        else:
            if shown in self._options:
                self._guesses[trial] = self._options.index(shown)
            if self._guesses[trial] == NO_GUESS:
                return None
            answers = self._person.answer(trial, self._guesses[trial])
            happens = next(each for each in answers if each.kind == kind)
        self.scanner.announce(Event(kind, onset, happens.content))
        return onset

    def key(self, content: dict[str, Any]) -> Any:
        """Return the key by which a guess is judged, if that is shown."""
        if content["kind"] != "judgment":
            return None
        trial = self._planned[content["kind"], content["onset"]]
        return self._person.key(trial, self._guesses[trial])

    def truth(self) -> Any:
        """Return what was meant and judged."""
        return self._person.truth(self._guesses)
