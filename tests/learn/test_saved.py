"""Learners on disk: they come back as they were, and nothing else is taken for one."""

import copy
import json
import shutil
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from synthetic import interactions

from bciigl.learn import (
    ActionInclusiveIGL,
    ContextualBandit,
    FullConditionalIGL,
    InputError,
    SupervisedCeiling,
    load_learner,
    save_learner,
)

DATA = interactions()
TRIALS = DATA["context"], DATA["action"], DATA["feedback"]


def fitted(learner):
    """Return the learner, fitted."""
    third = DATA["reward"] if isinstance(learner, ContextualBandit) else DATA["feedback"]
    return learner.fit(DATA["context"], DATA["action"], third, run=DATA["run"])


LEARNERS = {
    "robust": fitted(ActionInclusiveIGL()),
    "paper": fitted(ActionInclusiveIGL(method="paper", random_state=3)),
    "several right": fitted(ActionInclusiveIGL(one_right=False, match_rate=0.3)),
    "rates": fitted(ActionInclusiveIGL(n_actions=3, match_rate=[0.3, 0.3, 0.4])),
    "full": fitted(FullConditionalIGL(n_actions=4, random_state=1)),
    "bandit": fitted(ContextualBandit(estimator="dr", ridge=2.0)),
}
each_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)


@pytest.fixture(scope="module")
def intact(tmp_path_factory):
    """Return the folder of a saved learner that no test changes."""
    folder = tmp_path_factory.mktemp("saved") / "learner"
    save_learner(LEARNERS["robust"], folder)
    return folder


@pytest.fixture
def saved(intact, tmp_path):
    """Return a copy of the saved learner, to be spoiled."""
    return shutil.copytree(intact, tmp_path / "learner")


def rewrite_settings(folder, change) -> None:
    """Change the JSON of a saved learner in place."""
    path = folder / "learner.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def rewrite_arrays(folder, **arrays) -> None:
    """Put arrays in the place of those of a saved learner; None removes one."""
    path = folder / "learner.npz"
    with np.load(path) as file:
        kept = {**file, **arrays}
    np.savez(path, **{name: array for name, array in kept.items() if array is not None})


@each_learner
def test_learner_comes_back_as_it_was(learner, tmp_path):
    save_learner(learner, tmp_path / "kept")
    again = load_learner(tmp_path / "kept")
    assert type(again) is type(learner)
    assert again.get_params() == learner.get_params()
    context, action, feedback = TRIALS
    for run in (None, DATA["run"]):
        np.testing.assert_array_equal(
            again.predict(context, run=run), learner.predict(context, run=run)
        )
    assert again.n_actions_ == learner.n_actions_
    assert again.n_features_in_ == learner.n_features_in_
    if isinstance(learner, ContextualBandit):
        return
    for run in (None, DATA["run"]):
        np.testing.assert_array_equal(
            again.decode(feedback, action, run=run), learner.decode(feedback, action, run=run)
        )
    assert again.diagnose() == learner.diagnose()
    assert str(again.diagnose()) == str(learner.diagnose())
    for name in ("match_rate_", "objective_", "restart_objectives_"):
        if hasattr(learner, name):
            np.testing.assert_array_equal(getattr(again, name), getattr(learner, name))


@each_learner
def test_learner_that_came_back_can_be_kept_and_fitted_again(learner, tmp_path):
    save_learner(learner, tmp_path / "one")
    again = load_learner(tmp_path / "one")
    save_learner(again, tmp_path / "two")
    for name in ("learner.json", "learner.npz"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    expected = learner.predict(DATA["context"])
    np.testing.assert_array_equal(fitted(again).predict(DATA["context"]), expected)


def test_constant_features_are_kept(tmp_path):
    context = np.column_stack([DATA["context"], np.full(len(DATA["context"]), 0.1)])
    learner = ActionInclusiveIGL().fit(context, *TRIALS[1:])
    save_learner(learner, tmp_path / "kept")  # its scale is infinite
    again = load_learner(tmp_path / "kept")
    np.testing.assert_array_equal(again.predict(context), learner.predict(context))


@each_learner
def test_files_are_json_and_npz_and_hold_no_pickle(learner, tmp_path):
    save_learner(learner, tmp_path / "kept")
    assert sorted(each.name for each in (tmp_path / "kept").iterdir()) == [
        "learner.json",
        "learner.npz",
    ]

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    json.loads((tmp_path / "kept" / "learner.json").read_text(), parse_constant=refuse)
    with np.load(tmp_path / "kept" / "learner.npz", allow_pickle=False) as file:
        assert all(array.dtype == float for array in file.values())
    with zipfile.ZipFile(tmp_path / "kept" / "learner.npz") as file:
        assert all(name.endswith(".npy") for name in file.namelist())


def test_only_learners_that_can_come_back_are_kept(tmp_path):
    ceiling = SupervisedCeiling().fit(DATA["context"], DATA["label"])
    with pytest.raises(InputError, match="can be saved, got SupervisedCeiling"):
        save_learner(ceiling, tmp_path / "kept")

    class Impostor(ActionInclusiveIGL):
        """Another class of its own."""

    Impostor.__name__ = "ActionInclusiveIGL"
    with pytest.raises(InputError, match="can be saved"):
        save_learner(fitted(Impostor()), tmp_path / "kept")
    for each in (ActionInclusiveIGL, FullConditionalIGL, ContextualBandit):
        with pytest.raises(NotFittedError, match="not fitted"):
            save_learner(each(), tmp_path / "kept")
    assert not list(tmp_path.iterdir())


def test_folder_that_has_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "diary.txt").write_text("")
    with pytest.raises(FileExistsError, match="exists already"):
        save_learner(LEARNERS["robust"], tmp_path / "full")
    assert [each.name for each in (tmp_path / "full").iterdir()] == ["diary.txt"]
    (tmp_path / "empty").mkdir()
    save_learner(LEARNERS["robust"], tmp_path / "empty")
    load_learner(tmp_path / "empty")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is not readable as JSON"),
        ('{"version": 1', "is not readable as JSON"),
        ("{'version': 1}", "is not readable as JSON"),
        ("[]", r"version should be 1, got \[\]"),
        ("null", "version should be 1, got None"),
        ("{}", "version should be 1, got None"),
        ('{"version": 2}', "version should be 1, got 2"),
        ('{"version": "1"}', "version should be 1, got '1'"),
        ('{"version": 1}', "is not a saved learner: 'learner'"),
        (b"\xff\xfe", "is not readable as JSON"),
    ],
)
def test_settings_that_are_not_a_learner_s_are_refused(saved, content, message):
    content = content if isinstance(content, bytes) else content.encode()
    (saved / "learner.json").write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        load_learner(saved)
    assert str(saved) in str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learner": "SupervisedCeiling"}, "one of ActionInclusiveIGL, .*got 'SupervisedCeiling'"),
        ({"learner": "os.system"}, "got 'os.system'"),
        ({"learner": ["x"]}, "is not a saved learner"),
        ({"learner": "FullConditionalIGL"}, "is not a saved learner"),
        ({"parameters": {"epochs": 3}}, "unexpected keyword argument 'epochs'"),
        ({"parameters": None}, "is not a saved learner"),
        ({"n_actions": 4}, r"policy should be finite numbers of shape \(7, 4\)"),
        ({"n_actions": "3"}, "is not a saved learner"),
        ({"fitted": {"policy_": [1]}}, "unknown fitted value 'policy_'"),
        ({"fitted": {"__class__": "x"}}, "unknown fitted value '__class__'"),
        ({"diagnosis": {"kind": "Verdict"}}, "diagnosis should have reason, remedy, verdict"),
        ({"diagnosis": {"kind": "Oracle"}}, "'Oracle'"),
        ({"diagnosis": "fine"}, "is not a saved learner"),
    ],
)
def test_settings_that_do_not_fit_are_refused(saved, changes, message):
    rewrite_settings(saved, lambda document: document.update(changes))
    with pytest.raises(InputError, match=message):
        load_learner(saved)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"policy": None}, "'?policy"),
        ({"policy": np.zeros((6, 3))}, r"policy should be .* of shape \(7, 3\), got float64 \(6,"),
        ({"policy": np.full((7, 3), np.nan)}, "policy should be finite"),
        ({"policy": np.full((7, 3), np.inf)}, "policy should be finite"),
        ({"policy": np.zeros((7, 3), int)}, "policy should be finite numbers .* got int64"),
        ({"policy": np.full((7, 3), "x")}, "policy should be finite numbers"),
        ({"decoder": np.zeros(7)}, r"decoder should be .* of shape \(7, 3\)"),
        ({"context_mean": np.zeros((6, 1))}, r"context_mean should be of shape \(features,\)"),
        ({"context_mean": np.zeros(5)}, r"context_scale should be .* of shape \(5,\)"),
        ({"context_scale": np.zeros(6)}, "context_scale should be above 0"),
        ({"context_scale": np.full(6, np.nan)}, "context_scale should be above 0"),
        ({"feedback_scale": -np.ones(6)}, "feedback_scale should be above 0"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(saved, arrays, message):
    rewrite_arrays(saved, **arrays)
    with pytest.raises(InputError, match=message):
        load_learner(saved)


def test_pickled_arrays_are_never_loaded(saved, tmp_path):
    class Trap:
        """Leaves a trace where it is unpickled."""

        def __reduce__(self):
            return open, (str(tmp_path / "sprung"), "w")

    rewrite_arrays(saved, policy=np.array([Trap()], object))
    with pytest.raises(InputError, match="is not readable as NPZ"):
        load_learner(saved)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_truncated_arrays_are_refused(saved, share):
    path = saved / "learner.npz"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match="is not readable as NPZ"):
        load_learner(saved)


@pytest.mark.parametrize("name", ["learner.json", "learner.npz"])
def test_missing_file_is_named(saved, name):
    (saved / name).unlink()
    with pytest.raises(InputError, match=f"{name}: no such file"):
        load_learner(saved)


def test_place_that_is_no_folder_is_refused(saved, tmp_path):
    with pytest.raises(InputError, match="no such file"):
        load_learner(tmp_path / "nowhere")
    with pytest.raises(InputError, match="learner.json"):
        load_learner(saved / "learner.json")
    (saved / "learner.npz").unlink()
    (saved / "learner.npz").mkdir()
    with pytest.raises(InputError, match="learner.npz"):
        load_learner(saved)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


def places(document, path=()) -> list[tuple]:
    """Return the paths of all values in a JSON document."""
    keys = document if isinstance(document, dict) else range(len(document))
    found = []
    for key in keys:
        found.append((*path, key))
        if isinstance(document[key], (dict, list)):
            found += places(document[key], (*path, key))
    return found


def usable(learner) -> None:
    """Use a learner in all ways."""
    context, action, feedback = TRIALS
    assert set(learner.predict(context, run=DATA["run"])) <= {0, 1, 2}
    decoded = learner.decode(feedback, action)
    assert ((decoded >= 0) & (decoded <= 1)).all()


@given(st.data())
@settings(max_examples=300)
def test_settings_changed_anywhere_give_a_working_learner_or_an_input_error(
    intact, tmp_path_factory, data
):
    document = json.loads((intact / "learner.json").read_text())
    # What is written under "fitted" as a whole is not covered: it must be an object.
    path = data.draw(st.sampled_from([each for each in places(document) if each != ("fitted",)]))
    changed = copy.deepcopy(document)
    parent = changed
    for key in path[:-1]:
        parent = parent[key]
    if data.draw(st.booleans()):
        del parent[path[-1]]
    else:
        parent[path[-1]] = data.draw(VALUES)
    folder = tmp_path_factory.mktemp("changed")
    (folder / "learner.json").write_text(json.dumps(changed))
    (folder / "learner.npz").write_bytes((intact / "learner.npz").read_bytes())
    try:
        learner = load_learner(folder)
    except InputError as error:
        assert str(error)
    else:
        usable(learner)
    finally:
        shutil.rmtree(folder)


@given(st.text(max_size=200) | st.binary(max_size=200))
@settings(max_examples=100)
def test_any_text_in_the_place_of_settings_is_refused(intact, tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("text")
    raw = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    (folder / "learner.json").write_bytes(raw)
    (folder / "learner.npz").write_bytes((intact / "learner.npz").read_bytes())
    with pytest.raises(InputError):
        load_learner(folder)
    shutil.rmtree(folder)
