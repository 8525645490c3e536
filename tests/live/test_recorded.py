"""Sessions that were recorded, played again: all of what happened, at its time, in order."""

import json

import numpy as np
import pytest
from recordings import Losing, small, use_source
from rehearsals import rehearse, short

from bciigl.live.recorded import Player, recorded_lines
from bciigl.live.state import SessionState
from bciigl.loop import record
from bciigl.recording import Dataset, open_dataset
from bciigl.recording.layout import ESTIMATES, JOURNAL
from bciigl.recording.trial import NO_GUESS, RunId

SPEED = 5000.0
LOST = {("train", 1, 4): "missing", ("train", 2, 7): "corrupt", ("test", 1, 3): "late"}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Give a session that kept no journal of its volumes, of which some were lost."""
    out = tmp_path_factory.mktemp("simulated") / "out"
    protocol = small(brain={"region": {"size": 2}}, live={"dummies": 2}, estimate="frame")
    with pytest.MonkeyPatch.context() as patch:
        use_source(patch, lambda protocol, folder: Losing(protocol, folder, lost=LOST))
        record(protocol, out)
    return open_dataset(out)


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory):
    """Give a live session of two runs, which kept its journal."""
    protocol = short(task__trials=2, task__trials_per_run=1)
    return open_dataset(rehearse(protocol, tmp_path_factory.mktemp("rehearsed")))


DATASETS = ["simulated", "rehearsed"]


@pytest.fixture(params=DATASETS)
def dataset(request):
    """Give each of these datasets."""
    return request.getfixturevalue(request.param)


def places(dataset: Dataset) -> list[RunId]:
    """Return the runs of a dataset, in order."""
    count = {"train": 2, "test": int(dataset.has("test"))}
    return [RunId(session, run + 1) for session in count for run in range(count[session])]


def of_run(dataset: Dataset, place: RunId, name: str) -> list[dict]:
    """Return the lines of a run that have something."""
    lines = (line for _, line in recorded_lines(dataset))
    return [line for line in lines if RunId(line["session"], line["run"]) == place and name in line]


def test_all_runs_are_there_in_order_from_beginning_to_end(dataset):
    lines = [line for _, line in recorded_lines(dataset)]
    begun = [RunId(line["session"], line["run"]) for line in lines if "begun" in line]
    assert begun == places(dataset)
    assert [*dict.fromkeys(RunId(line["session"], line["run"]) for line in lines)] == begun
    assert sum("written" in line for line in lines) == len(begun)
    assert "written" in lines[-1]


def test_all_trials_are_there_with_their_guesses(dataset):
    for place in places(dataset):
        shown = dataset.shown(*place)
        decided = of_run(dataset, place, "decision")
        trials = of_run(dataset, place, "trial")
        assert [each["trial"] for each in trials] == [*range(len(shown))]
        assert [each["action"] for each in trials] == [each.action for each in shown]
        wanted = [number for number, each in enumerate(shown) if each.action != NO_GUESS]
        assert [each["decision"] for each in decided] == wanted


def test_all_volumes_are_there_with_their_values_and_those_lost_are_told(dataset):
    for place in places(dataset):
        state = SessionState(dataset.protocol, "recording", sessions=("train", "test"))
        for line in of_run(dataset, place, "volume") + of_run(dataset, place, "fault"):
            state.take(line)
        np.testing.assert_array_equal(state.runs[place].frames, dataset.frames(*place))
        lost = [index for index, each in enumerate(state.runs[place].status) if each == "m"]
        missing = np.isnan(dataset.frames(*place)).all(axis=1)
        assert lost == np.flatnonzero(missing).tolist()
        if dataset.protocol.name == "small":
            assert len(lost) == sum(each != "late" for at, each in LOST.items() if at[:2] == place)


def test_all_events_are_there_when_they_were_seen(dataset):
    for place in places(dataset):
        told = [(line["shown"], line["onset"]) for line in of_run(dataset, place, "shown")]
        known = [(each.kind, pytest.approx(each.onset)) for each in dataset.events(*place)]
        assert sorted(told) == sorted(known, key=lambda each: (each[0], each[1].expected))


def test_a_journal_is_played_as_it_was_kept(rehearsed):
    kept = (rehearsed.folder / ESTIMATES / JOURNAL).read_text().splitlines()
    lines = [line for _, line in recorded_lines(rehearsed)]
    assert lines == [json.loads(each.partition(" ")[2]) for each in kept]


def test_without_a_journal_lines_come_in_the_order_in_which_they_happened(simulated):
    for place in places(simulated):
        timed = [
            (seconds, line)
            for seconds, line in recorded_lines(simulated)
            if RunId(line["session"], line["run"]) == place
        ]
        seconds = [each for each, _ in timed]
        assert seconds == sorted(seconds)
        told = [_what(line) for _, line in timed]
        trial = ["imagination", "decision", "perception", "judgment"]
        happened = [each for each in told if each in trial]
        # Guesses are decided on before they are seen, though at the same time.
        assert happened == trial * simulated.trials(*place)
        # A trial is over when the next one has begun.
        events = [each for each in told if each in trial or each == "trial"]
        assert events[:6] == [*trial, "imagination", "trial"]


def _what(line: dict) -> str:
    """Return what a line is about."""
    names = ("shown", "decision", "trial", "volume", "fault", "begun", "written")
    found = next(name for name in names if name in line)
    return line["shown"] if found == "shown" else found


def test_a_session_that_is_played_is_shown_to_its_end(dataset):
    sessions = tuple(each for each in ("train", "test") if dataset.has(each))
    state = SessionState(dataset.protocol, "recording", SPEED, sessions=sessions)
    player = Player(recorded_lines(dataset), SPEED, lambda: False)
    state.elapsed = player.elapsed
    early = []

    def take(line: dict) -> None:
        seconds = line.get("arrived", line.get("onset"))
        if seconds is not None and player.elapsed() < seconds:
            early.append(line)
        state.take(line)
        json.dumps(state.snapshot(), allow_nan=False)

    player.play(take)
    found = state.snapshot()
    assert early == []
    assert (found["phase"], found["seconds_left"]) == ("over", 0)
    told = [each["option"] for each in found["guesses"] if each["option"] is not None]
    options = [str(each) for each in dataset.protocol.task.options]
    shown = [each for place in places(dataset) for each in dataset.shown(*place)]
    assert told == [options[each.action] for each in shown if each.action != NO_GUESS]


def test_nothing_is_played_while_it_is_paused(simulated):
    log, left = [], [0]

    def paused() -> bool:
        if left[0]:
            log.append("paused")
            left[0] -= 1
        return bool(left[0])

    def take(line: dict) -> None:
        log.append("volume" if "volume" in line else "other")
        if log.count("volume") == 3 and "volume" in line:
            left[0] = 4

    Player(recorded_lines(simulated), SPEED, paused).play(take)
    third = [place for place, each in enumerate(log) if each == "volume"][2]
    assert log[third + 1 : third + 5] == ["paused"] * 4
    assert log.count("paused") == 4
    assert log.count("other") + log.count("volume") == len([*recorded_lines(simulated)])
