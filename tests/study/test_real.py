"""Games put together from recordings of real brains."""

import os
from pathlib import Path

import numpy as np
import pytest
from real_recordings import PEOPLE, write_recordings

from bciigl.base.seeds import Seed
from bciigl.study import StudyError, open_study, run_study
from bciigl.study.real import Setting, game_of_volumes, load, make_game, other_volumes, settings
from bciigl.study.real_study import RealStudy, real_study
from bciigl.study.store import read_rows


@pytest.fixture
def folder(tmp_path):
    return write_recordings(tmp_path / "real")


@pytest.fixture
def data(folder):
    return load(folder, ("A", "B", "C"))


def volume_of(data, rows):
    """Return which volumes rows of features are; all voxels are chosen, in any order."""
    place = {round(total, 6): each for each, total in enumerate(data.volumes.sum(axis=1))}
    return np.array([place[round(total, 6)] for total in rows.sum(axis=1)])


@pytest.mark.parametrize("options", [3, 5, 8])
@pytest.mark.parametrize("control", [False, True])
def test_volumes_are_dealt_as_promised(data, options, control):
    setting = Setting("A", options, 0.0, control=control)
    for repeat in range(3):
        game = game_of_volumes(setting, data, Seed(0).child(repeat))
        context, tested = (volume_of(data, game[each]) for each in ("context", "test_context"))
        seen, frames = volume_of(data, game["feedback"]), volume_of(data, game["noise"])
        assert len(set(context)) == len(context) == options * 4 * 4  # runs, volumes of a block
        runs = {
            name: set(data.run[each]) for name, each in {"train": context, "test": tested}.items()
        }
        assert len(runs["train"]) == 4 and len(runs["test"]) == 2
        assert not runs["train"] & runs["test"]
        assert set(data.run[seen]) | set(data.run[frames]) <= runs["train"]
        assert (data.run[seen] != data.run[context]).all()
        assert (data.run[context] == game["run"]).all()
        # What was shown: the guess, or in the control something that never is the guess.
        meant = {
            label: data.category[context][game["label"] == label][0] for label in range(options)
        }
        guess = np.array([meant[each] for each in game["action"]])
        assert (data.category[seen] == guess).all() != control
        if control:
            assert not (data.category[seen] == guess).any()
            outside = not np.isin(data.category[seen], list(meant.values())).any()
            assert outside == (options == 3)
        assert (game["reward"] == (game["label"] == game["action"])).all()


def test_volumes_are_shown_again_only_when_there_are_no_others():
    category, run = np.tile([0, 1], 6), np.repeat([1, 2, 3], 4)
    wanted, own = np.zeros(9, int), np.tile([1, 2, 3], 3)
    rng = np.random.default_rng(0)
    found = other_volumes(category, run, run > 0, wanted, own, rng)
    assert len(set(found[:5])) == 5 and np.bincount(found).max() == 2
    assert (category[found] == 0).all() and (run[found] != own).all()


def test_a_judgment_is_one_pattern_in_matches_and_nothing_without(data):
    def feedback(**how):
        return game_of_volumes(Setting("A", 3, **how), data, Seed(1))

    null, judged = feedback(pattern=0.0), feedback(pattern=0.25)
    added = judged["feedback"] - null["feedback"]
    assert not added[~null["reward"]].any()
    np.testing.assert_allclose(
        added[null["reward"]], [added[null["reward"]][0]] * null["reward"].sum()
    )
    assert np.sqrt(np.mean(added[null["reward"]] ** 2)) == pytest.approx(0.25)
    leaked = feedback(pattern=0.0, leak=0.5)["feedback"] - null["feedback"]
    np.testing.assert_allclose(leaked, 0.5 * null["context"])
    fewer = game_of_volumes(Setting("A", 3, 0.0, volumes=5), data, Seed(1))
    assert len(fewer["context"]) == 15 and len(fewer["test_context"]) == len(null["test_context"])


def test_answers_are_those_to_right_and_wrong_actions(data):
    plain = make_game(Setting("A", 5, 0.0), data, Seed(2))["train"].interactions
    for setting in (Setting("B", 5, person="one"), Setting("C", person="one")):
        train, truth = make_game(setting, data, Seed(2))["train"]
        features, correct = data.answers["one"]
        answers = train.feedback[:, -features.shape[1] :]
        same = (answers[:, None] == features).all(axis=2)
        assert (same.sum(axis=1) == 1).all()
        assert (correct[same.argmax(axis=1)] == (truth.match > 0)).all()
        most = [np.sum(truth.match == kind) / np.sum(correct == kind) for kind in (0, 1)]
        assert same.sum(axis=0).max() == np.ceil(max(most))
        if setting.bed == "B":
            np.testing.assert_array_equal(train.feedback[:, : -features.shape[1]], plain.feedback)


def test_lights_are_of_other_sessions_in_the_test(data):
    sessions = make_game(Setting("C", person="two"), data, Seed(3))
    train, test = (sessions[each].interactions for each in ("train", "test"))
    assert train.n_actions == 3 and len(set(test.run)) == 2
    assert not set(train.run) & set(test.run)
    assert len(np.unique(train.context, axis=0)) == train.trials == 4 * 24


def test_a_study_is_kept_and_read(folder, tmp_path):
    study = real_study(folder, ["C"], repeats=2)
    assert study.settings == settings("C", PEOPLE)
    outcome = run_study(study, tmp_path / "out", jobs=1)
    assert not outcome.failed and not outcome.missing
    again, results = open_study(tmp_path / "out", kinds=[RealStudy])
    assert again == study and results == outcome.results
    assert read_rows(again, tmp_path / "out", results) == outcome.rows
    ceiling = [row for row in outcome.rows if row.learner == "ceiling"]
    assert [row.share.mean for row in ceiling] == [100.0, 100.0]
    assert {row.learner for row in outcome.rows} >= {"ai_igl", "igl_full_ci", "cb"}
    assert "transfer" not in {row.learner for row in outcome.rows}  # of other features
    mine = outcome.rows[0]
    assert sum(mine.trusted.values()) <= 2 and mine.right <= sum(mine.trusted.values())
    write_recordings(folder, people=("other",))
    with pytest.raises(StudyError, match="recordings is"):
        run_study(real_study(folder, ["C"], repeats=2), tmp_path / "out", jobs=1)
    with pytest.raises(StudyError, match="have changed"):
        study.cells[0].run()
    with pytest.raises(StudyError, match="not known"):
        again.cells[0].run()


def test_all_settings_of_bed_a_can_be_played(folder):
    study = real_study(folder, ["A"], repeats=1)
    names = [str(each) for each in study.settings]
    assert len(set(names)) == len(names) and max(map(len, names)) <= 36
    assert {"K = 3, no judgment, leak, control", "K = 8, judgment 0.25, control"} <= set(names)
    found = study.cells[0].run()
    assert found == study.cells[0].run()
    assert "transfer" in [each["learner"] for each in found["results"]]


def test_what_is_missing_or_damaged_is_named(folder):
    with pytest.raises(StudyError, match=r"nowhere/haxby_slice\.npz: no such file; bed A needs it"):
        load(folder / "nowhere", ("A",))
    (folder / "ssvep.npz").unlink()
    load(folder, ("A", "B"))
    with pytest.raises(StudyError, match=r"ssvep\.npz: no such file.*docs/real_brains\.md"):
        load(folder, ("C",))
    np.savez(folder / "errp_one.npz", features=np.ones((5, 2)), correct=np.ones(5, bool))
    with pytest.raises(StudyError, match=r"errp_one\.npz: correct must be true of some"):
        load(folder, ("B",))
    write_recordings(folder, run=None)
    with pytest.raises(StudyError, match=r"haxby_slice\.npz: array run is missing"):
        load(folder, ("A",))
    write_recordings(folder, category=np.zeros(6 * 37, int))
    with pytest.raises(StudyError, match="category must have all of 0 to 7 in each run"):
        load(folder, ("A",))
    with pytest.raises(StudyError, match="repeats should be 1 or more"):
        real_study(folder, repeats=0)


@pytest.mark.skipif("BCIIGL_TEST_DATA" not in os.environ, reason="needs real recordings")
def test_judgments_are_read_from_a_real_brain_where_perception_is_of_no_use():
    study = real_study(Path(os.environ["BCIIGL_TEST_DATA"], "real"), ["A"], repeats=1)
    (cell,) = (each for each in study.cells if each.setting == Setting("A", 3, 0.5, control=True))
    found = {each["learner"]: each for each in cell.run()["results"]}
    right = {name: np.trace(each["confusion"]) / 108 for name, each in found.items()}
    assert right["transfer"] < 0.45 < 0.55 < right["ai_igl"]
    assert (found["ai_igl"]["verdict"], found["ai_igl"]["rests_on"]) == ("trust", "judgment")
