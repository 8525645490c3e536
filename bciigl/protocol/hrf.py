"""Haemodynamics: how the signal follows an event, in closed form."""

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import gamma, gammainc

# fmrisim's double gamma (Ellis et al. 2020): the response peaks at 6 s x 0.9, the undershoot at
# 12 s x 0.9 with a decay of 1 s, and the kernel ends after 30 s.
LENGTH = 30.0
_RESPONSE_POWER, _RESPONSE_PEAK, _RESPONSE_DECAY = 6, 5.4, 0.9
_UNDERSHOOT_POWER, _UNDERSHOOT_PEAK, _UNDERSHOOT_DECAY = 12, 10.8, 1.0
_UNDERSHOOT_SHARE = 0.035
_RESPONSE_SCALE = np.exp(_RESPONSE_PEAK / _RESPONSE_DECAY) / _RESPONSE_PEAK**_RESPONSE_POWER
_UNDERSHOOT_SCALE = _UNDERSHOOT_SHARE * np.exp(12.0) / _UNDERSHOOT_PEAK**_UNDERSHOOT_POWER


def impulse_response(seconds: np.ndarray) -> np.ndarray:
    """Return fmrisim's double gamma at `seconds` after an instant; about 1 at its peak, 5.4 s."""
    t = np.asarray(seconds, float)
    inside = (t > 0) & (t < LENGTH)
    t = np.where(inside, t, 0.0)
    response = _RESPONSE_SCALE * t**_RESPONSE_POWER * np.exp(-t / _RESPONSE_DECAY)
    undershoot = _UNDERSHOOT_SCALE * t**_UNDERSHOOT_POWER * np.exp(-t / _UNDERSHOOT_DECAY)
    return response - undershoot


def event_response(seconds: np.ndarray, duration: float, delay: float = 0.0) -> np.ndarray:
    """Return the response to a lone event, at `seconds` after its onset; 1 at its peak.

    Parameters
    ----------
    seconds : array
        When; before the onset, and from `response_length` on, the response is exactly 0.
    duration : float
        How long the event lasts, in seconds.
    delay : float
        How much later than fmrisim's the response is, in seconds.
    """
    since = np.asarray(seconds, float) - delay
    response = np.zeros(since.shape)
    # A small part of a design, and all that costs.
    inside = (since > 0) & (since < LENGTH + duration)
    response[inside] = _boxcar_response(since[inside], duration) / _peak(duration)[1]
    return response


def response_length(duration: float, delay: float = 0.0) -> float:
    """Return the seconds from an event's onset to the end of its response."""
    return LENGTH + duration + delay


def peak_time(duration: float, delay: float = 0.0) -> float:
    """Return the seconds from an event's onset to the peak of its response."""
    return _peak(duration)[0] + delay


@lru_cache
def _peak(duration: float) -> tuple[float, float]:
    """Return when and how high the response to a boxcar peaks before it is scaled to 1."""

    def slope(seconds: float) -> float:
        return float(impulse_response(seconds) - impulse_response(seconds - duration))

    # At 11.4 s the impulse response has turned negative, so even that to a long event falls.
    when = brentq(slope, _RESPONSE_PEAK, min(_RESPONSE_PEAK + duration, 11.4))
    return when, float(_boxcar_response(np.asarray(when), duration))


def _boxcar_response(seconds: np.ndarray, duration: float) -> np.ndarray:
    return _step_response(seconds) - _step_response(seconds - duration)


def _step_response(seconds: np.ndarray) -> np.ndarray:
    """Return the integral of the impulse response."""
    t = np.clip(seconds, 0.0, LENGTH)
    return _RESPONSE_SCALE * _gamma_integral(
        t, _RESPONSE_POWER, _RESPONSE_DECAY
    ) - _UNDERSHOOT_SCALE * _gamma_integral(t, _UNDERSHOOT_POWER, _UNDERSHOOT_DECAY)


def _gamma_integral(t: np.ndarray, power: int, decay: float) -> np.ndarray:
    """Return the integral of s^power exp(-s / decay) from 0 to t."""
    return decay ** (power + 1) * gamma(power + 1) * gammainc(power + 1, t / decay)
