"""How well a design lets responses be estimated, before anything is simulated."""

from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter

from bciigl.estimate import glm
from bciigl.estimate.calibration import Calibration
from bciigl.estimate.frames import series_events
from bciigl.estimate.trials import contexts, feedback
from bciigl.protocol import Protocol
from bciigl.protocol.schedule import series, session_hours, trial_seconds
from bciigl.protocol.timetable import timetable

# About that of the built-in subject, from frame to frame.
AUTOCORRELATION = 0.3
# As many are looked at, about: enough for all trials to count alike.
FRAMES = 800
# The weights of this many frames are computed at once: a run can have 30 000 of them.
BLOCK = 1000


class Efficiency(NamedTuple):
    """How much the estimates of one kind of response vary.

    Attributes
    ----------
    variance : float
        Of one estimate, in variances of a frame's noise; infinite where it tells nothing.
    per_hour : float
        Of the mean of as many estimates as there are in one scanner hour: less is better.
    """

    variance: float
    per_hour: float


def efficiency(protocol: Protocol) -> dict[str, Efficiency]:
    """Return how much contexts and judgments vary where the noise is that of a real brain.

    Estimates are in units of the response's peak. What neighbouring events add to them counts as
    noise. Only the times of a design and the estimate's method matter, and `brain.cnr`.

    Parameters
    ----------
    protocol : Protocol
        The experiment; the first trials of its first run are looked at.
    """
    length = trial_seconds(protocol) / protocol.timing.tr
    most = min(protocol.task.trials_per_run, protocol.task.trials, int(FRAMES / length))
    trials = max(most, 1)
    when = timetable(protocol, trials, "train", 1)
    frames = when.frames(protocol.timing.tr)
    # Estimates are weighted sums of frames: those of single frames are the weights.
    estimates = {"imagination": contexts}
    if "judgment" in protocol.task.events and protocol.feedback.judgment:
        estimates["judgment"] = feedback
    known = Calibration(autocorrelation=AUTOCORRELATION)
    blocks: dict[str, list[np.ndarray]] = {kind: [] for kind in estimates}
    for first in range(0, frames, BLOCK):
        lone = np.eye(frames, min(BLOCK, frames - first), -first)
        given = dict.fromkeys(series(protocol), lone) if len(series(protocol)) > 1 else lone
        for kind, estimate in estimates.items():
            blocks[kind].append(estimate(given, protocol, known, when))
    session = protocol.task.trials
    per_hour = session / session_hours(protocol, session)
    found = {}
    for kind, parts in blocks.items():
        each = np.concatenate(parts, axis=1)
        kinds = next(mine for mine in series(protocol).values() if kind in mine)
        _, window, _ = series_events(protocol, kinds, when).window(np.zeros((frames, 1)), 0, frames)
        told = each @ glm.responses(window)
        told = np.pad(told, ((0, 0), (0, trials * len(kinds) - told.shape[1])))
        told = told.reshape(trials, trials, len(kinds))
        own = np.arange(trials)
        gain = told[own, own, kinds.index(kind)]
        # What was guessed is known: seeing it is no noise.
        told[own, own] = 0.0
        other = protocol.brain.cnr**2 * (told**2).sum(axis=(1, 2))
        # The noise of frames resembles that of the frames before: AR(1).
        before = lfilter([1.0], [1.0, -AUTOCORRELATION], each, axis=1)
        variance = (each * (2 * before - each)).sum(axis=1) + other
        # Estimates without any weight vary by nothing, and tell nothing.
        precision = float(np.mean(gain**2 / np.where(variance > 0, variance, 1.0)))
        lone_one = 1 / precision if precision else float("inf")
        found[kind] = Efficiency(lone_one, lone_one / per_hour)
    return found
