"""Perception transfer: decoding what is imagined by what it looks like to see it.

Feedback is evoked by the guess that is shown, and which guess that was is known. A classifier of
the guess from the feedback, applied to contexts, decodes imagination as far as imagining an option
resembles seeing it. It reads no judgment, so it is the baseline of all that do.
"""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bciigl.base.registry import Specification
from bciigl.learn.bandit import without_never_taken
from bciigl.learn.diagnose import DOUBTFUL, Verdict
from bciigl.learn.interactions import InputError, Prepared, Scaling, check_matrix, less_means
from bciigl.learn.mixture import Whitening
from bciigl.learn.policy import DiagnosedPolicy


class PerceptionTransfer(DiagnosedPolicy):
    """A classifier of the guess from the feedback, applied to contexts.

    Parameters
    ----------
    n_actions : int, optional
        How many actions there are; by default one more than the largest in the data.

    Attributes
    ----------
    policy_ : array, (features + 1, n_actions)
        Weights and bias of each action's score.

    Examples
    --------
    >>> import bciigl
    >>> train, truth = bciigl.simulate("number_guessing", trials=92).dataset.sessions["train"]
    >>> learner = bciigl.PerceptionTransfer()
    >>> learner = learner.fit(train.context, train.action, train.feedback, run=train.run)
    >>> learner.predict_proba(train.context, run=train.run).shape
    (92, 3)
    """

    def __init__(self, n_actions: int | None = None) -> None:
        self.n_actions = n_actions

    def _learn(self, data: Prepared) -> None:
        features, others = data.context.shape[1], data.feedback.shape[1]
        if features != others:
            raise InputError(
                "contexts and feedback must have the same features, the same voxels, to transfer "
                f"from one to the other, got {features} and {others}"
            )
        # What is learned from feedback must be in the units of contexts: those of the data.
        scaling = Scaling.of(data.context, data.run)
        self.context_scaling_ = scaling._replace(scale=np.where(np.isinf(scaling.scale), np.inf, 1))
        feedback = Scaling.of(data.feedback, data.run)._replace(scale=np.ones(features))
        seen = feedback.apply(data.feedback, data.run)
        noise = Whitening.of(less_means(seen, data.action)).matrix
        means = data.means(seen).T
        weights = noise @ (noise.T @ (means - means.mean(axis=1, keepdims=True)))
        policy = np.vstack([weights, np.zeros(data.n_actions)])
        self.policy_ = without_never_taken(policy, data.action)
        self.diagnosis_ = Verdict(
            DOUBTFUL,
            "it reads no judgment: it is right as far as imagining an option resembles seeing it, "
            "and nothing here tells how far that is.",
            "Compare it with AI-IGL, which reads judgments.",
        )

    def decode(
        self, feedback: np.ndarray, action: np.ndarray, *, run: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the same probability of reward for all trials, (trials,): no judgment is read."""
        check_is_fitted(self)
        return np.full(len(check_matrix(feedback, "feedback")), 1 / self.n_actions_)


TRANSFER = Specification(
    "transfer",
    PerceptionTransfer,
    "perception transfer, no labels",
    "by a classifier of the guess from the feedback, applied to contexts, which reads no judgment",
    same_features=True,
    style={"color": "#56b4e9", "marker": "P", "linestyle": (0, (5, 1))},
)
