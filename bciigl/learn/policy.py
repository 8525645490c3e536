"""What every learner ends in: a linear policy."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bciigl.base.threads import one_thread
from bciigl.learn.diagnose import Verdict, refuse_adaptive
from bciigl.learn.interactions import check_whole, prepare
from bciigl.learn.mixture import softmax


class LinearPolicy(BaseEstimator):
    """A learner whose policy chooses the action with the highest linear score.

    A subclass sets `policy_`, weights and bias of each action's score, (context features + 1,
    actions), and `context_scaling_`. One that declares `_learned` and `_diagnoses`, and is
    registered as a learner, can be saved and loaded (`bciigl.learn.persistence`).
    """

    _learned: ClassVar[dict[str, str]] = {"policy_": "ca"}
    """The arrays that are learned, with their shapes: c and f stand for the features of context and
    of feedback, and a bias, a for actions, ? for any number; empty for a single number."""
    _diagnoses: ClassVar[tuple[type[Verdict], ...]] = ()
    """Classes that `diagnosis_` may be of."""

    def predict(self, context: np.ndarray, *, run: np.ndarray | None = None) -> np.ndarray:
        """Return the action chosen for each context, (trials,).

        Contexts are centred by the training mean, or by each run's own where `run` is given.
        """
        return self._scores(context, run).argmax(axis=1)

    def predict_proba(self, context: np.ndarray, *, run: np.ndarray | None = None) -> np.ndarray:
        """Return the softmax of the actions' scores, (trials, actions); see `predict`."""
        return softmax(self._scores(context, run))

    def score(
        self, context: np.ndarray, label: np.ndarray, *, run: np.ndarray | None = None
    ) -> float:
        """Return the share of contexts for which the right action, `label`, is chosen."""
        chosen = self.predict(context, run=run)
        return float(np.mean(chosen == check_whole(label, "label", len(chosen))))

    def _scores(self, context: np.ndarray, run: np.ndarray | None) -> np.ndarray:
        check_is_fitted(self)
        scaled = self.context_scaling_.check_and_apply(context, "context", run)
        return scaled @ self.policy_[:-1] + self.policy_[-1]


class DiagnosedPolicy(LinearPolicy):
    """A policy learned without rewards, which says how far it can be trusted.

    A subclass sets in `_learn(data)` what is learned, the scalings and `diagnosis_`, a `Verdict`.
    """

    _diagnoses: ClassVar[tuple[type[Verdict], ...]] = (Verdict,)

    def fit(
        self,
        context: np.ndarray,
        action: np.ndarray,
        feedback: np.ndarray,
        *,
        propensity: np.ndarray | None = None,
        run: np.ndarray | None = None,
        catch: np.ndarray | None = None,
    ) -> "DiagnosedPolicy":
        """Learn from recorded interactions.

        Parameters
        ----------
        context : array, (trials, features)
            What the agent saw before it acted.
        action : array of int, (trials,)
            What it did, from 0.
        feedback : array, (trials, features)
            What the brain answered.
        propensity : array, (trials,), optional
            The probability with which each action was taken; uniform by default. Guesses that
            contexts can tell are refused without it: they would be learned upside down.
        run : array, (trials,), optional
            The run of each trial, in the order of time. Each run is centred by its own mean, and
            what is learned is tested on runs it was not learned from.
        catch : array of bool, (trials,), optional
            Trials whose match rate is known: `match_rate`. `FullConditionalIGL` ignores it: its
            bad policy is the uniform one.
        """
        given = {"propensity": propensity, "run": run, "catch": catch}
        data = prepare(context, action, feedback, **given, n_actions=self.n_actions)
        # Where the match rate of all trials is known, it does not matter how they were guessed.
        all_known = getattr(self, "match_rate", None) is not None and not data.catch.any()
        with one_thread():
            if propensity is None and not all_known:
                refuse_adaptive(data)
            self._learn(data)
        self.n_actions_, self.n_features_in_ = data.n_actions, data.context.shape[1]
        return self

    def diagnose(self, options: Sequence[object] | None = None) -> Verdict:
        """Return how far the learner can be trusted, found out without labels on unseen trials.

        All that was found, or a plain `Verdict` where nothing could be looked for.

        Parameters
        ----------
        options : sequence, optional
            What the actions are called, in words about them.
        """
        check_is_fitted(self)
        return self.diagnosis_.named(options)
