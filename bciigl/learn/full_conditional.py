"""IGL under full conditional independence: the method that action-inclusive feedback defeats."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bciigl.base.registry import Specification
from bciigl.learn.decoded_return import Search, maximise
from bciigl.learn.diagnose import DO_NOT_USE, DOUBTFUL, TRUST, Verdict, too_few_trials
from bciigl.learn.interactions import Prepared, Scalings, generator
from bciigl.learn.policy import DiagnosedPolicy

# Held-out objective from which on the reward is said to have been found: the truth's is
# 1 - 1 / actions, chance has 0.
CONVINCING = 0.3
# A constant policy that reaches this share of the objective might be as good as any.
RIVAL = 0.8


@dataclass(frozen=True)
class FullConditionalDiagnosis(Verdict):
    """How far the method's assumptions hold: not if a constant policy comes near the best."""

    objective: float  # at the solution, on the trials it was learned from
    held_out_objective: float  # of the best restart, on the half of the trials it had not seen
    constant_objective: float  # the same of the best restart that ended in a constant policy


class FullConditionalIGL(DiagnosedPolicy):
    """Policy and decoder by the decoded return (Xie et al. 2021), for feedback without the action.

    Assumes that feedback depends on the reward alone. Where it also depends on the action, a
    constant policy with a decoder of that action is as good by its objective as the truth is.

    Parameters
    ----------
    n_actions : int, optional
        How many actions there are; by default one more than the largest in the data.
    random_state : int
        Of the restarts.

    Attributes
    ----------
    policy_ : array, (context features + 1, n_actions)
        Weights and bias of each action's score.
    decoder_ : array, (feedback features + 1,)
        Weights and bias; above 0 is a reward.
    objective_ : float
        Of policy and decoder on the training trials.
    restart_objectives_ : array
        Of each restart on the half of the trials that it had not seen.

    References
    ----------
    .. [1] T. Xie, J. Langford, P. Mineiro, I. Momennejad, "Interaction-Grounded Learning",
       ICML 2021.
    """

    _learned = {"policy_": "ca", "decoder_": "f", "objective_": "", "restart_objectives_": "?"}
    _diagnoses = (FullConditionalDiagnosis, Verdict)

    def __init__(self, n_actions: int | None = None, random_state: int = 0) -> None:
        self.n_actions = n_actions
        self.random_state = random_state

    def _learn(self, data: Prepared) -> None:
        scalings = Scalings.of(data)
        data = scalings.apply(data)
        found = maximise(data, generator(self.random_state))
        self.context_scaling_, self.feedback_scaling_ = scalings
        self.policy_, self.decoder_ = found.solution
        self.objective_, self.restart_objectives_ = found.objective, found.held_out
        self.diagnosis_ = _diagnosed(found, data)

    def decode(
        self, feedback: np.ndarray, action: object = None, *, run: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the decoded reward, 0 or 1, of each feedback, (trials,); `action` is not used."""
        check_is_fitted(self)
        scaled = self.feedback_scaling_.check_and_apply(feedback, "feedback", run)
        return (scaled @ self.decoder_[:-1] + self.decoder_[-1] > 0).astype(float)


FULL_CI = Specification(
    "igl_full_ci",
    FullConditionalIGL,
    "IGL under full independence, no labels",
    "by interaction-grounded learning under full conditional independence (Xie et al., 2021)",
    published_as="igl_full_ci",
    style={"color": "#009e73", "marker": "D", "linestyle": (0, (1, 1))},
)


def _diagnosed(found: Search, data: Prepared) -> Verdict:
    if not len(found.held_out):
        return too_few_trials(data)
    best = float(found.held_out.max())
    # Three standard errors of the objective that a policy by chance would have.
    chance = 3 * np.sqrt((data.n_actions - 1) / data.trials)
    rival = float(found.held_out[found.constant].max(initial=0.0))
    unseen = "on trials it had not seen"
    if best < CONVINCING + chance:
        verdict = DOUBTFUL, f"{unseen} the objective is {best:.2f} only.", "Record more trials."
    elif rival > RIVAL * best:
        verdict = (
            DO_NOT_USE,
            f"{unseen} a constant policy has an objective of {rival:.2f}, the best one {best:.2f}: "
            "feedback tells the action, and which is right cannot be known.",
            "Use action-inclusive IGL (ai_igl).",
        )
    else:
        others = f"no constant policy has more than {rival:.2f}."
        verdict = TRUST, f"{unseen} the objective is {best:.2f}, and {others}", ""
    return FullConditionalDiagnosis(*verdict, found.objective, best, rival)
