"""The supervised ceiling is a classifier of scikit-learn in every respect."""

import numpy as np
import pytest
from interactions import session
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

from bciigl.learn import InputError, SupervisedCeiling


@pytest.mark.slow
def test_it_passes_the_checks_of_scikit_learn():
    check_estimator(SupervisedCeiling(), on_skip=None)


def test_it_is_nearly_always_right_about_clear_contexts():
    told, fresh = session(0), session(1)
    ceiling = SupervisedCeiling().fit(told.context, told.right.argmax(axis=1), run=told.run)
    # two means 4 * sqrt(2) apart are confused in 0.2 % of trials
    assert fresh.accuracy(ceiling) > 0.98


def test_offsets_of_runs_do_not_matter_where_runs_are_given():
    calm, shifted = session(0), session(0, offset=20)
    chosen = [
        SupervisedCeiling()
        .fit(each.context, each.right.argmax(axis=1), run=each.run)
        .predict(each.context, run=each.run)
        for each in (calm, shifted)
    ]
    np.testing.assert_array_equal(*chosen)


@pytest.mark.parametrize(
    ("law", "kind"), [("gaussian", LinearDiscriminantAnalysis), ("heavy", LogisticRegression)]
)
def test_the_classifier_is_the_one_that_suits_the_noise(law, kind):
    rng = np.random.default_rng(0)
    label = np.arange(400) % 2
    if law == "gaussian":
        # strong noise that both features share: only large weights can take it away
        shared = 20 * rng.standard_normal((400, 1))
        context = shared + rng.standard_normal((400, 2)) + np.outer(label, [3, 0])
    else:
        # few extreme values ruin means, and leave most of a logistic regression alone
        context = rng.standard_t(1.1, (400, 3)) + 3 * label[:, None]
    ceiling = SupervisedCeiling().fit(context, label)
    assert isinstance(ceiling.classifier_, kind)


def test_few_labels_of_a_class_leave_nothing_to_choose_by():
    rng = np.random.default_rng(0)
    ceiling = SupervisedCeiling().fit(rng.standard_normal((40, 2)), [0] * 35 + [1] * 5)
    assert isinstance(ceiling.classifier_, LinearDiscriminantAnalysis)


def test_labels_may_be_words():
    told = session(0)
    words = np.array(["seven", "eight", "nine"])[told.right.argmax(axis=1)]
    ceiling = SupervisedCeiling().fit(told.context, words)
    assert np.mean(ceiling.predict(told.context) == words) > 0.97


@pytest.mark.parametrize("label", [[0] * 10 + [1] * 40, [0] * 50 + [1] * 12, [0] * 9 + [1] * 41])
def test_labels_in_order_are_borne(label):
    # stretches of 10 or so are the folds: without one of them, a class is missing
    context = np.random.default_rng(0).standard_normal((len(label), 3))
    context[:, 0] += 10 * np.array(label)
    ceiling = SupervisedCeiling().fit(context, label)
    assert isinstance(ceiling.classifier_, LinearDiscriminantAnalysis)
    assert ceiling.predict(context).tolist() == label


def test_one_class_is_refused():
    with pytest.raises(InputError, match="2 classes or more, got 1 class: 2"):
        SupervisedCeiling().fit(np.ones((4, 1)), [2, 2, 2, 2])
