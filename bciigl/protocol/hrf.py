"""Haemodynamics: how the signal follows an event, in closed form."""

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import gamma, gammainc

# fmrisim's double gamma (Ellis et al. 2020): the response peaks at 6 s x 0.9, the undershoot at
# 12 s x 0.9 with a decay of 1 s, and the kernel ends after 30 s.
LENGTH = 30.0
_PEAK = 5.4
# Scale, power and decay of each gamma.
_RESPONSE = (np.exp(_PEAK / 0.9) / _PEAK**6, 6, 0.9)
_UNDERSHOOT = (0.035 * np.exp(12.0) / 10.8**12, 12, 1.0)


def impulse_response(seconds: np.ndarray) -> np.ndarray:
    """Return fmrisim's double gamma at `seconds` after an instant; about 1 at its peak, 5.4 s."""
    t = np.asarray(seconds, float)
    inside = (t > 0) & (t < LENGTH)
    t = np.where(inside, t, 0.0)
    response, undershoot = (
        scale * t**power * np.exp(-t / decay) for scale, power, decay in (_RESPONSE, _UNDERSHOOT)
    )
    return response - undershoot


def event_response(seconds: np.ndarray, duration: float, delay: float = 0.0) -> np.ndarray:
    """Return the response to a lone event, at `seconds` after its onset; 1 at its peak.

    It is exactly 0 before the onset and from `response_length` on, `delay` seconds after fmrisim's.
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
    when = brentq(slope, _PEAK, min(_PEAK + duration, 11.4))
    return when, float(_boxcar_response(np.asarray(when), duration))


def _boxcar_response(seconds: np.ndarray, duration: float) -> np.ndarray:
    return _step_response(seconds) - _step_response(seconds - duration)


def _step_response(seconds: np.ndarray) -> np.ndarray:
    """Return the integral of the impulse response."""
    t = np.clip(seconds, 0.0, LENGTH)
    response, undershoot = (
        scale * (decay ** (power + 1) * gamma(power + 1) * gammainc(power + 1, t / decay))
        for scale, power, decay in (_RESPONSE, _UNDERSHOOT)
    )
    return response - undershoot
