"""The verdict as it develops is that of `bciigl learn`, and nobody is shown what is not trusted."""

import logging

import numpy as np
import pytest
from recordings import small
from rehearsals import rehearse, short

from bciigl.learn.diagnose import Diagnosis
from bciigl.live.learning import LearningWatch
from bciigl.live.recorded import recorded_lines
from bciigl.live.state import SessionState
from bciigl.loop import record
from bciigl.recording import Dataset, open_dataset
from bciigl.study.learning import learn_from, load_sessions

# What is learned from 52 trials of eight voxels can be trusted, with this seed.
GOOD = {
    "task": {"trials": 52, "trials_per_run": 40},
    "evaluation": {"test_trials": 1},
    "brain": {"region": {"size": 2}, "noise": 0.01},
    "seed": 1,
}
CHECKED = (3, 39)
"""Trials of the first run after which is looked at what is told."""


class Watched:
    """A recorded session that is watched line by line."""

    def __init__(self, dataset: Dataset, truth=None, checked=(), extra=()) -> None:
        self.dataset, told = dataset, [] if truth is None else [truth]
        self.state = SessionState(dataset.protocol, "rehearsal", sessions=("train", "test"))
        self.watch = LearningWatch(self.state, *told)
        self.snapshots = []
        first, *lines = (line for _, line in recorded_lines(dataset))
        for line in (first, *extra, *lines):
            self.state.take(line)
            self.watch.take(line)
            if line["run"] == 1 and line.get("trial") in checked:
                self.watch.finish()
                self.snapshots.append(self.state.snapshot())
        self.watch.finish()
        self.snapshots.append(self.state.snapshot())
        self.watch.close()

    def guesses(self, run: int) -> list[dict]:
        """Return the guesses of a training run."""
        place = "train", run
        return [
            each
            for each in self.snapshots[-1]["guesses"]
            if (each["session"], each["run"]) == place
        ]


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """Give a session from which much can be learned, watched with its truth."""
    out = tmp_path_factory.mktemp("good") / "out"
    record(small(**GOOD), out)
    dataset = open_dataset(out)
    return Watched(dataset, lambda place: dataset.run_truth(*place), CHECKED)


@pytest.fixture(scope="module")
def short_one(tmp_path_factory):
    """Give a session of seven trials in two runs."""
    out = tmp_path_factory.mktemp("short") / "out"
    record(small(brain={"region": {"size": 2}}), out)
    return open_dataset(out)


def check_same_as_learned(watched: Watched) -> None:
    """Compare the last verdict with what `bciigl learn` makes of the dataset."""
    sessions = {"train": load_sessions(watched.dataset)["train"]}
    learned = learn_from(sessions, "ai_igl", seed=watched.dataset.protocol.seed)
    given, found = sessions["train"].interactions, learned.diagnosis
    told = watched.snapshots[-1]["learning"]
    assert told["verdict"] == (found.verdict if isinstance(found, Diagnosis) else "too early")
    assert told["words"] == found.named(watched.dataset.protocol.task.options).reason
    assert told["trials"] == given.trials
    known = getattr(found, "accuracy", None) is not None
    accuracy = (found.accuracy, *found.interval) if known else None
    assert told["accuracy"] == (accuracy and pytest.approx(accuracy, abs=5e-4))
    decoded = learned.learner.decode(given.feedback, given.action, run=given.run)
    match = [each.match for run in watched.state.runs.values() for each in run.guesses.values()]
    if found.verdict == "trust":
        assert match[: given.trials] == pytest.approx(decoded, abs=6e-4)
        assert 0 < told["match_rate"] < 1


def test_the_last_verdict_is_that_of_the_recorded_session(good):
    check_same_as_learned(good)
    assert good.snapshots[-1]["learning"]["verdict"] == "trust"


def test_no_judgment_is_told_before_what_decodes_it_can_be_trusted(good):
    verdicts = []
    for found in good.snapshots:
        told = [each["match"] is not None for each in found["guesses"]]
        trusted = found["learning"]["verdict"] == "trust"
        assert any(told) == trusted
        verdicts.append(found["learning"]["verdict"])
    assert verdicts[0] != "trust" and verdicts[-1] == "trust"


def test_the_verdict_s_history_grows_with_the_trials(good):
    first, *_, last = (each["learning"] for each in good.snapshots)
    assert first["trials"] == 4 and last["trials"] == 52
    assert last["history"][: len(first["history"])] == first["history"]
    trials = [each["trials"] for each in last["history"]]
    assert trials == sorted(trials) and trials[-1] == 52
    assert [each["verdict"] for each in last["history"]][-1] == last["verdict"]
    assert last["learner"] == "AI-IGL, no labels"
    assert last["chance"] == pytest.approx(1 / 3)


def test_probabilities_are_those_of_contexts_that_are_new_to_the_learner(good):
    assert good.guesses(1)[0]["probabilities"] is None  # nothing was learned yet
    told = np.array([each["probabilities"] for each in good.guesses(2)])
    assert told.shape == (12, 3)
    np.testing.assert_allclose(told.sum(axis=1), 1.0, atol=2e-3)
    truth = good.dataset.run_truth("train", 2)
    assert np.mean(told.argmax(axis=1) == truth.imagined) >= 0.8


def test_the_truth_is_told_of_runs_that_are_over_and_only_if_it_is_asked_for(good):
    options = [str(each) for each in good.dataset.protocol.task.options]
    for run in (1, 2):
        truth = [options[each] for each in good.dataset.run_truth("train", run).meant]
        assert [each["truth"] for each in good.guesses(run)] == [None] * len(truth)
        kept = [guess for place, guess in good.state.runs.items() if place == ("train", run)]
        assert [each.truth for each in kept[0].guesses.values()] == truth
    assert good.snapshots[-1]["learning"]["true_accuracy"] is None
    good.state.truth_shown = True
    try:
        assert good.state.snapshot()["learning"]["true_accuracy"] > 0.8
    finally:
        good.state.truth_shown = False


def test_the_test_session_is_not_learned_from(good):
    assert {place.session for place in good.state.runs} == {"train", "test"}
    assert good.snapshots[-1]["learning"]["trials"] == 52


def test_a_session_too_short_to_learn_from_is_told_to_be_that(short_one):
    watched = Watched(short_one)
    told = watched.snapshots[-1]["learning"]
    assert (told["trials"], told["verdict"], told["accuracy"]) == (7, "too early", None)
    assert "option 'a'" in told["words"]  # and not "action 0"
    assert told["match_rate"] is None
    assert told["history"][-1]["true_accuracy"] is None


def test_trials_that_are_left_out_are_not_learned_from(short_one):
    out = {"session": "train", "run": 1, "left_out": 2, "why": "marked bad"}
    watched = Watched(short_one, extra=[out])
    assert watched.snapshots[-1]["learning"]["trials"] == 6
    back = {**out, "why": ""}
    watched = Watched(short_one, extra=[out, back])
    assert watched.snapshots[-1]["learning"]["trials"] == 7


def test_a_session_goes_on_where_nothing_can_be_learned_from_it(short_one, caplog):
    def truth(place):
        raise OSError("the disk is gone")

    with caplog.at_level(logging.ERROR, "bciigl"):
        watched = Watched(short_one, truth)
    assert "the monitor cannot learn from the session" in caplog.text
    assert "the disk is gone" in caplog.text
    found = watched.snapshots[-1]
    assert found["phase"] == "over"
    assert found["volumes"]["arrived"] == found["volumes"]["due"]


def test_learners_that_are_told_the_rewards_are_not_watched(short_one):
    protocol = short_one.protocol.model_copy(update={"learners": ("cb",)})
    watched = Watched(Dataset(short_one.folder, protocol))
    assert watched.snapshots[-1]["learning"] is None
    assert {each["match"] for each in watched.snapshots[-1]["guesses"]} == {None}


@pytest.mark.slow
@pytest.mark.parametrize("motion", [False, True])
def test_the_last_verdict_is_that_of_a_rehearsal(tmp_path, motion):
    how = {"brain__noise": 0.3, "live__realign": motion, "estimate__motion": motion}
    protocol = short(task__trials=6, task__trials_per_run=3, **how)
    dataset = open_dataset(rehearse(protocol, tmp_path, motion=0.5 * motion))
    assert (dataset.movement("train", 1) is not None) == motion
    watched = Watched(dataset)
    check_same_as_learned(watched)
    # Estimates, too, to the last digits: a verdict may be the same by chance.
    given = dataset.sessions["train"].interactions
    estimates = [watched.watch._estimates[place] for place in watched.state.runs]
    np.testing.assert_allclose(np.concatenate([each[0] for each in estimates]), given.context)
    np.testing.assert_allclose(np.concatenate([each[1] for each in estimates]), given.feedback)
