"""The authors' arrays: made up here, and the real ones where they are."""

from pathlib import Path

import numpy as np
import pytest
from interactions import flat
from released_files import EACH, TRIALS, arrays, packed

from bciigl.base.errors import BciiglError
from bciigl.study import released
from bciigl.study.controls import MEAN_REMOVED, PERMUTED
from bciigl.study.grid import Entry
from bciigl.study.learning import learn_from, load_arrays, select
from bciigl.study.published import published
from bciigl.study.released import _entries, _result, released_arrays, released_rows
from bciigl.study.statistics import accuracy as share_right

ORIGINAL = {
    "context": "imagination",
    "action": "action",
    "feedback": "feedback",
    "test_context": "imagination_test",
    "test_label": "context_test",
}


def original(folder: Path, level: str = "0.05", mine: dict | None = None) -> Path:
    """Write arrays under their original names."""
    folder.mkdir(exist_ok=True)
    for ours, theirs in ORIGINAL.items():
        path = folder / f"data_{theirs}_combined_noise_level_{level}.npy"
        np.save(path, (mine or arrays())[ours])
    return folder


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Return the rows of one level."""
    return released_rows(packed(tmp_path_factory.mktemp("packed")), repeats=2)


def test_learners_and_controls_have_a_row_each(table):
    labels = ["ai_igl", "ai_igl_paper", "igl_full_ci", "transfer", "ceiling"]
    assert [row.label for row in table] == [
        *labels,
        f"ai_igl, {PERMUTED}",
        f"ai_igl, {MEAN_REMOVED}",
    ]
    assert [row.repeats for row in table] == [1, 1, 1, 1, 1, 2, 1]
    for row in table:
        expected = None if row.control else published("table2", row.learner, 0.05)
        assert row.published == expected


def test_clear_recordings_are_learned(table):
    accuracy = {row.label: row.accuracy.mean for row in table}
    assert min(accuracy["ai_igl"], accuracy["ceiling"], accuracy[f"ai_igl, {MEAN_REMOVED}"]) > 95


@pytest.mark.slow
def test_of_permuted_recordings_only_resemblance_is_learned(tmp_path):
    """Runs are long enough that few answers stay where they were."""
    found = {row.label: row for row in released_rows(packed(tmp_path, **arrays(46)), repeats=8)}
    assert found["ai_igl"].accuracy.mean > 95
    permuted = found[f"ai_igl, {PERMUTED}"]
    # here imagining is the same as seeing
    assert permuted.accuracy.mean <= found["transfer"].accuracy.mean
    recorded = load_arrays(tmp_path / "noise_0.05.npz")
    for draw in range(4):
        result = _result(recorded, Entry("ai_igl", PERMUTED), draw)
        # what is trusted is right, and says what it rests on
        if result.verdict == "trust":
            assert result.rests_on == "resemblance"
            assert np.trace(result.confusion) > 0.95 * np.sum(result.confusion)


def test_runs_40_to_49_are_tested_and_no_others(table, tmp_path):
    recorded = load_arrays(packed(tmp_path) / "noise_0.05.npz")
    expected = learn_from(select(recorded, range(40), range(40, 50)), "ai_igl")
    assert expected.confusion.sum() == 10 * EACH
    assert table[0].accuracies == [expected.accuracy]
    assert table[0].accuracy == (expected.accuracy, None, expected.interval)
    # What happens in the test rows of the training runs teaches the ceiling alone.
    scrambled = arrays()
    scrambled["test_label"] = np.where(
        scrambled["run"] < 40, (scrambled["test_label"] + 1) % 3, scrambled["test_label"]
    )
    others = load_arrays(packed(tmp_path, **scrambled) / "noise_0.05.npz")
    assert accuracy_of(others, "ai_igl") == expected.accuracy
    assert accuracy_of(others, "ceiling") < 10


def accuracy_of(sessions, learner):
    return share_right(_result(sessions, Entry(learner), 0).confusion)


def test_original_files_give_the_same_as_packed_ones(tmp_path):
    folders = original(tmp_path / "original"), packed(tmp_path / "packed")
    found, expected = (vars(flat(released_arrays(each)[0.05])) for each in folders)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, strict=isinstance(array, np.ndarray))


def test_levels_come_in_order_and_progress_is_told(tmp_path, monkeypatch):
    recorded = load_arrays(packed(tmp_path / "one") / "noise_0.05.npz")
    result = _result(recorded, Entry("transfer"), 0)
    monkeypatch.setattr(released, "_result", lambda *_: result)
    for level in ("0.1", "0.01"):
        packed(tmp_path, f"noise_{level}.npz")
    (tmp_path / "noise_1.2.3.npz").write_text("not a level")
    told = []
    found = released_rows(tmp_path, repeats=1, progress=lambda *each: told.append(each))
    assert [row.noise for row in found] == [0.01] * 7 + [0.1] * 7
    assert told == [(each, 14) for each in range(1, 15)]


def test_rewards_that_are_in_order_let_cb_learn(tmp_path):
    reward = np.random.default_rng(0).integers(2, size=TRIALS)
    recorded = load_arrays(packed(tmp_path, reward=reward) / "noise_0.05.npz")
    assert Entry("cb") in _entries(recorded)
    assert _result(recorded, Entry("cb"), 0).confusion


def test_test_rows_may_have_runs_of_their_own(tmp_path):
    mine = arrays()
    half = {"test_context": mine["test_context"][::2], "test_label": mine["test_label"][::2]}
    packed(tmp_path, **half, test_run=mine["run"][::2])
    assert accuracy_of(load_arrays(tmp_path / "noise_0.05.npz"), "ceiling") > 95


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"test_label": None}, "at noise level 0.05: array test_label is missing"),
        ({"test_label": None, "test_context": None}, "array test_label is missing"),
        ({"run": None}, "there is no array test_run"),
        ({"context": None}, "noise_0.05.npz: array context is missing"),
        ({"run": np.arange(TRIALS) // 60}, "there is no run"),
        ({"feedback": np.full((TRIALS, 2), np.nan)}, "noise_0.05.npz: feedback"),
    ],
)
def test_arrays_that_will_not_do_are_refused(tmp_path, changes, message):
    with pytest.raises(BciiglError) as error:
        released_rows(packed(tmp_path, **changes))
    assert message in str(error.value)


@pytest.mark.parametrize("theirs", ["imagination", "action", "imagination_test", "context_test"])
def test_original_file_that_is_missing_is_named(tmp_path, theirs):
    name = f"data_{theirs}_combined_noise_level_0.05.npy"
    (original(tmp_path / "original") / name).unlink()
    with pytest.raises(BciiglError, match=f"{name}: no such file"):
        released_rows(tmp_path / "original")


def test_original_files_that_do_not_fit_are_refused_by_their_level(tmp_path):
    mine = {**arrays(), "action": arrays()["action"][:-1]}
    with pytest.raises(BciiglError, match="at noise level 0.05: "):
        released_rows(original(tmp_path / "original", mine=mine))


@pytest.mark.parametrize("name", ["absent", "empty", "file", "odd"])
def test_folder_without_them_is_refused(tmp_path, name):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    packed(tmp_path / "odd", "noise_1.2.3.npz")
    with pytest.raises(BciiglError, match=f"{name}: (is not a folder|has neither files)"):
        released_rows(tmp_path / name)
