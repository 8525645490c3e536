"""How long things take: from a protocol's numbers to onsets, runs, frames and scanner hours."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bciigl.protocol.model import Protocol, Timing


def event_spacing(timing: Timing) -> float:
    """Return the seconds from one event's onset to the next one's."""
    return timing.event + timing.isi


def decision_time(timing: Timing) -> float:
    """Return the seconds from the imagination's onset to the agent's guess."""
    latest = event_spacing(timing) - timing.latency
    return latest if timing.decision is None else timing.decision


def series(protocol: Protocol) -> dict[str, tuple[str, ...]]:
    """Return the series of frames that a run is recorded in, by name, with the events of each."""
    kinds = protocol.task.events
    return {kind: (kind,) for kind in kinds} if protocol.recording == "separate" else {"": kinds}


def event_offsets(protocol: Protocol) -> dict[str, float]:
    """Return the seconds from a trial's beginning to the onset of each of its events."""
    timing, kinds = protocol.timing, protocol.task.events
    # In separate recordings the brain's answers begin together, when imagination ends.
    if protocol.recording == "separate":
        return {kind: 0.0 if kind == "imagination" else timing.event for kind in kinds}
    last = 1 if timing.together else len(kinds)
    return {kind: min(place, last) * event_spacing(timing) for place, kind in enumerate(kinds)}


def trial_seconds(protocol: Protocol) -> float:
    """Return how long one trial takes in a recording."""
    if protocol.recording == "separate":
        return event_spacing(protocol.timing)
    return max(event_offsets(protocol).values()) + event_spacing(protocol.timing)


def trial_start(protocol: Protocol, trial: int) -> float:
    """Return the seconds from the beginning of a run to that of a trial, counted from 0."""
    return protocol.timing.burn_in + trial * trial_seconds(protocol)


def decision_seconds(protocol: Protocol, trial: int) -> float:
    """Return the seconds from the beginning of a run to the guess in a trial, counted from 0."""
    return trial_start(protocol, trial) + decision_time(protocol.timing)


def frames_complete(seconds: float, tr: float) -> int:
    """Return how many frames of a run are complete by then."""
    # Rounded first: 4.5 / 1.5 may come out as a little less than 3.
    return math.floor(round(seconds / tr, 6))


def estimate_frames(protocol: Protocol) -> int:
    """Return how many frames the response to an event is the mean of, where it is not regressed."""
    timing = protocol.timing
    return max(round(timing.event / timing.tr), 1) if protocol.estimate.method == "window" else 1


def run_count(protocol: Protocol, trials: int) -> int:
    """Return how many runs `trials` are recorded in."""
    return math.ceil(trials / protocol.task.trials_per_run)


def session_trials(protocol: Protocol) -> dict[str, int]:
    """Return how many trials each session has."""
    return {"train": protocol.task.trials, "test": protocol.evaluation.test_trials}


def trials_per_run(protocol: Protocol, trials: int) -> list[int]:
    """Return how many of `trials` each run has; the last may have fewer."""
    full, rest = divmod(trials, protocol.task.trials_per_run)
    return [protocol.task.trials_per_run] * full + [rest] * (rest > 0)


def parse_interval(value: int | str) -> tuple[int, str] | None:
    """Return how many of what an interval such as 2 or ``"10 trials"`` is; None if it is none.

    Whole numbers are of runs.
    """
    if isinstance(value, int):
        return (value, "runs") if 1 <= value <= 10_000 else None
    found = re.fullmatch(r"([1-9]\d{0,3}) (run|trial)s?", str(value))
    return None if found is None else (int(found[1]), f"{found[2]}s")


def session_hours(protocol: Protocol, trials: int) -> float:
    """Return the hours that `trials` take in a real scanner, pauses between runs aside."""
    rest = run_count(protocol, trials) * protocol.timing.burn_in
    return len(series(protocol)) * (rest + trials * trial_seconds(protocol)) / 3600


def frames_per_run(protocol: Protocol, trials: int) -> int:
    """Return how many frames a run of `trials` has."""
    # Rounded first: 0.3 / 0.1 is a little less than 3.
    return math.ceil(round(trial_start(protocol, trials) / protocol.timing.tr, 6))
