"""Haemodynamics against fmrisim and against themselves."""

import numpy as np
import pytest
from brainiak.utils import fmrisim
from scipy.integrate import quad

from bciigl.protocol.hrf import event_response, impulse_response, peak_time, response_length

SECONDS = np.arange(0, 100, 0.01)


def test_impulse_response_is_fmrisim_s_double_gamma():
    # fmrisim leaves the last of its 3000 points at 0, where the response is 1e-4
    expected = fmrisim._double_gamma_hrf(temporal_resolution=100.0)
    np.testing.assert_allclose(impulse_response(SECONDS[:2999]), expected[:2999], atol=1e-12)
    assert not impulse_response(np.array([-1.0, 0.0, 30.0, 99.0])).any()


@pytest.mark.parametrize("duration", [0.1, 2.0, 5.0, 20.0, 60.0])
def test_event_response_is_fmrisim_s_convolution(duration):
    events = np.zeros((len(SECONDS), 1))
    events[: round(duration * 100)] = 1
    expected = fmrisim.convolve_hrf(events, tr_duration=0.01)[:, 0]
    # fmrisim adds up points 0.01 s apart: that shifts its response by half of that
    np.testing.assert_allclose(event_response(SECONDS, duration), expected, atol=0.002)
    assert peak_time(duration) == pytest.approx(SECONDS[expected.argmax()], abs=0.02)


@pytest.mark.parametrize("duration", [0.5, 2.0, 12.0])
def test_event_response_is_the_integral_of_the_impulse_response(duration):
    when = peak_time(duration)
    peak, _ = quad(impulse_response, when - duration, when)
    for seconds in (1.0, 4.0, 9.0, 17.0):
        value, _ = quad(impulse_response, seconds - duration, seconds)
        assert event_response(seconds, duration) == pytest.approx(value / peak, abs=1e-7)


@pytest.mark.parametrize("delay", [0.0, 1.5])
@pytest.mark.parametrize("duration", [0.1, 2.0, 30.0])
def test_event_response_peaks_at_one_when_stated(duration, delay):
    when = peak_time(duration, delay)
    assert event_response(when, duration, delay) == pytest.approx(1, abs=1e-12)
    others = event_response(SECONDS, duration, delay)
    assert others.max() <= 1 + 1e-12


def test_delay_shifts_the_response():
    np.testing.assert_allclose(
        event_response(SECONDS, 2.0, 1.25), event_response(SECONDS - 1.25, 2.0), atol=1e-15
    )


def test_response_is_exactly_zero_before_the_event_and_after_its_end():
    end = response_length(2.0, 1.0)
    assert not event_response(np.array([-5.0, -0.001, 0.0, 1.0]), 2.0, 1.0).any()
    assert not event_response(np.array([end, end + 1, 1e6]), 2.0, 1.0).any()
    assert event_response(end - 0.5, 2.0, 1.0) != 0


def test_frames_of_the_paper_s_event():
    # a 2 s event seen by frames of 1.5 s, by fmrisim
    frames = event_response((np.arange(5) + 0.5) * 1.5, 2.0)
    np.testing.assert_allclose(frames, [0, 0.04, 0.36, 0.85, 0.99], atol=0.005)
    assert peak_time(2.0) == pytest.approx(6.4, abs=0.05)
