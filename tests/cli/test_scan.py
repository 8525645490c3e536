"""`bciigl scan`: the simulated scanner from the command line."""

import pytest
from rehearsals import short

from bciigl.protocol import dump
from bciigl.source.volumes import VolumeReader


@pytest.mark.parametrize(("kind", "ending"), [("nifti", "nii"), ("dicom", "dcm")])
def test_volumes_are_written_alone(bciigl, write, tmp_path, kind, ending):
    path = write(dump(short(task__trials=1, timing__tr=3.0, timing__burn_in=3.0)))
    given = ("--speed", 1000, "--alone", "--motion", 1, "--set", "live.dummies=1")
    done = bciigl("scan", path, "--to", tmp_path / "volumes", "--format", kind, *given)
    assert done.exit_code == 0, done.stderr
    volumes = sorted((tmp_path / "volumes").glob(f"*.{ending}"))
    assert len(volumes) == 7  # 3 s and a trial of 15 s, and one more
    (last,) = VolumeReader().read(volumes[-1])
    assert (last.number, last.tr, last.data.shape) == (7, 3.0, (53, 63, 46))
    assert "times as fast as a real scanner" in done.stderr


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["--speed", "0"], "--speed should be above 0"),
        (["--speed", "inf"], "--speed should be above 0"),
        (["--motion", "-1"], "--motion from 0 to 100"),
        (["--set", "recording=separate"], "use recording: shared"),
        (["--format", "analyze"], "nifti"),
        (["--seed", "-4"], "seed"),
    ],
)
def test_what_cannot_be_scanned_is_refused_with_a_reason(bciigl, tmp_path, given, expected):
    done = bciigl("scan", "number_guessing", "--to", tmp_path / "volumes", *given)
    assert done.exit_code == 2
    assert expected in done.stderr
    assert not (tmp_path / "volumes").exists()
