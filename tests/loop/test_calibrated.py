"""What agents see and learners get, run by run, as more is known of the person and the noise."""

from collections.abc import Callable

import numpy as np
import pytest
from kills import digests
from recordings import LEARNS, Stopped, small, some_policy, stop_after

from bciigl.base.arrays import read_arrays
from bciigl.estimate import UNCALIBRATED, Calibration, contexts, feedback, feedback_so_far
from bciigl.loop import Agent, record, resume
from bciigl.recording import Dataset, DatasetError, open_dataset
from bciigl.recording.calibration import calibration_of, read_calibration, write_calibration
from bciigl.recording.layout import CALIBRATION, ESTIMATES, POLICY

KINDS = {
    "shared": small(task={"trials": 18, "trials_per_run": 6}, brain={"noise": 1.0}),
    "frame": small(brain={"noise": 1.0}, estimate="frame"),
    "separate": small(recording="separate", brain={"noise": 1.0}),
    "noise 0": small(brain={"noise": 0.0}),
}


def of_run(dataset: Dataset, session: str, run: int, ending: str) -> dict[str, np.ndarray]:
    """Return the arrays of a run."""
    (path,) = (dataset.folder / ESTIMATES).rglob(f"*ses-{session}*run-{run:02}_{ending}.npz")
    return read_arrays(path)


def same(one: Calibration, other: Calibration) -> bool:
    return one._replace(whitening=None) == other._replace(whitening=None) and (
        one.whitening is other.whitening is None or np.array_equal(one.whitening, other.whitening)
    )


def seen(dataset: Dataset, session: str, run: int) -> Calibration:
    """Return what a run was estimated with, while it went on."""
    return calibration_of(of_run(dataset, session, run, "interactions"), dataset.folder)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Callable[[str], Dataset]:
    """Return the recording of a kind, made once; not to be changed."""
    root = tmp_path_factory.mktemp("recorded")

    def of(kind: str) -> Dataset:
        if not (root / kind).exists():
            record(KINDS[kind], root / kind)
        return open_dataset(root / kind)

    return of


@pytest.mark.parametrize("kind", KINDS)
def test_all_estimates_can_be_computed_again_from_what_is_recorded(kind, recorded):
    mine, dataset = KINDS[kind], recorded(kind)
    for session, numbers in {"train": [1, 2], "test": [1]}.items():
        for run in numbers:
            frames, known = dataset.frames(session, run), seen(dataset, session, run)
            saw = of_run(dataset, session, run, "interactions")
            np.testing.assert_array_equal(saw["context"], contexts(frames, mine, known))
            for trial, found in enumerate(saw["feedback_so_far"]):
                expected = feedback_so_far(frames, mine, trial, known)
                np.testing.assert_array_equal(found, expected)
            anew, final = of_run(dataset, session, run, "estimates"), dataset.calibration
            np.testing.assert_array_equal(anew["context"], contexts(frames, mine, final))
            np.testing.assert_array_equal(anew["feedback"], feedback(frames, mine, final))


def test_a_run_is_estimated_with_what_the_training_runs_before_it_told(recorded):
    dataset = recorded("shared")
    assert seen(dataset, "train", 1) == UNCALIBRATED
    later = [seen(dataset, "train", run) for run in (2, 3)]
    assert not same(*later)
    assert not same(later[1], dataset.calibration)
    assert same(seen(dataset, "test", 1), dataset.calibration)


def test_saved_policy_comes_with_its_calibration(tmp_path):
    mine = small(agent={"policy": "fixed"})
    known = Calibration((0.5, -0.2, 0.1), np.diag(np.linspace(1, 2, 64)), 0.3)
    record(mine, tmp_path / "whole", policy=some_policy(), calibration=known)
    dataset = open_dataset(tmp_path / "whole")
    places = [("train", 1), ("train", 2), ("test", 1)]
    used = [seen(dataset, *each) for each in places] + [dataset.calibration]
    assert all(same(each, known) for each in used)
    with pytest.raises(Stopped):
        how = {"policy": some_policy(), "calibration": known}
        record(mine, tmp_path / "stopped", **how, progress=stop_after(4))
    assert same(read_calibration(tmp_path / "stopped" / POLICY / CALIBRATION), known)
    resume(tmp_path / "stopped")
    assert digests(tmp_path / "stopped") == digests(tmp_path / "whole")


class Remembers(Agent):
    """Keeps what it recalls, and changes units once."""

    def __init__(self, n_actions: int) -> None:
        super().__init__(n_actions)
        self.past = []

    def recall(self, past) -> bool:
        """Keep what was before."""
        self.past.append(past)
        return len(self.past) == 1


def test_agents_recall_all_runs_before_in_new_units_and_may_keep_to_the_old(tmp_path):
    mine, agent = small(task={"trials": 16}, brain={"noise": 1.0}), Remembers(3)
    record(mine, tmp_path / "out", agent=agent)
    dataset = open_dataset(tmp_path / "out")
    assert [each.run.tolist() for each in agent.past] == [
        [run for run in range(1, last + 1) for _ in range(4)] for last in (1, 2, 3)
    ]
    used = [seen(dataset, "train", run) for run in (1, 2, 3, 4)]
    assert used[0] == UNCALIBRATED
    assert same(used[1], used[2]) and same(used[1], used[3])
    frames = dataset.frames("train", 1)
    np.testing.assert_array_equal(agent.past[0].context, contexts(frames, mine, used[1]))
    np.testing.assert_array_equal(agent.past[0].feedback, feedback(frames, mine, used[1]))
    assert not np.array_equal(agent.past[1].context[:4], agent.past[0].context)
    np.testing.assert_array_equal(
        agent.past[0].action, dataset.sessions["train"].interactions.action[:4]
    )


@pytest.mark.slow
def test_agent_that_learns_within_runs_is_resumed(tmp_path):
    mine = small(**{**LEARNS, "agent": {**LEARNS["agent"], "learn_every": "10 trials"}})
    record(mine, tmp_path / "whole")
    for calls in (76, 92):
        with pytest.raises(Stopped):
            record(mine, tmp_path / str(calls), progress=stop_after(calls))
        resume(tmp_path / str(calls))
        assert digests(tmp_path / str(calls)) == digests(tmp_path / "whole")


def test_calibration_is_read_back_and_refused_if_damaged(tmp_path):
    path = tmp_path / CALIBRATION
    assert read_calibration(path) == UNCALIBRATED
    for known in (
        UNCALIBRATED,
        Calibration((0.1, 0.2, 0.3), np.eye(3), 0.0),
        Calibration(whitening=np.ones(4)),
    ):
        write_calibration(path, known)
        assert same(read_calibration(path), known)
    for arrays, message in [
        ({"response": np.ones(2)}, "response should be 3 numbers"),
        ({"whitening": np.ones((2, 3))}, "whitening has the shape"),
        ({"whitening": np.full(3, np.nan)}, "whitening should be finite numbers"),
        ({"autocorrelation": np.array(1.0)}, "autocorrelation should be a number from 0"),
        ({"autocorrelation": np.array("x")}, "autocorrelation should be finite numbers"),
    ]:
        np.savez(path, **arrays)
        with pytest.raises(DatasetError, match=message):
            read_calibration(path)
