"""Meta-features of a study's data: measured once, kept, and laid beside what was reached."""

import json
from dataclasses import replace

import pytest
from kills import digests
from labelled_data import all_made_up, describe, known, labelled, study, written

from bciigl import __version__
from bciigl.base.seeds import Seed
from bciigl.labelled import features, learnable
from bciigl.labelled.features import FILE, PUBLISHED, TABLE4, learnability, measured, read_features
from bciigl.labelled.meta_features import NAMES, meta_features
from bciigl.labelled.rows import labelled_rows
from bciigl.study import StudyError
from bciigl.study.published import lines


@pytest.fixture(autouse=True, scope="module")
def few_trees():
    """Grow fewer trees, which are enough here, and forget forests that have fewer."""
    with pytest.MonkeyPatch.context() as patch:
        learnable._of_table4.cache_clear()
        yield patch.setattr(learnable, "TREES", 2)
    learnable._of_table4.cache_clear()


@pytest.fixture
def sources(tmp_path):
    """Return two files of data."""
    return [written(tmp_path / f"{seed}.npz", labelled(seed=seed)) for seed in (0, 1)]


def test_features_are_those_of_the_data_and_come_back(tmp_path, sources):
    mine = study(*map(describe, sources))
    told = []
    found = measured(mine, tmp_path, lambda *each: told.append(each))
    assert told == [(0, 2), (1, 2), (2, 2)]
    assert list(found) == [each.digest for each in mine.datasets]
    for dataset, source in zip(mine.datasets, sources, strict=True):
        expected = meta_features(source.load(), Seed(0).rng(dataset.digest))
        assert found[dataset.digest] == expected
    assert read_features(tmp_path) == found


def test_features_are_measured_once(tmp_path, sources):
    mine = study(*map(describe, sources))
    found = measured(mine, tmp_path)
    before = digests(tmp_path)
    for source in sources:
        (tmp_path / source.place).unlink()
    # Where they are is not needed any more, and neither are they.
    assert measured(mine, tmp_path) == found
    assert measured(study(*(replace(each, source=None) for each in mine.datasets)), tmp_path)
    assert digests(tmp_path)[FILE] == before[FILE]
    (tmp_path / FILE).unlink()
    with pytest.raises(StudyError, match="where the data are is not known"):
        measured(study(replace(mine.datasets[0], source=None)), tmp_path)


def test_only_what_is_new_is_measured(tmp_path, sources):
    one, other = map(describe, sources)
    first = measured(study(one), tmp_path)
    (tmp_path / sources[0].place).unlink()
    both = measured(study(one, other), tmp_path)
    assert list(both) == [one.digest, other.digest]
    assert both[one.digest] == first[one.digest]
    # And what is no more in the study is kept.
    assert measured(study(other), tmp_path) == both


def test_what_was_measured_is_kept_when_the_next_fails(tmp_path, sources):
    mine = study(*map(describe, sources))
    (tmp_path / sources[1].place).unlink()
    with pytest.raises(Exception, match="no such file"):
        measured(mine, tmp_path)
    assert list(read_features(tmp_path)) == [mine.datasets[0].digest]


def test_features_of_another_version_are_measured_again(tmp_path, sources, monkeypatch):
    mine = study(describe(sources[0]))
    expected = measured(mine, tmp_path)
    monkeypatch.setattr(features, "__version__", "0.0.0")
    assert read_features(tmp_path) == {}
    assert measured(mine, tmp_path) == expected
    assert json.loads((tmp_path / FILE).read_text())["bciigl"] == "0.0.0" != __version__


def test_folder_without_features_has_none(tmp_path):
    assert read_features(tmp_path) == {}


DAMAGE = {
    "truncated": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "null": lambda text: "null",
    "a list": lambda text: "[]",
    "nothing in it": lambda text: "{}",
    "no features": lambda text: json.dumps({"bciigl": __version__}),
    "a list of features": lambda text: json.dumps({"bciigl": __version__, "features": [1]}),
    "features are words": lambda text: text.replace(": 60.0", ': "many"'),
    "features are null": lambda text: text.replace(": 60.0", ": null"),
    "a feature less": lambda text: text.replace('"n_by_k"', '"n_by_j"'),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_file_is_refused_with_advice_and_left_alone(tmp_path, sources, damage):
    mine = study(describe(sources[0]))
    measured(mine, tmp_path)
    path = tmp_path / FILE
    damaged = damage(path.read_text())
    assert damaged != path.read_text()
    path.write_text(damaged)
    with pytest.raises(StudyError) as error:
        measured(mine, tmp_path)
    assert str(error.value) == f"{path}: is damaged; delete it to have it made again"
    assert path.read_text() == damaged


def test_bytes_that_are_no_text_are_damage(tmp_path):
    (tmp_path / FILE).write_bytes(b"\xff\xfe{")
    with pytest.raises(StudyError, match="is damaged"):
        read_features(tmp_path)


IRIS, OWN = known(150, 3, openml_id=61, name="iris"), known(900, 3, name="own")
RULES = ("action_reward", "coded")


def some_features(*datasets):
    """Return meta-features that are made up."""
    return {
        each.digest: {
            **{name: float(place) for place, name in enumerate(NAMES)},
            **{"n": float(each.n), "n_by_k": each.n / each.k},
        }
        for each in datasets
    }


def made_up_rows(*datasets, **how):
    mine = study(*datasets, **{"feedback": RULES, "learners": ("cb", "ai_igl"), **how})
    return labelled_rows(mine, all_made_up(mine))


def test_results_are_those_of_each_rule_then_the_paper_s():
    rows, about = made_up_rows(IRIS, OWN), some_features(IRIS, OWN)
    found = learnability(rows, about)
    assert [each.results for each in found] == [*RULES, PUBLISHED, TABLE4]
    for rule, each in zip(RULES, found, strict=False):
        mine = [row for row in rows if (row.learner, row.feedback) == ("ai_igl", rule)]
        assert each.points == [
            {
                "dataset": row.dataset.id,
                "name": row.dataset.name,
                **about[row.dataset.digest],
                "relative": row.relative,
            }
            for row in mine
        ]
        assert [forest.datasets for forest in each.forests] == [2, 2, 1, 2, 2]
    paper = next(line for line in lines("table4") if line["openml_id"] == "61")
    (point,) = found[2].points
    assert (point["dataset"], point["name"], point["n"]) == (61, "iris", 150)
    assert point["relative"] == pytest.approx(float(paper["ai_igl"]) / float(paper["cb"]))


def test_all_of_the_paper_s_sets_are_there_with_their_sizes():
    last = learnability([], {})
    assert [each.results for each in last] == [TABLE4]
    assert len(last[0].points) == 271
    first = last[0].points[0]
    assert (first["dataset"], first["n"]) == (6, 20_000)
    assert first["n_by_k"] == pytest.approx(20_000 / 26)
    assert first["relative"] == pytest.approx(11.40 / 53.90)
    assert last[0].forests[0].datasets == 271
    document = last[0].as_dict()
    assert list(document) == ["results", "datasets", "forests"]
    assert json.loads(json.dumps(document)) == json.loads(json.dumps(document, allow_nan=False))


def test_datasets_that_were_not_measured_or_have_no_share_are_left_out():
    found = learnability(made_up_rows(IRIS, OWN), some_features(OWN))
    assert [each.results for each in found] == [*RULES, TABLE4]
    assert [point["dataset"] for point in found[0].points] == ["own"]
    without_skyline = learnability(made_up_rows(OWN, learners=("ai_igl",)), some_features(OWN))
    assert [each.points for each in without_skyline[:2]] == [[], []]
    without_us = learnability(made_up_rows(OWN, learners=("cb",)), some_features(OWN))
    assert [each.results for each in without_us] == [TABLE4]
