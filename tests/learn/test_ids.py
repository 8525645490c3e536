"""Learners by their ids."""

from typing import get_args

import pytest

from bciigl.learn import (
    LEARNER_IDS,
    ActionInclusiveIGL,
    ContextualBandit,
    FullConditionalIGL,
    InputError,
    SupervisedCeiling,
    make_learner,
)
from bciigl.protocol.model import LearnerId

KINDS = {
    "ai_igl": ActionInclusiveIGL,
    "ai_igl_paper": ActionInclusiveIGL,
    "igl_full_ci": FullConditionalIGL,
    "cb": ContextualBandit,
    "ceiling": SupervisedCeiling,
}


def test_every_id_makes_its_learner():
    assert tuple(KINDS) == LEARNER_IDS
    for learner_id, kind in KINDS.items():
        assert type(make_learner(learner_id)) is kind


def test_protocols_know_the_same_ids():
    assert get_args(LearnerId) == LEARNER_IDS


def test_the_papers_procedure_is_a_method_of_action_inclusive_igl():
    assert make_learner("ai_igl").method == "robust"
    assert make_learner("ai_igl_paper").method == "paper"


def test_parameters_are_passed_on():
    assert make_learner("ai_igl_paper", n_actions=4, random_state=7).get_params() == {
        "n_actions": 4,
        "one_right": True,
        "match_rate": None,
        "method": "paper",
        "random_state": 7,
    }


def test_an_unknown_id_is_refused_with_the_nearest():
    with pytest.raises(InputError, match="one of ai_igl, .* got 'ai_ilg'; did you mean 'ai_igl'"):
        make_learner("ai_ilg")
