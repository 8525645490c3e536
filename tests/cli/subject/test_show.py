"""`bciigl subject show`."""

import json

import numpy as np
from heads import head

from bciigl.brain import load_subject


def test_built_in_subject_is_shown_by_default(bciigl):
    result = bciigl("subject", "show")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "brainiak: 53 x 63 x 46 voxels of 3 x 3 x 3 mm, 51133 in the brain"
    assert "SNR 69.5, SFNR 70.7, smoothness 5.66 mm" in lines[1]
    assert "10.7 in time" in lines[2]
    assert "(arma 100 %; AR 0.5, MA 0)" in lines[3]


def test_shares_of_the_brain_s_sources_are_shares_of_variance(bciigl, tmp_path):
    head(auto_reg_sigma=0.4, physiological_sigma=0.2, task_sigma=0.0).save(tmp_path / "me")
    assert "arma 80 %, physiological 20 %;" in bciigl("subject", "show", tmp_path / "me").stdout


def test_json_has_all_parameters(bciigl):
    document = json.loads(bciigl("subject", "show", "--json").stdout)
    subject = load_subject("brainiak")
    assert document["noise"]["auto_reg_rho"] == [0.5]
    assert document["noise_sd"] == subject.noise_sd
    assert document["brain_voxels"] == 51_133
    np.testing.assert_array_equal(document["affine"], subject.affine)


def test_subject_can_be_written_to_draw_on(bciigl, tmp_path):
    result = bciigl("subject", "show", "--out", tmp_path / "copy")
    assert result.exit_code == 0
    copy, subject = load_subject("copy", tmp_path), load_subject("brainiak")
    np.testing.assert_array_equal(copy.mask, subject.mask)
    np.testing.assert_allclose(copy.affine, subject.affine)
    again = bciigl("subject", "show", "--out", tmp_path / "copy")
    assert (again.exit_code, "exists already" in again.stderr) == (2, True)


def test_unknown_subject_is_told(bciigl):
    result = bciigl("subject", "show", "brainiac")
    assert result.exit_code == 2
    assert "brainiac: no such folder" in result.stderr
