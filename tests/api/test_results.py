"""Learning in Python from sessions, folders, files and arrays."""

import numpy as np
import pytest

import bciigl
from bciigl.base.errors import BciiglError


def arrays(seed=0, trials=240):
    rng = np.random.default_rng(seed)
    imagined, action = rng.integers(3, size=(2, trials))
    context = np.eye(3)[imagined] + 0.1 * rng.normal(size=(trials, 3))
    match = imagined == action
    feedback = np.c_[np.eye(3)[action], match] + 0.1 * rng.normal(size=(trials, 4))
    given = {"context": context, "action": action, "feedback": feedback}
    return {**given, "test_context": context, "test_label": imagined}


def test_arrays_in_memory_and_in_a_file_are_the_same(tmp_path):
    given = arrays()
    np.savez(tmp_path / "mine.npz", **given)
    found = bciigl.learn(given)
    assert found.accuracy == bciigl.learn(tmp_path / "mine.npz").accuracy == 100.0
    assert found.verdict == "trust"
    assert list(found) == list(found.to_dataframe().index)


def test_labels_are_given_to_who_is_told_them_only():
    given = arrays()
    assert "ceiling" not in bciigl.learn(given)
    told = bciigl.learn({**given, "label": given["test_label"]})
    assert told["ceiling"].accuracy == 100.0
    assert told.main.learner_id == "ai_igl"


def test_learners_and_runs_can_be_chosen():
    run = np.repeat([1, 2, 3, 4], 60)
    given = {**arrays(), "run": run, "test_run": run}
    found = bciigl.learn(given, ["igl_full_ci"], train_runs=[1, 2, 3], test_runs=[4])
    assert list(found) == ["igl_full_ci"]
    assert found["igl_full_ci"].confusion.sum() == 60


def test_people_are_learned_from_apart():
    person = np.repeat(["ann", "bob"], 120)
    found = bciigl.learn({**arrays(), "person": person, "test_person": person})
    assert set(found) == {"ann", "bob"}
    assert found["ann"].verdict == "trust"


def test_the_main_result_is_that_of_a_learner_without_labels_or_else_the_first():
    given = arrays()
    given["label"] = given["test_label"]
    found = bciigl.learn(given, ["ceiling"])
    assert found.main.learner_id == "ceiling"
    assert found.verdict is None
    assert "supervised, told the labels" in repr(found)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"contxt": [1]}, "did you mean 'context'"),
        ({"action": None}, "array action is missing"),
        ({"action": [[1]]}, "action"),
    ],
)
def test_wrong_arrays_are_refused_by_name(wrong, message):
    given = {name: each for name, each in {**arrays(), **wrong}.items() if each is not None}
    with pytest.raises(BciiglError, match=message):
        bciigl.learn(given)


def test_files_that_are_not_there_are_named():
    with pytest.raises(BciiglError, match="nowhere.npz"):
        bciigl.learn("nowhere.npz")
