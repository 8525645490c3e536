"""IGL under full conditional independence: the method that action-inclusive feedback defeats."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bciigl.base.registry import Specification
from bciigl.learn.decoded_return import CONSTANT_STARTS, maximise
from bciigl.learn.diagnose import DO_NOT_USE, DOUBTFUL, TRUST, Verdict, too_few_trials
from bciigl.learn.interactions import Prepared, Scalings, generator
from bciigl.learn.policy import DiagnosedPolicy

# Held-out objective that, surely exceeded, tells that the reward was found; chance has 0.
CONVINCING = 0.2
# A constant policy that reaches this share of the best objective might be as good as any.
RIVAL = 0.65


@dataclass(frozen=True)
class FullConditionalDiagnosis(Verdict):
    """How far the method's assumptions hold: not if a constant policy comes near the best."""

    objective: float  # at the solution, on the trials it was learned from
    held_out_objective: float  # of the best start, on trials it had not climbed on
    constant_objective: float  # the same of the best constant policy


class FullConditionalIGL(DiagnosedPolicy):
    """Policy and decoder by the decoded return, for feedback without the action.

    See T. Xie, J. Langford, P. Mineiro, I. Momennejad, "Interaction-Grounded Learning", ICML 2021.
    Assumes that feedback depends on the reward alone. Where it also depends on the action, a
    constant policy with a decoder of that action is as good by its objective as the truth is.

    Parameters
    ----------
    n_actions : int, optional
        How many actions there are; by default one more than the largest in the data.
    random_state : int
        Of the trials that starts climb on.

    Attributes
    ----------
    policy_ : array, (context features + 1, n_actions)
        Weights and bias of each action's score.
    decoder_ : array, (feedback features + 1,)
        Weights and bias; above 0 is a reward.
    objective_ : float
        Of policy and decoder on the training trials.
    restart_objectives_ : array
        Of each start on trials it had not climbed on; the first are of constant policies.

    Examples
    --------
    >>> import bciigl
    >>> train, truth = bciigl.simulate("number_guessing", trials=92).dataset.sessions["train"]
    >>> learner = bciigl.FullConditionalIGL()
    >>> learner.fit(train.context, train.action, train.feedback, run=train.run).diagnosis_.verdict
    'doubtful'
    """

    _learned = {"policy_": "ca", "decoder_": "f", "objective_": "", "restart_objectives_": "?"}
    _diagnoses: ClassVar[tuple[type[Verdict], ...]] = (FullConditionalDiagnosis, Verdict)

    def __init__(self, n_actions: int | None = None, random_state: int = 0) -> None:
        self.n_actions = n_actions
        self.random_state = random_state

    def _learn(self, data: Prepared) -> None:
        self.context_scaling_, self.feedback_scaling_ = scalings = Scalings.of(data)
        scaled, ones = scalings.apply(data), np.ones((data.trials, 1))
        context, feedback = np.hstack([scaled.context, ones]), np.hstack([scaled.feedback, ones])
        data = data._replace(context=context, feedback=feedback)
        best, held_out = maximise(data, generator(self.random_state))
        self.policy_, self.decoder_ = best
        self.objective_, self.restart_objectives_ = best.objective(data), held_out
        self.diagnosis_ = _diagnosed(self.objective_, held_out, data)

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
    "full-CI IGL, no labels",
    "by interaction-grounded learning under full conditional independence (Xie et al., 2021)",
    published_as="igl_full_ci",
    style={"color": "#009e73", "marker": "D", "linestyle": (0, (1, 1))},
)


def _diagnosed(objective: float, held_out: np.ndarray, data: Prepared) -> Verdict:
    if not len(held_out):
        return too_few_trials(data)
    constant = held_out[: min(CONSTANT_STARTS, data.n_actions)]
    best, rival = float(held_out.max()), float(constant.max(initial=0.0))
    unseen = "on trials it had not seen"
    # Surely: by three standard errors that the objective of chance would have in half the trials.
    if best < CONVINCING + 3 * np.sqrt(2 * (data.n_actions - 1) / data.trials):
        verdict = DOUBTFUL, f"{unseen} the objective is {best:.2f} only.", "Record more trials."
    elif rival > RIVAL * best:
        found = f"a constant policy has an objective of {rival:.2f}, the best one {best:.2f}"
        why = "feedback tells the action, and which is right cannot be known."
        verdict = DO_NOT_USE, f"{unseen} {found}: {why}", "Use action-inclusive IGL (AI-IGL)."
    else:
        others = f"no constant policy has more than {rival:.2f}."
        verdict = TRUST, f"{unseen} the objective is {best:.2f}, and {others}", ""
    return FullConditionalDiagnosis(*verdict, objective, best, rival)
