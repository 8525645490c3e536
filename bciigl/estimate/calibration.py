"""What finished runs tell of a person and a scanner: the response, the noise between voxels.

It needs frames and the times of events alone: no labels, and no guesses. What is found in some runs
is used in later ones.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve

from bciigl.base.threads import one_thread
from bciigl.estimate import glm
from bciigl.estimate.frames import Frames, checked, planned, series_events
from bciigl.estimate.noise import Scatter, Whitening, normalised
from bciigl.estimate.response import ResponseStatistics
from bciigl.protocol import Protocol
from bciigl.protocol.hrf import Weights
from bciigl.protocol.timetable import Timetable


class Calibration(NamedTuple):
    """What estimates take for known.

    Attributes
    ----------
    response : tuple of float
        The person's response, as weights of `bciigl.protocol.hrf.basis`; () is fmrisim's.
    whitening : array or None
        What makes estimates uncorrelated, in SDs of the noise: (voxels, components), or a factor
        for each voxel (of more than 1000, or of windows). None leaves them in the scanner's units.
    autocorrelation : float or None
        That of the noise, from a frame to the next; None to estimate it from the run's own frames.
    ridge : float or None
        How much estimates are shrunk; 0 where there is no noise, None for the usual.
    """

    response: Weights = ()
    whitening: Whitening = None
    autocorrelation: float | None = None
    ridge: float | None = None

    def normalised(self, estimates: np.ndarray) -> np.ndarray:
        """Return estimates, (rows, voxels), in the units of this calibration."""
        return normalised(estimates, self.whitening)


UNCALIBRATED = Calibration()
"""Where nothing is known yet: fmrisim's response, and the scanner's units."""


class Calibrator:
    """Calibrates estimates by finished runs, one after the other.

    Parameters
    ----------
    protocol : Protocol
        When the events were, and what is to be calibrated (`estimate`).
    """

    def __init__(self, protocol: Protocol) -> None:
        how = protocol.estimate
        self._protocol = protocol
        self._regresses, self._normalises = how.method == "glm", how.normalise
        self._fits = self._regresses and how.hrf == "individual"
        self._has_rest = how.method != "window"
        self._runs = 0
        self._response: Weights = ()
        self._noise: Scatter | None = None
        self._lagged = np.zeros(2)  # products of neighbouring frames' noise, and its squares
        self._calibration: Calibration | None = UNCALIBRATED

    def add(self, frames: Frames, when: Timetable | None = None) -> None:
        """Take notice of a finished run.

        Parameters
        ----------
        frames : array, (frames, voxels), or dict of arrays
            As in `bciigl.estimate.contexts`, with all series.
        when : Timetable, optional
            As there.
        """
        if not self._fits and not self._normalises:
            return
        with one_thread():
            if not self._has_rest:
                self._add_windows(frames)
                return
            windows = list(self._windows(frames, when))
            if not windows:  # all frames are missing
                return
            if self._noise is None:
                voxels = windows[0][0].shape[1]
                self._statistics = ResponseStatistics(len(self._protocol.task.events), voxels)
                self._noise = Scatter(voxels)
            self._runs += 1
            for present, window, _ in windows:
                self._lagged += glm.lagged_products(present, window)
            coefficient = glm.rounded(*self._lagged)
            for stretch in windows:
                self._statistics.add(*stretch, coefficient)
            # Each new response costs new weights of frames, and tells less and less.
            if self._fits and self._runs & (self._runs - 1) == 0:
                self._fit_response(self._noise, windows, coefficient)
            self._add_noise(self._noise, windows, coefficient)
        self._calibration = None

    @property
    def calibration(self) -> Calibration:
        """What is known from the runs so far."""
        if self._calibration is None:
            self._calibration = self._calibrated()
        return self._calibration

    def _calibrated(self) -> Calibration:
        if self._noise is None or (self._has_rest and not self._lagged[1]):
            # fmrisim's response leaves no noise: there is nothing to be found.
            return Calibration((), None, 0.0, 0.0)
        with one_thread():
            total = self._statistics.innovations if self._has_rest else self._noise
            found = self._noise.whitening(total)
        return Calibration(
            self._response,
            found if self._normalises else None,
            glm.rounded(*self._lagged) if self._regresses else None,
        )

    def _add_windows(self, frames: Frames) -> None:
        """Add a run in which each event has frames of its own, which no course connects.

        Nothing can be taken out of them but their mean, so what events evoke counts as noise, too:
        voxels are scaled, but not made uncorrelated, by which most of it would be lost.
        """
        for series in checked(frames, self._protocol, self._protocol.task.events).values():
            present, _ = glm.frames_there(series)
            if len(present) > 1:
                if self._noise is None:
                    self._noise = Scatter(series.shape[1], between=False)
                self._noise.add(present - present.mean(axis=0), len(present) - 1)
                self._calibration = None

    def _windows(
        self, frames: Frames, when: Timetable | None
    ) -> Iterator[tuple[np.ndarray, glm.Window, tuple[int, ...]]]:
        """Yield the frames there in each stretch of a run, its events, and of which kinds they are.

        Stretches are short, so that the cost of a run grows with its length and no faster.
        """
        names = self._protocol.task.events
        recordings = checked(frames, self._protocol, names)
        when = planned(recordings, self._protocol, when)
        for kinds, series in recordings.items():
            events = series_events(self._protocol, kinds, when)
            series = glm.without_confounds(series, events, when.confounds)
            numbers = np.tile([names.index(kind) for kind in kinds], when.trials)
            count = max(round(len(series) * events.tr / glm.WINDOW), 1)
            ends = np.linspace(0, len(series), count + 1).round().astype(int).tolist()
            for first, stop in zip(ends, ends[1:], strict=False):
                present, window, inside = events.window(series, first, stop)
                if len(present):
                    yield present, window, tuple(numbers[inside].tolist())

    def _fit_response(self, before: Scatter, windows: list, coefficient: float) -> None:
        for _ in range(2):  # the response tells what is noise, the noise what the response is
            noise = deepcopy(before)
            self._add_noise(noise, windows, coefficient)
            whitening = noise.whitening(self._statistics.innovations)
            self._response = self._statistics.fit(whitening)

    def _add_noise(self, noise: Scatter, windows: list, coefficient: float) -> None:
        """Add what is left of frames when responses, drift and autocorrelation are taken out."""
        for present, when, _ in windows:
            when = when._replace(response=self._response)
            design, system = glm.least_squares(when, coefficient)
            steps, centred = np.diff(when.rows), present - present.mean(axis=0)
            innovations = glm.whitened(centred, coefficient, steps)
            freedom = len(design) - design.shape[1]
            if freedom > 0:
                left = innovations - design @ cho_solve(system, design.T @ innovations)
                noise.add(left, freedom)
