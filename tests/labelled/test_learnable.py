"""What makes a dataset learnable: forests by meta-features, and what is kept of both."""

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest
from kills import digests
from labelled_data import all_made_up, describe, known, labelled, study, written

from bciigl import __version__
from bciigl.base.seeds import Seed
from bciigl.labelled import learnable as module
from bciigl.labelled.learnable import (
    ALONE,
    FILE,
    GROUPED,
    PUBLISHED,
    SUCCESS,
    TABLE4,
    Forest,
    forest,
    forests,
    keep_learnability,
    learnability,
    measured,
    published_forests,
    published_points,
    read_learnability,
)
from bciigl.labelled.meta_features import NAMES, meta_features
from bciigl.labelled.rows import labelled_rows
from bciigl.study import StudyError
from bciigl.study.published import lines

PAPER_S = (module.TREES, module.FOLDS, SUCCESS)  # before any test changes them


@pytest.fixture(autouse=True, scope="module")
def few_trees():
    """Grow fewer trees, which are enough here: the paper's 100 take long."""
    with pytest.MonkeyPatch.context() as patch:
        module.published_forests.cache_clear()
        yield patch.setattr(module, "TREES", 10)
    module.published_forests.cache_clear()


@pytest.fixture
def one_tree(monkeypatch):
    """Grow one tree, for what does not depend on how many there are."""
    monkeypatch.setattr(module, "TREES", 1)


def made_up(number, seed=0, told="max_fisher_discrim"):
    """Return datasets whose success follows from one meta-feature, all others being noise."""
    rng = np.random.default_rng(seed)
    datasets = []
    for _ in range(number):
        n, k = int(10 ** rng.uniform(1.5, 6)), int(rng.integers(3, 20))
        point = {name: float(rng.random()) for name in NAMES}
        point.update(n=float(n), n_by_sqrt_k=n / math.sqrt(k), n_by_k=n / k)
        point["relative"] = 0.9 if point[told] < 0.4 else 0.3
        datasets.append(point)
    return datasets


def with_relative(points, relative):
    return [{**each, "relative": one} for each, one in zip(points, relative, strict=True)]


def of_table4(trees):
    """Return the published forests by their subsets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TREES", trees)
        module.published_forests.cache_clear()
        return {each.subset: each for each in published_forests()}


@pytest.fixture(scope="module")
def paper():
    """Return the published forests, of fewer trees."""
    yield of_table4(10)
    module.published_forests.cache_clear()


def test_forests_are_as_large_as_the_paper_s():
    assert PAPER_S == (100, 10, 0.7)


@pytest.mark.slow
def test_a_hundred_trees_predict_by_examples_a_class_what_the_paper_says():
    found = of_table4(100)
    module.published_forests.cache_clear()
    assert round(found[ALONE].f1, 2) == found[ALONE].published[2] == 0.79
    assert found["K>=3"].f1 == pytest.approx(0.82, abs=0.01)
    assert found[GROUPED].f1 == pytest.approx(0.74, abs=0.01)


def test_table_4_has_all_lines_of_the_file():
    first, *others = published_points()
    assert len(others) == 270
    assert first == {
        "dataset": 6,
        "n": 20000,
        "n_by_sqrt_k": pytest.approx(20000 / 26**0.5),
        "n_by_k": pytest.approx(20000 / 26),
        "relative": pytest.approx(11.4 / 53.9),
    }


def test_subsets_of_table_4_have_as_many_datasets_as_the_paper_s(paper):
    assert {name: (each.datasets, each.successes) for name, each in paper.items()} == {
        "K>=3": (271, 97),
        "N/K<=1000": (155, 17),
        "N/K<=200": (128, 10),
        ALONE: (271, 97),
        GROUPED: (271, 97),
    }
    assert {each.folds for each in paper.values()} == {10}


def test_examples_by_class_alone_predict_what_the_paper_says(paper):
    alone = paper[ALONE]
    assert alone.published == (None, None, 0.79)
    assert alone.f1 == pytest.approx(0.79, abs=0.03)
    assert alone.importances == {"n_by_k": 1}


def test_sizes_say_little_of_small_datasets_and_variants_in_one_fold_cost(paper):
    """Fisher's ratio and others are what the paper's forests have besides."""
    assert paper["K>=3"].f1 == pytest.approx(0.82, abs=0.03)
    assert paper["N/K<=1000"].f1_success < 0.3
    assert paper["N/K<=200"].f1_success < 0.3
    assert paper[GROUPED].f1 < paper["K>=3"].f1 - 0.04
    for each in paper.values():
        assert each.f1 == pytest.approx((each.f1_failure + each.f1_success) / 2)
        assert sum(each.importances.values()) == pytest.approx(1)


def test_published_forests_are_computed_once_and_can_be_changed_by_no_one(paper):
    assert isinstance(published_forests(), tuple)
    assert [each.subset for each in published_forests()] == list(paper)
    assert published_forests()[0] is paper["K>=3"]


def test_feature_that_tells_success_is_found():
    found = {each.subset: each for each in forests(made_up(80))}
    assert list(found) == ["K>=3", "N/K<=1000", "N/K<=200", ALONE, GROUPED]
    whole = found["K>=3"]
    assert list(whole.importances) == list(NAMES)
    assert max(whole.importances, key=whole.importances.get) == "max_fisher_discrim"
    # The number of examples says nothing here, with which a coin would do as well.
    assert found[ALONE].f1 < 0.65 < 0.75 < whole.f1
    assert list(found[ALONE].importances) == ["n_by_k"]
    assert {name: each.published for name, each in found.items()} == {
        "K>=3": (0.91, 0.83, 0.87),
        "N/K<=1000": (0.95, 0.46, 0.71),
        "N/K<=200": (0.97, 0.56, 0.77),
        ALONE: (None, None, 0.79),
        GROUPED: None,
    }


def test_subsets_are_by_examples_a_class_and_two_classes_are_left_out(one_tree):
    points = made_up(40)
    small = [each for each in points if each["n_by_k"] <= 200]
    medium = [each for each in points if each["n_by_k"] <= 1000]
    assert 0 < len(small) < len(medium) < 40
    binary = [{**each, "n_by_k": each["n"] / 2} for each in points[:7]]
    sizes = [each.datasets for each in forests(points + binary)]
    assert sizes == [40, len(medium), len(small), 40, 40]


def test_success_begins_at_seven_tenths(one_tree):
    points = with_relative(made_up(20), [0.7] * 8 + [np.nextafter(0.7, 0)] * 12)
    found = forest("mine", points, NAMES)
    assert (found.datasets, found.successes) == (20, 8)


def test_scores_are_of_datasets_that_were_not_seen():
    """A forest remembers noise that it has seen; of noise it has not it knows nothing."""
    rng = np.random.default_rng(0)
    points = [{name: float(rng.random()) for name in NAMES} for _ in range(60)]
    relative = rng.permutation([0.9] * 30 + [0.2] * 30)
    assert forest("noise", with_relative(points, relative), NAMES).f1 < 0.7


def test_variants_of_the_same_data_stay_in_one_fold():
    """Each dataset is there four times, and its success is a coin's."""
    rng = np.random.default_rng(1)
    points = [{"n": float(number)} for number in rng.permutation(40) for _ in range(4)]
    points = with_relative(points, np.repeat(rng.permutation([0.9] * 20 + [0.2] * 20), 4))
    assert forest("mine", points, ["n"]).f1 > 0.95
    assert forest("mine", points, ["n"], groups=[each["n"] for each in points]).f1 < 0.75


def test_there_are_fewer_folds_where_successes_are_few(one_tree):
    points = with_relative(made_up(30), [0.9] * 3 + [0.2] * 27)
    assert forest("mine", points, NAMES).folds == 3
    assert forest("mine", points, NAMES, groups=[0, 0, *range(1, 29)]).folds == 2
    assert forest("mine", with_relative(points, [0.9] * 15 + [0.2] * 15), NAMES).folds == 10


def test_too_few_of_a_kind_have_a_reason_in_the_place_of_scores():
    for relative, reason in (
        ([0.2] * 6, "needs at least 2 successes to predict one from another, has 0"),
        ([0.9] + [0.2] * 5, "needs at least 2 successes to predict one from another, has 1"),
        ([0.9] * 5 + [0.2], "needs at least 2 failures to predict one from another, has 1"),
        ([], "needs at least 2 successes to predict one from another, has 0"),
    ):
        points = with_relative(made_up(len(relative)), relative)
        found = forest("mine", points, NAMES, published=(0.1, 0.2, 0.15))
        assert (found.f1_failure, found.f1_success, found.f1) == (None, None, None)
        assert (found.reason, found.importances, found.folds) == (reason, {}, 0)
        assert (found.datasets, found.published) == (len(relative), (0.1, 0.2, 0.15))
    points = with_relative(made_up(6), [0.9] * 2 + [0.2] * 4)
    found = forest("mine", points, NAMES, groups=[0, 0, 1, 2, 3, 4])
    assert (found.f1, found.reason) == (None, "all 2 successes are variants of one dataset")
    assert [each.f1 for each in forests([])] == [None] * 5
    assert all(each.reason for each in forests(made_up(1)))


def test_large_groups_that_leave_a_fold_empty_are_predicted_all_the_same():
    points = with_relative(made_up(24), [0.9, 0.2] * 12)
    found = forest("mine", points, NAMES, groups=[0] * 20 + [1, 2, 3, 4])
    assert found.folds == 3
    assert 0 <= found.f1 <= 1


def test_same_datasets_give_the_same_forests_which_are_plain_data():
    points = made_up(30)
    found = forest("mine", points, NAMES, (0.1, 0.2, 0.15))
    again = [{"name": "mine", **dict(reversed(each.items()))} for each in points]
    assert forest("mine", again, NAMES, (0.1, 0.2, 0.15)) == found
    document = json.loads(json.dumps(asdict(found)))
    assert Forest(**{**document, "published": tuple(document["published"])}) == found


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
    assert module._read(tmp_path).features == found


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
    assert list(module._read(tmp_path).features) == [mine.datasets[0].digest]


def test_features_of_another_version_are_measured_again(tmp_path, sources, monkeypatch):
    mine = study(describe(sources[0]))
    expected = measured(mine, tmp_path)
    monkeypatch.setattr(module, "__version__", "0.0.0")
    assert module._read(tmp_path).features == {}
    assert measured(mine, tmp_path) == expected
    assert json.loads((tmp_path / FILE).read_text())["bciigl"] == "0.0.0" != __version__


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


def test_damaged_file_is_refused_with_advice_and_left_alone(tmp_path, sources):
    mine, path = study(describe(sources[0])), tmp_path / FILE
    measured(mine, tmp_path)
    whole = path.read_bytes()
    damaged = {name: damage(whole.decode()).encode() for name, damage in DAMAGE.items()}
    for name, content in {**damaged, "no text": b"\xff\xfe{"}.items():
        assert content != whole, name
        path.write_bytes(content)
        for attempt in (lambda: measured(mine, tmp_path), lambda: read_learnability(tmp_path, "")):
            with pytest.raises(StudyError) as error:
                attempt()
            expected = f"{path}: is damaged; delete it to have it made again"
            assert str(error.value) == expected, name
        assert path.read_bytes() == content


def test_what_was_found_comes_back_with_the_same_cells_alone(tmp_path):
    assert read_learnability(tmp_path, "cells") == []
    rows, about = made_up_rows(IRIS, OWN), some_features(IRIS, OWN)
    module._write(tmp_path, features=about)
    assert read_learnability(tmp_path, "cells") is None
    found = learnability(rows, about)
    keep_learnability(tmp_path, found, "cells")
    assert read_learnability(tmp_path, "cells") == found
    assert read_learnability(tmp_path, "others") is None
    assert module._read(tmp_path).features == about
    text = (tmp_path / FILE).read_text().replace('"successes": ', '"successes": "x", "y": ')
    (tmp_path / FILE).write_text(text)
    with pytest.raises(StudyError, match="is damaged"):
        read_learnability(tmp_path, "cells")


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
        assert each.datasets == [
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
    (point,) = found[2].datasets
    assert (point["dataset"], point["name"], point["n"]) == (61, "iris", 150)
    assert point["relative"] == pytest.approx(float(paper["ai_igl"]) / float(paper["cb"]))


def test_all_of_the_paper_s_sets_are_there_with_their_sizes():
    last = learnability([], {})
    assert [each.results for each in last] == [TABLE4]
    assert len(last[0].datasets) == 271
    first = last[0].datasets[0]
    assert (first["dataset"], first["n"]) == (6, 20_000)
    assert first["n_by_k"] == pytest.approx(20_000 / 26)
    assert first["relative"] == pytest.approx(11.40 / 53.90)
    assert last[0].forests[0].datasets == 271
    document = asdict(last[0])
    assert list(document) == ["results", "datasets", "forests"]
    assert json.loads(json.dumps(document)) == json.loads(json.dumps(document, allow_nan=False))


def test_datasets_that_were_not_measured_or_have_no_share_are_left_out():
    found = learnability(made_up_rows(IRIS, OWN), some_features(OWN))
    assert [each.results for each in found] == [*RULES, TABLE4]
    assert [point["dataset"] for point in found[0].datasets] == ["own"]
    without_skyline = learnability(made_up_rows(OWN, learners=("ai_igl",)), some_features(OWN))
    assert [each.datasets for each in without_skyline[:2]] == [[], []]
    without_us = learnability(made_up_rows(OWN, learners=("cb",)), some_features(OWN))
    assert [each.results for each in without_us] == [TABLE4]
