"""The paper's estimate: one frame, a fixed time after the event's onset."""

import numpy as np

from bciigl.protocol.model import Timing


def estimate(
    frames: np.ndarray, onsets: np.ndarray, weights: np.ndarray, timing: Timing
) -> np.ndarray:
    """Return weighted sums of what events evoked, from these frames alone.

    Parameters
    ----------
    frames : array, (frames, voxels)
        From the beginning of the run. A frame that is not there yet is replaced by the last one.
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
    # As in the paper's code: truncated. Rounded first: 4.5 / 1.5 may come out a little less than 3.
    index = np.floor(np.round((onsets[wanted] + timing.frame_lag) / timing.tr, 6)).astype(int)
    return weights[:, wanted] @ frames[np.minimum(index, len(frames) - 1)]
