"""`bciigl protocol draw`."""

import json

import pytest


@pytest.mark.parametrize(
    ("ending", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_figures_are_written(bciigl, tmp_path, ending, begins):
    out = tmp_path / "new" / "figures"
    result = bciigl("protocol", "draw", "number_guessing", "--out", out, "--format", ending)
    assert result.exit_code == 0, result.output
    for name in ("region", "response"):
        path = out / f"number_guessing_{name}.{ending}"
        assert path.read_bytes().startswith(begins)
        assert str(path) in result.stdout
    assert result.stdout.startswith("64 voxels around (-38, -47, 45) mm\n")
    assert len(list(out.iterdir())) == 2


def test_json_names_the_files(bciigl, tmp_path):
    result = bciigl("protocol", "draw", "table2", "--out", tmp_path, "--json")
    assert json.loads(result.stdout) == {
        "region": str(tmp_path / "table2_region.png"),
        "response": str(tmp_path / "table2_response.png"),
    }


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_same_protocol_gives_the_same_bytes(bciigl, tmp_path, ending):
    for folder in ("a", "b"):
        bciigl("protocol", "draw", "table2", "--out", tmp_path / folder, "--format", ending)
    for name in ("region", "response"):
        one, other = (tmp_path / folder / f"table2_{name}.{ending}" for folder in "ab")
        assert one.read_bytes() == other.read_bytes()


def test_protocol_that_cannot_be_used_is_refused_with_its_line(bciigl, write, tmp_path):
    path = write("name: x\ntask: {options: [1, 2, 3]}\nbrain:\n  region: {center: [0, 0, 0]}\n")
    result = bciigl("protocol", "draw", path, "--out", tmp_path / "figures")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{path}:4:12: brain.region.center: 64 of 64 voxels")
    assert not (tmp_path / "figures").exists()
