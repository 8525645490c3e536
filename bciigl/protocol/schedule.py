"""How long things take: from a protocol's numbers to onsets, runs, frames and scanner hours."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bciigl.protocol.model import Protocol, Timing

# fmrisim's double gamma (Ellis et al. 2020): delay 6 s times dispersion 0.9.
IMPULSE_TIME_TO_PEAK = 5.4


def time_to_peak(timing: Timing, hrf_delay: float) -> float:
    """Return the seconds from an event's onset to the peak of its response.

    A boxcar shifts the peak by half its length as long as it is short beside the HRF.
    """
    return IMPULSE_TIME_TO_PEAK + timing.event / 2 + hrf_delay


def event_spacing(timing: Timing) -> float:
    """Return the seconds from one event's onset to the next one's."""
    return timing.event + timing.isi


def decision_time(timing: Timing) -> float:
    """Return the seconds from the imagination's onset to the agent's guess."""
    if timing.decision is not None:
        return timing.decision
    return event_spacing(timing) - timing.latency


def trial_seconds(protocol: Protocol) -> float:
    """Return how long one trial takes."""
    return len(protocol.task.events) * event_spacing(protocol.timing)


def run_count(protocol: Protocol, trials: int) -> int:
    """Return how many runs `trials` are recorded in."""
    return math.ceil(trials / protocol.task.trials_per_run)


def session_hours(protocol: Protocol, trials: int) -> float:
    """Return the hours that `trials` take in a real scanner, pauses between runs aside."""
    rest = run_count(protocol, trials) * protocol.timing.burn_in
    return (rest + trials * trial_seconds(protocol)) / 3600


def frames_per_run(protocol: Protocol, trials: int) -> int:
    """Return how many frames a run of `trials` has."""
    seconds = protocol.timing.burn_in + trials * trial_seconds(protocol)
    # Rounded first: 0.3 / 0.1 is a little less than 3.
    return math.ceil(round(seconds / protocol.timing.tr, 6))
