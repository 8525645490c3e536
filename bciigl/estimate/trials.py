"""The context and the feedback of each trial, from frames and a protocol's times."""

import math
from collections.abc import Sequence

import numpy as np

from bciigl.base.errors import BciiglError
from bciigl.base.threads import one_thread
from bciigl.estimate import frame, glm
from bciigl.estimate.calibration import UNCALIBRATED, Calibration
from bciigl.estimate.frames import Frames, Recordings, checked, onsets
from bciigl.protocol import Protocol, schedule
from bciigl.protocol.schedule import trial_seconds, trial_start

_CONTEXT = {"imagination": 1.0}
# With fewer of the frames that follow an event there is nothing to estimate its response from.
ENOUGH_FRAMES = 0.5


def contexts(
    frames: Frames, protocol: Protocol, calibration: Calibration = UNCALIBRATED
) -> np.ndarray:
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
    calibration : Calibration, optional
        What is known of the person and the noise, from other runs.
    """
    recordings = checked(frames, protocol, _CONTEXT)
    trials, voxels = _whole_trials(recordings, protocol)
    with one_thread():
        found = [_context(recordings, protocol, trial, calibration) for trial in range(trials)]
    return np.array(found).reshape(trials, voxels)


def context(
    frames: Frames, protocol: Protocol, trial: int, calibration: Calibration = UNCALIBRATED
) -> np.ndarray:
    """Return the context of one trial, (voxels,), while its run goes on.

    `frames` begin with the run; those not complete when the agent decides are not used.
    """
    return _context(checked(frames, protocol, _CONTEXT), protocol, trial, calibration)


def feedback(
    frames: Frames, protocol: Protocol, calibration: Calibration = UNCALIBRATED
) -> np.ndarray:
    """Return the feedback of each trial of a run, (trials, voxels), from the whole run.

    As in `contexts`; of several series, those with perception and judgment are enough.
    """
    weights = _feedback_weights(protocol)
    recordings = checked(frames, protocol, weights)
    trials, _ = _whole_trials(recordings, protocol)
    return _estimates(recordings, protocol, weights, range(trials), calibration)


def feedback_so_far(
    frames: Frames, protocol: Protocol, trial: int, calibration: Calibration = UNCALIBRATED
) -> np.ndarray:
    """Return the feedback of one trial, (voxels,), from frames complete at the trial's end."""
    weights = _feedback_weights(protocol)
    recordings = checked(frames, protocol, weights)
    seen = _until(recordings, protocol, trial, trial_seconds(protocol))
    return _estimates(seen, protocol, weights, [trial], calibration)[0]


def _context(
    recordings: Recordings, protocol: Protocol, trial: int, calibration: Calibration
) -> np.ndarray:
    seen = _until(recordings, protocol, trial, schedule.decision_time(protocol.timing))
    return _estimates(seen, protocol, _CONTEXT, [trial], calibration)[0]


def _feedback_weights(protocol: Protocol) -> dict[str, float]:
    return {kind: getattr(protocol.feedback, kind) for kind in protocol.task.events[1:]}


def _estimates(
    recordings: Recordings,
    protocol: Protocol,
    weights: dict[str, float],
    trials: Sequence[int],
    calibration: Calibration,
) -> np.ndarray:
    """Return weighted sums of what the events of trials evoked, (trials, voxels)."""
    if not len(trials):
        return np.zeros((0, next(iter(recordings.values())).shape[1]))
    found = sum(
        _from_series(frames, protocol, kinds, weights, trials, calibration)
        for kinds, frames in recordings.items()
        if not set(kinds).isdisjoint(weights)
    )
    return calibration.normalised(found)


def _from_series(
    frames: np.ndarray,
    protocol: Protocol,
    kinds: Sequence[str],
    weights: dict[str, float],
    trials: Sequence[int],
    calibration: Calibration,
) -> np.ndarray:
    """Return weighted sums of what the events of trials evoked in a series with these kinds."""
    trials = np.asarray(trials, int)
    when = onsets(protocol, kinds, len(frames), trials.max() + 1)
    wanted = np.zeros((len(trials), *when.shape))
    wanted[np.arange(len(trials)), trials] = [weights.get(kind, 0.0) for kind in kinds]
    wanted = wanted.reshape(len(trials), when.size)

    def estimate(mine: np.ndarray) -> np.ndarray:
        given = (frames, when.ravel(), mine, protocol.timing)
        if protocol.estimate.method != "glm":
            return frame.estimate(*given, schedule.estimate_frames(protocol))
        return glm.estimate(*given, calibration.response, calibration.autocorrelation)

    missing = glm.are_missing(frames)
    if not missing.any():
        return estimate(wanted)
    first = when[trials][:, [kind in weights for kind in kinds]].min(axis=1)
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
