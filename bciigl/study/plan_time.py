"""When a session ends: how long some trials take, and what is left of a run that ends early."""

import numpy as np

from bciigl.protocol import Protocol
from bciigl.protocol.schedule import session_hours, session_trials, trials_per_run
from bciigl.protocol.timetable import Timetable, timetable
from bciigl.recording.trial import Frames, RecordedRun, RunId


def run_times(protocol: Protocol, place: RunId, trials: int) -> Timetable:
    """Return the times of a run that may have ended after some of its trials."""
    counts = trials_per_run(protocol, session_trials(protocol)[place.session])
    return timetable(protocol, counts[place.run - 1], *place).first(trials)


def ended_after(protocol: Protocol, place: RunId, run: RecordedRun, trials: int) -> RecordedRun:
    """Return a run that ended after some of its trials."""
    stop = run_times(protocol, place, trials).frames(protocol.timing.tr)
    frames: Frames
    if isinstance(run.frames, dict):
        frames = {name: each[:stop] for name, each in run.frames.items()}
    else:
        frames = run.frames[:stop]
    return run._replace(
        frames=frames,
        trials=run.trials[:trials],
        truth=None if run.truth is None else run.truth.rows(np.arange(trials)),
    )


def most_trials(protocol: Protocol, hours: float) -> int:
    """Return how many trials fit into some scanner hours, pauses between runs aside."""
    trials = 0
    step = 1 << 20
    while step := step >> 1:
        if session_hours(protocol, trials + step) <= hours + 1e-9:
            trials += step
    return trials
