"""The offline contextual bandit oracle of Algorithm 1, and the skyline where reward is known."""

import numpy as np

from bciigl.base.registry import Specification
from bciigl.base.threads import one_thread
from bciigl.learn.interactions import InputError, Prepared, Scaling, check_vector, prepare
from bciigl.learn.logistic import fit_logistic
from bciigl.learn.policy import LinearPolicy

# The score of an action that was never taken: no other is as low.
NEVER = -1e3


def fit_policy(data: Prepared, reward: np.ndarray, ridge: float = 1.0) -> np.ndarray:
    """Return a policy that predicts each action's reward from its own trials' scaled contexts."""
    policy = np.empty((data.context.shape[1] + 1, data.n_actions))
    for each in range(data.n_actions):
        mine = data.action == each
        policy[:, each] = fit_logistic(data.context[mine], reward[mine], np.ones(mine.sum()), ridge)
    return without_never_taken(policy, data.action)


def without_never_taken(policy: np.ndarray, action: np.ndarray) -> np.ndarray:
    """Return a policy that never chooses actions of which there are no trials."""
    never = np.bincount(action, minlength=policy.shape[1]) == 0
    policy = policy.copy()
    policy[:-1, never], policy[-1, never] = 0.0, NEVER
    return policy


class ContextualBandit(LinearPolicy):
    """A linear policy from contexts, actions and known rewards: the skyline of every IGL learner.

    Parameters
    ----------
    n_actions : int, optional
        How many actions there are; by default one more than the largest in the data.
    ridge : float
        Of the regressions, in units of one trial's evidence.

    Attributes
    ----------
    policy_ : array, (features + 1, actions)
        Weights and bias of each action's score.

    Examples
    --------
    >>> import bciigl
    >>> train, truth = bciigl.simulate("number_guessing", trials=92).dataset.sessions["train"]
    >>> learner = bciigl.ContextualBandit()
    >>> learner = learner.fit(train.context, train.action, truth.match, run=train.run)
    >>> (learner.predict(train.context, run=train.run) == truth.meant).all()
    np.True_
    """

    _fit_policy = staticmethod(fit_policy)

    def __init__(self, n_actions: int | None = None, ridge: float = 1.0) -> None:
        self.n_actions = n_actions
        self.ridge = ridge

    def fit(
        self,
        context: np.ndarray,
        action: np.ndarray,
        reward: np.ndarray,
        *,
        propensity: np.ndarray | None = None,
        run: np.ndarray | None = None,
    ) -> "ContextualBandit":
        """Learn from recorded interactions.

        Parameters
        ----------
        context, action, propensity, run
            As in `DiagnosedPolicy.fit`; propensities are not used.
        reward : array, (trials,)
            0 to 1.
        """
        if not isinstance(self.ridge, (int, float)) or not 0 < self.ridge < np.inf:
            raise InputError(f"ridge must be a number above 0, got {self.ridge!r}")
        reward = check_vector(reward, "reward")
        data = prepare(
            context,
            action,
            reward[:, None],
            propensity=propensity,
            run=run,
            n_actions=self.n_actions,
        )
        if reward.min() < 0 or reward.max() > 1:
            raise InputError(f"reward must be 0 to 1, got {reward.min():g} to {reward.max():g}")
        self.context_scaling_ = Scaling.of(data.context, data.run)
        with one_thread():
            scaled = self.context_scaling_.apply(data.context, data.run)
            self.policy_ = self._fit_policy(data._replace(context=scaled), reward, self.ridge)
        self.n_actions_, self.n_features_in_ = data.n_actions, data.context.shape[1]
        return self


BANDIT = Specification(
    "cb",
    ContextualBandit,
    "contextual bandit, told the rewards",
    "a contextual bandit that was told the rewards",
    told="reward",
    published_as="cb",
    style={"color": "#0072b2", "marker": "s", "linestyle": "--"},
)
