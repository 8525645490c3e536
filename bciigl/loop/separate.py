"""The paper's separate recordings: each kind of event has its own series, scaled after the fact."""

from collections.abc import Iterable

import numpy as np

from bciigl.base.errors import BciiglError
from bciigl.base.seeds import Seed, run_seed
from bciigl.brain import Brain, Event, Scanner
from bciigl.brain.fmrisim_adapter import scale_to_noise
from bciigl.brain.noise import RunPlan
from bciigl.estimate import UNCALIBRATED, Calibration, contexts, feedback_so_far
from bciigl.loop.participant import Participant
from bciigl.loop.trials import Decision, Series, Steps
from bciigl.protocol import Protocol
from bciigl.recording.trial import NOT_ESTIMATED, RunId, Shown, Trial
from bciigl.source import Source


def separate_steps(
    protocol: Protocol,
    source: Source,
    participant: Participant,
    place: RunId,
    calibration: Calibration = UNCALIBRATED,
    *,
    looked_at: bool = True,
) -> Steps:
    """Let a run happen as in the paper's code; `looked_at` is as in `trial_steps`.

    A series is scaled by its maximum, so it exists only when all its events are known: all
    imagination comes first, and trials are finished when the run is over. That changes nothing for
    an agent that learns between runs.
    """
    brain = simulated_brain(source)
    numbers = range(participant.trials)

    def recorded(events: list[Event]) -> dict[str, np.ndarray]:
        found = record_separately(brain, events, *place, trials=len(numbers))
        return {kind: each.astype(np.float32).astype(float) for kind, each in found.items()}

    frames = recorded([participant.imagine(number) for number in numbers])
    seen = contexts(frames, protocol, calibration) if looked_at else [NOT_ESTIMATED] * len(numbers)
    shown: list[Shown] = []
    for number in numbers:
        shown.append((yield Decision(number, seen[number])))
    answers = (participant.answer(number, shown[number].action) for number in numbers)
    frames |= recorded([event for answer in answers for event in answer])
    for number in numbers:
        feedback = NOT_ESTIMATED
        if looked_at:
            feedback = feedback_so_far(frames, protocol, number, calibration)
        yield Trial(seen[number], *shown[number], feedback)
    return Series(frames, {})


def simulated_brain(source: Source) -> Brain:
    """Return the brain of a source; separate recordings can be made of no other."""
    brain = getattr(source, "brain", None)
    if brain is None:
        raise BciiglError(
            "recording: separate is simulated, and not in real time: its signal is scaled after "
            "the fact; use recording: shared"
        )
    return brain


def record_separately(
    brain: Brain,
    events: Iterable[Event],
    session: str = "train",
    run: int = 1,
    *,
    trials: int | None = None,
) -> dict[str, np.ndarray]:
    """Return one series of frames, (frames, voxels), for each kind of event.

    Each has its own noise, and its signal is scaled after the fact: each voxel by its maximum in
    the run, and then to `cnr` times the SD of its noise in the run. Where all noise sources are off
    there is no signal either.
    """
    if brain.protocol.recording != "separate":
        raise BciiglError("recording: shared has one series for all events: use Brain.scan")
    when = brain.timetable(session, run, trials)
    by_kind: dict[str, list[Event]] = {}
    for event in events:
        by_kind.setdefault(event.kind, []).append(event)
    seed = run_seed(brain.protocol.seed, session, run)
    return {
        kind: _series(brain, mine, brain.plan((kind,), when), seed.child("separate", kind))
        for kind, mine in by_kind.items()
    }


def _series(brain: Brain, events: list[Event], plan: RunPlan, seed: Seed) -> np.ndarray:
    base = brain.subject.base[brain.region.index]
    noise = brain.full_noise(plan, seed)
    signal = Scanner(brain, np.zeros_like(noise), plan.frames, whole_brain=False).play(events)
    if signal.any():  # not after an event that begins when the last frame has been sampled
        peak = signal.max(axis=0)
        signal /= np.where(peak > 0, peak, 1.0)  # as fmrisim.convolve_hrf does by default
        signal = scale_to_noise(signal, noise, brain.protocol.brain.cnr)
    return base + signal + brain.protocol.brain.noise * noise
