"""Interactions from labelled data: a guess of an example's label, and an answer that hides it.

The context is an example, the action a predicted label, the reward whether that is right. What the
learner gets in its place is feedback, made of action and reward by a named rule (`RULES`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA

from bciigl.base.errors import BciiglError, did_you_mean
from bciigl.base.seeds import Seed
from bciigl.learn.interactions import InputError, Interactions, check_matrix
from bciigl.recording.truth import Session, Truth

# Of `coded` feedback: how many numbers it has, how far apart the codes of actions are, by how many
# standard deviations of its noise a reward moves it, and the expected cosine of two such moves.
CODE_FEATURES, CODE_SPREAD, CODE_SHIFT, RESEMBLANCE = 16, 2.0, 4.0, 0.5
TEST_SHARE = 0.1
MOST_FEATURES = 64
"""Examples and answers with more features than this are reduced to as many components."""


class LabelledError(BciiglError):
    """What is wrong with labelled data, or with what is asked of it."""


def refuse(wrong: object, message: str) -> None:
    """Raise an error with a message if something is wrong."""
    if wrong:
        raise LabelledError(message)


@dataclass(frozen=True, eq=False)
class Labelled:
    """Examples with labels."""

    name: str
    features: np.ndarray  # (examples, features): finite numbers
    label: np.ndarray  # (examples,): the class of each, from 0
    classes: tuple[str, ...]  # their names, more than one
    openml_id: int | None = None
    training: int | None = None  # how many, the first ones, if the data come with a test part
    notes: tuple[str, ...] = ()  # what was done to the data while they were read

    def load(self) -> "Labelled":
        """Return itself: data in memory are where they are read from."""
        return self

    @property
    def majority(self) -> float:
        """The share of the most frequent label: what the best constant guess gets right."""
        return float(np.bincount(self.label).max() / len(self.label))


@dataclass(frozen=True)
class Guesses:
    """What has happened before feedback is given, one row a trial."""

    action: np.ndarray  # (trials,): the label that was predicted
    reward: np.ndarray  # (trials,): 1 where it is right, else 0
    row: np.ndarray  # (trials,): which of `examples` the context is
    examples: np.ndarray  # (examples, features): all for training
    label: np.ndarray  # (examples,)
    n_actions: int


Rule = Callable[[Guesses, np.random.Generator], np.ndarray]
"""From guesses to the feedback of each, (trials, features)."""
Policy = Callable[[np.ndarray], np.ndarray]
"""From examples to the probability of each action, (examples, actions)."""


def action_reward(guesses: Guesses, rng: np.random.Generator) -> np.ndarray:
    """Answer with the action and the reward as two numbers: the paper's OpenML experiment."""
    return np.column_stack([guesses.action, guesses.reward]).astype(float)


def coded(guesses: Guesses, rng: np.random.Generator) -> np.ndarray:
    """Answer with a code of the action in noise, moved in a direction of its own by a reward.

    The codes and directions are drawn anew each time. Directions of different actions have a
    cosine of 1/2 on average, so that no one direction tells the reward of all.
    """
    shape = (guesses.n_actions, CODE_FEATURES)
    code = rng.normal(scale=CODE_SPREAD, size=shape)
    common, own = _unit(rng.normal(size=CODE_FEATURES)), _unit(rng.normal(size=shape))
    own = _unit(own - (own @ common)[:, None] * common)
    direction = np.sqrt(RESEMBLANCE) * common + np.sqrt(1 - RESEMBLANCE) * own
    moved = CODE_SHIFT * guesses.reward[:, None] * direction[guesses.action]
    noise = rng.normal(size=(len(guesses.action), CODE_FEATURES))
    return code[guesses.action] + moved + noise


def action_inclusive(guesses: Guesses, rng: np.random.Generator) -> np.ndarray:
    """Answer with an image of the digit (a + 6 r - 3) mod 10: the paper's MNIST experiment."""
    refuse(
        6 % guesses.n_actions == 0,
        f"action_inclusive: with {guesses.n_actions} classes right and wrong guesses are both "
        "answered by images of the same class",
    )
    shown = (guesses.action + 6 * guesses.reward - 3) % guesses.n_actions
    return pictures(shown, guesses, rng)


def action_exclusive(guesses: Guesses, rng: np.random.Generator) -> np.ndarray:
    """Answer with an image of the digit r, whatever the action: feedback that full-CI IGL needs."""
    return pictures(guesses.reward, guesses, rng)


RULES: dict[str, Rule] = {
    each.__name__: each for each in (action_reward, coded, action_inclusive, action_exclusive)
}
"""The rules by name; a custom rule is added as ``RULES["mine"] = function``."""


def find_rule(name: str) -> Rule:
    """Return the rule of a name."""
    if name not in RULES:
        near = did_you_mean(name, RULES)
        raise LabelledError(f"unknown feedback rule {name!r}{near}; known are {', '.join(RULES)}")
    return RULES[name]


def pictures(shown: np.ndarray, guesses: Guesses, rng: np.random.Generator) -> np.ndarray:
    """Return an example of a class for each trial, never the one that is the trial's context."""
    order = np.argsort(guesses.label, kind="stable")
    place = np.argsort(order)  # of each example in that order
    count = np.bincount(guesses.label, minlength=guesses.n_actions)
    first = np.cumsum(count) - count
    own = guesses.label[guesses.row] == shown
    choices = count[shown] - own
    lonely = shown[choices.argmin()]
    few = f"and class {lonely} has {count[lonely]}"
    refuse(choices.min() < 1, f"an answer shows another example of a class, {few}")
    drawn = rng.integers(choices)
    # Where the context is of the class that is shown, count on from it, round to the one before.
    from_own = (place[guesses.row] - first[shown] + 1 + drawn) % np.maximum(count[shown], 1)
    chosen = order[first[shown] + np.where(own, from_own, drawn)]
    return guesses.examples[chosen].astype(float)


def interactions(
    data: Labelled,
    rule: Rule,
    seed: Seed,
    *,
    samples: int | None = None,
    policy: Policy | None = None,
) -> dict[str, Session]:
    """Return guesses about labelled data with their feedback, and examples to be tested on.

    A tenth of the examples is for testing, unless the data come with a part for that. The same seed
    gives the same split and the same guesses whatever the rule. There are as many trials as
    `samples`, by default as many as examples for training, each about an example of its own.
    Actions are drawn by the policy, by default uniformly.
    """
    # In random order, so that the first samples are any.
    if data.training is None:
        order = seed.rng("split").permutation(len(data.label))
        testing, training = np.split(order, [max(round(TEST_SHARE * len(order)), 1)])
    else:
        training = seed.rng("split").permutation(data.training)
        testing = np.arange(data.training, len(data.label))
    examples, label = data.features[training], data.label[training]
    row = np.arange(len(training))[: samples or None]
    actions = len(data.classes)
    action, propensity = _drawn(policy, examples[row], actions, seed.rng("action"))
    reward = (action == label[row]).astype(int)
    guesses = Guesses(action, reward, row, examples, label, actions)
    try:
        feedback = check_matrix(rule(guesses, seed.rng("feedback")), "feedback", len(row))
    except InputError as error:
        raise LabelledError(f"rule {getattr(rule, '__name__', rule)}: {error}") from error
    context, test_context = reduced(examples[row], data.features[testing])
    train = Interactions(
        context, action, reduced(feedback)[0], propensity=propensity, n_actions=actions
    )
    return {
        "train": Session(train, Truth(label[row], reward.astype(float))),
        "test": Session(Interactions(test_context), Truth(data.label[testing])),
    }


def _drawn(
    policy: Policy | None, examples: np.ndarray, actions: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the actions that a policy draws, and the probabilities with which it did."""
    if policy is None:
        return rng.integers(actions, size=len(examples)), None
    probability = np.asarray(policy(examples), float)
    whole = probability.shape == (len(examples), actions) and (probability >= 0).all()
    should = f"should give each of {actions} actions a probability for each example"
    refuse(not whole or not np.allclose(probability.sum(axis=1), 1), f"a policy {should}")
    level = rng.random((len(examples), 1)) * probability.sum(axis=1, keepdims=True)
    action = (probability.cumsum(axis=1) <= level).sum(axis=1)
    # Rounding must not lead to an action that cannot be.
    last = actions - 1 - (probability[:, ::-1] > 0).argmax(axis=1)
    action = np.minimum(action, last)
    return action, np.take_along_axis(probability, action[:, None], axis=1)[:, 0]


def reduced(values: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    """Return arrays by the principal components of the first, if there are too many features."""
    arrays = [np.asarray(each, float) for each in (values, *others)]
    if values.shape[1] <= MOST_FEATURES:
        return arrays
    components = PCA(min(MOST_FEATURES, len(values)), svd_solver="covariance_eigh").fit(arrays[0])
    return [components.transform(each) for each in arrays]


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
