"""The paper's separate recordings, one for each kind of event."""

import numpy as np
import pytest
from digests import protocol
from heads import head

from bciigl.base.errors import BciiglError
from bciigl.brain import Brain, Event, Trials
from bciigl.loop import Agent
from bciigl.loop.separate import record_separately
from bciigl.loop.session import participant_of, simulate_run
from bciigl.recording.trial import RunId
from bciigl.source import PacedSource, SimulatedSource


@pytest.fixture(scope="module")
def of(tmp_path_factory):
    """Return brains of a small head, by protocol sections."""
    folder = tmp_path_factory.mktemp("brain")
    head().save(folder / "head")

    def build(noise: float = 1.0, recording: str = "separate", **sections) -> Brain:
        region = {"center": [8, 10, 8], "size": 3}
        brain = {"subject": "head", "region": region, "noise": noise}
        return Brain(protocol(brain=brain, recording=recording, **sections), folder)

    return build


def events(brain: Brain) -> list[Event]:
    return Trials((7, 8, 9, 7), (7, 7, 9, 8)).events(brain.protocol)


def test_what_cannot_be_recorded_separately_is_refused(of):
    with pytest.raises(BciiglError, match=r"use Brain\.scan"):
        record_separately(of(recording="shared"), [])
    for arguments, message in [
        ({"run": 4}, "run should be from 1 to 3, got 4: the protocol plans 10 trials"),
        ({"run": 0}, "run should be from 1 to 3"),
        ({"session": "tests"}, "did you mean 'test'"),
    ]:
        with pytest.raises(BciiglError, match=message):
            record_separately(of(task={"trials": 10}), [], **arguments)
    for onset in (-5.0, 48.0, 1e6, float("nan")):
        with pytest.raises(BciiglError, match="not within the run of 48 s"):
            record_separately(of(), [Event("perception", onset, 7)])


def test_event_after_the_last_sample_leaves_no_trace(of):
    brain = of(0.0)
    frames = record_separately(brain, [Event("perception", 47.9, 7)])["perception"]
    np.testing.assert_array_equal(frames, np.tile(brain.subject.base[brain.region.index], (32, 1)))


def test_series_are_scaled_by_compute_signal_change_and_have_their_own_noise(of):
    """At noise 0 the peak of each voxel is cnr times the SD of the noise of that very recording."""
    brain = of()
    loud, quiet = (record_separately(each, events(brain)) for each in (brain, of(0.0)))
    assert list(loud) == ["imagination", "perception", "judgment"]
    base, noises = brain.subject.base[brain.region.index], []
    for kind in loud:
        assert loud[kind].shape == (32, 27)  # 12 s of rest, 4 trials of 9 s
        noise = loud[kind] - quiet[kind]
        noises.append(noise[:, 0])
        signal = quiet[kind] - base
        np.testing.assert_allclose(signal.max(axis=0), 0.5 * noise.std(axis=0), rtol=1e-9)
    # 32 autocorrelated frames: a standard error of about 0.25
    assert np.abs(np.corrcoef(noises)[np.triu_indices(3, 1)]).max() < 0.8


def test_series_can_be_recorded_one_after_the_other(of):
    brain = of()
    together = record_separately(brain, events(brain))
    for kind in together:
        alone = record_separately(brain, [each for each in events(brain) if each.kind == kind])
        np.testing.assert_array_equal(alone[kind], together[kind])


def test_perception_and_judgment_begin_together(of):
    onsets: dict[str, list[float]] = {}
    for event in events(of())[:6]:
        onsets.setdefault(event.kind, []).append(event.onset)
    assert onsets == {"imagination": [12, 21], "perception": [14, 23], "judgment": [14, 23]}


def test_run_of_a_session_is_recorded_from_its_own_events():
    mine = protocol(recording="separate", task={"catch": {"share": 0.3}})
    source, place = SimulatedSource(mine), RunId("train", 2)
    run = simulate_run(mine, source, Agent(3), place, 4)
    who = participant_of(mine, source, place, 4)
    happened = [
        event
        for number, trial in enumerate(run.trials)
        for event in (who.imagine(number), *who.answer(number, trial.action))
    ]
    expected = record_separately(source.brain, happened, *place, trials=4)
    assert list(run.frames) == list(expected)
    for kind, frames in expected.items():
        np.testing.assert_array_equal(run.frames[kind], frames.astype(np.float32))
    assert run.status == {}
    with pytest.raises(BciiglError, match="not in real time"):
        simulate_run(mine, PacedSource(source), Agent(3), place, 4)
