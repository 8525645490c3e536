"""Table 2 by the procedure of the released code: arms, their cells, and the rows of the table."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from released_files import EACH, RUNS, arrays, packed

from bciigl.learn.interactions import Interactions
from bciigl.learn.network_igl import ActionInclusiveNetwork
from bciigl.recording.truth import Session
from bciigl.study import as_published, open_study, run_study
from bciigl.study.as_published import (
    ARMS,
    KEPT,
    OUTCOMES,
    SEEN_NOISE,
    Option,
    PublishedRow,
    PublishedStudy,
    published_study,
)
from bciigl.study.grid import StudyError
from bciigl.study.released import released_arrays
from bciigl.study.statistics import accuracy

FEW = {"epochs": 20, "rate": 1e-2, "hidden": (8,)}


@pytest.fixture
def fast(monkeypatch):
    """Train small networks for a moment."""
    small = {
        name: arm._replace(parameters={**arm.parameters, **FEW})
        if "network" in arm.learner
        else arm
        for name, arm in ARMS.items()
    }
    monkeypatch.setattr(as_published, "ARMS", small)
    monkeypatch.setattr(as_published, "TRIALS", 30)


def test_arms_depart_from_the_published_one_in_one_thing():
    usual = ActionInclusiveNetwork()
    assert (usual.epochs, usual.rate, usual.hidden, usual.centre) == (4000, 1e-5, (250, 100), False)
    for name, arm in ARMS.items():
        other = ARMS["published" if arm.changes is None else "own"]
        differs = [
            arm.learner != other.learner,
            arm.parameters != other.parameters,
            arm.split != other.split,
            arm.raw != other.raw,
            arm.changes != other.changes,
        ]
        assert sum(differs) == (name not in ("published", "own")), name
    assert ARMS["published"].repeats == 20 and ARMS["full_ci"].repeats >= 5


def test_all_arms_are_run_and_the_table_is_read_as_it_was_kept(fast, tmp_path):
    folder, out = packed(tmp_path / "released"), tmp_path / "out"
    study = published_study(folder, noise=[0.05], repeats=1)
    assert {each.arm for each in study.cells} == set(ARMS)
    outcome = run_study(study, out, jobs=1)
    assert (outcome.failed, outcome.missing) == ([], 0)
    again, results = open_study(out, [PublishedStudy])
    assert [each.key for each in again.cells] == [each.key for each in study.cells]
    table = again.rows(results)
    document = json.loads(json.dumps([row.as_dict() for row in table]))
    assert [PublishedRow.read(each) for each in document] == table == outcome.rows
    by_way = {(row.arm, row.control): row for row in table}
    assert by_way["published", None].published.accuracy == 76.6
    assert by_way["full_ci", None].published.accuracy == 33.75
    assert {arm for arm, way in by_way if way == KEPT} == {
        name for name, arm in ARMS.items() if arm.learner == "ai_igl_network"
    }
    assert [arm for arm, way in by_way if way == SEEN_NOISE] == ["split"]
    # Clear arrays, for those who learn.
    assert by_way["robust", None].accuracy.mean > 95
    assert len(by_way["published", None].outcomes[0]) == 3
    as_published.write_table(table, tmp_path / "table.csv")
    assert as_published.read_table(tmp_path / "table.csv") == table


def test_a_split_arm_is_tested_on_runs_it_has_not_seen(fast, tmp_path):
    study = published_study(packed(tmp_path), arms=["split", "published"], noise=[0.05], repeats=1)
    counts = {
        each.arm: [np.sum(one["confusion"]) for one in each.run()["results"]]
        for each in study.cells
    }
    assert counts == {"published": [RUNS * EACH] * 2, "split": [10 * EACH, 10 * EACH, 40 * EACH]}


def test_a_cell_is_the_learner_fitted_to_all_trials(fast, tmp_path):
    folder = packed(tmp_path)
    (cell,) = published_study(folder, arms=["published"], noise=[0.05], repeats=1).cells
    found = cell.run()
    train, test = (released_arrays(folder)[0.05][name] for name in ("train", "test"))
    parameters = found["learners"][0]["parameters"] | {"n_actions": 3}
    seed = int(as_published.Seed(0).rng("published", 0).integers(2**32))
    learner = ActionInclusiveNetwork(**{**parameters, "random_state": seed})
    given = train.interactions
    learner.fit(given.context, given.action, given.feedback)
    right = learner.predict(test.interactions.context) == test.truth.meant
    assert accuracy(found["results"][0]["confusion"]) == pytest.approx(100 * right.mean())
    scores = learner.scores_by_stage(test.interactions.context)
    assert scores.shape == (3, RUNS * EACH, 3)
    np.testing.assert_array_equal(
        scores[-1].argmax(axis=1), learner.predict(test.interactions.context)
    )
    kept = np.stack([scores[k][:, k] for k in range(3)], axis=1).argmax(axis=1)
    right = kept == test.truth.meant
    assert accuracy(found["results"][1]["confusion"]) == pytest.approx(100 * right.mean())


def test_repeats_have_the_same_first_weights_in_all_arms(tmp_path):
    study = published_study(
        packed(tmp_path), arms=["published", "centred"], repeats=2, noise=[0.05]
    )
    assert len({each.key for each in study.cells}) == 4
    other = published_study(packed(tmp_path), arms=["published"], repeats=2, noise=[0.05], seed=1)
    assert not {each.key for each in study.cells} & {each.key for each in other.cells}


def test_the_mean_of_voxels_is_multiplied_by_the_noise():
    given = released_arrays_of(np.full((4, 2), 100.0) + np.arange(4)[:, None])
    found = as_published._with_less_mean(given, 0.05)
    context = found["train"].interactions.context
    np.testing.assert_allclose(context.mean(axis=0), 0.05 * 101.5)
    np.testing.assert_allclose(np.diff(context, axis=0), 1)
    np.testing.assert_allclose(found["test"].interactions.context, context)


def released_arrays_of(values):
    """Return sessions in which everything has the same values."""
    train = Interactions(values, np.zeros(4, int), values)
    return {"train": Session(train), "test": Session(Interactions(values))}


@pytest.mark.parametrize(
    ("found", "above", "last", "above_last", "expected"),
    [
        (1.0, 0.33, 1.0, 0.35, "kept"),
        (1.0, 0.33, 1.0, 0.9, "lost"),
        (1.0, 0.33, 0.5, 0.33, "lost"),
        (0.0, 0.67, 1.0, 0.33, "upside down"),
        (0.5, 0.33, 0.5, 0.33, "not found"),
    ],
)
def test_what_became_of_an_option(found, above, last, above_last, expected):
    option = Option(
        found=found,
        above=above,
        found_in_the_end=last,
        above_in_the_end=above_last,
        flipped=False,
    )
    assert option.outcome == expected
    assert expected in OUTCOMES


def test_how_often_matches_are_ranked_above_mismatches():
    ranked = as_published._ranked_above
    match = np.array([True, False, True, False])
    assert ranked(np.array([3.0, 1.0, 2.0, 0.0]), match) == 1
    assert ranked(np.array([0.0, 1.0, 0.5, 2.0]), match) == 0
    assert ranked(np.zeros(4), match) == 0.5
    assert ranked(np.array([3.0, 2.0, 1.0, 0.0]), match) == 0.75


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"arms": ["linaer"]}, "no arm 'linaer'; did you mean 'linear'"),
        ({"repeats": 0}, "repeats should be 1 or more, got 0"),
        ({"noise": [0.3]}, "no arrays at noise level 0.3"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, given, message):
    with pytest.raises(StudyError, match=message):
        published_study(packed(tmp_path), **given)


def test_without_the_released_arrays_our_own_recordings_are_learned_from(tmp_path):
    study = published_study()
    assert {ARMS[each].changes is None for each in study.arms} == {False}
    with pytest.raises(StudyError, match="need --released"):
        published_study(arms=["linear"])


def test_a_folder_of_other_arrays_is_another_study(tmp_path):
    first = published_study(packed(tmp_path / "one"), noise=[0.05])
    other = arrays()
    other["context"] = other["context"] + 1
    second = published_study(packed(tmp_path / "two", **other), noise=[0.05])
    assert first.difference(second)[0] == "recordings"
    assert (
        first.difference(published_study(packed(tmp_path / "one"), noise=[0.05], repeats=3)) is None
    )


@pytest.mark.slow
def test_two_repeats_give_the_bytes_of_the_committed_table(tmp_path):
    if "BCIIGL_TEST_DATA" not in os.environ:
        pytest.skip("the released arrays are not here")
    folder = Path(os.environ["BCIIGL_TEST_DATA"]) / "released"
    study = published_study(folder, arms=["short"], noise=[0.05], repeats=2)
    rows = run_study(study, tmp_path / "out", jobs=2).rows
    as_published.write_table(rows, tmp_path / "table.csv")
    found = (tmp_path / "table.csv").read_text().splitlines()[1:]
    committed = as_published.COMMITTED.read_text().splitlines()
    expected = [each for each in committed if each.startswith("short,0.05,")]
    assert found == [each for each in expected if each.split(",")[4] in "12"] != []
