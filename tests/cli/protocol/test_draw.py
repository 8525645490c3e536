"""`bciigl protocol draw`."""

import json

import pytest


@pytest.mark.slow
def test_figures_are_written_and_the_same_each_time(bciigl, tmp_path):
    out, again = tmp_path / "new" / "figures", tmp_path / "again"
    for ending, begins in {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}.items():
        draw = ("protocol", "draw", "number_guessing", "--format", ending, "--out")
        result = bciigl(*draw, out)
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith("cube of 64 voxels (1728 mm3) around MNI (-38, ")
        names = {each: f"number_guessing_{each}.{ending}" for each in ("region", "response")}
        document = json.loads(bciigl(*draw, again, "--json").stdout)
        assert document == {each: str(again / name) for each, name in names.items()}
        for name in names.values():
            assert (out / name).read_bytes().startswith(begins)
            assert (out / name).read_bytes() == (again / name).read_bytes()
            assert str(out / name) in result.stdout
    assert len(list(out.iterdir())) == 6


def test_protocol_that_cannot_be_used_is_refused_with_its_line(bciigl, write, tmp_path):
    path = write("name: x\ntask: {options: [1, 2, 3]}\nbrain:\n  region: {center: [0, 0, 0]}\n")
    result = bciigl("protocol", "draw", path, "--out", tmp_path / "figures")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{path}:4:12: brain.region.center: 64 of 64 voxels")
    assert not (tmp_path / "figures").exists()
