"""What all learners have in common: they are estimators of scikit-learn."""

import warnings
from functools import cache

import numpy as np
import pytest
from interactions import session
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bciigl.base.registry import LEARNERS

TOLD = session(trials=240)
IDS = [each.id for each in LEARNERS.usual()]
"""Those that take no minutes; see test_network_igl.py for the others."""


def given(learner_id, told=TOLD):
    """Return what the learner's fit takes, in its order."""
    if learner_id == "ceiling":
        return told.context, told.right.argmax(axis=1)
    if learner_id == "cb":
        return told.context, told.action, told.reward.astype(float)
    return told.seen


@cache
def fitted(learner_id):
    """Return a learner that has learned; not to be changed."""
    return LEARNERS.get(learner_id).make().fit(*given(learner_id))


def fitted_values(learner):
    return {name: value for name, value in vars(learner).items() if name.endswith("_")}


@pytest.fixture(params=IDS)
def learner_id(request):
    return request.param


def test_init_only_assigns(learner_id):
    learner = LEARNERS.get(learner_id).make()
    assert vars(learner) == learner.get_params()
    odd = {name: object() for name in learner.get_params()}
    learner.set_params(**odd)
    assert learner.get_params() == odd
    assert type(learner)(**odd).get_params() == odd


def test_clone_and_repr_work(learner_id):
    learner = fitted(learner_id)
    copy = clone(learner)
    assert copy.get_params() == learner.get_params()
    assert not fitted_values(copy)
    assert type(learner).__name__ in repr(learner)


def test_fit_returns_the_learner_and_leaves_its_inputs_and_parameters_alone(learner_id):
    arrays = [each.copy() for each in given(learner_id)]
    run = TOLD.run.copy()
    learner = LEARNERS.get(learner_id).make()
    before = learner.get_params()
    assert learner.fit(*arrays, run=run) is learner
    assert learner.get_params() == before
    for changed, original in zip([*arrays, run], [*given(learner_id), TOLD.run], strict=True):
        np.testing.assert_array_equal(changed, original)


def test_what_fit_adds_ends_in_an_underscore(learner_id):
    learner = fitted(learner_id)
    added = set(vars(learner)) - set(vars(LEARNERS.get(learner_id).make()))
    assert added
    assert all(name.endswith("_") and not name.startswith("_") for name in added)
    assert learner.n_features_in_ == 8


def test_a_learner_that_has_learned_nothing_says_so(learner_id):
    learner = LEARNERS.get(learner_id).make()
    with pytest.raises(NotFittedError):
        learner.predict(TOLD.context)
    for name, arguments in (("decode", (TOLD.feedback, TOLD.action)), ("diagnose", ())):
        if hasattr(learner, name):
            with pytest.raises(NotFittedError):
                getattr(learner, name)(*arguments)


def test_another_number_of_features_is_refused(learner_id):
    learner = fitted(learner_id)
    with pytest.raises(ValueError, match="8 features"):
        learner.predict(TOLD.context[:, :5])


def test_choices_are_actions_one_for_each_context(learner_id):
    learner = fitted(learner_id)
    for run in (None, TOLD.run):
        choice = learner.predict(TOLD.context, run=run)
        assert choice.shape == (240,)
        assert set(choice) <= {0, 1, 2}
    assert learner.predict(TOLD.context[:1]).shape == (1,)


def test_learning_again_forgets(learner_id):
    other = session(5, trials=200, subject=3, features=6, n_actions=4)
    once = fitted(learner_id)
    twice = LEARNERS.get(learner_id).make().fit(*given(learner_id, other)).fit(*given(learner_id))
    assert fitted_values(once).keys() == fitted_values(twice).keys()
    np.testing.assert_array_equal(once.predict(TOLD.context), twice.predict(TOLD.context))
    if hasattr(once, "policy_"):
        np.testing.assert_array_equal(once.policy_, twice.policy_)


def test_lists_and_single_precision_will_do(learner_id):
    arrays = given(learner_id)
    learner = LEARNERS.get(learner_id).make().fit(*(each.tolist() for each in arrays))
    expected = fitted(learner_id).predict(TOLD.context)
    np.testing.assert_array_equal(learner.predict(TOLD.context.tolist()), expected)
    single = [each.astype("float32") if each.dtype == float else each for each in arrays]
    assert LEARNERS.get(learner_id).make().fit(*single).predict(TOLD.context).shape == (240,)


@pytest.mark.parametrize("learner_id", [each for each in IDS if each != "ceiling"])
def test_there_are_as_many_actions_as_told(learner_id):
    learner = LEARNERS.get(learner_id).make(n_actions=5).fit(*given(learner_id))
    assert learner.n_actions_ == 5
    assert learner.policy_.shape == (9, 5)
    assert set(learner.predict(TOLD.context)) <= {0, 1, 2}


def test_learning_raises_no_warning(learner_id):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LEARNERS.get(learner_id).make().fit(*given(learner_id), run=TOLD.run).predict(TOLD.context)


def test_probabilities_are_highest_for_the_choice_and_scores_are_shares(learner_id):
    learner = LEARNERS.get(learner_id).make().fit(*given(learner_id), run=TOLD.run)
    label = TOLD.right.argmax(axis=1)
    for run in (None, TOLD.run):
        probability, chosen = (
            find(TOLD.context, run=run) for find in (learner.predict_proba, learner.predict)
        )
        assert probability.shape == (240, 3)
        np.testing.assert_allclose(probability.sum(axis=1), 1)
        np.testing.assert_array_equal(probability.argmax(axis=1), chosen)
        assert learner.score(TOLD.context, label, run=run) == np.mean(chosen == label)
    with pytest.raises(ValueError, match="240"):
        learner.score(TOLD.context, label[1:])
