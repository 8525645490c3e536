"""Recorded arrays: read, checked, chosen by run, and learned from."""

import os
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from interactions import CLEAR, arrays_of, flat, session

from bciigl.base.errors import BciiglError
from bciigl.base.registry import LEARNERS, Specification
from bciigl.learn import InputError
from bciigl.learn.network_igl import ActionInclusiveNetwork
from bciigl.recording.truth import Session
from bciigl.study import learning
from bciigl.study.learning import (
    ArraysError,
    check_arrays,
    fit_learner,
    learn_from,
    learners_for,
    load_arrays,
    select,
)
from bciigl.study.session_results import matches_by_run

TRAIN, TEST = (session(seed, trials=trials, **CLEAR) for seed, trials in ((0, 240), (1, 60)))
DATA = arrays_of(TRAIN, TEST)
REQUIRED = {name: DATA[name] for name in ("context", "action", "feedback")}


def test_arrays_in_a_file_and_in_a_folder_are_the_same(npz, tmp_path):
    (tmp_path / "folder").mkdir()
    for name, array in DATA.items():
        np.save(tmp_path / "folder" / f"{name}.npy", array)
    (tmp_path / "folder" / "notes.txt").write_text("what else is there does not matter")
    np.savez_compressed(tmp_path / "small.npz", **DATA)
    for path in (
        npz(**DATA),
        tmp_path / "folder",
        str(tmp_path / "folder"),
        tmp_path / "small.npz",
    ):
        recorded = flat(load_arrays(path))
        for name, array in DATA.items():
            np.testing.assert_array_equal(getattr(recorded, name), array)
    assert recorded.n_actions == 3
    assert recorded.propensity is recorded.catch is recorded.match_rate is None


def test_whole_numbers_may_be_stored_as_others(npz):
    stored = {**DATA, "action": DATA["action"].astype(float), "run": DATA["run"].astype(np.int8)}
    stored["context"] = DATA["context"].astype(np.float32)
    recorded = flat(load_arrays(npz(**stored)))
    assert recorded.action.dtype == recorded.run.dtype == int
    assert recorded.context.dtype == float


def changed(name: str, place: tuple, value: float) -> dict[str, np.ndarray]:
    array = np.array(DATA[name], float)
    array[place] = value
    return {name: array}


def refused() -> list[tuple[dict, str]]:
    """Return arrays that cannot be used, each with what is said about it."""
    return [
        ({"contxt": np.zeros(3)}, "unknown array 'contxt'; did you mean 'context'.; known are c"),
        ({"rewards": np.zeros(3)}, "unknown array 'rewards'; did you mean 'reward'"),
        ({"zzz": np.zeros(3)}, "unknown array 'zzz'; known are context"),
        ({"context": None}, "array context is missing; found action, feedback"),
        ({"feedback": None}, "array feedback is missing"),
        (changed("context", (3, 1), np.nan), "context must be finite numbers, got nan at .3, 1."),
        (changed("feedback", (0, 5), np.inf), "feedback must be finite numbers, got inf at .0, 5."),
        (changed("action", (4,), np.nan), "action must be finite numbers, got nan at .4,"),
        (changed("action", (4,), 0.5), "action must be whole numbers, got 0.5"),
        (changed("action", (4,), -1), "action must be from 0 to 2, got -1 to 2"),
        (changed("run", (4,), 0.5), "run must be whole numbers"),
        (changed("label", (4,), 0.5), "label must be whole numbers"),
        (changed("test_label", (4,), 0.5), "test_label must be whole numbers"),
        (changed("reward", (4,), np.nan), "reward must be finite"),
        (
            changed("test_context", (4, 0), np.nan),
            "test_context must be finite numbers, got nan at .4, 0.",
        ),
        ({"context": DATA["context"][:, 0]}, r"context must be of shape \(trials, features\)"),
        ({"context": DATA["context"][None]}, r"context must be .* got \(1, 240, 6\)"),
        ({"context": np.zeros((0, 6))}, r"context must be .* got \(0, 6\)"),
        ({"context": np.zeros((240, 0))}, r"context must be .* got \(240, 0\)"),
        ({"action": DATA["action"][:, None]}, r"action must be of shape \(trials,\)"),
        ({"action": DATA["action"][:-1]}, "action must have one row for each of 240 trials, got 2"),
        ({"feedback": DATA["feedback"][:-1]}, "feedback must have one row for each of 240 trials"),
        ({"run": DATA["run"][:-1]}, "run must have one row for each of 240 trials"),
        ({"reward": DATA["reward"][:-1]}, "reward must have one row for each of 240"),
        ({"label": DATA["label"][:-1]}, "label must have one row for each of 240"),
        ({"test_label": DATA["test_label"][1:]}, "test_label must have one row for each of 60"),
        ({"test_run": DATA["test_run"][1:]}, "test_run must have one row for each of 60"),
        ({"test_context": DATA["test_context"][:, 1:]}, "test_context must have 6 features, got 5"),
        ({"test_context": None}, "test_context is missing"),
        ({"propensity": np.zeros(240)}, "propensity must be above 0 and at most 1, got 0 to 0"),
        ({"propensity": np.full(240, 1.5)}, "propensity must be above 0 and at most 1"),
        ({"propensity": np.ones(3)}, "propensity must have one row for each of 240"),
        ({"catch": np.ones((240, 2), bool)}, r"catch must be of shape \(trials,\)"),
        ({"context": np.full((240, 6), "x")}, "context must be numbers"),
        ({"context": DATA["context"] + 1j}, "context must be numbers"),
        ({"context": np.zeros((240, 6), "datetime64[s]")}, "context must be numbers"),
        ({"context": 1e200 * DATA["context"]}, "context must be finite numbers, got"),
        (changed("action", (3,), 1e7), "at most 1000 actions, got 10000001"),
        (changed("label", (3,), 1e7), "label must be actions from 0 to 999, got 0 to 10000000"),
        (changed("label", (3,), -1), "label must be actions from 0 to 999, got -1 to 2"),
        (changed("test_label", (3,), 1000), "test_label must be actions from 0 to 999, got 0 to 1"),
        (changed("test_label", (3,), -1), "test_label must be actions from 0 to 999, got -1 to 2"),
        ({"catch": np.full(240, 0.5)}, "catch must be a mask"),
        ({"baseline": np.zeros(240, bool)}, "array baseline is called catch now"),
        (
            {name: DATA[name] + 1 for name in ("action", "label", "test_label")},
            "action must start at 0, got 1 to 3: subtract 1",
        ),
    ]


def test_array_that_cannot_be_used_is_named(npz):
    for arrays, message in refused():
        path = npz(**{**DATA, **arrays})
        with pytest.raises(ArraysError) as error:
            load_arrays(path)
        assert str(error.value).startswith(f"{path}: "), message
        assert re.search(message, str(error.value)), message


def test_file_that_has_no_arrays_is_refused(npz, tmp_path):
    path = npz(**{**DATA, "action": DATA["action"].astype(object)})
    with pytest.raises(BciiglError, match="arrays.npz: is not readable as arrays of numbers"):
        load_arrays(path)
    np.save(tmp_path / "context.npy", DATA["context"])
    with pytest.raises(BciiglError, match="context.npy: is a single array"):
        load_arrays(tmp_path / "context.npy")
    with pytest.raises(BciiglError, match="nowhere.npz: no such file"):
        load_arrays(tmp_path / "nowhere.npz")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ArraysError, match="empty: array context is missing; found none"):
        load_arrays(tmp_path / "empty")


def test_runs_are_chosen_by_their_numbers(npz):
    recorded = load_arrays(npz(**DATA, propensity=np.arange(1, 241) / 240))
    chosen = flat(select(recorded, {1, 3}, {2}))
    rows = np.isin(DATA["run"], [1, 3])
    for name in ("context", "action", "feedback", "run", "reward", "label"):
        np.testing.assert_array_equal(getattr(chosen, name), DATA[name][rows])
    np.testing.assert_array_equal(chosen.propensity, (np.arange(1, 241) / 240)[rows])
    for name in ("test_context", "test_label", "test_run"):
        np.testing.assert_array_equal(getattr(chosen, name), DATA[name][DATA["test_run"] == 2])
    everything = flat(select(recorded, None, None))
    np.testing.assert_array_equal(everything.action, DATA["action"])
    np.testing.assert_array_equal(everything.test_run, DATA["test_run"])


def test_as_many_test_contexts_as_trials_are_of_the_same_runs(npz):
    same = {"test_context": DATA["context"], "test_label": DATA["label"], "test_run": None}
    chosen = flat(select(load_arrays(npz(**{**DATA, **same})), {0, 1}, {4}))
    np.testing.assert_array_equal(chosen.test_run, np.full(40, 4))
    np.testing.assert_array_equal(chosen.test_context, DATA["context"][160:200])
    own = {**same, "test_run": 5 - DATA["run"]}
    chosen = flat(select(load_arrays(npz(**{**DATA, **own})), None, {4}))
    np.testing.assert_array_equal(chosen.test_context, DATA["context"][40:80])
    # Only if test runs are asked for: that they are the same is a guess.
    assert flat(select(load_arrays(npz(**{**DATA, **same})), {0, 1}, None)).test_run is None
    other = load_arrays(npz(**{**DATA, "test_run": None}))
    assert flat(select(other, {0}, None)).test_run is None
    with pytest.raises(ArraysError, match="there is no array test_run to choose runs by"):
        select(other, None, {4})


def test_run_that_is_not_there_is_named(npz):
    recorded = load_arrays(npz(**DATA))
    with pytest.raises(ArraysError, match="run: there is no run 6"):
        select(recorded, range(3, 9), None)
    with pytest.raises(ArraysError, match="test_run: there is no run 7"):
        select(recorded, None, [7])
    with pytest.raises(ArraysError, match="there is no array run to choose runs by"):
        select(load_arrays(npz(**REQUIRED)), [0], None)
    with pytest.raises(ArraysError, match="there is no array test_context to be tested on"):
        select(load_arrays(npz(**REQUIRED)), None, [0])
    blind = {**DATA, "test_context": DATA["context"], "test_label": DATA["label"]}
    with pytest.raises(ArraysError, match="there is no array test_run to choose runs by"):
        select(load_arrays(npz(**{**blind, "run": None, "test_run": None})), None, [0])


def test_learners_are_possible_where_they_have_what_they_need(npz):
    blind = ("ai_igl", "ai_igl_paper", "igl_full_ci", "transfer")
    nothing_told = load_arrays(npz(**REQUIRED))
    assert learners_for(nothing_told) == blind
    rewarded = load_arrays(npz(**REQUIRED, reward=DATA["reward"]))
    assert learners_for(rewarded) == (*blind, "cb")
    labelled = load_arrays(npz(**REQUIRED, label=DATA["label"]))
    assert learners_for(labelled) == (*blind, "ceiling")
    assert learners_for(load_arrays(npz(**DATA))) == (*blind, "cb", "ceiling")
    other = load_arrays(npz(**{**REQUIRED, "feedback": DATA["feedback"][:, :-1]}))
    assert learners_for(other) == blind[:-1]  # nothing to transfer between other voxels
    for refuse in (learn_from, lambda recorded, each: learners_for(recorded, ["ai_igl", each])):
        with pytest.raises(ArraysError, match="ceiling needs the array label"):
            refuse(rewarded, "ceiling")
        with pytest.raises(ArraysError, match="cb needs the array reward"):
            refuse(nothing_told, "cb")
        with pytest.raises(BciiglError, match="did you mean 'ai_igl'"):
            refuse(rewarded, "ai-igl")


def test_learners_wanted_are_given_in_their_order(npz):
    recorded = load_arrays(npz(**DATA))
    assert learners_for(recorded, ["cb", "ai_igl"]) == ("cb", "ai_igl")
    assert learners_for(recorded, ("ceiling",)) == ("ceiling",)


@pytest.mark.parametrize("learner", ["ai_igl", "cb", "ceiling"])
def test_reward_that_is_easy_to_find_is_found(npz, learner):
    result = learn_from(load_arrays(npz(**DATA)), learner)
    # Patterns are 8.5 SD of the noise apart: hardly any of 60 contexts is ambiguous.
    assert result.accuracy > 95
    assert result.learner_id == learner
    numbers = result.as_dict()
    assert numbers["accuracy"] == result.accuracy
    if learner == "ai_igl":
        # 80 trials of each action; the reward is decoded nearly without error
        rate = [DATA["reward"][DATA["action"] == each].mean() for each in range(3)]
        assert numbers["match_rates"] == pytest.approx(rate, abs=0.03)
        assert numbers["diagnosis"]["verdict"] == "trust"
    else:
        assert numbers["match_rates"] is numbers["diagnosis"] is None


def test_without_test_labels_there_is_no_accuracy(npz):
    assert learn_from(load_arrays(npz(**REQUIRED)), "ai_igl").accuracy is None
    unlabelled = load_arrays(npz(**{**DATA, "test_label": None}))
    assert learn_from(unlabelled, "ai_igl").accuracy is None


def test_action_that_was_never_taken_counts_if_it_is_right_somewhere(npz):
    few = DATA["action"] != 2
    some = {name: DATA[name][few] for name in ("context", "action", "feedback", "run")}
    tested = {name: DATA[name] for name in ("test_context", "test_label", "test_run")}
    recorded = load_arrays(npz(**some, **tested))
    assert flat(recorded).n_actions == 3
    result = learn_from(recorded, "ai_igl")
    assert (result.learner.predict(DATA["test_context"]) < 2).all()


def test_known_match_rate_and_baseline_reach_the_learner(npz):
    recorded = load_arrays(npz(**DATA, catch=np.ones(240, bool), match_rate=np.array(0.3)))
    assert learn_from(recorded, "ai_igl").learner.match_rate == 0.3
    with pytest.raises(InputError, match="match_rate must be given"):
        learn_from(load_arrays(npz(**DATA, catch=np.ones(240, bool))), "ai_igl")
    with pytest.raises(InputError, match="match_rate must be one or 3 numbers"):
        learn_from(load_arrays(npz(**DATA, match_rate=np.array([0.3, 0.3]))), "ai_igl")


@pytest.mark.parametrize("value", ["abc", 1.5, np.nan, [[0.3, 0.3, 0.3]]])
def test_match_rate_that_is_none_is_refused(npz, value):
    with pytest.raises(BciiglError, match="match_rate must be"):
        learn_from(load_arrays(npz(**DATA, match_rate=np.array(value))), "ai_igl")


@pytest.mark.parametrize("learner", ["ai_igl", "ai_igl_paper", "igl_full_ci", "cb"])
@pytest.mark.parametrize("trials", [1, 2, 3, 9, 10])
def test_few_trials_are_no_error_but_not_trusted(npz, learner, trials):
    names = ("context", "action", "feedback", "run", "reward", "label")
    recorded = load_arrays(npz(**{**DATA, **{name: DATA[name][:trials] for name in names}}))
    result = learn_from(recorded, learner)
    assert 0 <= result.accuracy <= 100
    if learner != "cb":
        assert result.diagnosis.verdict != "trust"
        assert trials == 10 or "too few" in str(result.diagnosis)


def test_labels_that_cannot_be_compared_are_no_harm(npz):
    with pytest.raises(InputError, match="2 classes or more, got 1 class: 0"):
        learn_from(load_arrays(npz(**{**DATA, "label": np.zeros(240)})), "ceiling")
    # A label that only one run has cannot be learned without that run.
    lonely = load_arrays(npz(**{**DATA, "label": 1 * (DATA["run"] == 5)}))
    assert set(learn_from(lonely, "ceiling").learner.classes_) == {0, 1}


def test_ideas_of_right_and_seeds_reach_the_learner(npz):
    recorded = load_arrays(npz(**DATA))
    assert learn_from(recorded, "ai_igl", one_right=False).learner.one_right is False
    assert learn_from(recorded, "ai_igl_paper", seed=5).learner.random_state == 5
    assert learn_from(recorded, "igl_full_ci", one_right=False, seed=5).learner.random_state == 5


def test_learners_get_all_that_was_recorded(npz):
    rng = np.random.default_rng(0)
    # Runs have offsets and propensities differ, so that leaving either out would show.
    shift = rng.standard_normal((6, 6))[DATA["run"]]
    arrays = {"context": DATA["context"] + shift, "propensity": rng.uniform(0.1, 0.9, 240)}
    sessions = load_arrays(npz(**{**DATA, **arrays}))
    mine = flat(sessions)
    for each in LEARNERS.usual():
        learner, how = each.make(), {"run": mine.run}
        if each.told == "label":
            learner.fit(mine.context, mine.label, **how)
        else:
            how["propensity"] = mine.propensity
            answer = mine.reward if each.told else mine.feedback
            learner.fit(mine.context, mine.action, answer, **how)
            found = learn_from(sessions, each.id).learner
            np.testing.assert_array_equal(found.policy_, learner.policy_)
        chosen = learner.predict(mine.test_context, run=mine.test_run)
        accuracy = 100 * np.mean(chosen == mine.test_label)
        assert learn_from(sessions, each.id).accuracy == accuracy, each.id


class Simple:
    """A learner of another package: no parameters, and nothing that is not asked of it."""

    def fit(self, context, action, feedback, *, propensity=None, run=None, catch=None):
        """Keep what is given."""
        self.given = (context, action, feedback, propensity, run, catch)
        return self

    def predict(self, context, *, run=None):
        """Return the first action."""
        return np.zeros(len(context), int)


def test_learners_of_other_packages_get_the_parameters_they_have(npz):
    sessions = load_arrays(npz(**DATA))
    result = learn_from(sessions, Specification("simple", Simple, "simple"), seed=3)
    assert result.accuracy == pytest.approx(100 * np.mean(DATA["test_label"] == 0))
    assert result.diagnosis is result.match_rates is None
    np.testing.assert_array_equal(result.learner.given[2], DATA["feedback"])
    made = {}

    def make(random_state=0, n_actions=None):
        made.update(random_state=random_state, n_actions=n_actions)
        return Simple()

    fit_learner(Specification("simple", make, "simple"), sessions["train"].interactions, seed=3)
    assert made == {"random_state": 3, "n_actions": 3}


@pytest.mark.parametrize("learner", ["ai_igl", "igl_full_ci"])
def test_confusion_counts_what_is_chosen_for_each_right_action(npz, learner):
    sessions = load_arrays(npz(**DATA))
    found, recorded = learn_from(sessions, learner), flat(sessions)
    chosen = found.learner.predict(recorded.test_context, run=recorded.test_run)
    assert found.confusion.shape == (3, 3)
    for right in range(3):
        for other in range(3):
            count = np.sum((recorded.test_label == right) & (chosen == other))
            assert found.confusion[right, other] == count
    assert 100 * np.trace(found.confusion) / 60 == pytest.approx(found.accuracy)


def test_confusion_has_actions_that_nobody_meant_or_chose(npz):
    sessions = load_arrays(npz(**DATA))
    train, truth = sessions["train"]
    sessions["train"] = Session(replace(train, n_actions=5), truth)
    confusion = learn_from(sessions, "ceiling").confusion
    assert confusion.shape == (5, 5)
    assert confusion[3:].sum() == confusion[:, 3:].sum() == 0
    assert confusion.sum() == len(DATA["test_label"])


def test_there_is_no_confusion_without_test_labels(npz):
    recorded = load_arrays(npz(**{**DATA, "test_label": None}))
    assert learn_from(recorded, "ai_igl").confusion is None


def released(noise: str):
    """Return the arrays of the paper's authors."""
    return load_arrays(Path(os.environ["BCIIGL_TEST_DATA"], "released", f"noise_{noise}.npz"))


needs_data = pytest.mark.skipif(
    "BCIIGL_TEST_DATA" not in os.environ, reason="needs the released recordings"
)


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(
    ("noise", "accuracy", "mean"), [("0.01", 99.5, 99), ("0.05", 99.5, 99), ("0.1", 99.0, 97)]
)
def test_released_recordings_are_learned_without_labels(noise, accuracy, mean):
    recorded = released(noise)
    # Test rows share noise with the trials of the same index, so other runs are tested.
    test = range(40, 50)
    assert learn_from(select(recorded, range(40), test), "ai_igl").accuracy >= accuracy
    rng = np.random.default_rng(0)
    draws = [rng.choice(40, 14, replace=False).tolist() for _ in range(6)]
    found = [learn_from(select(recorded, draw, test), "ai_igl").accuracy for draw in draws]
    assert np.mean(found) >= mean
    assert min(found) >= 90


def test_catch_trials_are_no_guesses_where_there_are_no_propensities():
    catch = np.arange(len(DATA["action"])) % 5 == 0
    known = {"catch": catch, "match_rate": np.float64(0.5), "reward": 1.0 * catch}
    found = matches_by_run(check_arrays({**REQUIRED, "run": DATA["run"], **known})["train"])
    assert sum(each.guesses for each in found) == (~catch).sum()
    assert all(each.uniform and each.matched == 0 for each in found)


def test_learners_that_take_minutes_say_how_far_they_are(npz):
    sessions, steps = load_arrays(npz(**DATA)), []
    name = "ai_igl_network"
    made = partial(ActionInclusiveNetwork, epochs=20, hidden=(4,))
    found = learn_from(
        sessions, replace(LEARNERS.get(name), make=made), progress=lambda *each: steps.append(each)
    )
    assert steps == [(each, 60) for each in range(1, 61)]
    assert found.learner.epochs == 20
    told = []
    progress = learning._tenths(told.append, "learning")
    for each in steps:
        progress(*each)
    assert told == [f"learning: {tenth}0 %" for tenth in range(1, 10)]
