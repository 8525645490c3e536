"""The paper's estimate: one frame, a fixed time after the event's onset."""

import numpy as np

from bciigl.protocol.model import Timing
from bciigl.protocol.schedule import frames_complete


def estimate(
    frames: np.ndarray, onsets: np.ndarray, weights: np.ndarray, timing: Timing
) -> np.ndarray:
    """Return weighted sums of what events evoked, from these frames alone.

    Parameters
    ----------
    frames : array, (frames, voxels)
        From the beginning of the run. A frame that is not there yet is replaced by the last one. A
        missing frame is not a number in all voxels, and neither is what is estimated from it.
    onsets : array, (events,)
        Of all events, in seconds from the beginning of the run.
    weights : array, (sums, events)
        How much each event counts in each sum.
    timing : Timing
        How long after an onset the frame is taken.

    Returns
    -------
    estimates : array, (sums, voxels)
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
