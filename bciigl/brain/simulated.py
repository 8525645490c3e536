"""The simulated brain: from a protocol to a subject in a scanner."""

import hashlib
import math
import os
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from bciigl.base.errors import BciiglError, did_you_mean
from bciigl.base.html import facts_html, facts_text
from bciigl.base.seeds import Seed, run_seed
from bciigl.base.threads import one_thread
from bciigl.brain.check import brain_findings
from bciigl.brain.events import Event
from bciigl.brain.noise import ENGINES, RunPlan, motion_spikes
from bciigl.brain.patterns import draw_patterns
from bciigl.brain.region import find_region
from bciigl.brain.scanner import Scanner
from bciigl.brain.subject import BUILT_IN, load_subject
from bciigl.protocol import Protocol, find, load, schedule
from bciigl.protocol.design_checks import NIFTI_FRAMES
from bciigl.protocol.hrf import Shape, event_response, response_length, shape_of
from bciigl.protocol.timetable import Timetable, timetable


class Brain:
    """A simulated subject, as a protocol describes it.

    The protocol and its seed fix everything: the patterns, and the noise of each run of each
    session. Runs can be scanned in any order, in one process or in many.

    Parameters
    ----------
    protocol : Protocol
        The experiment.
    folder : path-like, optional
        What paths in the protocol are relative to: the folder of its file. Needed only if there are
        such paths; `Brain.from_file` knows it.

    Examples
    --------
    >>> import bciigl
    >>> brain = bciigl.Brain(bciigl.load("number_guessing"))
    >>> brain
    simulated brain
      subject   brainiak
      region    64 voxels around voxel (14.5, 41.5, 30.5)
      patterns  of 7, 8, 9, imagined and seen, match and mismatch
      noise     0.05 (1 is a real brain), SD 10.7
      seed      0
    >>> frames = brain.scan(run=1).until(60.0)  # the first minute, at rest
    >>> frames.shape
    (40, 64)
    """

    def __init__(self, protocol: Protocol, folder: str | os.PathLike | None = None) -> None:
        settings = protocol.brain
        for field, path in relative_paths(protocol).items() if folder is None else ():
            raise BciiglError(
                f"{field}: {path!r} is relative to the protocol's folder: use "
                "Brain.from_file(file), or Brain(protocol, folder)"
            )
        self.protocol = protocol
        self.subject = load_subject(settings.subject, folder or "")
        self.region = find_region(settings.region, self.subject, folder or "")
        rng = Seed(protocol.seed).rng("patterns")
        self.patterns = draw_patterns(protocol.task, settings, self.region, rng)  # of the truth
        with one_thread():
            engine = ENGINES[settings.engine]
            self._noise = engine(self.subject, self.region, settings.noise_sources)
        self._durations = schedule.durations(protocol)
        self._peak = settings.cnr * self.subject.noise_sd

    @classmethod
    def from_file(cls, source: str | os.PathLike) -> "Brain":
        """Return the brain of a protocol file, or of the shipped protocol of that name."""
        return cls(load(source, brain_findings), find(source).parent)

    def __repr__(self) -> str:
        """Return whose brain it is, and where in it the signal comes from."""
        return facts_text("simulated brain", self._facts())

    def _repr_html_(self) -> str:
        return facts_html("simulated brain", self._facts())

    def _facts(self) -> dict[str, object]:
        settings, voxels = self.protocol.brain, self.region.voxels
        middle = ", ".join(f"{each:g}" for each in voxels.mean(axis=0).round(1))
        options = ", ".join(map(str, self.protocol.task.options))
        return {
            "subject": settings.subject,
            "region": f"{len(voxels)} voxels around voxel ({middle})",
            "patterns": f"of {options}, imagined and seen, match and mismatch",
            "noise": f"{settings.noise:g} (1 is a real brain), SD {self.subject.noise_sd:.1f}",
            "seed": self.protocol.seed,
        }

    @property
    def fingerprint(self) -> str:
        """A digest of what recordings depend on besides the protocol: the subject, the region."""
        digest = hashlib.sha256(self.subject.noise.model_dump_json().encode())
        inside = self.subject.base[self.subject.mask]
        for array in (self.region.voxels, self.region.affine, inside):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def scan(
        self,
        session: str = "train",
        run: int = 1,
        *,
        trials: int | None = None,
        whole_brain: bool = False,
    ) -> Scanner:
        """Return a scanner at the beginning of a run.

        Parameters
        ----------
        session : str
            ``"train"`` or ``"test"``; they have the same patterns, but different noise.
        run : int
            Which run of the session, from 1; each has its own noise.
        trials : int
            How many trials there is time for; by default as many as the protocol plans for that
            run. Where it is given, there can be more runs than planned.
        whole_brain : bool
            Give frames of all voxels, (x, y, z), instead of the region's, (voxels,).
        """
        when = self.timetable(session, run, trials)
        plan = self.plan(self.protocol.task.events, when)
        seed = run_seed(self.protocol.seed, session, run)
        if whole_brain:
            frames = self._volumes(plan, seed)
        else:
            base = self.subject.base[self.region.index]
            frames = base + self.protocol.brain.noise * self.full_noise(plan, seed)
        return Scanner(self, frames, plan.frames, whole_brain=whole_brain)

    def course(self, event: Event) -> tuple[int, np.ndarray]:
        """Return the first frame after an onset, and the response from then.

        It is 1 at its peak, if the event lasts as long as `timing.event` says.
        """
        timing = self.protocol.timing
        first = math.floor(event.onset / timing.tr - 0.5) + 1
        seconds = (first + 0.5) * timing.tr - event.onset
        given = (timing.tr, self._durations[event.kind], timing.event)
        return first, _course(seconds, *given, shape_of(self.protocol.brain))

    def amplitude(self, event: Event) -> np.ndarray:
        """Return how high a lone event's response peaks, in scanner units, (voxels,)."""
        if event.content is None:
            needs = "it needs a simulated person"
            raise BciiglError(f"a simulated brain must know the content of {event.kind}: {needs}")
        try:
            return self._peak * self.patterns[event.kind, event.content]
        except (KeyError, TypeError):
            known = [str(content) for kind, content in self.patterns if kind == event.kind]
            near = did_you_mean(event.content, known)
            listed = ", ".join(known) or "no such kind of event"
            raise BciiglError(
                f"{event.kind} of {event.content!r} is not in the protocol ({listed}){near}"
            ) from None

    def timetable(self, session: str, run: int, trials: int | None = None) -> Timetable:
        """Return the times of a run; one that the protocol has not needs its number of `trials`."""
        sessions = schedule.session_trials(self.protocol)
        if session not in sessions:
            near = did_you_mean(session, sessions)
            raise BciiglError(f"session should be train or test, got {session!r}{near}")
        planned = schedule.trials_per_run(self.protocol, sessions[session])
        runs = range(1, 1 + (len(planned) if trials is None else 1_000_000))
        if run not in runs:
            raise BciiglError(
                f"run should be from 1 to {runs[-1]}, got {run!r}: the protocol plans "
                f"{sessions[session]} trials in session {session}; give trials for a run beyond"
            )
        trials = planned[run - 1] if trials is None else trials
        when = timetable(self.protocol, max(trials, 0), session, run)
        if trials < 1 or when.frames(self.protocol.timing.tr) > NIFTI_FRAMES:
            raise BciiglError(
                f"trials should be 1 or more, and fit into {NIFTI_FRAMES} frames, got {trials}"
            )
        return when

    def plan(self, kinds: Iterable[str], when: Timetable) -> RunPlan:
        """Return in which frames of a run events of these kinds are planned to be on."""
        tr = self.protocol.timing.tr
        seconds = (np.arange(when.frames(tr)) + 0.5) * tr
        on = np.zeros(len(seconds), bool)
        for kind in kinds:
            begun = np.searchsorted(when.onsets[kind], seconds, side="right")
            since = seconds - np.append(-np.inf, when.onsets[kind])[begun]
            on |= since < self._durations[kind]
        return RunPlan(tr, on)

    def full_noise(self, plan: RunPlan, seed: Seed) -> np.ndarray:
        """Return the region's noise at full strength, motion included, (frames, voxels)."""
        with one_thread():
            return self._noise.run(plan, seed) + self._spikes(plan, seed)[:, None]

    def _spikes(self, plan: RunPlan, seed: Seed) -> np.ndarray:
        return motion_spikes(self.protocol.brain.motion, self.subject.noise_sd, plan, seed)

    def _volumes(self, plan: RunPlan, seed: Seed) -> Iterable[np.ndarray]:
        """Yield frames of the whole brain without events, (x, y, z)."""
        weight, base, mask = self.protocol.brain.noise, self.subject.base, self.subject.mask
        volumes = self._noise.volumes(plan, seed)
        for volume, spike in zip(volumes, self._spikes(plan, seed), strict=True):
            volume[mask] += spike
            yield np.maximum(base + weight * volume, 0.0)  # as magnitude images are, and fmrisim's


# Onsets that recur at the same place between two frames, as most do, share a course.
@lru_cache(maxsize=1000)
def _course(seconds: float, tr: float, duration: float, unit: float, shape: Shape) -> np.ndarray:
    """Return the course of a response, sampled every `tr` from `seconds` after the onset."""
    frames = math.ceil(response_length(duration, shape) / tr)
    course = event_response(seconds + tr * np.arange(frames), duration, shape, unit=unit)
    course.flags.writeable = False
    return course


def relative_paths(protocol: Protocol) -> dict[str, str]:
    """Return the paths, by field, that depend on where the protocol's file is."""
    region, subject = protocol.brain.region, protocol.brain.subject
    paths = {"brain.subject": subject} if subject != BUILT_IN else {}
    for field in ("file", "labels"):
        if (path := getattr(region, field, None)) is not None:
            paths[f"brain.region.{field}"] = path
    return {field: path for field, path in paths.items() if not os.path.isabs(path)}
