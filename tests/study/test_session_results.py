"""What was learned from a session, computed once and kept."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from recordings import reported_protocol
from scipy.stats import binomtest

from bciigl.base.progress import silent
from bciigl.learn import load_learner
from bciigl.loop import record
from bciigl.recording import DatasetError, open_dataset
from bciigl.recording.calibration import read_calibration
from bciigl.recording.layout import CALIBRATION, ESTIMATES
from bciigl.recording.truth import Session
from bciigl.study.learning import learn_from, learn_with, select
from bciigl.study.session_results import (
    DECODED,
    POLICIES,
    RESULTS,
    has_results,
    keep_results,
    learn_and_keep,
    learning_curve,
    matches_by_run,
    read_results,
)

LEARNERS = ("ai_igl", "cb", "ceiling")


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """Return a dataset with its results, its sessions and what was learned from them."""
    folder = tmp_path_factory.mktemp("learned") / "dataset"
    record(reported_protocol(), folder)
    dataset = open_dataset(folder)
    assert not has_results(dataset)
    with pytest.raises(DatasetError, match="nothing has been learned from it yet"):
        read_results(dataset)
    return dataset, *learn_and_keep(dataset)


def test_what_is_kept_is_what_was_learned(learned):
    dataset, sessions, results = learned
    kept, decoded = read_results(dataset)
    train = sessions["train"].interactions
    assert (kept.trials, kept.test_trials, kept.actions, kept.seed) == (60, 40, 3, 0)
    assert (kept.train_runs, kept.test_runs, kept.uniform_guesses) == ([1, 2, 3], [1, 2], True)
    for mine, result in zip(kept.learners, results, strict=True):
        assert mine.learner_id == result.learner_id
        assert (mine.accuracy, mine.interval) == (result.accuracy, result.interval)
        assert mine.confusion == result.confusion.tolist()
        assert mine.diagnosis == result.diagnosis
        if mine.learner_id == "ai_igl":
            expected = result.learner.decode(train.feedback, train.action, run=train.run)
            np.testing.assert_array_equal(decoded["ai_igl"], expected)
        if mine.learner_id != "ceiling":
            folder = dataset.folder / ESTIMATES / POLICIES / mine.learner_id
            np.testing.assert_array_equal(load_learner(folder).policy_, result.learner.policy_)
            whitening = read_calibration(folder / CALIBRATION).whitening
            np.testing.assert_array_equal(whitening, dataset.calibration.whitening)
    assert list(decoded) == ["ai_igl"]


def test_results_are_the_same_bytes_every_time(learned):
    dataset, sessions, results = learned
    folder = dataset.folder / ESTIMATES
    before = {name: (folder / name).read_bytes() for name in (RESULTS, DECODED)}
    half_written = folder / f".0123456789abcdef.tmp.{RESULTS}"  # by a command that was killed
    half_written.write_text("{")
    keep_results(folder, sessions, results)
    assert not half_written.exists()
    assert before == {name: (folder / name).read_bytes() for name in (RESULTS, DECODED)}


def test_results_that_are_being_replaced_are_not_found(learned, tmp_path, monkeypatch):
    dataset, sessions, results = learned
    shutil.copytree(dataset.folder, tmp_path / "copy")
    copy = open_dataset(tmp_path / "copy")
    # As after a kill: decoding comes when some of the policies are new and others are not there.
    monkeypatch.setattr(type(results[0].learner), "decode", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        keep_results(copy.folder / ESTIMATES, sessions, results)
    assert not has_results(copy)


def test_damaged_results_are_refused(learned, tmp_path):
    dataset, *_ = learned
    shutil.copytree(dataset.folder, tmp_path / "copy")
    path = tmp_path / "copy" / ESTIMATES / RESULTS
    whole = json.loads(path.read_text())
    for damaged, message in (
        ("{", "is not JSON"),
        (json.dumps({**whole, "trials": "60"}), "trials: should be a valid integer"),
        (json.dumps({**whole, "trials": 59}), "is not of this recording"),
        (json.dumps({**whole, "odd": 1}), "odd: unknown key"),
    ):
        path.write_text(damaged)
        with pytest.raises(DatasetError, match=message):
            read_results(open_dataset(tmp_path / "copy"))


@pytest.fixture(scope="module")
def points(learned):
    """Return the learning curve of the session."""
    return read_results(learned[0])[0].learning_curve


def test_every_learner_learns_from_more_and_more_trials_and_runs(points):
    for learner in LEARNERS:
        mine = [(each.runs, each.trials) for each in points if each.learner_id == learner]
        assert mine == [(1, 5), (1, 10), (1, 20), (2, 40), (3, 60)]


def test_without_a_test_the_curve_is_what_the_learner_estimates_of_itself(learned):
    _, sessions, _ = learned
    blind = {"train": Session(sessions["train"].interactions)}
    results = learn_with(blind, ["ai_igl"])
    *_, last = curve = learning_curve(blind, results, 0, True, silent)
    assert [each.learner_id for each in curve] == ["ai_igl"] * 5
    (found,) = (each.diagnosis for each in results)
    assert last.verdict == found.verdict == "trust"
    assert last.accuracy == pytest.approx(100 * found.accuracy)
    assert all(each.accuracy is None for each in curve if each.verdict != "trust")


def test_points_are_of_the_first_runs_and_the_last_are_the_results(points, learned):
    _, sessions, results = learned
    of_two = learn_from(select(sessions, {1, 2}, None), "cb")
    known = {(each.learner_id, 3): each for each in results} | {("cb", 2): of_two}
    for each in points:
        result = known.get((each.learner_id, each.runs))
        if result is not None:
            assert (each.accuracy, (each.low, each.high)) == (result.accuracy, result.interval)


def test_what_is_known_is_not_learned_again(learned):
    _, sessions, results = learned
    wrong = [replace(each, accuracy=12.5) for each in results]
    again = learning_curve(sessions, wrong, 0, True, silent)
    assert {each.accuracy for each in again if each.runs == 3} == {12.5}


@pytest.mark.slow
def test_known_match_rates_need_catch_trials(learned):
    blind = select(learned[1], {1, 3}, None)
    train = blind["train"].interactions
    caught = replace(train, catch=train.run == 3, match_rate=np.array(0.8))
    late = {**blind, "train": Session(caught)}
    curves = [
        learning_curve(each, learn_with(blind, ["ai_igl"]), 0, True, silent)
        for each in (late, blind)
    ]
    assert curves[0][0] == curves[1][0]


def test_the_agents_guesses_are_counted_run_by_run(learned):
    train = learned[1]["train"]
    found = matches_by_run(train)
    right = int(np.sum(train.truth.match[20:40]))
    interval = binomtest(right, 20).proportion_ci(method="wilson")
    second = found[1]
    assert (second.run, second.guesses, second.uniform) == (2, 20, True)
    numbers = (second.matched, second.low, second.high)
    assert numbers == pytest.approx((5 * right, 100 * interval.low, 100 * interval.high))
    assert matches_by_run(Session(train.interactions)) == []
    catch = train.interactions.run == 2
    caught = replace(train.interactions, catch=catch)
    assert [each.run for each in matches_by_run(Session(caught, train.truth))] == [1, 3]
