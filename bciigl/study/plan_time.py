"""When a session ends: how long some trials take, and what is left of a run that ends early."""

import numpy as np

from bciigl.protocol import Protocol
from bciigl.protocol.schedule import frames_per_run, session_hours
from bciigl.recording.trial import RecordedRun


def hours_of(protocol: Protocol, trials: int) -> float:
    """Return the scanner hours of a training session of some trials, pauses between runs aside."""
    return session_hours(protocol, trials)


def ended_after(protocol: Protocol, run: RecordedRun, trials: int) -> RecordedRun:
    """Return a run that ended after some of its trials."""
    stop, several = frames_per_run(protocol, trials), isinstance(run.frames, dict)
    named = run.frames if several else {"": run.frames}
    frames = {name: each[:stop] for name, each in named.items()}
    return run._replace(
        frames=frames if several else frames[""],
        trials=run.trials[:trials],
        truth=run.truth.rows(np.arange(trials)),
    )


def most_trials(protocol: Protocol, hours: float) -> int:
    """Return how many trials fit into some scanner hours, pauses between runs aside."""
    trials = 0
    step = 1 << 20
    while step := step >> 1:
        if hours_of(protocol, trials + step) <= hours + 1e-9:
            trials += step
    return trials
