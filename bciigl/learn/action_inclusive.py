"""AI-IGL: learning from feedback that mixes the action with the reward (Algorithm 1)."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, logit
from sklearn.utils.validation import check_is_fitted

from bciigl.base.errors import did_you_mean, shortened
from bciigl.base.registry import Specification
from bciigl.learn import paper_procedure
from bciigl.learn.bandit import fit_policy, without_never_taken
from bciigl.learn.diagnose import DOUBTFUL, Diagnosis, Verdict, diagnosed, too_few_trials
from bciigl.learn.interactions import (
    FEWEST_TRIALS,
    InputError,
    Prepared,
    Scaling,
    Scalings,
    check_actions,
    check_whole,
    folds,
    generator,
    of_action,
    without_outliers,
)
from bciigl.learn.policy import DiagnosedPolicy
from bciigl.learn.search import Found, Task, discover, expectation

METHODS = ("robust", "paper")


class ActionInclusiveIGL(DiagnosedPolicy):
    """A policy and a reward decoder from contexts, actions and feedback: no labels, no rewards.

    Per action, what context and feedback have in common is taken for the reward; which of its two
    values is the reward follows from the match rate that is known or expected of the behaviour
    policy; a contextual bandit then learns from the decoded rewards.

    Parameters
    ----------
    n_actions : int, optional
        How many actions there are; by default one more than the largest in the data.
    one_right : bool
        Whether exactly one action is right for each context, as when a person has one of the
        options in mind. The actions then learn from each other. Set it to False where several
        actions may be right, or none.
    match_rate : float or array, (n_actions,), optional
        How often each action is right in catch trials; where `fit` is given none, in all trials
        under uniform guessing. By default 1 / `n_actions`. It breaks the symmetry between match and
        mismatch, and so must not be 1/2.
    method : str
        ``"robust"``, or ``"paper"`` for the plain procedure of the paper: gradient training on
        features as they are, and a flip where the mean decoded reward is above 1/2.
    random_state : int
        Of the plain procedure's random start; the robust one draws nothing.

    Attributes
    ----------
    policy_ : array, (context features + 1, n_actions)
        Weights and bias of each action's score.
    decoder_ : array, (feedback features + 1, n_actions)
        Weights and bias of the log-odds of each action's reward.
    match_rate_ : array, (n_actions,)
        Decoded share of rewarded trials of each action.

    References
    ----------
    .. [1] T. Xie, A. Saran, et al., "Interaction-Grounded Learning with Action-inclusive Feedback",
       NeurIPS 2022.

    Examples
    --------
    >>> import bciigl
    >>> train, truth = bciigl.simulate("number_guessing", trials=92).dataset.sessions["train"]
    >>> learner = bciigl.ActionInclusiveIGL()
    >>> learner.fit(train.context, train.action, train.feedback, run=train.run).diagnosis_.verdict
    'trust'
    >>> (learner.predict(train.context, run=train.run) == truth.meant).all()
    np.True_
    """

    _learned = {"policy_": "ca", "decoder_": "fa", "match_rate_": "a"}
    _diagnoses: ClassVar[tuple[type[Verdict], ...]] = (Diagnosis, Verdict)
    _recorded = True  # whether features may have been recorded; see `Task`

    def __init__(
        self,
        n_actions: int | None = None,
        one_right: bool = True,
        match_rate: float | np.ndarray | None = None,
        method: str = "robust",
        random_state: int = 0,
    ) -> None:
        self.n_actions = n_actions
        self.one_right = one_right
        self.match_rate = match_rate
        self.method = method
        self.random_state = random_state

    def _learn(self, data: Prepared) -> None:
        if self.method not in METHODS:
            near = did_you_mean(self.method, METHODS)
            raise InputError(f"method must be robust or paper, got {self.method!r}{near}")
        expected, actions = self._expectation(data), data.n_actions
        sizes = data.context.shape[1], data.feedback.shape[1]
        scalings = Scalings(*(Scaling(np.zeros(size), np.ones(size)) for size in sizes))
        if data.trials < FEWEST_TRIALS:
            self.policy_, self.decoder_ = (np.zeros((size + 1, actions)) for size in sizes)
            self.match_rate_ = np.full(actions, 1 / actions)
            self.diagnosis_ = too_few_trials(data)
        elif self.method == "paper":
            weights, reward = paper_procedure.train(data, generator(self.random_state))
            self.policy_ = fit_policy(data, reward)
            self.decoder_ = np.ascontiguousarray(weights[:, sizes[0] + 1 :]).T
            self.match_rate_ = data.means(reward)
            untested = "the paper's plain procedure is not tested on runs it has not seen."
            self.diagnosis_ = Verdict(DOUBTFUL, untested, "Use method='robust' (AI-IGL).")
        else:
            scalings = Scalings.of(data)
            self._search(scalings.apply(data), expected, scalings)
        self.context_scaling_, self.feedback_scaling_ = scalings

    def _search(self, data: Prepared, expected: tuple, scalings: Scalings) -> None:
        # A feature that does not vary has no unit.
        of_context, of_feedback = (
            np.where(np.isfinite(each.scale), each.scale, 0.0) for each in scalings
        )
        # Features with few values, as categories have, were not recorded.
        some = data.context[:100]
        values = np.median([len(np.unique(each)) for each in some.T])
        recorded = self._recorded and bool(values > len(some) / 2)
        if recorded:
            # A single artefact would otherwise decide on the noise.
            views = without_outliers(data.context), without_outliers(data.feedback)
            data = data._replace(context=views[0], feedback=views[1])
        rate, weight = expected
        units = of_context, of_feedback
        whole = Task(data, folds(data.run), rate, weight, self.one_right, units, recorded)
        task = whole.fewer()
        found = discover(task)
        model, reward = found.model, of_action(found.belief, task.data.action)
        policy = np.vstack([model.context_weights, model.context_bias])
        decoder = np.vstack([model.feedback_weights, model.feedback_bias])
        decoded = task.data.means(reward)
        if not self.one_right:
            policy = fit_policy(task.data, reward)
        elif (better := self._refitted(task, found, data)) is not None:
            policy, decoder = better
            decoded = data.means(better.evidence(data).reward(data.action))
        self.policy_, self.match_rate_ = without_never_taken(policy, data.action), decoded
        decoder[-1] += logit(np.clip(decoded, 1e-3, 1 - 1e-3))
        self.decoder_ = decoder
        self.diagnosis_ = diagnosed(task, found)

    def decode(
        self, feedback: np.ndarray, action: np.ndarray, *, run: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the probability that each action was rewarded, from its feedback, (trials,).

        Feedback is centred by the training mean, or by each run's own where `run` is given; then
        guesses should match as often in it as they did in training.
        """
        return expit(self.decode_log_odds(feedback, action, run=run))

    def decode_log_odds(
        self, feedback: np.ndarray, action: np.ndarray, *, run: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the same as log-odds, which tell apart what is next to certain, (trials,)."""
        check_is_fitted(self)
        scaled = self.feedback_scaling_.check_and_apply(feedback, "feedback", run)
        action = check_whole(action, "action", len(scaled))
        check_actions(action, self.n_actions_)
        odds = scaled @ self.decoder_[:-1] + self.decoder_[-1]
        return of_action(odds, action)

    def _refitted(self, task: Task, found: Found, data: Prepared) -> Any:
        """Return what replaces policy and decoder where features are not Gaussian, or None."""

    def _expectation(self, data: Prepared) -> tuple[np.ndarray, np.ndarray]:
        """Return the match rate expected of each trial."""
        rate = np.full(data.n_actions, 1 / data.n_actions)
        if self.match_rate is None:
            if data.catch.any():
                raise InputError("match_rate must be given where there are catch trials")
            return expectation(data, rate, rate)
        try:
            known = np.asarray(self.match_rate, float)
        except (TypeError, ValueError):
            known = np.array(np.nan)
        if known.shape not in ((), (data.n_actions,)) or not ((known > 0) & (known < 1)).all():
            raise InputError(
                f"match_rate must be one or {data.n_actions} numbers between 0 and 1, "
                f"got {shortened(self.match_rate)}"
            )
        known = np.broadcast_to(known, data.n_actions)
        return expectation(data, rate if data.catch.any() else known, known)


AI_IGL = Specification(
    "ai_igl",
    ActionInclusiveIGL,
    "AI-IGL, no labels",
    "by interaction-grounded learning with action-inclusive feedback (AI-IGL; Xie et al., 2022), "
    "in bciigl's own procedure",
    published_as="ai_igl",
    style={"color": "#d55e00", "marker": "o", "linestyle": "-"},
)
AI_IGL_PAPER = Specification(
    "ai_igl_paper",
    partial(ActionInclusiveIGL, method="paper"),
    "plain AI-IGL, no labels",
    "by the plain procedure of the paper on AI-IGL (Xie et al., 2022)",
    published_as="ai_igl",
    style={"color": "#cc79a7", "marker": "v", "linestyle": "-."},
)
