"""The single-frame estimate: which frame is taken."""

import numpy as np
import pytest

from bciigl.estimate import frame
from bciigl.protocol.model import Timing

NUMBERED = np.arange(200.0)[:, None]
"""Frames that tell their own index."""


def taken(onset: float, frames: np.ndarray = NUMBERED, **timing) -> float:
    """Return the index of the frame that is taken for one event."""
    return frame.estimate(frames, np.array([onset]), np.ones((1, 1)), Timing(**timing))[0, 0]


@pytest.mark.parametrize(
    ("onset", "tr", "lag", "index"),
    [
        (0.0, 1.5, 4.0, 2),  # 2.67
        (12.0, 1.5, 4.0, 10),  # 10.67
        (12.0, 2.0, 4.0, 8),  # the frame that begins at that very moment
        (13.9, 2.0, 4.0, 8),
        (14.0, 2.0, 4.0, 9),
        (0.5, 1.5, 4.0, 3),  # 4.5 / 1.5
        (0.49, 1.5, 4.0, 2),
        (0.0, 1.5, 0.0, 0),
        (21.0, 0.7, 4.2, 36),
        (1.6, 0.1, 4.0, 56),  # 5.6 / 0.1 is 55.99999999999999 in floating point
        (9.0, 10.0, 4.0, 1),
    ],
)
def test_frame_is_the_one_in_which_the_lag_ends(onset, tr, lag, index):
    assert taken(onset, tr=tr, frame_lag=lag) == index


@pytest.mark.parametrize("tr", [0.1, 0.3, 0.7, 1.1, 1.5, 2.2])
def test_lag_that_ends_with_a_frame_takes_the_next_whatever_the_tr(tr):
    found = [taken(round(k * tr, 9), tr=tr, frame_lag=0.0) for k in range(150)]
    assert found == list(range(150))


def test_frame_that_is_not_there_yet_is_replaced_by_the_last():
    assert taken(3.0, NUMBERED[:4], tr=1.5, frame_lag=4.0) == 3


def test_events_are_summed_by_weight():
    frames = np.random.default_rng(0).standard_normal((30, 4))
    weights = np.array([[0.5, 0.0, 0.25], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    onsets = np.array([0.0, 9.0, 18.0])
    found = frame.estimate(frames, onsets, weights, Timing())
    # (0 + 4) / 1.5 = 2.67, (9 + 4) / 1.5 = 8.67, (18 + 4) / 1.5 = 14.67
    expected = [0.5 * frames[2] + 0.25 * frames[14], np.zeros(4), frames[8]]
    np.testing.assert_allclose(found, expected, atol=1e-15)


def test_event_of_no_weight_needs_no_frame():
    weights, onsets = np.array([[1.0, 0.0]]), np.array([0.0, 18.0])
    short, long = (frame.estimate(NUMBERED[:n], onsets, weights, Timing()) for n in (3, 200))
    assert short == long == 2


def test_estimate_from_a_missing_frame_is_missing_and_no_other():
    frames = np.random.default_rng(0).standard_normal((30, 4))
    frames[8] = np.nan
    weights = np.array([[0.5, 0.0, 0.25], [0.0, 1.0, 0.0], [0.5, 0.1, 0.0]])
    found = frame.estimate(frames, np.array([0.0, 9.0, 18.0]), weights, Timing())
    np.testing.assert_allclose(found[0], 0.5 * frames[2] + 0.25 * frames[14], atol=1e-15)
    assert np.isnan(found[1:]).all()


def test_window_is_the_mean_of_frames_in_a_row_that_are_not_missing():
    given = (np.array([3.0]), np.ones((1, 1)), Timing(tr=1.5, frame_lag=0.0), 3)
    assert frame.estimate(NUMBERED, *given)[0, 0] == 3.0
    lost = NUMBERED.copy()
    lost[2] = np.nan
    assert frame.estimate(lost, *given)[0, 0] == 3.5
    lost[2:5] = np.nan
    assert np.isnan(frame.estimate(lost, *given)[0, 0])
