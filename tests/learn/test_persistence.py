"""Learners on disk: they come back as they were, and nothing else is taken for one."""

import copy
import json
import re
import shutil
import zipfile
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interactions import session
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bciigl.base.errors import BciiglError
from bciigl.base.registry import LEARNERS, Specification
from bciigl.learn import (
    ActionInclusiveIGL,
    ContextualBandit,
    FullConditionalIGL,
    InputError,
    SupervisedCeiling,
    Verdict,
    load_learner,
    save_learner,
)
from bciigl.learn.interactions import Scaling
from bciigl.learn.persistence import check_saveable, write_learner
from bciigl.learn.policy import LinearPolicy

TRAIN = session(trials=240, runs=6, features=6, distance=6.0, strength=6.0)


def fitted(learner):
    """Return the learner, fitted."""
    third = TRAIN.reward if isinstance(learner, ContextualBandit) else TRAIN.feedback
    return learner.fit(TRAIN.context, TRAIN.action, third, run=TRAIN.run)


MADE = {
    "robust": ActionInclusiveIGL(),
    "paper": ActionInclusiveIGL(method="paper", random_state=3),
    "several right": ActionInclusiveIGL(one_right=False, match_rate=0.3),
    "rates": ActionInclusiveIGL(n_actions=3, match_rate=[0.3, 0.3, 0.4]),
    "full": FullConditionalIGL(n_actions=4, random_state=1),
    "bandit": ContextualBandit(ridge=2.0),
    "few trials": ActionInclusiveIGL(n_actions=3),
    "full, few trials": FullConditionalIGL(n_actions=3),
}


@cache
def kept(name: str):
    """Return a fitted learner that no test changes."""
    if name.endswith("few trials"):
        return MADE[name].fit(*TRAIN.rows(np.arange(5)).seen)
    return fitted(MADE[name])


@pytest.fixture(params=MADE)
def learner(request):
    """Return each of the learners."""
    return kept(request.param)


@pytest.fixture(scope="module")
def intact(tmp_path_factory):
    """Return the folder of a saved learner that no test changes."""
    folder = tmp_path_factory.mktemp("saved") / "learner"
    save_learner(kept("robust"), folder)
    return folder


@pytest.fixture
def saved(intact, tmp_path):
    """Return a copy of the saved learner, to be spoiled."""
    return shutil.copytree(intact, tmp_path / "learner")


def refusal(folder, message: str) -> str:
    """Return why a learner cannot be loaded, which should match a pattern."""
    with pytest.raises(InputError) as error:
        load_learner(folder)
    assert re.match(f"{re.escape(str(folder))}/{message}", str(error.value)), (message, error.value)
    return str(error.value)


def settings_of(folder) -> dict:
    """Return the JSON of a saved learner."""
    return json.loads((folder / "learner.json").read_text())


def rewrite_settings(folder, **changes) -> None:
    """Change the JSON of a saved learner in place."""
    (folder / "learner.json").write_text(json.dumps({**settings_of(folder), **changes}))


def rewrite_arrays(folder, **arrays) -> None:
    """Put arrays in the place of those of a saved learner; None removes one."""
    path = folder / "learner.npz"
    with np.load(path) as file:
        kept = {**file, **arrays}
    np.savez(path, **{name: array for name, array in kept.items() if array is not None})


def test_learner_comes_back_as_it_was(learner, tmp_path):
    save_learner(learner, tmp_path / "kept")
    again = load_learner(tmp_path / "kept")
    assert type(again) is type(learner)
    assert again.get_params() == learner.get_params()
    context, action, feedback = TRAIN.seen
    for run in (None, TRAIN.run):
        np.testing.assert_array_equal(
            again.predict(context, run=run), learner.predict(context, run=run)
        )
    assert again.n_actions_ == learner.n_actions_
    assert again.n_features_in_ == learner.n_features_in_
    if isinstance(learner, ContextualBandit):
        return
    for run in (None, TRAIN.run):
        np.testing.assert_array_equal(
            again.decode(feedback, action, run=run), learner.decode(feedback, action, run=run)
        )
    assert type(again.diagnose()) is type(learner.diagnose())
    assert again.diagnose() == learner.diagnose()
    assert str(again.diagnose()) == str(learner.diagnose())
    for name in ("match_rate_", "objective_", "restart_objectives_"):
        if hasattr(learner, name):
            assert type(getattr(again, name)) is type(getattr(learner, name))
            np.testing.assert_array_equal(getattr(again, name), getattr(learner, name))


@pytest.mark.slow
def test_learner_that_came_back_can_be_kept_and_fitted_again(learner, tmp_path):
    save_learner(learner, tmp_path / "one")
    again = load_learner(tmp_path / "one")
    save_learner(again, tmp_path / "two")
    for name in ("learner.json", "learner.npz"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    expected = fitted(clone(learner)).predict(TRAIN.context)
    np.testing.assert_array_equal(fitted(again).predict(TRAIN.context), expected)


def test_constant_features_are_kept(tmp_path):
    context = np.column_stack([TRAIN.context, np.full(len(TRAIN.context), 0.1)])
    learner = ActionInclusiveIGL().fit(context, TRAIN.action, TRAIN.feedback)
    save_learner(learner, tmp_path / "kept")  # its scale is infinite
    again = load_learner(tmp_path / "kept")
    np.testing.assert_array_equal(again.predict(context), learner.predict(context))


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
        learned = {name for name in vars(learner) if name in file}
        assert {"policy_"} <= learned == {name for name in file if name.endswith("_")}
        for name in learned:
            np.testing.assert_array_equal(file[name], getattr(learner, name))
    with zipfile.ZipFile(tmp_path / "kept" / "learner.npz") as file:
        assert all(name.endswith(".npy") for name in file.namelist())


def test_only_learners_that_can_come_back_are_kept(tmp_path):
    ceiling = SupervisedCeiling().fit(TRAIN.context, TRAIN.right.argmax(axis=1))
    with pytest.raises(InputError, match="can be saved, got SupervisedCeiling"):
        save_learner(ceiling, tmp_path / "kept")

    class Other(ActionInclusiveIGL):
        """A class of its own."""

    with pytest.raises(InputError, match="can be saved, got Other"):
        save_learner(fitted(Other()), tmp_path / "kept")
    for each in (ActionInclusiveIGL, FullConditionalIGL, ContextualBandit):
        with pytest.raises(NotFittedError, match="not fitted"):
            save_learner(each(), tmp_path / "kept")
    assert not list(tmp_path.iterdir())


def test_what_can_be_kept_is_known_beforehand():
    for each in ("ai_igl", "ai_igl_paper", "igl_full_ci", "transfer", "cb"):
        assert check_saveable(each) == check_saveable(LEARNERS.get(each).make()) == each
    for each in ("ceiling", SupervisedCeiling()):
        with pytest.raises(InputError, match="can be saved, got SupervisedCeiling"):
            check_saveable(each)
    with pytest.raises(BciiglError, match="did you mean 'ai_igl'"):
        check_saveable("ai-igl")


def test_files_can_be_written_into_a_folder_that_is_there(intact, tmp_path):
    write_learner(kept("robust"), tmp_path)
    for name in ("learner.json", "learner.npz"):
        assert (tmp_path / name).read_bytes() == (intact / name).read_bytes()


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"n_actions": np.int64(3)}, {"n_actions": 3}),
        ({"match_rate": np.array(0.25)}, {"match_rate": 0.25}),
        ({"match_rate": np.array([0.25, 0.25, 0.5])}, {"match_rate": [0.25, 0.25, 0.5]}),
        ({"match_rate": [np.float32(0.25)] * 3}, {"match_rate": [0.25] * 3}),
        ({"match_rate": (0.25,) * 3}, {"match_rate": [0.25] * 3}),
    ],
)
def test_numbers_of_numpy_come_back_as_plain_ones(tmp_path, parameters, expected):
    save_learner(fitted(ActionInclusiveIGL(**parameters)), tmp_path / "kept")
    again = load_learner(tmp_path / "kept").get_params()
    assert again == {**ActionInclusiveIGL().get_params(), **expected}


def test_folder_that_has_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "diary.txt").write_text("")
    with pytest.raises(FileExistsError, match="exists already"):
        save_learner(kept("robust"), tmp_path / "full")
    assert [each.name for each in (tmp_path / "full").iterdir()] == ["diary.txt"]
    (tmp_path / "empty").mkdir()
    save_learner(kept("robust"), tmp_path / "empty")
    load_learner(tmp_path / "empty")


def test_settings_that_are_not_a_learner_s_are_refused(saved):
    cases = [
        ("", "is not JSON: Expecting value: line 1 column 1"),
        ('{"version": 1', "is not JSON: Expecting ',' delimiter: line 1 column 14"),
        ("{'version': 1}", "is not JSON: Expecting property name enclosed in double quotes"),
        ("[" * 100_000, "is not JSON: it is nested more than 50 levels deep"),
        ("[]", r"should be an object, got \[\]"),
        ("null", "should be an object, got None"),
        ("{}", "version: is required"),
        ('{"version": 1}', r"version: should be 2, got 1 \(bciigl 0.1 wrote 1\): fit the learner"),
        ('{"version": 3}', "version: should be 2, got 3 .* fit the learner again$"),
        ('{"version": "2"}', "version: should be a valid integer, got '2'"),
        ('{"version": 2}', "learner: is required"),
        (b"\xff\xfe", "is not JSON: 'utf-8' codec"),
    ]
    for content, message in cases:
        content = content if isinstance(content, bytes) else content.encode()
        (saved / "learner.json").write_bytes(content)
        assert len(refusal(saved, f"learner.json: {message}")) < len(str(saved)) + 200


PLAIN = {"verdict": "trust", "reason": "", "remedy": ""}


def test_settings_that_do_not_fit_are_refused(saved):
    cases = [
        ({"learner": "ceiling", "parameters": {}}, "only ai_igl, .* got SupervisedCeiling"),
        ({"learner": "ceiling"}, r"SupervisedCeiling\(\) takes no arguments"),
        ({"learner": "ActionInclusiveIGL"}, "learner must be one of ai_igl, "),
        ({"learner": "ActionInclusiveIGL", "version": 1}, "version: .* got 1 .bciigl 0.1 wrote"),
        ({"learner": "os.system"}, "learner must be .*got 'os.system'"),
        ({"learner": ["x"]}, r"learner: .*got \['x'\]"),
        ({"learner": "igl_full_ci", "parameters": {}}, "diagnosis: .* that of igl_full_ci, got {"),
        ({"learner": "cb", "parameters": {}}, "diagnosis: should be that of cb, got {"),
        ({"learner": "cb"}, "ContextualBandit.* got an unexpected keyword argument 'match_rate'"),
        ({"parameters": {"epochs": 3}}, "ActionInclusiveIGL.* unexpected keyword .* 'epochs'"),
        ({"parameters": None}, "parameters: should be an object, got None"),
        ({"n_actions": "3"}, "n_actions: should be a valid integer, got '3'"),
        ({"n_actions": 3.5}, "n_actions: should be a valid integer, got 3.5"),
        ({"n_actions": True}, "n_actions: should be a valid integer, got True"),
        ({"n_actions": 1}, "n_actions: should be greater than or equal to 2, got 1"),
        ({"n_actions": 10**9}, "n_actions: should be less than or equal to 1000"),
        ({"fitted": {"policy_": [1]}}, "fitted: unknown key"),
        ({"__class__": "x"}, "__class__: unknown key"),
        ({"diagnosis": {}}, "diagnosis: should be that of ai_igl, got {}"),
        ({"diagnosis": {**PLAIN, "kind": "x"}}, "diagnosis.*"),
        ({"diagnosis": {**PLAIN, "remedy": 5}}, "diagnosis.*remedy: .*valid string, got 5"),
        ({"diagnosis": {**PLAIN, "verdict": "fine"}}, "diagnosis: should be that of"),
        ({"diagnosis": "fine"}, "diagnosis: .* got 'fine'"),
    ]
    whole = settings_of(saved)
    for changes, message in cases:
        rewrite_settings(saved, **{**whole, **changes})
        refusal(saved, f"learner.json: {message}")
        (saved / "learner.json").write_text(json.dumps(whole))


@pytest.mark.parametrize("name", ["robust", "full"])
def test_learner_without_its_diagnosis_is_refused(tmp_path, name):
    save_learner(kept(name), tmp_path / "kept")
    rewrite_settings(tmp_path / "kept", diagnosis=None)
    with pytest.raises(InputError, match="learner.json: diagnosis: should be that of"):
        load_learner(tmp_path / "kept")


def test_diagnosis_of_other_types_is_refused(saved):
    diagnosis = settings_of(saved)["diagnosis"]
    for field in ("verdict", "reason", "remedy", "information", "contrast_t"):
        for value in ([5], {}, None, True):
            rewrite_settings(saved, diagnosis={**diagnosis, field: value})
            refusal(saved, f"learner.json: diagnosis.*{field}")
    for field in ("match_rate", "information_t", "trials"):
        changed = copy.deepcopy(diagnosis)
        changed["actions"][1][field] = ["x"]
        rewrite_settings(saved, diagnosis=changed)
        refusal(saved, rf"learner.json: diagnosis: actions\.1\.{field}")


def test_arrays_that_do_not_fit_are_refused(saved):
    cases = [
        ({"policy_": None}, r"policy_ should be .* of shape \(7, 3\), got nothing"),
        (
            {"policy_": np.zeros((6, 3))},
            r"policy_ should be .* \(7, 3\), got float64 of shape \(6,",
        ),
        (
            {"policy_": np.zeros((7, 4))},
            r"policy_ should be .* \(7, 3\), got float64 of shape \(7,",
        ),
        ({"policy_": np.full((7, 3), np.nan)}, "policy_ should be finite"),
        ({"policy_": np.full((7, 3), np.inf)}, "policy_ should be finite"),
        ({"policy_": np.zeros((7, 3), int)}, "policy_ should be finite numbers .* got int64"),
        ({"policy_": np.full((7, 3), "x")}, "policy_ should be finite numbers"),
        ({"decoder_": np.zeros(7)}, r"decoder_ should be .* of shape \(7, 3\)"),
        ({"decoder_": None}, "decoder_ should be .* got nothing"),
        ({"match_rate_": None}, r"match_rate_ should be .* of shape \(3,\), got nothing"),
        ({"match_rate_": np.array(0.3)}, r"match_rate_ should be .* got float64 of shape \(\)"),
        ({"match_rate_": np.full(3, np.nan)}, "match_rate_ should be finite"),
        ({"match_rate_": np.full(3, True)}, "match_rate_ should be .* got bool"),
        ({"context_mean": np.zeros((6, 1))}, r"context_mean should be .* of shape \('any',\)"),
        ({"context_mean": np.zeros(5)}, r"context_scale should be .* of shape \(5,\)"),
        ({"context_mean": np.full(6, np.nan)}, "context_mean should be finite"),
        ({"context_mean": np.full(6, np.inf)}, "context_mean should be finite"),
        ({"context_mean": np.array(["a"] * 6)}, "context_mean should be finite numbers"),
        ({"feedback_mean": np.zeros(6, complex)}, "feedback_mean should be .* got complex128"),
        ({"feedback_mean": None}, "feedback_mean should be .* got nothing"),
        ({"context_scale": np.zeros(6)}, "context_scale should be numbers above 0"),
        ({"context_scale": np.full(6, np.nan)}, "context_scale should be numbers above 0"),
        ({"feedback_scale": -np.ones(6)}, "feedback_scale should be numbers above 0"),
    ]
    whole = (saved / "learner.npz").read_bytes()
    for arrays, message in cases:
        rewrite_arrays(saved, **arrays)
        refusal(saved, f"learner.npz: {message}")
        (saved / "learner.npz").write_bytes(whole)


def test_each_learner_has_its_own_arrays(tmp_path):
    cases = [
        ("robust", {}, "policy_ should be .*7, 4"),
        ("full", {"objective_": np.zeros(1)}, r"objective_ should be .* of shape \(\), got"),
        ("full", {"objective_": None}, "objective_ should be .* got nothing"),
        ("full", {"restart_objectives_": np.zeros((2, 2))}, "restart_objectives_ should be"),
        ("full", {"decoder_": np.zeros((7, 3))}, r"decoder_ should be .* of shape \(7,\)"),
        ("bandit", {"policy_": None}, "policy_ should be .* got nothing"),
        ("bandit", {"context_scale": None}, "context_scale should be .* got nothing"),
    ]
    for number, (name, arrays, message) in enumerate(cases):
        folder = tmp_path / str(number)
        save_learner(kept(name), folder)
        rewrite_arrays(folder, **arrays)
        if name == "robust":
            rewrite_settings(folder, n_actions=4)
        refusal(folder, f"learner.npz: {message}")


class Nearest(LinearPolicy):
    """A learner of another package."""

    _learned = {"policy_": "ca", "spread_": "", "found_": "?"}

    def __init__(self, n_actions=None, steps=3):
        self.n_actions = n_actions
        self.steps = steps

    def fit(self, context, action, feedback, *, propensity=None, run=None, catch=None):
        """Learn something."""
        self.context_scaling_ = Scaling.of(context, np.zeros(len(context), int))
        self.policy_ = np.ones((context.shape[1] + 1, 3))
        self.spread_, self.found_ = 2.5, np.arange(float(self.steps))
        self.n_actions_, self.n_features_in_ = 3, context.shape[1]
        return self


def test_registered_learners_of_others_can_be_saved(tmp_path, monkeypatch):
    learner = Nearest(steps=5).fit(*TRAIN.seen)
    with pytest.raises(InputError, match="can be saved, got Nearest"):
        save_learner(learner, tmp_path / "kept")
    nearest = Specification("nearest", partial(Nearest, steps=5), "nearest")
    monkeypatch.setattr(type(LEARNERS), "all", lambda self: [nearest])
    monkeypatch.setattr(type(LEARNERS), "get", lambda self, name: {"nearest": nearest}[name])
    save_learner(learner, tmp_path / "kept")
    assert settings_of(tmp_path / "kept")["learner"] == "nearest"
    again = load_learner(tmp_path / "kept")
    assert type(again) is Nearest and again.get_params() == learner.get_params()
    assert (again.spread_, again.found_.tolist()) == (2.5, [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(again.predict(TRAIN.context), learner.predict(TRAIN.context))


def test_pickled_arrays_are_never_loaded(saved, tmp_path):
    class Trap:
        """Leaves a trace where it is unpickled."""

        def __reduce__(self):
            return open, (str(tmp_path / "sprung"), "w")

    rewrite_arrays(saved, policy_=np.array([Trap()], object))
    with pytest.raises(InputError, match="learner.npz: is not readable as arrays of numbers"):
        load_learner(saved)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_truncated_arrays_are_refused(saved, share):
    path = saved / "learner.npz"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match="learner.npz: is not readable as arrays of numbers"):
        load_learner(saved)


def test_single_array_in_the_place_of_several_is_refused(saved):
    with (saved / "learner.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(InputError, match="learner.npz: is a single array"):
        load_learner(saved)


def test_zip_of_other_files_is_refused(saved):
    with zipfile.ZipFile(saved / "learner.npz", "w") as file:
        for name in ("policy_", "context_mean", "context_scale", "decoder_", "feedback_mean"):
            file.writestr(name, "abc")
    with pytest.raises(InputError, match="learner.npz: is not readable as arrays of numbers"):
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
    context, action, feedback = TRAIN.seen
    assert set(learner.predict(context, run=TRAIN.run)) <= {0, 1, 2}
    decoded = learner.decode(feedback, action)
    assert ((decoded >= 0) & (decoded <= 1)).all()
    assert learner.match_rate_.shape == (3,)
    assert isinstance(learner.diagnose(), Verdict)
    assert str(learner.diagnose()).startswith(f"{learner.diagnose().verdict}: ")
    json.dumps(learner.diagnose().as_dict())


@pytest.mark.slow
@given(st.data())
@settings(max_examples=300)
def test_settings_changed_anywhere_give_a_working_learner_or_an_input_error(
    intact, tmp_path_factory, data
):
    document = json.loads((intact / "learner.json").read_text())
    path = data.draw(st.sampled_from(places(document)))
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
def test_any_text_in_the_place_of_settings_is_refused(intact, tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("text")
    raw = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    (folder / "learner.json").write_bytes(raw)
    (folder / "learner.npz").write_bytes((intact / "learner.npz").read_bytes())
    with pytest.raises(InputError):
        load_learner(folder)
    shutil.rmtree(folder)
