"""The context and the feedback of each trial, from frames and a protocol's times."""

import math
from collections.abc import Sequence

import numpy as np

from bciigl.base.errors import BciiglError
from bciigl.base.threads import one_thread
from bciigl.estimate import frame, glm
from bciigl.estimate.calibration import UNCALIBRATED, Calibration
from bciigl.estimate.frames import Frames, Recordings, checked, planned, series_events
from bciigl.protocol import Protocol, schedule
from bciigl.protocol.timetable import Timetable, timetable

_CONTEXT = {"imagination": 1.0}
# With fewer of the frames that follow an event there is nothing to estimate its response from.
ENOUGH_FRAMES = 0.5


def contexts(
    frames: Frames,
    protocol: Protocol,
    calibration: Calibration = UNCALIBRATED,
    when: Timetable | None = None,
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
    when : Timetable, optional
        The times of the run (`bciigl.protocol.timetable`); needed where they differ from run to
        run.
    """
    recordings = checked(frames, protocol, _CONTEXT)
    when = planned(recordings, protocol, when)
    trials, voxels = _whole_trials(recordings, protocol, when)
    with one_thread():
        found = [
            _context(recordings, protocol, trial, calibration, when) for trial in range(trials)
        ]
    return np.array(found).reshape(trials, voxels)


def context(
    frames: Frames,
    protocol: Protocol,
    trial: int,
    calibration: Calibration = UNCALIBRATED,
    when: Timetable | None = None,
) -> np.ndarray:
    """Return the context of one trial, (voxels,), while its run goes on.

    `frames` begin with the run; those not complete when the agent decides are not used.
    """
    recordings = checked(frames, protocol, _CONTEXT)
    return _context(recordings, protocol, trial, calibration, _with(protocol, trial, when))


def feedback(
    frames: Frames,
    protocol: Protocol,
    calibration: Calibration = UNCALIBRATED,
    when: Timetable | None = None,
) -> np.ndarray:
    """Return the feedback of each trial of a run, (trials, voxels), from the whole run.

    As in `contexts`; of several series, those with perception and judgment are enough.
    """
    weights = _feedback_weights(protocol)
    recordings = checked(frames, protocol, weights)
    when = planned(recordings, protocol, when)
    trials, _ = _whole_trials(recordings, protocol, when)
    return _estimates(recordings, protocol, weights, range(trials), calibration, when)


def feedback_so_far(
    frames: Frames,
    protocol: Protocol,
    trial: int,
    calibration: Calibration = UNCALIBRATED,
    when: Timetable | None = None,
) -> np.ndarray:
    """Return the feedback of one trial, (voxels,), from frames complete at the trial's end."""
    weights = _feedback_weights(protocol)
    recordings = checked(frames, protocol, weights)
    when = _with(protocol, trial, when)
    seen = _until(recordings, when.starts[trial + 1], protocol.timing.tr)
    return _estimates(seen, protocol, weights, [trial], calibration, when)[0]


def _context(
    recordings: Recordings,
    protocol: Protocol,
    trial: int,
    calibration: Calibration,
    when: Timetable,
) -> np.ndarray:
    seen = _until(recordings, when.decisions[trial], protocol.timing.tr)
    return _estimates(seen, protocol, _CONTEXT, [trial], calibration, when)[0]


def _with(protocol: Protocol, trial: int, when: Timetable | None) -> Timetable:
    """Return times of a run that has a trial."""
    trials = None if when is None else when.trials
    if not isinstance(trial, (int, np.integer)) or not 0 <= trial < (trials or math.inf):
        most = "a larger whole number" if trials is None else f"a whole number up to {trials - 1}"
        raise BciiglError(f"trial should be 0 or {most}, got {trial!r}")
    return timetable(protocol, trial + 1) if when is None else when


def _feedback_weights(protocol: Protocol) -> dict[str, float]:
    return {kind: getattr(protocol.feedback, kind) for kind in protocol.task.events[1:]}


def _estimates(
    recordings: Recordings,
    protocol: Protocol,
    weights: dict[str, float],
    trials: Sequence[int],
    calibration: Calibration,
    when: Timetable,
) -> np.ndarray:
    """Return weighted sums of what the events of trials evoked, (trials, voxels)."""
    if not len(trials):
        return np.zeros((0, next(iter(recordings.values())).shape[1]))
    wanted = np.asarray(trials, int)
    found = (
        _from_series(frames, protocol, kinds, weights, wanted, calibration, when)
        for kinds, frames in recordings.items()
        if not set(kinds).isdisjoint(weights)
    )
    return calibration.normalised(sum(found, np.zeros(())))


def _from_series(
    frames: np.ndarray,
    protocol: Protocol,
    kinds: Sequence[str],
    weights: dict[str, float],
    trials: np.ndarray,
    calibration: Calibration,
    when: Timetable,
) -> np.ndarray:
    """Return weighted sums of what the events of trials evoked in a series with these kinds."""
    events = series_events(protocol, kinds, when)
    frames = glm.without_confounds(frames, events, when.confounds)
    wanted: np.ndarray = np.zeros((len(trials), when.trials, len(kinds)))
    wanted[np.arange(len(trials)), trials] = [weights.get(kind, 0.0) for kind in kinds]
    wanted = wanted.reshape(len(trials), -1)

    def estimate(mine: np.ndarray) -> np.ndarray:
        if protocol.estimate.method != "glm":
            count = schedule.estimate_frames(protocol)
            return frame.estimate(frames, events.onsets, mine, protocol.timing, count)
        response, _, autocorrelation, ridge = calibration
        return glm.estimate(frames, events, mine, response, autocorrelation, ridge)

    missing = glm.are_missing(frames)
    begins = [when.onsets[kind][trials] for kind in kinds if kind in weights]
    # Not a number where an event was not seen: then no frame is after it.
    first, last = np.min(begins, axis=0), when.starts[trials + 1]
    if not missing.any() and not np.isnan(first).any():
        return estimate(wanted)
    sampled = (np.arange(len(missing)) + 0.5) * protocol.timing.tr
    mine = (sampled > first[:, None]) & (sampled < last[:, None])
    enough = (mine & ~missing).sum(axis=1) >= ENOUGH_FRAMES * np.maximum(mine.sum(axis=1), 1)
    found = np.full((len(trials), frames.shape[1]), np.nan)
    if enough.any():
        found[enough] = estimate(wanted[enough])
    return found


def _whole_trials(recordings: Recordings, protocol: Protocol, when: Timetable) -> tuple[int, int]:
    """Return how many trials were recorded to their end, and of how many voxels."""
    frames, voxels = next(iter(recordings.values())).shape
    # Rounding errors aside: a run of 46 trials should not come out as one less.
    ended = when.starts[1:] <= frames * protocol.timing.tr + 1e-6
    return int(ended.sum()), voxels


def _until(recordings: Recordings, seconds: float, tr: float) -> Recordings:
    """Return the frames that are complete by then."""
    complete = schedule.frames_complete(seconds, tr)
    for frames in recordings.values():
        if len(frames) < complete:
            raise BciiglError(
                f"frames should last until {seconds:g} s: {complete} of them, got {len(frames)}"
            )
    return {kinds: frames[:complete] for kinds, frames in recordings.items()}
