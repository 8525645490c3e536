"""Perception transfer: imagining an option resembles seeing it, so feedback teaches contexts."""

import numpy as np

from bciigl.base.registry import Specification
from bciigl.learn.diagnose import DOUBTFUL, Verdict
from bciigl.learn.interactions import Scalings, prepare
from bciigl.learn.policy import DiagnosedPolicy


class PerceptionTransfer(DiagnosedPolicy):
    """Chooses the option whose mean feedback is nearest to the context; no judgment is read."""

    def __init__(self, n_actions=None):
        self.n_actions = n_actions

    def fit(self, context, action, feedback, *, propensity=None, run=None, catch=None):
        """Learn from recorded interactions."""
        data = prepare(
            context, action, feedback, propensity=propensity, run=run, catch=catch,
            n_actions=self.n_actions,
        )  # fmt: skip
        scalings = Scalings.of(data)
        self.context_scaling_, self.feedback_scaling_ = scalings
        scaled = scalings.apply(data)
        acted = np.eye(data.n_actions)[data.action]
        means = acted.T @ scaled.feedback / np.maximum(acted.sum(axis=0), 1)[:, None]
        self.policy_ = np.vstack([means.T, -0.5 * (means**2).sum(axis=1)])
        self.diagnosis_ = Verdict(DOUBTFUL, "it never looks at the judgment.", "")
        self.n_actions_, self.n_features_in_ = data.n_actions, data.context.shape[1]
        return self

    def decode(self, feedback, action, *, run=None):
        """Return what is expected of uniform guesses."""
        return np.full(len(action), 1 / self.n_actions_)


PERCEPTION_TRANSFER = Specification(
    "perception_transfer",
    PerceptionTransfer,
    "perception transfer, no labels",
    "by perception transfer",
)
