"""Made-up interactions whose truth is known: Gaussian contexts, feedback that has the action."""

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from bciigl.learn.interactions import Prepared, prepare


class Session(NamedTuple):
    """Prepared and the truth about them.

    Attributes
    ----------
    context, action, feedback, run, propensity : array
        What a learner is given.
    right : array of bool, (trials, actions)
        Which actions are right for each context.
    reward : array of bool, (trials,)
        Whether the action taken is.
    """

    context: np.ndarray
    action: np.ndarray
    feedback: np.ndarray
    run: np.ndarray
    propensity: np.ndarray
    right: np.ndarray
    reward: np.ndarray

    @property
    def seen(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What every IGL learner is given: context, action, feedback."""
        return self.context, self.action, self.feedback

    def accuracy(self, learner: Any, **how: np.ndarray) -> float:
        """Return how often the learner's choice for these contexts is right."""
        choice = learner.predict(self.context, **how)
        return float(self.right[np.arange(len(choice)), choice].mean())

    def decoding(self, learner: Any) -> float:
        """Return how often the learner decodes the reward of these trials."""
        decoded = learner.decode(self.feedback, self.action) > 0.5
        return float((decoded == self.reward).mean())

    def rows(self, index: np.ndarray) -> "Session":
        """Return some of the trials."""
        return Session(*(each[index] for each in self))


def session(
    seed: int = 0,
    *,
    trials: int = 600,
    n_actions: int = 3,
    runs: int = 10,
    features: int = 8,
    distance: float = 4.0,
    strength: float = 4.0,
    offset: float = 0.0,
    leak: float = 0.0,
    lapse: float = 0.0,
    epsilon: float = 1.0,
    catch: np.ndarray | None = None,
    match_rate: float = 0.5,
    several: bool = False,
    subject: int = 0,
) -> Session:
    """Return a session.

    Parameters
    ----------
    distance : float
        Length of each option's mean context; the noise is of unit variance.
    strength : float
        How far the reward moves the feedback, in a direction of each action's own that is not far
        from a common one.
    offset : float
        SD of the runs' constant shifts of all features.
    leak : float
        How much of the context's noise is in the feedback too.
    lapse : float
        Share of trials in which the person judges at random.
    epsilon : float
        How often the action is drawn uniformly; the rest of the time it is right.
    catch : array of bool, (trials,), optional
        Trials in which the action is right at `match_rate`, by design.
    several : bool
        Whether each action is right or not by itself; otherwise exactly one is.
    subject : int
        Seed of the mean contexts and of how feedback shows action and reward.
    """
    of_subject, rng = np.random.default_rng(subject), np.random.default_rng([seed, 1])
    means = distance * np.linalg.qr(of_subject.standard_normal((features, features)))[0]
    codes = 3 * of_subject.standard_normal((n_actions, features))
    shown = of_subject.standard_normal(features) + 0.5 * of_subject.standard_normal(codes.shape)
    shown *= strength / np.linalg.norm(shown, axis=1, keepdims=True)
    rows = np.arange(trials)
    if several:
        right = rng.random((trials, n_actions)) < 0.3
        average = right @ means[:n_actions]
    else:
        right = np.eye(n_actions, dtype=bool)[rng.integers(n_actions, size=trials)]
        average = means[right.argmax(axis=1)]
    noise = rng.standard_normal((trials, features))
    wanted = right.argmax(axis=1)
    action = np.where(rng.random(trials) < epsilon, rng.integers(n_actions, size=trials), wanted)
    propensity = epsilon / n_actions + (1 - epsilon) * (action == wanted)
    if catch is not None:
        other = (wanted + rng.integers(1, n_actions, size=trials)) % n_actions
        planned = np.where(rng.random(trials) < match_rate, wanted, other)
        action = np.where(catch, planned, action)
    reward = right[rows, action]
    judged = np.where(rng.random(trials) < lapse, rng.random(trials) < 0.5, reward)
    feedback = codes[action] + judged[:, None] * shown[action] + leak * noise
    feedback += rng.standard_normal((trials, features))
    run = rows * runs // trials
    shift = offset * rng.standard_normal((2, runs, features))
    return Session(
        average + noise + shift[0][run],
        action,
        feedback + shift[1][run],
        run,
        propensity,
        right,
        reward,
    )


def interactions(trials: int = 60, n_actions: int = 3, seed: int = 0, **arrays: Any) -> Prepared:
    """Return pure noise as checked interactions, but for the arrays that are given."""
    rng = np.random.default_rng(seed)
    noise = {
        "context": rng.standard_normal((trials, 4)),
        "action": rng.integers(n_actions, size=trials),
        "feedback": rng.standard_normal((trials, 5)),
        "weight": np.ones(trials),
        "uniform": np.ones(trials, bool),
        "certain": np.zeros(trials, bool),
        "run": np.arange(trials) * 5 // trials,
        "catch": np.zeros(trials, bool),
        "n_actions": n_actions,
    }
    return Prepared(**{**noise, **arrays})


def example_3(trials: int, seed: int = 0) -> Session:
    """Return the paper's Example 3, options from 0, contexts and feedback one-hot."""
    option, action = np.random.default_rng(seed).integers(10, size=(2, trials))
    right = np.eye(10, dtype=bool)[option]
    reward = option == action
    return Session(
        1.0 * right,
        action,
        np.eye(10)[(action + reward) % 10],
        np.arange(trials) * 10 // trials,
        np.full(trials, 0.1),
        right,
        reward,
    )


# A small session in which there is no doubt about anything.
CLEAR = {"runs": 6, "features": 6, "distance": 6.0, "strength": 6.0}


def arrays_of(train: Session, test: Session) -> dict[str, np.ndarray]:
    """Return two sessions as a file of recorded interactions has them, with all that is known."""
    return {
        **{name: getattr(train, name) for name in ("context", "action", "feedback", "run")},
        "reward": train.reward.astype(float),
        "label": train.right.argmax(axis=1),
        "test_context": test.context,
        "test_label": test.right.argmax(axis=1),
        "test_run": test.run,
    }


def flat(sessions: dict[str, Any]) -> SimpleNamespace:
    """Return sessions as a file of recorded interactions has them; None for what is not there."""
    train, truth = sessions["train"]
    test, tested = sessions.get("test", (None, None))
    return SimpleNamespace(
        **vars(train),
        reward=truth and truth.match,
        label=truth and truth.meant,
        test_context=test and test.context,
        test_run=test and test.run,
        test_label=tested and tested.meant,
    )


class Planted(NamedTuple):
    """White noise around planted patterns, and the truth."""

    data: Prepared
    right: np.ndarray  # (trials, actions)
    reward: np.ndarray  # (trials,)
    patterns: np.ndarray  # (actions, features): of the options imagined
    direction: np.ndarray  # (features,): from mismatch to match


def planted(
    seed: int = 0,
    *,
    trials: int = 138,
    n_actions: int = 3,
    features: int = 64,
    imagined: float = 2.3,
    judged: float = 3.3,
    runs: int = 6,
    alike: float = 0.0,
    learned: float = 0.0,
) -> Planted:
    """Return interactions as a recording's normalised features have them.

    Parameters
    ----------
    imagined, judged : float
        Length of the options' patterns and of match less mismatch, in SDs of the noise.
    alike : float
        How much seeing an option resembles imagining it, from -1 to 1.
    learned : float
        How often the guess is right by the last run, beyond chance; it grows from run to run.
    """
    rng = np.random.default_rng([seed, 7])
    shapes = rng.standard_normal((n_actions, features)), rng.standard_normal((n_actions, features))
    patterns, own = (
        each / np.linalg.norm(each, axis=1, keepdims=True) * imagined for each in shapes
    )
    direction = rng.standard_normal(features)
    direction *= judged / np.linalg.norm(direction)
    option, run = rng.integers(n_actions, size=trials), np.arange(trials) * runs // trials
    known = learned * run / max(runs - 1, 1)
    exploits = rng.random(trials) < known
    action = np.where(exploits, option, rng.integers(n_actions, size=trials))
    reward = option == action
    propensity = (1 - known) / n_actions + known * reward
    seen = alike * patterns + np.sqrt(1 - alike**2) * own
    context = patterns[option] + rng.standard_normal((trials, features))
    feedback = 2 * seen[action] + np.outer(reward, direction)
    feedback += rng.standard_normal((trials, features))
    data = prepare(context, action, feedback, propensity=propensity, run=run, n_actions=n_actions)
    return Planted(data, np.eye(n_actions, dtype=bool)[option], reward, patterns, direction)
