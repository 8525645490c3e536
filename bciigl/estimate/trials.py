"""The context and the feedback of each trial, from frames and a protocol's times."""

import math
from collections.abc import Sequence

import numpy as np

from bciigl.base.errors import BciiglError
from bciigl.estimate import frame, glm
from bciigl.protocol import Protocol
from bciigl.protocol.schedule import decision_time, event_offsets, trial_seconds

_ESTIMATES = {"glm": glm.estimate, "frame": frame.estimate}
Frames = np.ndarray | dict[str, np.ndarray]
"""Of one recording (frames, voxels), or of one for each kind of event."""


def contexts(frames: Frames, protocol: Protocol) -> np.ndarray:
    """Return the context of each trial of a run, (trials, voxels).

    Each is estimated from the frames complete when the agent decides, as `context` does while the
    run goes on.

    Parameters
    ----------
    frames : array, (frames, voxels), or dict of arrays
        A whole run, as `Scanner.play` gives it; or one recording for each kind of event, as
        `Brain.record_separately` gives them.
    protocol : Protocol
        When the events were, and how to estimate what they evoked.
    """
    trials = range(_whole_trials(frames, protocol))
    return np.array([context(frames, protocol, trial) for trial in trials])


def context(frames: Frames, protocol: Protocol, trial: int) -> np.ndarray:
    """Return the context of one trial, (voxels,), while its run goes on.

    `frames` begin with the run; those not complete when the agent decides are not used.
    """
    decision = _start(protocol, trial) + decision_time(protocol.timing)
    seen = _until(frames, decision, protocol)
    return _estimates(seen, protocol, {"imagination": 1.0}, [trial])[0]


def feedback(frames: Frames, protocol: Protocol) -> np.ndarray:
    """Return the feedback of each trial of a run, (trials, voxels), from the whole run.

    Parameters
    ----------
    frames, protocol
        As in `contexts`.
    """
    trials = range(_whole_trials(frames, protocol))
    return _estimates(frames, protocol, _feedback_weights(protocol), trials)


def feedback_so_far(frames: Frames, protocol: Protocol, trial: int) -> np.ndarray:
    """Return the feedback of one trial, (voxels,), from frames complete at the trial's end."""
    seen = _until(frames, _start(protocol, trial + 1), protocol)
    return _estimates(seen, protocol, _feedback_weights(protocol), [trial])[0]


def _feedback_weights(protocol: Protocol) -> dict[str, float]:
    return {kind: getattr(protocol.feedback, kind) for kind in protocol.task.events[1:]}


def _estimates(
    frames: Frames, protocol: Protocol, weights: dict[str, float], trials: Sequence[int]
) -> np.ndarray:
    """Return weighted sums of what the events of trials evoked, (trials, voxels)."""
    if isinstance(frames, dict):
        return sum(
            _from_series(frames[kind], protocol, (kind,), {kind: weight}, trials)
            for kind, weight in weights.items()
        )
    return _from_series(frames, protocol, protocol.task.events, weights, trials)


def _from_series(
    series: np.ndarray,
    protocol: Protocol,
    kinds: Sequence[str],
    weights: dict[str, float],
    trials: Sequence[int],
) -> np.ndarray:
    """Return weighted sums of what the events of trials evoked in a series with these kinds."""
    trials = np.asarray(trials)
    begun = _trials_begun(series, protocol)
    offsets = event_offsets(protocol)
    onsets = np.add.outer(
        [_start(protocol, trial) for trial in range(begun)], [offsets[kind] for kind in kinds]
    )
    wanted = np.zeros((len(trials), begun, len(kinds)))
    wanted[np.arange(len(trials)), trials] = [weights.get(kind, 0.0) for kind in kinds]
    return _ESTIMATES[protocol.estimate](
        series, onsets.ravel(), wanted.reshape(len(trials), -1), protocol.timing
    )


def _start(protocol: Protocol, trial: int) -> float:
    """Return the seconds from the beginning of a run to that of a trial."""
    return protocol.timing.burn_in + trial * trial_seconds(protocol)


def _trials_begun(series: np.ndarray, protocol: Protocol) -> int:
    seconds = len(series) * protocol.timing.tr - protocol.timing.burn_in
    return math.ceil(round(seconds / trial_seconds(protocol), 6))


def _whole_trials(frames: Frames, protocol: Protocol) -> int:
    """Return how many trials were recorded to their end."""
    series = next(iter(frames.values())) if isinstance(frames, dict) else frames
    seconds = len(series) * protocol.timing.tr - protocol.timing.burn_in
    return max(math.floor(round(seconds / trial_seconds(protocol), 6)), 0)


def _until(frames: Frames, seconds: float, protocol: Protocol) -> Frames:
    """Return the frames that are complete by then."""
    if isinstance(frames, dict):
        return {kind: _until(series, seconds, protocol) for kind, series in frames.items()}
    # Rounded: 4.5 / 1.5 may come out as a little less than 3.
    complete = math.floor(round(seconds / protocol.timing.tr, 6))
    if len(frames) < complete:
        raise BciiglError(
            f"frames should last until {seconds:g} s: {complete} of them, got {len(frames)}"
        )
    return frames[:complete]
