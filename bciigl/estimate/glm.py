"""Regression: how much each event evoked, given when all of them happened.

A frame is the sum of the responses to all events, of slow drift, and of noise that resembles itself
from one frame to the next. The events' amplitudes are estimated together, by generalised least
squares with a ridge, in a window around those wanted.

The response assumed is fmrisim's, or the person's own (`bciigl.protocol.hrf.basis`). nilearn has
drift bases and statsmodels has autoregressive models, but both fit one series at a time; here the
weights of the frames, which depend on times alone, are computed once and serve all voxels and
trials.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from bciigl.base.threads import one_thread
from bciigl.protocol.hrf import Weights, event_response, response_length
from bciigl.protocol.model import Timing

# Seconds: cosines of longer periods are taken for drift. The usual 128 s would cost a causal
# estimate, which sees its event from one side only, more precision than drift does.
DRIFT_PERIOD = 256.0
# Seconds: frames further from an event tell no more about it.
WINDOW = 2 * DRIFT_PERIOD
# In units of what an event's own response tells: a lone event's estimate is shrunk to a third,
# whatever the TR and the noise. Neighbouring events are told apart a little less so, and noise is
# not blown up.
RIDGE = 2.0
# Keeps a system with few frames solvable.
SOLVABLE = 1e-6


def estimate(
    frames: np.ndarray,
    onsets: np.ndarray,
    weights: np.ndarray,
    timing: Timing,
    response: Weights = (),
    coefficient: float | None = None,
) -> np.ndarray:
    """Return weighted sums of what events evoked, (sums, voxels); as in `frame.estimate`.

    They are amplitudes: the peak of a lone event's response, shrunk by the ridge. `response` are
    the weights of `hrf.basis`; the autocorrelation is estimated from the frames unless it is known.
    """
    with one_thread():
        if coefficient is None:
            coefficient = autocorrelation(frames, onsets, timing)
        estimates = []
        for mine in weights:
            first, stop = _window(onsets[mine != 0], len(frames), timing)
            inside, times = events(onsets, first, stop, timing)
            present, missing = frames_there(frames[first:stop])
            when = Window(stop - first, times, timing.tr, timing.event, missing, response)
            estimates.append(_frame_weights(when, tuple(mine[inside]), coefficient) @ present)
    return np.array(estimates).reshape(len(weights), frames.shape[1])


def autocorrelation(frames: np.ndarray, onsets: np.ndarray, timing: Timing) -> float:
    """Return how much the noise of a frame resembles that of the frame before, 0 to 0.9.

    From what is left of the last frames when events and drift are taken out, of all voxels
    together, and in steps of 0.1, so that the weights of frames can be kept.
    """
    first = max(len(frames) - round(WINDOW / timing.tr), 0)
    _, times = events(onsets, first, len(frames), timing)
    present, missing = frames_there(frames[first:])
    when = Window(len(frames) - first, times, timing.tr, timing.event, missing)
    return rounded(*lagged_products(present, when))


def lagged_products(there: np.ndarray, when: "Window") -> tuple[float, float]:
    """Return the sum of products of neighbouring frames' noise, and that of its squares."""
    if not len(there):
        return 0.0, 0.0
    centred = there - there.mean(axis=0)
    design, system = least_squares(when, 0.0)
    left = centred - design @ cho_solve(system, design.T @ centred)
    power = float(np.vdot(left, left))
    if power <= 1e-9 * np.vdot(centred, centred):  # as many events as frames leave nothing
        return 0.0, 0.0
    if when.missing:
        whole = np.zeros((when.frames, left.shape[1]))
        whole[when.rows] = left
        left = whole
    return float(np.vdot(left[1:], left[:-1])), power


def rounded(products: float, power: float) -> float:
    """Return an autocorrelation in steps of 0.1, 0 to 0.9."""
    return float(np.clip(np.round(products / power, 1), 0.0, 0.9) + 0.0) if power else 0.0


class Window(NamedTuple):
    """All that a design depends on.

    Attributes
    ----------
    frames : int
        How many there are, with those missing.
    times : tuple of float
        Onsets of the events, in seconds from the beginning of the first frame.
    tr, duration : float
        Seconds from frame to frame, and of an event.
    missing : tuple of int
        Which frames are missing.
    response : tuple of float
        The weights of `hrf.basis`.
    """

    frames: int
    times: tuple[float, ...]
    tr: float
    duration: float
    missing: tuple[int, ...]
    response: Weights = ()

    @property
    def rows(self) -> np.ndarray:
        """Indices of the frames that are there."""
        return np.delete(np.arange(self.frames), self.missing)

    @property
    def lags(self) -> np.ndarray:
        """Seconds from each onset to the middle of each frame that is there, (frames, events)."""
        middle = (self.rows + 0.5) * self.tr
        return middle[:, None] - np.array(self.times)


def are_missing(frames: np.ndarray) -> np.ndarray:
    """Return which frames are missing, (frames,): they are not numbers, in all voxels."""
    return np.isnan(frames[:, :1]).any(axis=1)


def frames_there(frames: np.ndarray) -> tuple[np.ndarray, tuple[int, ...]]:
    """Return the frames that are there, and the indices of those that are missing."""
    missing = are_missing(frames)
    if not missing.any():
        return frames, ()
    return frames[~missing], tuple(np.flatnonzero(missing).tolist())


def _window(wanted: np.ndarray, frames: int, timing: Timing) -> tuple[int, int]:
    """Return the first frame, and the one after the last, that tell about the events wanted."""
    if not len(wanted):
        return 0, frames
    half = WINDOW / 2
    stop = min(frames, int((wanted.max() + half) / timing.tr))
    first = min(stop - round(WINDOW / timing.tr), int((wanted.min() - half) / timing.tr))
    return max(first, 0), stop


def events(
    onsets: np.ndarray, first: int, stop: int, timing: Timing
) -> tuple[np.ndarray, tuple[float, ...]]:
    """Return which events respond in a window, and their onsets in seconds from its beginning."""
    since = onsets - first * timing.tr
    last_sample = (stop - first - 0.5) * timing.tr
    inside = (since > -response_length(timing.event)) & (since < last_sample)
    # Rounded, so that windows at the same place in a trial share what is cached.
    return inside, tuple(np.round(since[inside], 6).tolist())


def drift(when: Window) -> np.ndarray:
    """Return the regressors of drift, (frames there, regressors)."""
    # Cosines grow in number with the time they have to tell drift from events.
    terms = np.arange(1 + int(2 * when.frames * when.tr / DRIFT_PERIOD))
    return np.cos(np.pi / when.frames * np.outer(when.rows + 0.5, terms))


def _design(when: Window) -> np.ndarray:
    """Return the regressors of the events, then those of drift, (frames there, regressors)."""
    # Events follow each other at the same lags: few responses are to be computed.
    lags = np.round(when.lags, 6)
    responses = np.zeros(lags.shape)
    inside = (lags > 0) & (lags < response_length(when.duration))
    different, place = np.unique(lags[inside], return_inverse=True)
    found = event_response(different, when.duration, weights=when.response)
    responses[inside] = found[place]
    return np.concatenate([responses, drift(when)], axis=1)


@lru_cache(maxsize=64)
def least_squares(when: Window, coefficient: float) -> tuple[np.ndarray, tuple[np.ndarray, bool]]:
    """Return the design of AR(1) innovations, and the factors of its normal equations."""
    design = whitened(_design(when), coefficient, np.diff(when.rows))
    design.flags.writeable = False
    return design, cho_factor(design.T @ design + SOLVABLE * np.eye(design.shape[1]))


@lru_cache(maxsize=5000)
def _frame_weights(when: Window, mixture: tuple[float, ...], coefficient: float) -> np.ndarray:
    """Return the weight of each frame in a weighted sum of the events' estimates, (frames,)."""
    events, steps = len(when.times), np.diff(when.rows)
    design = whitened(_design(when), coefficient, steps)
    ridge = np.full(design.shape[1], SOLVABLE)  # drift is hardly penalised
    strongest = (design[:, :events] ** 2).sum(axis=0).max(initial=0.0)
    # It is 0 where all frames are missing that tell of events.
    ridge[:events] = RIDGE * strongest or SOLVABLE
    system = cho_factor(design.T @ design + np.diag(ridge))
    wanted = np.zeros(design.shape[1])
    wanted[:events] = mixture
    weights = _whitened_transposed(design @ cho_solve(system, wanted), coefficient, steps)
    weights.flags.writeable = False
    return weights


def whitened(series: np.ndarray, coefficient: float, steps: np.ndarray) -> np.ndarray:
    """Return the innovations of an AR(1) series; a step is more than 1 after missing frames."""
    innovations = series.copy()
    if len(series):
        decay, scale = _innovation(coefficient, steps)
        innovations[0] *= np.sqrt(1 - coefficient**2)
        innovations[1:] -= (decay * series[:-1].T).T
        innovations[1:] = (innovations[1:].T * scale).T
    return innovations


def _whitened_transposed(weights: np.ndarray, coefficient: float, steps: np.ndarray) -> np.ndarray:
    """Return weights of a series from weights of its innovations."""
    of_series = weights.copy()
    if len(weights):
        decay, scale = _innovation(coefficient, steps)
        of_series[0] *= np.sqrt(1 - coefficient**2)
        of_series[1:] *= scale
        of_series[:-1] -= decay * (scale * weights[1:])
    return of_series


def _innovation(coefficient: float, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how much of a frame is left after some steps, and what scales the rest to one SD."""
    decay = coefficient**steps
    return decay, np.where(steps == 1, 1.0, np.sqrt((1 - coefficient**2) / (1 - decay**2)))
