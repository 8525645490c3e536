"""What every learner ends in: a linear policy."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bciigl.learn.diagnose import Verdict


class LinearPolicy(BaseEstimator):
    """A learner whose policy chooses the action with the highest linear score.

    Attributes
    ----------
    policy_ : array, (context features + 1, actions)
        Weights and bias of each action's score.
    context_scaling_ : Scaling
        How contexts are centred and scaled before.
    """

    def predict(self, context: np.ndarray, *, run: np.ndarray | None = None) -> np.ndarray:
        """Return the action chosen for each context, (trials,).

        Contexts are centred by the training mean, or by each run's own where `run` is given.
        """
        check_is_fitted(self)
        scaled = self.context_scaling_.check_and_apply(context, "context", run)
        return (scaled @ self.policy_[:-1] + self.policy_[-1]).argmax(axis=1)


class DiagnosedPolicy(LinearPolicy):
    """A policy learned without rewards, which says how far it can be trusted.

    Attributes
    ----------
    diagnosis_ : Verdict
        Found out while learning.
    """

    def diagnose(self) -> Verdict:
        """Return how far the learner can be trusted, found out without labels on unseen trials.

        All that was found, or a plain `Verdict` where nothing could be looked for.
        """
        check_is_fitted(self)
        return self.diagnosis_
