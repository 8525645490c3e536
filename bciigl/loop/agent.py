"""Who guesses: agents that see contexts and feedback, and nothing else.

There is no reward in their interface, and nothing reachable from what they are given leads to one.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bciigl.base.errors import BciiglError
from bciigl.base.registry import AGENTS, Specification
from bciigl.estimate import UNCALIBRATED, Calibration
from bciigl.learn import ActionInclusiveIGL
from bciigl.learn.diagnose import TRUST
from bciigl.learn.interactions import Interactions
from bciigl.learn.persistence import check_saveable
from bciigl.protocol import Protocol
from bciigl.protocol.model import Agent as Settings
from bciigl.protocol.schedule import parse_interval, run_count


class Choice(NamedTuple):
    """A guess: an option from 0, how probable it was, and whether it was drawn uniformly."""

    action: int
    propensity: float
    explored: bool


class Agent:
    """Guesses uniformly, and is what other agents build on.

    A run begins with `begin_run` and ends with `end_run`; in each of its trials the agent is asked
    to `act`, and then shown what came of it to `observe`. On catch trials, where the experimenter
    guesses, it only observes. Between runs it may `recall` all trials before.

    Parameters
    ----------
    n_actions : int
        How many options there are.

    Attributes
    ----------
    rng : numpy.random.Generator
        To guess with, in the present run. A session whose agent draws from it alone can be resumed
        after a stop.
    calibration : Calibration or None
        What all contexts are estimated with, if that is fixed.
    """

    calibration: Calibration | None = None

    def __init__(self, n_actions: int) -> None:
        self.n_actions = n_actions
        self.rng = np.random.default_rng(0)

    def recall(self, past: Interactions) -> bool:
        """Take notice of all trials before, and tell whether estimates may change their units.

        Called before each run but the first, with time to learn, of agents whose class defines it.
        What was learned of the person's response and of the noise changes the units of estimates
        from run to run; a policy is in the units of what it was learned from.

        Parameters
        ----------
        past : Interactions
            The trials of all runs before, estimated anew with all that is known by now; feedback is
            from whole runs.

        Returns
        -------
        bool
            Whether the next run should be estimated in the same units as `past`. If not, it is
            in those of the run before.
        """
        return True

    def begin_run(self, rng: np.random.Generator) -> None:
        """Get ready for a run, with random numbers to guess with."""
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
    """Guesses by a policy, a learner fitted to as many options and voxels, and learns nothing.

    All is estimated with the calibration that the policy was learned with.
    """

    def __init__(
        self,
        n_actions: int,
        n_features: int,
        policy: BaseEstimator,
        calibration: Calibration = UNCALIBRATED,
    ) -> None:
        super().__init__(n_actions)
        check_saveable(policy)
        check_is_fitted(policy)
        if (policy.n_actions_, policy.n_features_in_) != (n_actions, n_features):
            raise BciiglError(
                f"the policy is for {policy.n_actions_} options and {policy.n_features_in_} "
                f"voxels, but the protocol has {n_actions} and {n_features}"
            )
        if calibration.whitening is not None and len(calibration.whitening) != n_features:
            raise BciiglError(
                f"the policy's calibration is for {len(calibration.whitening)} voxels, but the "
                f"protocol has {n_features}"
            )
        self.policy, self.calibration = policy, calibration

    def act(self, context: np.ndarray) -> Choice:
        """Return what the policy chooses."""
        return Choice(int(self.policy.predict(context[None])[0]), 1.0, False)


class LearningAgent(Agent):
    """Guesses uniformly in the first runs, then learns now and then and guesses what it learned.

    It learns by `ActionInclusiveIGL` from all trials before. Match and mismatch are told apart by
    the uniform guesses and the catch trials, never by guesses the agent has improved. It keeps to
    the last policy that could be trusted, by the learner's own verdict; as long as there was none,
    it continues to guess uniformly.

    A policy is good for contexts in the units that it was learned in. So the agent changes to those
    of a new calibration when it has learned a policy in them, and keeps to its units otherwise.

    Parameters
    ----------
    n_actions : int
        How many options there are.
    uniform_runs : int
        How many runs are guessed uniformly at first.
    learn_every : int or str
        When it learns again: after a number of runs, or of trials (``"10 trials"``).
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
        learn_every: int | str = 1,
        epsilon: float = 0.0,
        catch_match_rate: float | None = None,
    ) -> None:
        super().__init__(n_actions)
        self.uniform_runs, self.learn_every = uniform_runs, learn_every
        self.epsilon, self.catch_match_rate = epsilon, catch_match_rate
        self.policy: ActionInclusiveIGL | None = None
        try:
            self._every, self._unit = parse_interval(learn_every)
        except BciiglError as error:
            raise BciiglError(f"learn_every {error}, got {learn_every!r}") from error
        self._since: int | None = None  # how many runs or trials ago it learned
        self._runs = 0
        # In the units of the present run: trials of the runs before, and of this one.
        self._past: Interactions | None = None
        self._observed: list[tuple] = []

    def recall(self, past: Interactions) -> bool:
        """Learn, if it is time to, and change to new units if there is no policy in the old."""
        learned = self._learn(past)
        changes = learned or self.policy is None
        self._past = past if changes else self._so_far()
        self._observed = []
        return changes

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
        """Keep a trial to learn from, and learn if it is time to within a run."""
        self._observed.append((context, action, feedback, propensity, self._runs + 1, catch))
        if self._unit == "trials" and self._since is not None:
            self._since += 1
            self._learn()

    def end_run(self) -> None:
        """Count the run."""
        self._runs += 1
        if self._unit == "runs" and self._since is not None:
            self._since += 1

    def _learn(self, trials: Interactions | None = None) -> bool:
        """Learn, if it is time to, from trials or all so far; tell whether the policy is new."""
        waiting = self._since is not None and self._since < self._every
        if waiting or self._runs < self.uniform_runs:
            return False
        self._since = 0
        learner = self._learned(self._so_far() if trials is None else trials)
        if learner is None or learner.diagnose().verdict != TRUST:
            return False
        self.policy = learner
        return True

    def _so_far(self) -> Interactions | None:
        """Return all trials up to now in the units of the present run; None if there are none."""
        if not self._observed:
            return self._past
        names = ("context", "action", "feedback", "propensity", "run", "catch")
        arrays = map(np.array, zip(*self._observed, strict=True))
        new: dict[str, Any] = dict(zip(names, arrays, strict=True))
        if self._past is None:
            return Interactions(**new)
        catch = self._past.catch
        old = {name: getattr(self._past, name) for name in names}
        old["catch"] = np.zeros(self._past.trials, bool) if catch is None else catch
        both: dict[str, Any] = {name: np.concatenate([old[name], new[name]]) for name in names}
        return Interactions(**both)

    def _learned(self, trials: Interactions | None) -> ActionInclusiveIGL | None:
        """Return what is learned from trials; None if there are none."""
        if trials is None or not trials.trials:
            return None
        catch = trials.catch
        known = None if catch is None or not catch.any() else self.catch_match_rate
        learner = ActionInclusiveIGL(n_actions=self.n_actions, match_rate=known)
        how = {"propensity": trials.propensity, "run": trials.run, "catch": catch}
        return learner.fit(trials.context, trials.action, trials.feedback, **how)


def make_agent(
    settings: Settings,
    n_actions: int,
    n_features: int,
    *,
    catch_match_rate: float | None = None,
    policy: BaseEstimator | None = None,
    calibration: Calibration = UNCALIBRATED,
) -> Agent:
    """Return the agent of a protocol's section `agent`.

    The specification's `make` gets the same arguments. `policy` is a fitted learner, if it is told,
    and `calibration` what it was learned with.
    """
    found = AGENTS.get(settings.policy)
    if (policy is not None) != (found.told == "policy"):
        raise BciiglError(
            f"agent.policy is {found.id}: it needs a saved policy (--agent FOLDER)"
            if policy is None
            else f"agent.policy is {found.id}: it takes no saved policy, {FIXED.id} does"
        )
    told = {"catch_match_rate": catch_match_rate, "policy": policy, "calibration": calibration}
    return found.make(settings, n_actions, n_features, **told)


def _make_learning(
    settings: Settings, n_actions: int, n_features: int, *, catch_match_rate: float | None, **_: Any
) -> Agent:
    return LearningAgent(
        n_actions,
        uniform_runs=settings.uniform_runs,
        learn_every=settings.learn_every,
        epsilon=settings.epsilon if settings.policy == EPSILON_GREEDY.id else 0.0,
        catch_match_rate=catch_match_rate,
    )


def _learning_sentence(protocol: Protocol) -> str:
    agent = protocol.agent
    if run_count(protocol, protocol.task.trials) <= agent.uniform_runs:
        return _UNIFORMLY
    count, unit = parse_interval(agent.learn_every)
    every = f"each {unit[:-1]}" if count == 1 else f"every {count} {unit}"
    first = "the first run" if agent.uniform_runs == 1 else f"the first {agent.uniform_runs} runs"
    explored = ", except that it went on guessing uniformly with a probability of "
    explored = f"{explored}{agent.epsilon:g}" if agent.policy == EPSILON_GREEDY.id else ""
    return (
        f"{_UNIFORMLY} in {first}. From then on it learned after "
        f"{every}, from all trials before, by AI-IGL (Xie et al., 2022), and guessed as the last "
        "policy chose that the learner itself "
        f"had found trustworthy{explored}; as long as there was none it guessed uniformly"
    )


_UNIFORMLY = "guessed uniformly at random"
UNIFORM = Specification(
    "uniform",
    lambda settings, n_actions, n_features, **_: Agent(n_actions),
    "uniform guesses",
    _UNIFORMLY,
)
FIXED = Specification(
    "fixed",
    lambda settings, n_actions, n_features, *, policy, calibration, **_: FixedAgent(
        n_actions, n_features, policy, calibration
    ),
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
