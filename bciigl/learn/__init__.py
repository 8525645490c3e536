"""What can be learned with no reward? Learners that see arrays only.

`bciigl.learn(...)`, called, is `bciigl.api.learn`.
"""

import sys

from bciigl.base.callable_package import CallablePackage
from bciigl.learn.action_inclusive import ActionInclusiveIGL
from bciigl.learn.bandit import ContextualBandit
from bciigl.learn.ceiling import SupervisedCeiling
from bciigl.learn.diagnose import Diagnosis, Verdict
from bciigl.learn.full_conditional import FullConditionalIGL
from bciigl.learn.interactions import InputError
from bciigl.learn.persistence import load_learner, save_learner
from bciigl.learn.transfer import PerceptionTransfer

__all__ = [
    "ActionInclusiveIGL",
    "ContextualBandit",
    "Diagnosis",
    "FullConditionalIGL",
    "InputError",
    "PerceptionTransfer",
    "SupervisedCeiling",
    "Verdict",
    "load_learner",
    "save_learner",
]

sys.modules[__name__].__class__ = CallablePackage
