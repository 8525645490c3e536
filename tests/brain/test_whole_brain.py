"""fmrisim's own measures of our whole brain, beside those of its own noise."""

import pytest
from brain_measures import assert_agreement
from heads import head

from bciigl.brain.subject import load_subject


def test_small_head_measures_as_fmrisim_s():
    assert_agreement(head(shape=(30, 34, 28), radius=0.45), 40)


def test_moving_average_measures_as_fmrisim_s():
    subject = head(shape=(30, 34, 28), radius=0.45, auto_reg_rho=(0.72,), ma_rho=(-0.56,))
    assert_agreement(subject, 40)


@pytest.mark.slow
def test_built_in_subject_measures_as_fmrisim_s():
    assert_agreement(load_subject("brainiak"), 24)
