"""
A learner of your own
=====================

Learners are scikit-learn estimators. This one clusters the contexts, without looking at a single
judgment, and names each cluster by the guess whose feedback it resembles most.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.mixture import GaussianMixture

import bciigl


class ClusteredContexts(ClassifierMixin, BaseEstimator):
    """Clusters of contexts, named by what seeing each option evokes."""

    def fit(self, context, action, feedback, *, propensity=None, run=None, catch=None):
        """Learn from recorded interactions."""
        self.classes_ = np.unique(action)
        seen = np.array([feedback[action == each].mean(axis=0) for each in self.classes_])
        self.mixture_ = GaussianMixture(
            len(seen), covariance_type="spherical", n_init=10, random_state=0
        ).fit(context)
        found = self.mixture_.means_ - self.mixture_.means_.mean(axis=0)
        self.order_ = linear_sum_assignment(-(seen - seen.mean(axis=0)) @ found.T)[1]
        return self

    def predict_proba(self, context):
        """Return the probability of each option."""
        return self.mixture_.predict_proba(context)[:, self.order_]

    def predict(self, context):
        """Return the most probable option."""
        return self.classes_[self.predict_proba(context).argmax(axis=1)]


# %%
# It learns from the same sessions as AI-IGL, which reads the judgments: one scanner hour of people
# whose imagination resembles seeing more or less.

similarities = (0.0, 0.2, 0.4, 0.6, 0.89)
accuracy = {"AI-IGL": [], "clusters of contexts": []}
for similarity in similarities:
    session = bciigl.simulate(
        "number_guessing", noise=1.0, trials=138, changes={"brain.similarity": similarity}
    )
    train, test = session.dataset.sessions["train"], session.dataset.sessions["test"]
    seen = train.interactions
    mine = ClusteredContexts().fit(seen.context, seen.action, seen.feedback)
    right = mine.predict(test.interactions.context) == test.truth.meant
    accuracy["clusters of contexts"].append(100 * right.mean())
    accuracy["AI-IGL"].append(bciigl.learn(session, ["ai_igl"]).accuracy)

# %%
figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
for (name, values), color in zip(accuracy.items(), ("#d55e00", "#0072b2"), strict=True):
    ax.plot(similarities, values, "o-", color=color, label=name)
ax.axhline(100 / 3, color="black", linestyle=":", label="chance")
ax.set(
    xlabel="correlation of imagining an option with seeing it",
    ylabel="test trials right (%)",
    ylim=(0, 105),
)
ax.set_title("Without judgments, clusters get their names only if imagining resembles seeing")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
