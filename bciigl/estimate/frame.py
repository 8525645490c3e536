"""The paper's estimate: one frame, or the mean of several, a fixed time after the onset."""

import numpy as np

from bciigl.protocol.model import Timing
from bciigl.protocol.schedule import frames_complete


def estimate(
    frames: np.ndarray, onsets: np.ndarray, weights: np.ndarray, timing: Timing, count: int = 1
) -> np.ndarray:
    """Return weighted sums of what events evoked, (sums, voxels), from these frames alone.

    `frames`, (frames, voxels), begin with the run. One that is not there yet is replaced by the
    last one; a missing one is not a number in all voxels, and neither is what is estimated from it.
    `onsets`, (events,), are in seconds of the run, `weights` of shape (sums, events). Of `count`
    frames in a row the mean is taken of those that are not missing.
    """
    wanted = np.flatnonzero(weights.any(axis=0))
    # As in the paper's code: the frame that is being recorded then.
    lagged = onsets[wanted] + timing.frame_lag
    index = np.array([frames_complete(each, timing.tr) for each in lagged], int)
    rows = np.minimum(index[:, None] + np.arange(count), len(frames) - 1)
    taken, counted = frames[rows], weights[:, wanted]
    there = ~np.isnan(taken).all(axis=2)
    missing = ~there.any(axis=1)
    number = np.maximum(there.sum(axis=1), 1)
    found = counted @ (np.where(there[:, :, None], taken, 0.0).sum(axis=1) / number[:, None])
    found[(counted[:, missing] != 0).any(axis=1)] = np.nan
    return found
