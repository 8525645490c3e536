"""The frames of a run, checked, and when its events were."""

import math
from collections.abc import Collection, Sequence

import numpy as np

from bciigl.base.errors import BciiglError
from bciigl.estimate import glm
from bciigl.protocol import Protocol, schedule
from bciigl.protocol.timetable import Timetable, timetable

Frames = np.ndarray | dict[str, np.ndarray]
"""Frames of a run, (frames, voxels); by name where there are several series."""
Recordings = dict[tuple[str, ...], np.ndarray]
"""Frames by the kinds of event in them."""


def series_events(protocol: Protocol, kinds: Sequence[str], when: Timetable) -> glm.Events:
    """Return the events of these kinds in a series of frames, trial by trial."""
    onsets = np.column_stack([when.onsets[kind] for kind in kinds])
    lasts = schedule.durations(protocol)
    durations = np.broadcast_to([lasts[kind] for kind in kinds], onsets.shape)
    timing = protocol.timing
    return glm.Events(onsets.ravel(), durations.ravel(), timing.event, timing.tr)


def planned(recordings: Recordings, protocol: Protocol, when: Timetable | None) -> Timetable:
    """Return the times of a run: those given, or of as many trials as began in the frames."""
    if when is not None:
        return when
    frames = max(len(each) for each in recordings.values())
    timing = protocol.timing
    # A run may end anywhere in its last frame.
    seconds = (frames - 1) * timing.tr - timing.burn_in - timing.cool_down
    begun = math.floor(round(seconds / schedule.trial_seconds(protocol), 6)) + 1
    return timetable(protocol, max(begun, 0))


def checked(frames: Frames, protocol: Protocol, needed: Collection[str]) -> Recordings:
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
        arrays = {planned[name]: np.asarray(each) for name, each in named.items()}
        if any(each.dtype.kind not in "buif" for each in arrays.values()):
            raise TypeError
        recordings = {kinds: np.asarray(each, float, "C") for kinds, each in arrays.items()}
    except (TypeError, ValueError):
        raise BciiglError("frames should be real numbers of shape (frames, voxels)") from None
    shapes = {each.shape for each in recordings.values()}
    if len(shapes) > 1 or len(next(iter(shapes))) != 2:
        shown = ", ".join(map(str, sorted(shapes)))
        raise BciiglError(f"frames should be of one shape (frames, voxels), got {shown}")
    for each in recordings.values():
        if np.isfinite(each.sum()):  # as nearly always, and it costs least
            continue
        missing = np.isnan(each).all(axis=1)
        if not np.isfinite(each).all(where=~missing[:, None]):
            raise BciiglError("frames should be finite numbers, or missing in all voxels")
    return recordings
