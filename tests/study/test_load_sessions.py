"""Recorded sessions as interactions: what was written comes back, and nothing else."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from interactions import flat
from recordings import small, write_made_up

from bciigl.loop import record
from bciigl.recording import Dataset, DatasetError, open_dataset
from bciigl.recording.layout import TRUTH, read_table
from bciigl.study.learning import load_sessions, matches_by_fifths, session_learners

LAPSES = {"imagination_lapse": 0.3, "judgment_lapse": 0.3}


def loaded(dataset: Dataset) -> SimpleNamespace:
    """Return the sessions of a dataset by the names that files of arrays have for them."""
    return flat(load_sessions(dataset))


def recorded(out: Path, **sections) -> Dataset:
    """Return the dataset of an experiment."""
    record(small(**sections), out)
    return open_dataset(out)


@pytest.fixture(scope="module")
def caught(tmp_path_factory) -> Dataset:
    """Return a dataset with catch trials and lapses."""
    return recorded(
        tmp_path_factory.mktemp("caught") / "out",
        task={"options": [7, 8, 9], "trials": 23, "trials_per_run": 6, "catch": {"share": 0.3}},
        human=LAPSES,
        evaluation={"test_trials": 7},
    )


def written(dataset: Dataset, session: str) -> dict[str, list[str]]:
    """Return the truth as the files have it, run after run."""
    paths = sorted((dataset.folder / TRUTH).glob(f"sub-01/ses-{session}/func/*_truth.tsv"))
    tables = [read_table(path, ("meant", "imagined", "match", "judged")) for path in paths]
    return {name: sum((table[name] for table in tables), []) for name in tables[0]}


def blinded(dataset: Dataset, folder: Path) -> Dataset:
    """Return a copy of a dataset without its truth."""
    shutil.copytree(dataset.folder, folder)
    shutil.rmtree(folder / TRUTH)
    return open_dataset(folder)


def test_labels_and_rewards_are_the_truth_that_was_written(caught):
    found = loaded(caught)
    truth, tested = written(caught, "train"), written(caught, "test")
    assert [str(7 + each) for each in found.label] == truth["meant"]
    assert [str(7 + each) for each in found.test_label] == tested["meant"]
    assert ["true" if each else "false" for each in found.reward] == truth["match"]
    np.testing.assert_array_equal(found.reward, found.label == found.action)
    # Neither of them is what lapses make of them.
    assert truth["meant"] != truth["imagined"] and truth["match"] != truth["judged"]


def kept(dataset, session: str) -> dict[str, np.ndarray]:
    """Return the arrays in the files of a session's runs."""
    root, found = dataset.folder / "derivatives/bciigl", {}
    for ending, names in {
        "interactions": ("action", "propensity", "catch"),
        "estimates": ("context", "feedback"),
    }.items():
        runs = [np.load(each) for each in sorted(root.glob(f"**/ses-{session}/**/*_{ending}.npz"))]
        found |= {name: np.concatenate([each[name] for each in runs]) for name in names}
    return found


def test_interactions_are_those_recorded_run_by_run(caught):
    found, train, test = loaded(caught), kept(caught, "train"), kept(caught, "test")
    for name in ("context", "action", "feedback", "propensity", "catch"):
        np.testing.assert_array_equal(getattr(found, name), train[name])
    np.testing.assert_array_equal(found.run, np.repeat([1, 2, 3, 4], [6, 6, 6, 5]))
    np.testing.assert_array_equal(found.test_context, test["context"])
    np.testing.assert_array_equal(found.test_run, np.repeat([1, 2], [6, 1]))
    assert found.context.shape == (23, 64)
    assert found.n_actions == 3


def test_catch_trials_come_with_their_match_rate(caught):
    found = loaded(caught)
    assert found.catch.any()
    assert found.match_rate == 0.8


def test_where_no_catch_trial_was_recorded_there_is_no_baseline(tmp_path):
    found = loaded(recorded(tmp_path / "out"))
    assert found.catch is None
    assert found.match_rate is None


def test_options_are_counted_by_the_protocol_not_by_what_happened(tmp_path):
    few = recorded(tmp_path / "out", task={"options": list("abcdefgh"), "trials": 3})
    assert loaded(few).n_actions == 8


def test_matches_by_fifths_are_those_of_the_truth_without_catch_trials(caught):
    matches = np.array(written(caught, "train")["match"]) == "true"
    catch = kept(caught, "train")["catch"]
    expected = [100 * part.mean() for part in np.array_split(matches[~catch], 5)]
    assert matches_by_fifths(load_sessions(caught)["train"]) == pytest.approx(expected)
    with_catch = [100 * part.mean() for part in np.array_split(matches, 5)]
    assert matches_by_fifths(load_sessions(caught)["train"]) != pytest.approx(with_catch)


def test_fifth_without_a_trial_has_no_matches(tmp_path):
    short = recorded(tmp_path / "out", task={"trials": 3})
    found = matches_by_fifths(load_sessions(short)["train"])
    assert len(found) == 5
    assert [each is None for each in found] == [False, False, False, True, True]


def test_without_the_truth_there_are_no_labels(caught, tmp_path):
    blind = blinded(caught, tmp_path / "blind")
    found, seen = loaded(blind), loaded(caught)
    assert found.label is found.reward is found.test_label is None
    assert matches_by_fifths(load_sessions(blind)["train"]) is None
    for name in ("context", "action", "feedback", "propensity", "run", "catch", "test_context"):
        np.testing.assert_array_equal(getattr(found, name), getattr(seen, name))
    assert found.match_rate == seen.match_rate


def test_learners_are_the_protocol_s_for_which_there_is_what_they_need(caught, tmp_path):
    assert session_learners(caught.protocol, load_sessions(caught)) == caught.protocol.learners
    blind = blinded(caught, tmp_path / "blind")
    assert session_learners(blind.protocol, load_sessions(blind)) == (
        "ai_igl",
        "transfer",
        "igl_full_ci",
    )


def test_learners_that_all_need_the_truth_are_refused_without_it(tmp_path):
    told = recorded(tmp_path / "out", learners=["cb", "ceiling"])
    assert session_learners(told.protocol, load_sessions(told)) == ("cb", "ceiling")
    blind = blinded(told, tmp_path / "blind")
    with pytest.raises(DatasetError, match="without its truth, none of cb, ceiling"):
        session_learners(blind.protocol, load_sessions(blind))


def test_separate_recordings_come_back_too(tmp_path):
    dataset = recorded(tmp_path / "out", recording="separate", human=LAPSES)
    found = loaded(dataset)
    assert found.context.shape == found.feedback.shape == (7, 64)
    letters = np.array(list("abc"))
    assert letters[found.label].tolist() == written(dataset, "train")["meant"]


def test_fault_in_the_arrays_is_told_with_the_dataset(tmp_path):
    dataset = recorded(tmp_path / "out")
    (path,) = (dataset.folder / "derivatives/bciigl").glob(
        "**/ses-train/**/*run-02_interactions.npz"
    )
    arrays = dict(np.load(path))
    arrays["propensity"][1] = 2.0
    np.savez(path, **arrays)
    with pytest.raises(DatasetError, match="out: .*propensity"):
        loaded(dataset)


def test_catch_trials_that_the_protocol_does_not_know_are_refused(tmp_path):
    write_made_up(tmp_path / "out", small())
    with pytest.raises(DatasetError, match="has catch trials, but its protocol has none"):
        loaded(open_dataset(tmp_path / "out"))
