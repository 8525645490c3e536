"""`bciigl run`: live sessions from the command line."""

import json

import pytest
from rehearsals import rehearse, scanning, short

from bciigl.protocol import dump
from bciigl.recording import open_dataset


@pytest.fixture
def rehearsal(write):
    """Write the protocol of a short experiment."""
    return write(dump(short()))


def test_session_is_recorded_and_learned_from(bciigl, rehearsal, tmp_path):
    volumes, out = tmp_path / "volumes", tmp_path / "out"
    with scanning(short(), volumes):
        done = bciigl("run", rehearsal, "--volumes", volumes, "--out", out, "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["trials"] == 4
    assert found["out"] == str(out)
    assert "lateness_seconds" not in found  # a fast rehearsal waits for guesses
    assert set(found["learners"]) == {"ai_igl", "transfer", "igl_full_ci"}
    assert open_dataset(out).protocol == short()
    # Learners take it as any other; reports do, too: tests/report/test_volumes.py.
    again = bciigl("learn", out, "--json")
    assert again.exit_code == 0, again.stderr
    assert json.loads(again.stdout)["learners"] == found["learners"]


def test_replay_is_recorded(bciigl, tmp_path):
    out = rehearse(short(), tmp_path)
    given = ("--volumes", tmp_path / "volumes", "--out", tmp_path / "again")
    done = bciigl("run", "--replay", out, *given)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.strip() == f"recorded in {tmp_path / 'again'}"
    assert open_dataset(tmp_path / "again").group == "replayed"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], "give PROTOCOL, --volumes (or --lsl) and --out; or --resume FOLDER alone"),
        (["number_guessing", "--out", "OUT"], "give PROTOCOL, --volumes"),
        (["--resume", "OUT", "--seed", "1"], "--resume goes on as the session was begun"),
        (["--resume", "OUT"], "there is no session to resume"),
        (["--replay", "OUT"], "--replay needs --volumes and --out"),
        (["nothing", "--volumes", "OUT", "--out", "OUT"], "nothing"),
        (
            ["number_guessing", "--volumes", "OUT", "--out", "OUT", "--set", "live.dumies=1"],
            "did you mean 'dummies'?",
        ),
        (
            ["number_guessing", "--volumes", "OUT", "--out", "OUT", "--region", "OUT"],
            "reference.nii.gz: no such file",
        ),
        (
            ["number_guessing", "--volumes", "OUT", "--out", "OUT", "--set", "recording=separate"],
            "use recording: shared",
        ),
    ],
)
def test_what_cannot_be_run_is_refused_with_a_reason(bciigl, tmp_path, given, expected):
    done = bciigl("run", *(str(tmp_path / "out") if each == "OUT" else each for each in given))
    assert done.exit_code == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_folder_that_is_taken_is_refused(bciigl, tmp_path):
    (tmp_path / "something").write_text("precious")
    done = bciigl("run", "number_guessing", "--volumes", tmp_path / "v", "--out", tmp_path)
    assert done.exit_code == 2
    assert "not an empty folder" in done.stderr
    assert (tmp_path / "something").read_text() == "precious"


def test_scanner_that_is_gone_is_said_to_be(bciigl, tmp_path):
    (tmp_path / "scanner.json").write_text('{"port": 1, "token": "x", "speed": 20.0}')
    done = bciigl("run", "number_guessing", "--volumes", tmp_path, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "does not answer at port 1" in done.stderr
    assert "scanner.json" in done.stderr
