"""Who guesses: agents that see contexts and feedback, and nothing else.

There is no reward in their interface, and nothing reachable from what they are given leads to one.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bciigl.base.errors import BciiglError
from bciigl.base.registry import AGENTS, Specification
from bciigl.learn import ActionInclusiveIGL
from bciigl.learn.diagnose import TRUST
from bciigl.learn.persistence import check_saveable
from bciigl.protocol import Protocol
from bciigl.protocol.model import Agent as Settings
from bciigl.protocol.schedule import run_count


class Choice(NamedTuple):
    """A guess: an option from 0, how probable it was, and whether it was drawn uniformly."""

    action: int
    propensity: float
    explored: bool


class Agent:
    """Guesses uniformly, and is what other agents build on.

    A run begins with `begin_run` and ends with `end_run`; in each of its trials the agent is asked
    to `act`, and then shown what came of it to `observe`. On catch trials, where the experimenter
    guesses, it only observes.

    Parameters
    ----------
    n_actions : int
        How many options there are.

    Attributes
    ----------
    rng : numpy.random.Generator
        To guess with, in the present run. A session whose agent draws from it alone can be resumed
        after a stop.
    """

    def __init__(self, n_actions: int) -> None:
        self.n_actions = n_actions
        self.rng = np.random.default_rng(0)

    def begin_run(self, rng: np.random.Generator) -> None:
        """Get ready for a run, with time to learn and random numbers to guess with."""
        self.rng = rng

    def act(self, context: np.ndarray) -> Choice:
        """Return a guess.

        Parameters
        ----------
        context : array, (features,)
            What imagination evoked, as far as can be told at the time of the decision.
        """
        return self.explore()

    def observe(
        self,
        context: np.ndarray,
        action: int,
        feedback: np.ndarray,
        propensity: float,
        *,
        catch: bool = False,
    ) -> None:
        """Take notice of what the brain answered.

        Parameters
        ----------
        context, action, propensity
            What the agent saw, what was guessed, and how probable that guess was.
        feedback : array, (features,)
            What the guess evoked, from the frames up to the trial's end.
        catch : bool
            Whether the experimenter chose the guess, in a catch trial.
        """

    def end_run(self) -> None:
        """Take notice that a run is over."""

    def explore(self) -> Choice:
        """Return a uniform guess."""
        return Choice(int(self.rng.integers(self.n_actions)), 1 / self.n_actions, True)


class FixedAgent(Agent):
    """Guesses by a policy, a learner fitted to as many options and voxels, and learns nothing."""

    def __init__(self, n_actions: int, n_features: int, policy: BaseEstimator) -> None:
        super().__init__(n_actions)
        check_saveable(policy)
        check_is_fitted(policy)
        if (policy.n_actions_, policy.n_features_in_) != (n_actions, n_features):
            raise BciiglError(
                f"the policy is for {policy.n_actions_} options and {policy.n_features_in_} "
                f"voxels, but the protocol has {n_actions} and {n_features}"
            )
        self.policy = policy

    def act(self, context: np.ndarray) -> Choice:
        """Return what the policy chooses."""
        return Choice(int(self.policy.predict(context[None])[0]), 1.0, False)


class LearningAgent(Agent):
    """Guesses uniformly in the first runs, then learns between runs and guesses what it learned.

    It learns by `ActionInclusiveIGL` from all runs before. Match and mismatch are told apart by the
    uniform guesses and the catch trials, never by guesses the agent has improved. It keeps to the
    last policy that could be trusted, by the learner's own verdict; as long as there was none, it
    continues to guess uniformly.

    Parameters
    ----------
    n_actions : int
        How many options there are.
    uniform_runs, learn_every : int
        How many runs are guessed uniformly at first, and how many pass before it learns again.
    epsilon : float
        How often it still guesses uniformly afterwards; 0 to commit to what it learned.
    catch_match_rate : float, optional
        How often guesses match on catch trials, where there are any.
    """

    def __init__(
        self,
        n_actions: int,
        *,
        uniform_runs: int,
        learn_every: int = 1,
        epsilon: float = 0.0,
        catch_match_rate: float | None = None,
    ) -> None:
        super().__init__(n_actions)
        self.uniform_runs, self.learn_every = uniform_runs, learn_every
        self.epsilon, self.catch_match_rate = epsilon, catch_match_rate
        self.policy: ActionInclusiveIGL | None = None
        self._observed: list[tuple] = []
        self._ends: list[int] = []  # how many trials had been observed at the end of each run
        self._tried = uniform_runs - learn_every  # how many runs it last learned from

    def begin_run(self, rng: np.random.Generator) -> None:
        """Learn, if it is time to."""
        super().begin_run(rng)
        runs = len(self._ends)
        if runs < self.uniform_runs:
            return
        due = runs - (runs - self.uniform_runs) % self.learn_every
        # More than one is due where runs were observed without guessing.
        for each in range(due, self._tried, -self.learn_every):
            learner = self._learned(self._ends[each - 1])
            if learner is not None and learner.diagnose().verdict == TRUST:
                self.policy = learner
                break
        self._tried = due

    def act(self, context: np.ndarray) -> Choice:
        """Return a guess: uniform, or what the policy chooses."""
        if self.policy is None:
            return self.explore()
        chosen = int(self.policy.predict(context[None])[0])
        explored = bool(self.rng.random() < self.epsilon)
        action = self.explore().action if explored else chosen
        propensity = self.epsilon / self.n_actions + (1 - self.epsilon) * (action == chosen)
        return Choice(action, propensity, explored)

    def observe(
        self,
        context: np.ndarray,
        action: int,
        feedback: np.ndarray,
        propensity: float,
        *,
        catch: bool = False,
    ) -> None:
        """Keep a trial to learn from."""
        self._observed.append((context, action, feedback, propensity, len(self._ends), catch))

    def end_run(self) -> None:
        """Count the run."""
        self._ends.append(len(self._observed))

    def _learned(self, trials: int) -> ActionInclusiveIGL | None:
        """Return what is learned from the first trials; None if there are none."""
        if not trials:
            return None
        observed = zip(*self._observed[:trials], strict=True)
        context, action, feedback, propensity, run, catch = map(np.array, observed)
        known = self.catch_match_rate if catch.any() else None
        learner = ActionInclusiveIGL(n_actions=self.n_actions, match_rate=known)
        return learner.fit(context, action, feedback, propensity=propensity, run=run, catch=catch)


def make_agent(
    settings: Settings,
    n_actions: int,
    n_features: int,
    *,
    catch_match_rate: float | None = None,
    policy: BaseEstimator | None = None,
) -> Agent:
    """Return the agent of a protocol's section `agent`.

    The specification's `make` gets the same arguments. `policy` is a fitted learner, if it is told.
    """
    found = AGENTS.get(settings.policy)
    if (policy is not None) != (found.told == "policy"):
        raise BciiglError(
            f"agent.policy is {found.id}: it needs a saved policy (--agent FOLDER)"
            if policy is None
            else f"agent.policy is {found.id}: it takes no saved policy, {FIXED.id} does"
        )
    told = {"catch_match_rate": catch_match_rate, "policy": policy}
    return found.make(settings, n_actions, n_features, **told)


def _make_learning(
    settings: Settings, n_actions: int, n_features: int, *, catch_match_rate: float | None, **_: Any
) -> Agent:
    how = {"uniform_runs": settings.uniform_runs, "learn_every": settings.learn_every}
    how["epsilon"] = settings.epsilon if settings.policy == EPSILON_GREEDY.id else 0.0
    return LearningAgent(n_actions, **how, catch_match_rate=catch_match_rate)


def _learning_sentence(protocol: Protocol) -> str:
    agent = protocol.agent
    if run_count(protocol, protocol.task.trials) <= agent.uniform_runs:
        return UNIFORM.sentence
    every = "each run" if agent.learn_every == 1 else f"every {agent.learn_every} runs"
    first = "the first run" if agent.uniform_runs == 1 else f"the first {agent.uniform_runs} runs"
    explored = ", except that it went on guessing uniformly with a probability of "
    explored = f"{explored}{agent.epsilon:g}" if agent.policy == EPSILON_GREEDY.id else ""
    return (
        f"{UNIFORM.sentence} in {first}. From then on it learned after "
        f"{every}, from all trials before and the feedback estimated up to each trial's end, by "
        "AI-IGL (Xie et al., 2022), and guessed as the last policy chose that the learner itself "
        f"had found trustworthy{explored}; as long as there was none it guessed uniformly"
    )


UNIFORM = Specification(
    "uniform",
    lambda settings, n_actions, n_features, **_: Agent(n_actions),
    "uniform guesses",
    "guessed uniformly at random",
)
FIXED = Specification(
    "fixed",
    lambda settings, *shape, policy, **_: FixedAgent(*shape, policy),
    "a policy learned before",
    "guessed by a policy that had been learned before and did not change",
    told="policy",
)
EXPLORE_THEN_COMMIT = Specification(
    "explore-then-commit",
    _make_learning,
    "uniform guesses at first, then AI-IGL",
    _learning_sentence,
)
EPSILON_GREEDY = Specification(
    "epsilon-greedy", _make_learning, "AI-IGL with some uniform guesses", _learning_sentence
)
