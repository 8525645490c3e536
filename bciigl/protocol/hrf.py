"""Haemodynamics: how the signal follows an event, for brain, estimates and schedule.

A person's response is a `Shape`: fmrisim's double gamma, earlier or later, narrower or wider, with
more or less undershoot. What an analysis assumes is apart from it: that double gamma itself or,
with weights, a sum of it and the few curves in which people differ most (`basis`).

"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import gamma, gammainc

if TYPE_CHECKING:
    from bciigl.protocol.model import Brain

# Seconds after which a response has ended.
LENGTH = 30.0
# fmrisim's double gamma (Ellis et al. 2020): the response peaks at 6 s x 0.9, the undershoot has a
# decay of 1 s.
_PEAK, _POWER, _UNDERSHOOT_POWER = 5.4, 6.0, 12.0
_UNDERSHOOT_SCALE = 0.035 * np.exp(12.0) / 10.8**12
# Responses differ between people by about a second in their peak, and by a fifth in their width
# (Handwerker et al. 2004): the prior of a person's own.
DELAY_SD, DISPERSION_SD, UNDERSHOOT_SD = 1.0, 0.2, 1.0
BASIS = 3
_STEP = 0.05  # seconds, of the basis's curves


class Shape(NamedTuple):
    """How a person's response differs from fmrisim's.

    Attributes
    ----------
    delay : float
        Seconds by which it peaks later: a later one begins later, an earlier one rises faster.
    dispersion : float
        How many times as wide it is.
    undershoot : float
        How many times as deep its undershoot is.
    """

    delay: float = 0.0
    dispersion: float = 1.0
    undershoot: float = 1.0


CANONICAL = Shape()


def shape_of(brain: Brain) -> Shape:
    """Return the response of a protocol's simulated person."""
    return Shape(brain.hrf_delay, brain.hrf_dispersion, brain.hrf_undershoot)


Weights = tuple[float, ...]
"""What is added of each curve of the basis; () for fmrisim's response as it is."""


def impulse_response(seconds: ArrayLike, shape: Shape = CANONICAL) -> np.ndarray:
    """Return a double gamma at `seconds` after an instant; about 1 at its peak, 5.4 s."""
    t = np.asarray(seconds, float) - max(shape.delay, 0.0)
    inside = (t > 0) & (t < LENGTH)
    t = np.where(inside, t, 0.0)
    response, undershoot = (
        scale * t**power * np.exp(-t / decay) for scale, power, decay in _gammas(shape)
    )
    return response - undershoot


def event_response(
    seconds: np.ndarray,
    duration: float,
    shape: Shape = CANONICAL,
    weights: Weights = (),
    *,
    unit: float | None = None,
) -> np.ndarray:
    """Return the response to a lone event, at `seconds` after its onset; 1 at its peak.

    It is exactly 0 before the onset and from `response_length` on. With `weights` the curves of the
    basis are added; the peak may then be a little more or less. With a `unit` an event that lasts
    that many seconds peaks at 1, and a longer one higher, as responses add up.
    """
    since = np.asarray(seconds, float) - max(shape.delay, 0.0)
    response = np.zeros(since.shape)
    # A small part of a design, and all that costs.
    inside = (since > 0) & (since < LENGTH + duration)
    highest = _peak(duration if unit is None else unit, shape)[1]
    response[inside] = _boxcar_response(since[inside], duration, shape) / highest
    if any(weights):
        times, curves = basis(duration, unit)
        added = np.array(weights) @ curves[: len(weights)]
        response[inside] += np.interp(since[inside], times, added)
    return response


def response_length(duration: float, shape: Shape = CANONICAL) -> float:
    """Return the seconds from an event's onset to the end of its response."""
    return LENGTH + duration + max(shape.delay, 0.0)


def peak_time(duration: float, shape: Shape = CANONICAL) -> float:
    """Return the seconds from an event's onset to the peak of its response."""
    return _peak(duration, shape)[0] + max(shape.delay, 0.0)


@lru_cache
def basis(duration: float, unit: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return times, and the curves along which people's responses to an event differ most.

    Curves are scaled so that weights of people have an SD of 1: the first principal components of
    what responses of many people have beyond fmrisim's (as Woolrich et al. 2004), for an event of
    `unit` seconds. The same weights are the same person's response to another `duration`.
    """
    unit = duration if unit is None else unit
    differences = _differences(unit, unit)
    people, sizes, curves = np.linalg.svd(differences, full_matrices=False)
    curves = curves[:BASIS] * sizes[:BASIS, None]
    if duration != unit:
        curves = people[:, :BASIS].T @ _differences(duration, unit)
    return _times(duration), curves / np.sqrt(len(differences))


def _times(duration: float) -> np.ndarray:
    return np.arange(0.0, LENGTH + duration + _STEP, _STEP)


def _differences(duration: float, unit: float) -> np.ndarray:
    """Return what responses of many people have beyond fmrisim's, (people, times)."""
    times = _times(duration)
    usual = event_response(times, duration, unit=unit)
    places = np.array([-1.5, -0.75, 0.0, 0.75, 1.5])
    people = product(
        places * DELAY_SD,
        np.exp(places * DISPERSION_SD),
        np.maximum(1 + places * UNDERSHOOT_SD, 0.0),
    )
    found = [event_response(times, duration, Shape(*each), unit=unit) - usual for each in people]
    return np.array(found)


@lru_cache
def _gammas(shape: Shape) -> tuple[tuple[float, float, float], ...]:
    """Return scale, power and decay of the response's gamma and of the undershoot's."""
    earlier = min(shape.delay, 0.0)
    # A gamma with this peak and this width; an earlier one keeps its width.
    peak, variance = _PEAK + earlier, _PEAK**2 / _POWER * shape.dispersion**2
    power, decay = peak**2 / variance, variance / peak
    lasting = 1 + earlier / _UNDERSHOOT_POWER
    depth = shape.undershoot * _UNDERSHOOT_SCALE / lasting**_UNDERSHOOT_POWER
    return (
        (np.exp(peak / decay) / peak**power, power, decay),
        (depth, _UNDERSHOOT_POWER, lasting),
    )


@lru_cache
def _peak(duration: float, shape: Shape) -> tuple[float, float]:
    """Return when, and how high, the response to a boxcar peaks before it is scaled to 1."""

    def slope(seconds: float) -> float:
        since = seconds + max(shape.delay, 0.0)
        return float(impulse_response(since, shape) - impulse_response(since - duration, shape))

    times = np.arange(_STEP, LENGTH, _STEP)
    about = times[_boxcar_response(times, duration, shape).argmax()]
    when = brentq(slope, about - _STEP, about + _STEP)
    return when, float(_boxcar_response(np.asarray(when), duration, shape))


def _boxcar_response(seconds: np.ndarray, duration: float, shape: Shape) -> np.ndarray:
    return _step_response(seconds, shape) - _step_response(seconds - duration, shape)


def _step_response(seconds: np.ndarray, shape: Shape) -> np.ndarray:
    """Return the integral of the impulse response."""
    t = np.clip(seconds, 0.0, LENGTH)
    response, undershoot = (
        scale * (decay ** (power + 1) * gamma(power + 1) * gammainc(power + 1, t / decay))
        for scale, power, decay in _gammas(shape)
    )
    return response - undershoot
