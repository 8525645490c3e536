"""fmrisim, called with nothing left to chance or to its defaults."""

import numpy as np
from brainiak.utils import fmrisim
from heads import head

from bciigl.brain import fmrisim_adapter, load_subject
from bciigl.protocol.model import NoiseSources


def test_nothing_is_left_to_fmrisim_s_defaults():
    dictionary = fmrisim_adapter.noise_dictionary(
        load_subject("brainiak").noise, np.array([3.0, 3.0, 3.0])
    )
    assert fmrisim._noise_dict_update(dict(dictionary)) == dictionary
    assert dictionary["matched"] == 0
    assert dictionary["auto_reg_rho"] == [0.5]


def test_volumes_follow_the_generator():
    def volumes(seed):
        rng = np.random.default_rng(seed)
        return fmrisim_adapter.whole_brain_volumes(head(), NoiseSources(), np.zeros(5), 1.5, rng)

    np.testing.assert_array_equal(volumes(1), volumes(1))
    assert (volumes(1) != volumes(2)).any()


def test_signal_is_scaled_to_each_voxel_s_noise():
    noise = np.array([[1.0, 10.0], [-1.0, -10.0]])
    signal = np.array([[0.0, 1.0], [2.0, 4.0]])
    scaled = fmrisim_adapter.scale_to_noise(signal, noise, cnr=0.5)
    np.testing.assert_allclose(scaled, [[0, 0.5 * 10 / 4], [0.5 / 2, 0.5 * 10]])
    np.testing.assert_array_equal(signal, [[0.0, 1.0], [2.0, 4.0]])  # what was given is left alone


def test_image_without_two_peaks_of_brightness_still_gets_a_mask():
    volumes = np.zeros((6, 6, 6, 2))
    volumes[2:4, 2:4, 2:4] = 100.0
    mask, template = fmrisim_adapter.brain_mask(volumes)
    np.testing.assert_array_equal(mask, volumes[..., 0] > 0)
    assert template.max() == 1
