"""Studies of labelled data: what cells depend on, what makes data the same, what is refused."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from labelled_data import echo, known, labelled, study, written

from bciigl.base.errors import BciiglError
from bciigl.labelled import study as module
from bciigl.labelled.one_right import OneRightBandit
from bciigl.labelled.refit import LABELLED_LEARNERS, RefittedIGL, labelled_learner
from bciigl.labelled.rules import RULES, Labelled
from bciigl.labelled.sources import Source
from bciigl.labelled.study import (
    LEARNERS,
    REPEATS,
    LabelledStudy,
    describe,
    digest_of,
)
from bciigl.study import StudyError

DATA = labelled()
DATASET = describe(DATA)


def keys(mine: LabelledStudy) -> list[str]:
    return [cell.key for cell in mine.cells]


def test_defaults_are_the_paper_s():
    mine = LabelledStudy((DATASET,), ("coded",))
    assert (mine.learners, mine.repeats) == (("cb", "igl_full_ci", "ai_igl"), 20)
    assert (mine.learners, mine.repeats) == (LEARNERS, REPEATS)
    assert (mine.seed, mine.samples, mine.table) == (0, None, None)


def test_cells_are_all_combinations_dataset_by_dataset():
    others = (DATASET, describe(labelled(seed=1)))
    mine = study(*others, feedback=("coded", "action_reward"), repeats=3)
    places = [(cell.dataset.name, cell.repeat, cell.feedback) for cell in mine.cells]
    assert places == [
        (dataset.name, repeat, rule)
        for dataset in others
        for repeat in range(3)
        for rule in ("coded", "action_reward")
    ]
    assert len(set(keys(mine))) == 12
    assert mine.cells[0].rule is RULES["coded"]


CHANGES = {
    "data": {"datasets": (describe(labelled(seed=1)),)},
    "rule": {"feedback": ("coded",)},
    "seed": {"seed": 1},
    "samples": {"samples": 54},  # as many as there are
    "learner": {"learners": ("ceiling",)},
    "more learners": {"learners": ("cb", "ceiling")},
}


def test_key_changes_with_all_that_its_result_depends_on():
    for change in CHANGES.values():
        (before,) = keys(study(DATASET, repeats=1))
        (after,) = keys(replace(study(DATASET, repeats=1), **change))
        assert before != after


def test_key_changes_with_the_repeat():
    assert len(set(keys(study(DATASET, repeats=5)))) == 5


def test_key_changes_with_parameters_of_learners_and_with_the_version(monkeypatch):
    before = keys(study(DATASET, learners=("cb", "ai_igl")))
    monkeypatch.setitem(LABELLED_LEARNERS, "ai_igl", partial(RefittedIGL, one_right=False))
    changed = keys(study(DATASET, learners=("cb", "ai_igl")))
    assert not set(before) & set(changed)
    monkeypatch.undo()
    assert keys(study(DATASET, learners=("cb", "ai_igl"))) == before
    monkeypatch.setattr(module, "__version__", "0.0.0")
    assert not set(before) & set(keys(study(DATASET, learners=("cb", "ai_igl"))))


def test_skyline_knows_that_one_label_is_right():
    (learner,) = study(DATASET, repeats=1).cells[0].identity["learners"]
    assert learner["learner"] == "cb"
    assert labelled_learner("cb").make is OneRightBandit
    assert learner["parameters"] == OneRightBandit().get_params()


def test_key_depends_on_nothing_else(tmp_path):
    expected = keys(study(DATASET))
    other = describe(labelled(seed=1))
    elsewhere = describe(written(tmp_path / "elsewhere.npz", DATA))
    renamed = replace(DATASET, name="other", openml_id=61, notes=("a note",), source=None)
    for mine in (
        study(elsewhere),
        study(renamed),
        study(DATASET, table="table1"),
    ):
        assert keys(mine) == expected
    assert keys(study(DATASET, other))[:2] == keys(study(other, DATASET))[2:] == expected
    assert keys(study(DATASET, repeats=9))[:2] == expected
    assert keys(study(DATASET, feedback=("coded", "action_reward")))[1::2] == expected


def test_random_numbers_of_a_repeat_are_the_same_whatever_the_rule_learners_and_samples():
    mine = study(DATASET, feedback=("coded", "action_reward"), learners=("cb", "ceiling"))
    more = study(DATASET, samples=10)
    assert mine.cells[0].random == mine.cells[1].random == more.cells[0].random
    assert mine.cells[0].random != mine.cells[2].random
    assert study(DATASET, seed=1).cells[0].random != more.cells[0].random
    assert study(describe(labelled(seed=1))).cells[0].random != more.cells[0].random


def test_rule_of_one_s_own_comes_along_with_its_cells(monkeypatch):
    monkeypatch.setitem(RULES, "mine", echo)
    assert study(DATASET, feedback=("mine",)).cells[0].rule is echo


def test_dataset_is_described_by_what_is_in_it():
    data = labelled(50, 5, 7, training=40, openml_id=61, notes=("left out: 1",), name="mine")
    found = describe(data)
    assert (found.name, found.openml_id, found.n, found.k, found.features) == ("mine", 61, 50, 5, 7)
    assert (found.majority, found.own_test, found.notes) == (0.2, True, ("left out: 1",))
    assert found.source is data
    assert (found.id, DATASET.id, DATASET.own_test) == (61, DATA.name, False)


def test_digest_is_by_value():
    whole = replace(DATA, features=np.round(DATA.features * 8))
    expected = digest_of(whole)
    for kind in (np.float32, np.int16, np.int64):
        assert digest_of(replace(whole, features=whole.features.astype(kind))) == expected
    for values in (np.asfortranarray(whole.features), np.repeat(whole.features, 2, 1)[:, ::2]):
        assert digest_of(replace(whole, features=values)) == expected
    assert digest_of(replace(whole, label=whole.label.astype(np.uint8))) == expected
    assert digest_of(replace(whole, name="other", openml_id=3, notes=("a",))) == expected
    assert digest_of(replace(whole, features=whole.features + 0.0)) == expected  # -0 is 0
    # Doubles that are not of single precision are other data.
    double = replace(DATA, features=DATA.features / 3)
    single = replace(double, features=double.features.astype(np.float32))
    assert digest_of(single) != digest_of(double)


def test_digest_is_the_same_for_files_of_another_kind(tmp_path):
    npz = written(tmp_path / "mine.npz", DATA)
    with (tmp_path / "mine.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["a", "b", "c", "label"])
        for values, label in zip(DATA.features.tolist(), DATA.label, strict=True):
            lines.writerow([*map(repr, values), DATA.classes[label]])
    table = Source("csv", str(tmp_path / "mine.csv"), "label")
    assert digest_of(npz.load()) == digest_of(table.load()) == digest_of(DATA)


def moved(array: np.ndarray, place: int | tuple[int, int], value: float) -> np.ndarray:
    changed = array.copy()
    changed[place] = value
    return changed


OTHER_DATA: dict[str, Callable[[Labelled], Labelled]] = {
    "a feature": lambda data: replace(
        data, features=moved(data.features, (59, 2), np.nextafter(data.features[59, 2], 9))
    ),
    "a label": lambda data: replace(data, label=moved(data.label, 59, 0)),
    "a name": lambda data: replace(data, classes=("x", *data.classes[1:])),
    "order of names": lambda data: replace(data, classes=data.classes[::-1]),
    "one more class": lambda data: replace(data, classes=(*data.classes, "more")),
    "a split": lambda data: replace(data, training=50),
    "an example less": lambda data: replace(
        data, features=data.features[:-1], label=data.label[:-1]
    ),
    "order of examples": lambda data: replace(
        data, features=data.features[::-1], label=data.label[::-1]
    ),
    "shape": lambda data: replace(data, features=data.features.reshape(-1, 1)),
}


def test_digest_notices_every_change():
    for change in OTHER_DATA.values():
        assert digest_of(change(DATA)) != digest_of(DATA)


def test_digest_notices_another_split():
    assert digest_of(replace(DATA, training=50)) != digest_of(replace(DATA, training=51))


def test_digest_is_of_all_examples_of_large_data():
    for place in [0, 9_999, 10_000, 20_004]:
        data = labelled(20_005, 3, 1)
        label = moved(data.label, place, (data.label[place] + 1) % 3)
        assert digest_of(replace(data, label=label)) != digest_of(data)
        features = moved(data.features, (place, 0), 100.0)
        assert digest_of(replace(data, features=features)) != digest_of(data)


def test_datasets_that_cannot_be_told_apart_are_refused():
    same_name = describe(labelled(seed=1, name=DATASET.name))
    with pytest.raises(StudyError, match="two datasets are the same: made with 0 is called"):
        study(DATASET, same_name)
    with pytest.raises(StudyError, match="twin is made of the same data as made with 0, too"):
        study(DATASET, replace(DATASET, name="twin"))
    with pytest.raises(StudyError, match="two datasets are the same: 61 is called 61, too"):
        study(known(60, 3, openml_id=61, digest="a"), known(70, 3, openml_id=61, digest="b"))
    with pytest.raises(StudyError, match="two datasets are the same"):
        study(DATASET, DATASET.__class__(**vars(DATASET)))
    # Names do not matter where ids do.
    one, other = (known(60, 3, openml_id=each, name="iris") for each in (61, 62))
    assert len(study(one, other).datasets) == 2


def test_what_cannot_be_is_refused():
    for wrong, message in [
        ({"repeats": 0}, "repeats should be 1 or more, got 0"),
        ({"seed": -1}, "seed should be 0 or more, got -1"),
        ({"samples": 0}, "samples should be 1 or more, got 0"),
        ({"learners": ("ai_ilg",)}, "got 'ai_ilg'; did you mean 'ai_igl'"),
    ]:
        with pytest.raises(BciiglError, match=message):
            study(DATASET, **wrong)


def test_study_without_datasets_is_refused():
    with pytest.raises(StudyError, match="there are no datasets to learn from"):
        LabelledStudy((), ("coded",))


def test_study_comes_back_from_its_document():
    datasets = (
        describe(labelled(50, 5, 7, training=40, openml_id=61, notes=("a", "b"))),
        DATASET,
    )
    mine = LabelledStudy(
        datasets, ("coded", "mine"), ("ai_igl",), repeats=3, seed=4, samples=30, table="table1"
    )
    document = json.loads(json.dumps(mine.document()))
    found = LabelledStudy.read(document)
    assert found == mine
    assert keys(found) == keys(mine)
    assert found.document() == mine.document()
    assert all(each.source is None for each in found.datasets)


def test_document_does_not_say_where_data_are(tmp_path):
    mine = study(describe(written(tmp_path / "mine.npz", DATA)))
    assert str(tmp_path) not in json.dumps(mine.document())


def test_study_differs_by_table_seed_and_samples_alone():
    mine = study(DATASET)
    assert mine.difference(study(DATASET, table="table1")) == ("table", "none", "table1")
    assert study(DATASET, seed=2).difference(mine) == ("seed", 2, 0)
    assert mine.difference(study(DATASET, samples=5)) == ("samples", "none", 5)
    more = study(
        DATASET, describe(labelled(seed=1)), feedback=("coded",), repeats=9, learners=("ai_igl",)
    )
    assert mine.difference(more) is None
