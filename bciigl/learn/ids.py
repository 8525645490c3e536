"""The learners by the ids that protocols, tables and commands use."""

from typing import Any

from sklearn.base import BaseEstimator

from bciigl.base.errors import did_you_mean
from bciigl.learn.action_inclusive import ActionInclusiveIGL
from bciigl.learn.bandit import ContextualBandit
from bciigl.learn.ceiling import SupervisedCeiling
from bciigl.learn.full_conditional import FullConditionalIGL
from bciigl.learn.interactions import InputError

LEARNER_IDS = ("ai_igl", "ai_igl_paper", "igl_full_ci", "cb", "ceiling")


def make_learner(learner_id: str, **parameters: Any) -> BaseEstimator:
    """Return a learner that has learned nothing yet.

    Parameters
    ----------
    learner_id : str
        ``ai_igl``, ``ai_igl_paper``, ``igl_full_ci``, ``cb`` or ``ceiling``.
    **parameters
        Of the learner, such as ``n_actions``.
    """
    if learner_id == "ai_igl_paper":
        return ActionInclusiveIGL(method="paper", **parameters)
    kinds = {
        "ai_igl": ActionInclusiveIGL,
        "igl_full_ci": FullConditionalIGL,
        "cb": ContextualBandit,
        "ceiling": SupervisedCeiling,
    }
    if learner_id not in kinds:
        near = did_you_mean(learner_id, LEARNER_IDS)
        raise InputError(
            f"learner must be one of {', '.join(LEARNER_IDS)}, got {learner_id!r}{near}"
        )
    return kinds[learner_id](**parameters)
