"""The context and the feedback of each trial, from frames and a protocol's times."""

import math
from collections.abc import Collection, Sequence
from functools import partial

import numpy as np

from bciigl.base.errors import BciiglError
from bciigl.estimate import frame, glm
from bciigl.protocol import Protocol, schedule
from bciigl.protocol.schedule import trial_seconds, trial_start

_ESTIMATES = {"glm": glm.estimate, "frame": frame.estimate}
_CONTEXT = {"imagination": 1.0}
# With fewer of the frames that follow an event there is nothing to estimate its response from.
ENOUGH_FRAMES = 0.5
Frames = np.ndarray | dict[str, np.ndarray]
"""Frames of a run, (frames, voxels); by name where there are several series."""
Recordings = dict[tuple[str, ...], np.ndarray]
"""Frames by the kinds of event in them."""


def contexts(frames: Frames, protocol: Protocol) -> np.ndarray:
    """Return the context of each trial of a run, (trials, voxels).

    Each is estimated from the frames complete when the agent decides, as `context` does while the
    run goes on.

    Parameters
    ----------
    frames : array, (frames, voxels), or dict of arrays
        A whole run, as `Scanner.play` gives it. A missing frame is not a number in all voxels;
        estimates do without it. A dict has several series by name, of which that with imagination
        is enough.
    protocol : Protocol
        When the events were, and how to estimate what they evoked.
    """
    recordings = _checked(frames, protocol, _CONTEXT)
    trials, voxels = _whole_trials(recordings, protocol)
    found = [_context(recordings, protocol, trial) for trial in range(trials)]
    return np.array(found).reshape(trials, voxels)


def context(frames: Frames, protocol: Protocol, trial: int) -> np.ndarray:
    """Return the context of one trial, (voxels,), while its run goes on.

    `frames` begin with the run; those not complete when the agent decides are not used.
    """
    return _context(_checked(frames, protocol, _CONTEXT), protocol, trial)


def feedback(frames: Frames, protocol: Protocol) -> np.ndarray:
    """Return the feedback of each trial of a run, (trials, voxels), from the whole run.

    As in `contexts`; of several series, those with perception and judgment are enough.
    """
    weights = _feedback_weights(protocol)
    recordings = _checked(frames, protocol, weights)
    trials, _ = _whole_trials(recordings, protocol)
    return _estimates(recordings, protocol, weights, range(trials))


def feedback_so_far(frames: Frames, protocol: Protocol, trial: int) -> np.ndarray:
    """Return the feedback of one trial, (voxels,), from frames complete at the trial's end."""
    weights = _feedback_weights(protocol)
    recordings = _checked(frames, protocol, weights)
    seen = _until(recordings, protocol, trial, trial_seconds(protocol))
    return _estimates(seen, protocol, weights, [trial])[0]


def _context(recordings: Recordings, protocol: Protocol, trial: int) -> np.ndarray:
    seen = _until(recordings, protocol, trial, schedule.decision_time(protocol.timing))
    return _estimates(seen, protocol, _CONTEXT, [trial])[0]


def _feedback_weights(protocol: Protocol) -> dict[str, float]:
    return {kind: getattr(protocol.feedback, kind) for kind in protocol.task.events[1:]}


def _checked(frames: Frames, protocol: Protocol, needed: Collection[str]) -> Recordings:
    """Return frames as recordings by the kinds of event in them, if those needed are there."""
    planned = schedule.series(protocol)
    if isinstance(frames, dict) != (len(planned) > 1):
        expected = "a series for each kind of event" if len(planned) > 1 else "one series"
        raise BciiglError(f"recording: {protocol.recording} has {expected}: frames do not fit it")
    named = frames if isinstance(frames, dict) else {"": frames}
    covered = {kind for name in named for kind in planned.get(name, ())}
    if not set(needed) <= covered or not set(named) <= set(planned):
        raise BciiglError(
            f"frames should be of {', '.join(planned)}, got {', '.join(map(str, named))}"
        )
    try:
        # In one order in memory, on which the last bits of a matrix product depend.
        recordings = {planned[name]: np.asarray(each, order="C") for name, each in named.items()}
        if any(each.dtype.kind not in "buif" for each in recordings.values()):
            raise TypeError
    except (TypeError, ValueError):
        raise BciiglError("frames should be real numbers of shape (frames, voxels)") from None
    shapes = {each.shape for each in recordings.values()}
    if len(shapes) > 1 or len(next(iter(shapes))) != 2:
        shown = ", ".join(map(str, sorted(shapes)))
        raise BciiglError(f"frames should be of one shape (frames, voxels), got {shown}")
    for each in recordings.values():
        missing = np.isnan(each).all(axis=1)
        if not np.isfinite(each).all(where=~missing[:, None]):
            raise BciiglError("frames should be finite numbers, or missing in all voxels")
    return recordings


def _estimates(
    recordings: Recordings, protocol: Protocol, weights: dict[str, float], trials: Sequence[int]
) -> np.ndarray:
    """Return weighted sums of what the events of trials evoked, (trials, voxels)."""
    if not len(trials):
        return np.zeros((0, next(iter(recordings.values())).shape[1]))
    return sum(
        _from_series(frames, protocol, kinds, weights, trials)
        for kinds, frames in recordings.items()
        if not set(kinds).isdisjoint(weights)
    )


def _from_series(
    frames: np.ndarray, protocol: Protocol, kinds: Sequence[str], weights: dict, trials: Sequence
) -> np.ndarray:
    """Return weighted sums of what the events of trials evoked in a series with these kinds."""
    trials = np.asarray(trials, int)
    seconds = len(frames) * protocol.timing.tr - protocol.timing.burn_in
    begun = max(math.ceil(seconds / trial_seconds(protocol)), trials.max(initial=-1) + 1)
    offsets = schedule.event_offsets(protocol)
    onsets = np.add.outer(
        [trial_start(protocol, trial) for trial in range(begun)], [offsets[kind] for kind in kinds]
    )
    wanted = np.zeros((len(trials), begun, len(kinds)))
    wanted[np.arange(len(trials)), trials] = [weights.get(kind, 0.0) for kind in kinds]
    wanted = wanted.reshape(len(trials), onsets.size)
    missing = np.isnan(frames).all(axis=1)
    estimate = partial(
        _ESTIMATES[protocol.estimate], frames, onsets.ravel(), timing=protocol.timing
    )
    if not missing.any():
        return estimate(wanted)
    first = onsets[trials][:, [kind in weights for kind in kinds]].min(axis=1)
    last = np.array([trial_start(protocol, trial + 1) for trial in trials])
    sampled = (np.arange(len(missing)) + 0.5) * protocol.timing.tr
    mine = (sampled > first[:, None]) & (sampled < last[:, None])
    enough = (mine & ~missing).sum(axis=1) >= ENOUGH_FRAMES * np.maximum(mine.sum(axis=1), 1)
    found = np.full((len(trials), frames.shape[1]), np.nan)
    if enough.any():
        found[enough] = estimate(wanted[enough])
    return found


def _whole_trials(recordings: Recordings, protocol: Protocol) -> tuple[int, int]:
    """Return how many trials were recorded to their end, and of how many voxels."""
    frames, voxels = next(iter(recordings.values())).shape
    seconds = frames * protocol.timing.tr - protocol.timing.burn_in
    # Rounded first: a run of 46 trials should not come out as a little less.
    return max(math.floor(round(seconds / trial_seconds(protocol), 6)), 0), voxels


def _until(recordings: Recordings, protocol: Protocol, trial: int, since: float) -> Recordings:
    """Return the frames that are complete some seconds after a trial began."""
    if not isinstance(trial, (int, np.integer)) or trial < 0:
        raise BciiglError(f"trial should be 0 or a larger whole number, got {trial!r}")
    seconds = trial_start(protocol, trial) + since
    complete = schedule.frames_complete(seconds, protocol.timing.tr)
    for frames in recordings.values():
        if len(frames) < complete:
            raise BciiglError(
                f"frames should last until {seconds:g} s: {complete} of them, got {len(frames)}"
            )
    return {kinds: frames[:complete] for kinds, frames in recordings.items()}
