"""How long things take: from a protocol's numbers to onsets, runs, frames and scanner hours."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from bciigl.base.errors import BciiglError

if TYPE_CHECKING:
    from bciigl.protocol.model import Protocol

DECAYS = 3.0
"""Exponential jitter is cut off at as many times its decay."""


def durations(protocol: Protocol) -> dict[str, float]:
    """Return how long each kind of event lasts, in seconds."""
    timing = protocol.timing
    own = {kind: getattr(timing, kind).duration for kind in protocol.task.events}
    return {kind: timing.event if each is None else each for kind, each in own.items()}


def series(protocol: Protocol) -> dict[str, tuple[str, ...]]:
    """Return the series of frames that a run is recorded in, by name, with the events of each."""
    kinds = protocol.task.events
    return {kind: (kind,) for kind in kinds} if protocol.recording == "separate" else {"": kinds}


class Step(NamedTuple):
    """A part of a trial: events that begin together, and all until the next ones begin.

    `seconds` is how long it takes at least, `jitter` the most that is added to it at random.
    """

    kinds: tuple[str, ...]
    seconds: float
    jitter: float


def steps(protocol: Protocol) -> list[Step]:
    """Return the parts of a trial, in order; the last one has the interval between trials."""
    timing, kinds, lasts = protocol.timing, protocol.task.events, durations(protocol)
    begin = [kinds[:1], kinds[1:]] if timing.together else [(kind,) for kind in kinds]
    found = []
    for together in begin:
        own = {kind: getattr(timing, kind) for kind in together}
        pauses = {k: timing.isi if each.pause is None else each.pause for k, each in own.items()}
        jitter = (timing.jitter if each.jitter is None else each.jitter for each in own.values())
        seconds = max(lasts[kind] + pauses[kind] for kind in together)
        found.append(Step(together, seconds, max(jitter)))
    return [*found[:-1], found[-1]._replace(seconds=found[-1].seconds + timing.iti)]


def event_offsets(protocol: Protocol) -> dict[str, float]:
    """Return the seconds from a trial's beginning to each of its events, at least."""
    # In separate recordings the brain's answers begin together, when imagination ends.
    if protocol.recording == "separate":
        after = protocol.timing.event
        return {kind: 0.0 if kind == "imagination" else after for kind in protocol.task.events}
    offsets: dict[str, float] = {}
    elapsed = 0.0
    for step in steps(protocol):
        offsets |= dict.fromkeys(step.kinds, elapsed)
        elapsed += step.seconds
    return offsets


def decision_time(protocol: Protocol) -> float:
    """Return the seconds from the imagination's onset to the agent's guess, at least."""
    latest = steps(protocol)[0].seconds - protocol.timing.latency
    return latest if protocol.timing.decision is None else protocol.timing.decision


def is_regular(protocol: Protocol) -> bool:
    """Tell whether all trials of all runs have the same times."""
    return not protocol.timing.null_trials and not any(step.jitter for step in steps(protocol))


def jitter_mean(distribution: str) -> float:
    """Return the mean of what is added to a pause, as a share of the most that is added."""
    if distribution == "uniform":
        return 0.5
    return 1 / DECAYS - 1 / math.expm1(DECAYS)


def trial_seconds(protocol: Protocol) -> float:
    """Return how long one trial takes in a recording, on average."""
    if protocol.recording == "separate":
        return protocol.timing.event + protocol.timing.isi
    return _trial_seconds(protocol, jitter_mean(protocol.timing.jitter_distribution))


def _trial_seconds(protocol: Protocol, jitter: float) -> float:
    """Return how long a trial takes with this share of all jitter."""
    # The last step begins at the last offset; in this order sums of decimals are as in onsets.
    added = sum(step.jitter for step in steps(protocol)) * jitter
    return max(event_offsets(protocol).values()) + steps(protocol)[-1].seconds + added


def frames_complete(seconds: float, tr: float) -> int:
    """Return how many frames of a run are complete by then."""
    # Rounded first: 4.5 / 1.5 may come out as a little less than 3.
    return math.floor(round(seconds / tr, 6))


def estimate_frames(protocol: Protocol) -> int:
    """Return how many frames the response to an event is the mean of, where it is not regressed."""
    timing = protocol.timing
    return max(round(timing.event / timing.tr), 1) if protocol.estimate.method == "window" else 1


def null_trials(protocol: Protocol, trials: int) -> int:
    """Return how many null trials a run of `trials` has besides them."""
    return math.floor(protocol.timing.null_trials * trials + 0.5)


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


def parse_interval(value: int | str) -> tuple[int, str]:
    """Return how many of what an interval such as 2 or ``"10 trials"`` is.

    Whole numbers are of runs. `BciiglError` if it is no interval.
    """
    if isinstance(value, int):
        if not isinstance(value, bool) and 1 <= value <= 10_000:
            return value, "runs"
    elif found := re.fullmatch(r"([1-9]\d{0,3}) (run|trial)s?", str(value)):
        return int(found[1]), f"{found[2]}s"
    message = "should be a whole number of runs from 1, or text such as '2 runs' or '10 trials'"
    raise BciiglError(message)


def session_hours(protocol: Protocol, trials: int) -> float:
    """Return the mean hours that `trials` take in a real scanner, pauses between runs aside."""
    size = protocol.task.trials_per_run
    full, last = divmod(trials, size)
    rest = run_count(protocol, trials) * (protocol.timing.burn_in + protocol.timing.cool_down)
    counted = trials + full * null_trials(protocol, size) + null_trials(protocol, last)
    return len(series(protocol)) * (rest + counted * trial_seconds(protocol)) / 3600


def longest_run_seconds(protocol: Protocol, trials: int) -> float:
    """Return the most seconds that a run of `trials` takes, whatever the jitter."""
    timing = protocol.timing
    longest = trial_seconds(protocol) if is_regular(protocol) else _trial_seconds(protocol, 1.0)
    counted = trials + null_trials(protocol, trials)
    return timing.burn_in + counted * longest + timing.cool_down
