"""Haemodynamics against fmrisim and against themselves."""

import numpy as np
import pytest
from brainiak.utils import fmrisim
from scipy.integrate import quad

from bciigl.protocol.hrf import (
    Shape,
    basis,
    event_response,
    impulse_response,
    peak_time,
    response_length,
)

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


SHAPES = [Shape(), Shape(1.5), Shape(-2.0), Shape(-1.0, 0.5), Shape(4.0, 2.0, 0.0), Shape(0, 1, 10)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("duration", [0.1, 2.0, 30.0])
def test_event_response_peaks_at_one_when_stated(duration, shape):
    when = peak_time(duration, shape)
    assert event_response(when, duration, shape) == pytest.approx(1, abs=1e-12)
    assert event_response(SECONDS, duration, shape).max() <= 1 + 1e-9


def test_a_late_response_is_shifted_and_an_early_one_rises_faster():
    late = event_response(SECONDS, 2.0, Shape(1.25))
    np.testing.assert_allclose(late, event_response(SECONDS - 1.25, 2.0), atol=1e-15)
    early = event_response(SECONDS, 2.0, Shape(-1.0))
    assert peak_time(2.0, Shape(-1.0)) == pytest.approx(peak_time(2.0) - 1, abs=0.1)
    # It begins with the event, not before it.
    assert not event_response(np.array([-0.5, 0.0]), 2.0, Shape(-1.0)).any()
    assert 0 < early[50] < 0.05


def test_dispersion_widens_and_undershoot_deepens():
    def width(shape):
        return (event_response(SECONDS, 2.0, shape) > 0.5).sum()

    assert width(Shape(0, 0.7)) < 0.85 * width(Shape()) < 0.7 * width(Shape(0, 1.5))
    deep, usual = (event_response(SECONDS, 2.0, Shape(0, 1, each)).min() for each in (3, 1))
    assert deep < 2.5 * usual < 0


def test_response_is_exactly_zero_before_the_event_and_after_its_end():
    end = response_length(2.0, Shape(1.0))
    assert not event_response(np.array([-5.0, -0.001, 0.0, 1.0]), 2.0, Shape(1.0)).any()
    assert not event_response(np.array([end, end + 1, 1e6]), 2.0, Shape(1.0)).any()
    assert event_response(end - 0.5, 2.0, Shape(1.0)) != 0


@pytest.mark.parametrize("shape", [Shape(2.0), Shape(-1.0, 0.8), Shape(1.0, 1.3, 2.0)])
def test_few_curves_describe_other_people_s_responses(shape):
    times, curves = basis(2.0)
    usual, own = event_response(times, 2.0), event_response(times, 2.0, shape)
    weights = np.linalg.lstsq(curves.T, own - usual, rcond=None)[0]
    described = event_response(times, 2.0, weights=tuple(weights))
    # fmrisim's own response has 0.69 to 0.94 in common with them.
    assert np.corrcoef(described, own)[0, 1] > 0.99
    assert not event_response(np.array([-1.0, 0.0, 33.0]), 2.0, weights=tuple(weights)).any()


def test_frames_of_the_paper_s_event():
    # a 2 s event seen by frames of 1.5 s, by fmrisim
    frames = event_response((np.arange(5) + 0.5) * 1.5, 2.0)
    np.testing.assert_allclose(frames, [0, 0.04, 0.36, 0.85, 0.99], atol=0.005)
    assert peak_time(2.0) == pytest.approx(6.4, abs=0.05)
