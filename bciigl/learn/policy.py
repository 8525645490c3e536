"""What every learner ends in: a linear policy."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted


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
