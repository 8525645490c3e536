"""Forests that tell successes by meta-features, on published and on made-up datasets."""

import csv
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bciigl.base.errors import BciiglError
from bciigl.labelled import learnable as module
from bciigl.labelled.learnable import (
    ALONE,
    GROUPED,
    SUCCESS,
    Forest,
    forest,
    learnable,
    published_f1,
    published_forests,
    published_table4,
)
from bciigl.labelled.meta_features import NAMES

DATA = Path(__file__).parents[2] / "data"
PAPER_S = (module.TREES, module.FOLDS, SUCCESS)  # before any test changes them


@pytest.fixture(autouse=True, scope="module")
def few_trees():
    """Grow fewer trees, which are enough here: the paper's 100 take long."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch.setattr(module, "TREES", 10)


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


def features_of(points, *names):
    return [{name: each[name] for name in names or NAMES} for each in points]


def relative_of(points):
    return [each["relative"] for each in points]


def of_table4(trees):
    """Return the published forests by their subsets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TREES", trees)
        module._of_table4.cache_clear()
        return {each.subset: each for each in published_forests()}


@pytest.fixture(scope="module")
def paper():
    """Return the published forests, of fewer trees."""
    yield of_table4(20)
    module._of_table4.cache_clear()


def test_forests_are_as_large_as_the_paper_s():
    assert PAPER_S == (100, 10, 0.7)


@pytest.mark.slow
def test_a_hundred_trees_predict_by_examples_a_class_what_the_paper_says():
    forests = of_table4(100)
    module._of_table4.cache_clear()
    assert round(forests[ALONE].f1, 2) == forests[ALONE].published[2] == 0.79
    assert forests["K>=3"].f1 == pytest.approx(0.82, abs=0.01)
    assert forests[GROUPED].f1 == pytest.approx(0.74, abs=0.01)


def test_table_4_has_all_lines_of_the_file():
    lines = list(csv.DictReader((DATA / "table4.csv").read_text().splitlines()))
    table = published_table4()
    assert len(table) == len(lines) == 271
    for each, line in zip(table, lines, strict=True):
        assert {name: float(text) for name, text in line.items()} == each._asdict()
    assert len({each.openml_id for each in table}) == 271
    first = table[0]
    assert (first.openml_id, first.n, first.k, first.cb, first.ai_igl) == (6, 20000, 26, 53.9, 11.4)
    assert first.relative == pytest.approx(11.4 / 53.9)
    assert first.as_point() == {
        "n": 20000,
        "n_by_sqrt_k": pytest.approx(20000 / 26**0.5),
        "n_by_k": pytest.approx(20000 / 26),
        "relative": first.relative,
    }


def test_published_f1_are_the_paper_s():
    assert published_f1() == {
        "K>=3": (0.91, 0.83, 0.87),
        "N/K<=1000": (0.95, 0.46, 0.71),
        "N/K<=200": (0.97, 0.56, 0.77),
        "K>=3, n_by_k alone": (None, None, 0.79),
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
    published_forests().clear()
    assert [each.subset for each in published_forests()] == list(paper)
    assert published_forests()[0] is paper["K>=3"]


def test_feature_that_tells_success_is_found():
    forests = {each.subset: each for each in learnable(made_up(80))}
    assert list(forests) == ["K>=3", "N/K<=1000", "N/K<=200", ALONE, GROUPED]
    whole = forests["K>=3"]
    assert list(whole.importances) == list(NAMES)
    assert max(whole.importances, key=whole.importances.get) == "max_fisher_discrim"
    # The number of examples says nothing here, with which a coin would do as well.
    assert forests[ALONE].f1 < 0.65 < 0.75 < whole.f1
    assert list(forests[ALONE].importances) == ["n_by_k"]
    assert {name: each.published for name, each in forests.items()} == {
        **published_f1(),
        GROUPED: None,
    }


def test_subsets_are_by_examples_a_class_and_two_classes_are_left_out():
    points = made_up(40)
    small = [each for each in points if each["n_by_k"] <= 200]
    medium = [each for each in points if each["n_by_k"] <= 1000]
    assert 0 < len(small) < len(medium) < 40
    binary = [{**each, "n_by_k": each["n"] / 2} for each in points[:7]]
    sizes = [each.datasets for each in learnable(points + binary)]
    assert sizes == [40, len(medium), len(small), 40, 40]


def test_other_fields_of_datasets_are_ignored():
    points = made_up(15)
    named = [{"name": "mine", "note": None, **each} for each in points]
    assert learnable(named) == learnable(points)


def test_success_begins_at_seven_tenths():
    points = made_up(20)
    found = forest("mine", features_of(points), [0.7] * 8 + [np.nextafter(0.7, 0)] * 12)
    assert (found.datasets, found.successes) == (20, 8)


def test_scores_are_of_datasets_that_were_not_seen():
    """A forest remembers noise that it has seen; of noise it has not it knows nothing."""
    rng = np.random.default_rng(0)
    points = [{name: float(rng.random()) for name in NAMES} for _ in range(60)]
    found = forest("noise", points, rng.permutation([0.9] * 30 + [0.2] * 30))
    assert found.f1 < 0.7


def test_variants_of_the_same_data_stay_in_one_fold():
    """Each dataset is there four times, and its success is a coin's."""
    rng = np.random.default_rng(1)
    points = [{"n": float(number)} for number in rng.permutation(40) for _ in range(4)]
    relative = np.repeat(rng.permutation([0.9] * 20 + [0.2] * 20), 4)
    apart = forest("mine", points, relative)
    together = forest("mine", points, relative, groups=[each["n"] for each in points])
    assert apart.f1 > 0.95
    assert together.f1 < 0.75


def test_there_are_fewer_folds_where_successes_are_few():
    points = made_up(30)
    relative = [0.9] * 3 + [0.2] * 27
    assert forest("mine", features_of(points), relative).folds == 3
    assert forest("mine", features_of(points), relative, groups=[0, 0, *range(1, 29)]).folds == 2
    assert forest("mine", features_of(points), [0.9] * 15 + [0.2] * 15).folds == 10


@pytest.mark.parametrize(
    ("relative", "reason"),
    [
        ([0.2] * 6, "needs at least 2 successes to predict one from another, has 0"),
        ([0.9] + [0.2] * 5, "needs at least 2 successes to predict one from another, has 1"),
        ([0.9] * 5 + [0.2], "needs at least 2 failures to predict one from another, has 1"),
        ([], "needs at least 2 successes to predict one from another, has 0"),
    ],
)
def test_too_few_of_a_kind_have_a_reason_in_the_place_of_scores(relative, reason):
    points = made_up(len(relative))
    found = forest("mine", features_of(points), relative, published=(0.1, 0.2, 0.15))
    assert (found.f1_failure, found.f1_success, found.f1) == (None, None, None)
    assert (found.reason, found.importances, found.folds) == (reason, {}, 0)
    assert (found.datasets, found.published) == (len(relative), (0.1, 0.2, 0.15))


def test_successes_that_are_variants_of_one_dataset_cannot_be_predicted():
    points = made_up(6)
    relative = [0.9] * 2 + [0.2] * 4
    found = forest("mine", features_of(points), relative, groups=[0, 0, 1, 2, 3, 4])
    assert (found.f1, found.reason) == (None, "all 2 successes are variants of one dataset")


def test_few_datasets_have_all_forests_with_reasons():
    assert [each.f1 for each in learnable([])] == [None] * 5
    assert all(each.reason for each in learnable(made_up(1)))


def test_large_groups_that_leave_a_fold_empty_are_predicted_all_the_same():
    points = made_up(24)
    groups = [0] * 20 + [1, 2, 3, 4]
    found = forest("mine", features_of(points), [0.9, 0.2] * 12, groups=groups)
    assert found.folds == 3
    assert 0 <= found.f1 <= 1


def test_same_datasets_give_the_same_forests_and_the_order_of_fields_is_nothing():
    points = made_up(30)
    found = forest("mine", features_of(points), relative_of(points))
    again = features_of(points)
    again[3] = dict(reversed(again[3].items()))
    assert forest("mine", again, relative_of(points)) == found


def test_forests_are_plain_data():
    (found, *_) = learnable(made_up(15))
    document = json.loads(json.dumps(found.as_dict()))
    assert Forest(**{**document, "published": tuple(document["published"])}) == found
    empty = replace(found, published=None, f1=None).as_dict()
    assert (empty["published"], empty["f1"]) == (None, None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"relative": math.nan}, "of dataset 2 should be a finite number, got nan"),
        ({"relative": math.inf}, "relative performance of dataset 2 should be .* got inf"),
        ({"pca_dims_95": math.inf}, "dataset 2: pca_dims_95 should be a finite number, got inf"),
        ({"n_by_k": 0.0}, "dataset 2: n_by_k should be greater than 0, got 0.0"),
        ({"n": math.nan}, "dataset 2: n should be greater than 0, got nan"),
    ],
)  # fmt: skip
def test_numbers_that_cannot_be_are_refused(change, message):
    points = made_up(12)
    points[1] = {**points[1], **change}
    with pytest.raises(BciiglError, match=message):
        learnable(points)


def test_missing_meta_features_are_named_with_the_nearest_spelling():
    points = made_up(12)
    points[4]["pca_dim_95"] = points[4].pop("pca_dims_95")
    with pytest.raises(BciiglError, match="dataset 5 should have 'pca_dims_95'.*'pca_dim_95'"):
        learnable(points)
    features = features_of(made_up(12), "n", "n_by_k")
    features[3]["n2"] = features[3].pop("n")
    with pytest.raises(
        BciiglError, match="dataset 4 should have the meta-features of the first; 'n'"
    ):
        forest("mine", features, [0.9, 0.1] * 6)


def test_one_relative_performance_is_needed_for_each_dataset():
    with pytest.raises(BciiglError, match="mine: should have one .* for each of 5 datasets, got 4"):
        forest("mine", features_of(made_up(5)), [0.5] * 4)
