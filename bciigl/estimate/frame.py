"""The paper's estimate: one frame, a fixed time after the event's onset."""

import numpy as np

from bciigl.protocol.model import Timing
from bciigl.protocol.schedule import frames_complete


def estimate(
    frames: np.ndarray, onsets: np.ndarray, weights: np.ndarray, timing: Timing
) -> np.ndarray:
    """Return weighted sums of what events evoked, (sums, voxels), from these frames alone.

    `frames`, (frames, voxels), begin with the run. One that is not there yet is replaced by the
    last one; a missing one is not a number in all voxels, and neither is what is estimated from it.
    `onsets`, (events,), are in seconds of the run, `weights` of shape (sums, events).
    """
    wanted = np.flatnonzero(weights.any(axis=0))
    # As in the paper's code: the frame that is being recorded then.
    lagged = onsets[wanted] + timing.frame_lag
    index = np.array([frames_complete(each, timing.tr) for each in lagged], int)
    taken, counted = frames[np.minimum(index, len(frames) - 1)], weights[:, wanted]
    missing = np.isnan(taken).all(axis=1)
    found = counted @ np.where(missing[:, None], 0.0, taken)
    found[(counted[:, missing] != 0).any(axis=1)] = np.nan
    return found
