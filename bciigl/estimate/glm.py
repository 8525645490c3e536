"""Regression: how much each event evoked, given when all of them happened.

A frame is the sum of the responses to all events, of slow drift, and of noise that resembles itself
from one frame to the next. The events' amplitudes are estimated together, by generalised least
squares with a ridge, in a window around those wanted.

The response assumed is fmrisim's, or the person's own (`bciigl.protocol.hrf.basis`). nilearn has
drift bases and statsmodels has autoregressive models, but both fit one series at a time; here the
weights of the frames, which depend on times alone, are computed once and serve all voxels and
trials.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from bciigl.base.threads import one_thread
from bciigl.protocol.hrf import Weights, event_response, response_length

# Seconds: cosines of longer periods are taken for drift. The usual 128 s would cost a causal
# estimate, which sees its event from one side only, more precision than drift does.
DRIFT_PERIOD = 256.0
# Seconds: frames further from an event tell no more about it.
WINDOW = 2 * DRIFT_PERIOD
# In units of what an event's own response tells: a lone event's estimate is shrunk to a third,
# whatever the TR and the noise. Neighbouring events are told apart a little less so, and noise is
# not blown up.
RIDGE = 2.0
# Responses at more lags than these are looked up.
MANY_LAGS = 200
# Keeps a system with few frames solvable.
SOLVABLE = 1e-6
# Beside events and drift: with fewer, taking out a confound adds more noise than it takes away.
FRAMES_PER_CONFOUND = 5
# Shares of the signal's power, and of a frame's value in 32 bits, that are no noise.
NOTHING, ROUNDING = 1e-7, 1e-7


class Events(NamedTuple):
    """The events of a series of frames, in order.

    Attributes
    ----------
    onsets, durations : array, (events,)
        In seconds of the run.
    unit : float
        Seconds that an event lasts whose response peaks at its amplitude; longer ones peak higher.
    tr : float
        Seconds from frame to frame.
    """

    onsets: np.ndarray
    durations: np.ndarray
    unit: float
    tr: float

    def window(
        self, frames: np.ndarray, first: int, stop: int, response: Weights = ()
    ) -> tuple[np.ndarray, "Window", np.ndarray]:
        """Return the frames there from `first` to `stop`, their design, and its events."""
        since = self.onsets - first * self.tr
        last_sample = (stop - first - 0.5) * self.tr
        inside = (since > -response_length(self.durations.max(initial=0.0))) & (since < last_sample)
        # Rounded, so that windows at the same place in a trial share what is cached.
        times = tuple(np.round(since[inside], 6).tolist())
        lasts = tuple(self.durations[inside].tolist())
        present, missing = frames_there(frames[first:stop])
        given = (stop - first, times, lasts, self.unit, self.tr, missing, response)
        return present, Window(*given), inside


def estimate(
    frames: np.ndarray,
    events: Events,
    weights: np.ndarray,
    response: Weights = (),
    coefficient: float | None = None,
    ridge: float | None = None,
) -> np.ndarray:
    """Return weighted sums of what events evoked, (sums, voxels); as in `frame.estimate`.

    They are amplitudes: the peak of a lone event's response, shrunk by the ridge. `response` are
    the weights of `hrf.basis`. The autocorrelation is estimated from the frames unless it is known.
    Where these have no noise the ridge is 0, and estimates are exact.
    """
    with one_thread():
        if coefficient is None:
            products, power = last_products(frames, events)
            coefficient, ridge = rounded(products, power), RIDGE if power else 0.0
        ridge = RIDGE if ridge is None else ridge
        estimates = []
        for mine in weights:
            first, stop = _window(events.onsets[mine != 0], len(frames), events.tr)
            present, when, inside = events.window(frames, first, stop, response)
            estimates.append(frame_weights(when, tuple(mine[inside]), coefficient, ridge) @ present)
    return np.array(estimates).reshape(len(weights), frames.shape[1])


def without_confounds(
    frames: np.ndarray, events: Events, confounds: np.ndarray | None
) -> np.ndarray:
    """Return frames less what confounds, (frames, regressors), explain beside events and drift."""
    if confounds is None:
        return frames
    there = ~are_missing(frames) & np.isfinite(confounds[: len(frames)]).all(axis=1)
    part = confounds[: len(frames)][there]
    if not len(part):
        return frames
    sizes, part = np.abs(part).max(axis=0), part - part.mean(axis=0)
    scale = np.sqrt((part**2).mean(axis=0))
    changes = scale > ROUNDING * sizes
    part = part[:, changes] / scale[changes]
    _, when, _ = events.window(frames, 0, len(frames))
    others = _design(when._replace(missing=tuple(np.flatnonzero(~there).tolist())))
    if len(part) - others.shape[1] < FRAMES_PER_CONFOUND * part.shape[1]:
        return frames
    weights = np.linalg.lstsq(np.concatenate([part, others], axis=1), frames[there], rcond=None)[0]
    cleaned = frames.copy()
    cleaned[there] -= part @ weights[: part.shape[1]]
    return cleaned


def last_products(frames: np.ndarray, events: Events) -> tuple[float, float]:
    """Return the `lagged_products` of the last frames."""
    first = max(len(frames) - round(WINDOW / events.tr), 0)
    present, when, _ = events.window(frames, first, len(frames))
    return lagged_products(present, when)


def lagged_products(there: np.ndarray, when: "Window") -> tuple[float, float]:
    """Return the sum of products of neighbouring frames' noise, and that of its squares.

    The noise is what is left when events and drift are taken out, of all voxels together.
    """
    if not len(there):
        return 0.0, 0.0
    centred = there - there.mean(axis=0)
    design, system = least_squares(when, 0.0)
    left = centred - design @ cho_solve(system, design.T @ centred)
    power = float(np.vdot(left, left))
    # Nothing but rounding errors is left without noise, or of as many events as frames.
    if power <= NOTHING * np.vdot(centred, centred) + ROUNDING**2 * np.vdot(there, there):
        return 0.0, 0.0
    if when.missing:
        whole = np.zeros((when.frames, left.shape[1]))
        whole[when.rows] = left
        left = whole
    return float(np.vdot(left[1:], left[:-1])), power


def rounded(products: float, power: float) -> float:
    """Return how much the noise of a frame resembles that of the frame before, 0 to 0.9.

    It is in steps of 0.1, so that the weights of frames can be kept.
    """
    return float(np.clip(np.round(products / power, 1), 0.0, 0.9) + 0.0) if power else 0.0


class Window(NamedTuple):
    """All that a design depends on.

    Attributes
    ----------
    frames : int
        How many there are, with those missing.
    times : tuple of float
        Onsets of the events, in seconds from the beginning of the first frame.
    durations : tuple of float
        How long they last.
    unit, tr : float
        As in `Events`.
    missing : tuple of int
        Which frames are missing.
    response : tuple of float
        The weights of `hrf.basis`.
    """

    frames: int
    times: tuple[float, ...]
    durations: tuple[float, ...]
    unit: float
    tr: float
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
        return np.round(middle[:, None] - np.array(self.times), 6)

    def responses(self, response: Callable[[np.ndarray, float], np.ndarray]) -> np.ndarray:
        """Return what events evoke in each frame that is there, (frames, events).

        `response` has the course of an event, given seconds since its onset and its duration.
        """
        lags, durations = self.lags, np.array(self.durations)
        found = np.zeros(lags.shape)
        for duration in set(self.durations):
            inside = (lags > 0) & (lags < response_length(duration)) & (durations == duration)
            # Events often follow each other at the same lags: few responses are to be computed.
            different, place = np.unique(lags[inside], return_inverse=True)
            found[inside] = response(different, duration)[place]
        return found


def are_missing(frames: np.ndarray) -> np.ndarray:
    """Return which frames are missing, (frames,): they are not numbers, in all voxels."""
    return np.isnan(frames[:, :1]).any(axis=1)


def frames_there(frames: np.ndarray) -> tuple[np.ndarray, tuple[int, ...]]:
    """Return the frames that are there, and the indices of those that are missing."""
    missing = are_missing(frames)
    if not missing.any():
        return frames, ()
    return frames[~missing], tuple(np.flatnonzero(missing).tolist())


def _window(wanted: np.ndarray, frames: int, tr: float) -> tuple[int, int]:
    """Return the first frame, and the one after the last, that tell about the events wanted."""
    if not len(wanted):
        return 0, frames
    half = WINDOW / 2
    stop = min(frames, int((wanted.max() + half) / tr))
    first = min(stop - round(WINDOW / tr), int((wanted.min() - half) / tr))
    return max(first, 0), stop


def drift(when: Window) -> np.ndarray:
    """Return the regressors of drift, (frames there, regressors)."""
    # Cosines grow in number with the time they have to tell drift from events.
    terms = np.arange(1 + int(2 * when.frames * when.tr / DRIFT_PERIOD))
    return np.cos(np.pi / when.frames * np.outer(when.rows + 0.5, terms))


def responses(when: Window) -> np.ndarray:
    """Return the regressors of the events, (frames there, events)."""

    def response(lags: np.ndarray, duration: float) -> np.ndarray:
        # Jitter gives nearly every frame a lag of its own, in whole milliseconds.
        if len(lags) > MANY_LAGS:
            steps = np.round(lags * 1000).astype(int)
            if np.allclose(steps / 1000, lags, rtol=0, atol=1e-9):
                return _by_millisecond(duration, when.response, when.unit)[steps]
        return event_response(lags, duration, weights=when.response, unit=when.unit)

    return when.responses(response)


@lru_cache(maxsize=16)
def _by_millisecond(duration: float, response: Weights, unit: float) -> np.ndarray:
    """Return the response to an event in each millisecond after its onset."""
    seconds = np.arange(int(1000 * response_length(duration)) + 2) / 1000
    return event_response(seconds, duration, weights=response, unit=unit)


def _design(when: Window) -> np.ndarray:
    """Return the regressors of the events, then those of drift, (frames there, regressors)."""
    return np.concatenate([responses(when), drift(when)], axis=1)


@lru_cache(maxsize=64)
def least_squares(when: Window, coefficient: float) -> tuple[np.ndarray, tuple[np.ndarray, bool]]:
    """Return the design of AR(1) innovations, and the factors of its normal equations."""
    design = whitened(_design(when), coefficient, np.diff(when.rows))
    design.flags.writeable = False
    return design, cho_factor(design.T @ design + SOLVABLE * np.eye(design.shape[1]))


@lru_cache(maxsize=5000)
def frame_weights(
    when: Window, mixture: tuple[float, ...], coefficient: float, shrink: float = RIDGE
) -> np.ndarray:
    """Return the weight of each frame in a weighted sum of the events' estimates, (frames,)."""
    events, steps = len(when.times), np.diff(when.rows)
    design = whitened(_design(when), coefficient, steps)
    ridge = np.full(design.shape[1], SOLVABLE)  # drift is hardly penalised
    strongest = (design[:, :events] ** 2).sum(axis=0).max(initial=0.0)
    # It is 0 where all frames are missing that tell of events.
    ridge[:events] = shrink * strongest or SOLVABLE
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
