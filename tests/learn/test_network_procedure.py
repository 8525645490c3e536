"""Whole trainings beside plain ones, trial by trial, written from the procedure's description.

They use nothing of the networks' code, but draw the same random numbers in the same order.
"""

import numpy as np
import pytest

from bciigl.learn.network_igl import ActionInclusiveNetwork, FullConditionalNetwork

HIDDEN, BATCH, RATE = 3, 128, 0.01


class Plain:
    """A network with one hidden layer, in float64, and Adam's memory of it."""

    def __init__(self, inputs, outputs, rng):
        self.weights = []
        for before, after in ((inputs, HIDDEN), (HIDDEN, outputs)):
            drawn = rng.uniform(-1, 1, (before + 1) * after) / np.sqrt(before)
            drawn = drawn.astype(np.float32).astype(float)
            self.weights += [drawn[:-after].reshape(before, after), drawn[-after:]]
        self.forget()

    def forget(self):
        """Forget the slopes of steps before."""
        self.steps = 0
        self.means, self.squares = ([np.zeros_like(each) for each in self.weights] for _ in "ab")

    def output(self, trial, place):
        """Return the hidden units and one output, of one trial."""
        first, first_bias, last, last_bias = self.weights
        hidden = np.maximum(trial @ first + first_bias, 0)
        return hidden, 1 / (1 + np.exp(-(hidden @ last[:, place] + last_bias[place])))

    def outputs(self, trials, places):
        """Return one output of each trial."""
        return np.array([self.output(*each)[1] for each in zip(trials, places, strict=True)])

    def step(self, trials, places, by_output):
        """Take one of Adam's steps, given the slopes of the loss by the outputs."""
        slopes = [np.zeros_like(each) for each in self.weights]
        for trial, place, by in zip(trials, places, by_output, strict=True):
            hidden, output = self.output(trial, place)
            by_odds = by * output * (1 - output)
            by_hidden = by_odds * self.weights[2][:, place] * (hidden > 0)
            slopes[0] += np.outer(trial, by_hidden)
            slopes[1] += by_hidden
            slopes[2][:, place] += by_odds * hidden
            slopes[3][place] += by_odds
        self.steps += 1
        for weight, slope, mean, square in zip(
            self.weights, slopes, self.means, self.squares, strict=True
        ):
            mean[...] = 0.9 * mean + 0.1 * slope
            square[...] = 0.999 * square + 0.001 * slope**2
            unbiased = mean / (1 - 0.9**self.steps), square / (1 - 0.999**self.steps)
            weight -= RATE * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8)

    def flip(self, place):
        """Let an output be 1 less what it was."""
        self.weights[2][:, place] *= -1
        self.weights[3][place] *= -1


def contrast(f, psi, context, feedback, action, decoded):
    """Let both step down the hundredfold product of means less the mean of products."""
    seen, heard = f.outputs(context, action), psi.outputs(feedback, decoded)
    f.step(context, action, 100 * (heard.mean() - heard) / len(heard))
    psi.step(feedback, decoded, 100 * (seen.mean() - seen) / len(seen))


def batches(rows, rng):
    """Return the trials of an epoch, in minibatches."""
    order = rows[rng.permutation(len(rows))]
    return [order[begin : begin + BATCH] for begin in range(0, len(order), BATCH)]


def action_inclusive(context, action, feedback, epochs, seed):
    """Return f, psi, which actions are flipped, and the means of f and psi that could decide it."""
    rng = np.random.default_rng(seed)
    f, psi = Plain(context.shape[1], 3, rng), Plain(feedback.shape[1], 3, rng)
    flipped, means = np.zeros(3), []
    for option in range(3):
        f.forget()
        psi.forget()
        rows = np.flatnonzero(action == option)
        for epoch in range(epochs):
            for some in batches(rows, rng):
                trials, same = (context[some], feedback[some]), action[some]
                if epoch < 2 * epochs / 3 + 1:
                    contrast(f, psi, *trials, same, same)
                else:
                    wrong = f.outputs(trials[0], same) - psi.outputs(trials[1], same)
                    f.step(trials[0], same, 2 * 100 * wrong / len(some))
        means.append([f.outputs(context[rows], action[rows]).mean()])
        means[-1].append(psi.outputs(feedback[rows], action[rows]).mean())
        if means[-1][1] > 0.5:
            f.flip(option)
            flipped[option] = 1
    return f, psi, flipped, np.array(means)


def full_conditional(context, action, feedback, epochs, seed):
    """Return f, psi, and after each epoch the means of f, taken and of all actions, and of psi."""
    rng = np.random.default_rng(seed)
    f, psi = Plain(context.shape[1], 3, rng), Plain(feedback.shape[1], 1, rng)
    only, means = np.zeros(len(action), int), []
    for _ in range(epochs):
        for some in batches(np.arange(len(action)), rng):
            contrast(f, psi, context[some], feedback[some], action[some], only[some])
        every = np.mean([f.outputs(context, only + option).mean() for option in range(3)])
        means.append([f.outputs(context, action).mean(), every, psi.outputs(feedback, only).mean()])
        if means[-1][0] > 0.5:
            for option in range(3):
                f.flip(option)
        if means[-1][2] > 0.5:
            psi.flip(0)
    return f, psi, np.zeros(1), np.array(means)


@pytest.fixture(scope="module")
def trials():
    """Return 300 trials, neither centred nor scaled, with whole and partial minibatches."""
    rng = np.random.default_rng(0)
    action = rng.permutation(np.repeat([0, 1, 2], [140, 129, 31]))
    right = rng.integers(3, size=300)
    context = 0.5 + rng.normal(size=(300, 4)) + np.eye(3, 4)[right]
    feedback = 1 + 2 * rng.normal(size=(300, 2)) + (right == action)[:, None]
    return context.astype(np.float32), action, feedback.astype(np.float32)


def trained(kind, plain, trials, epochs, seed):
    """Train both; see to it that weights and flips are the same; return the means that decided."""
    context, action, feedback = trials
    learner = kind(epochs=epochs, rate=RATE, hidden=(HIDDEN,), random_state=seed).fit(*trials)
    f, psi, flipped, means = plain(context.astype(float), action, feedback, epochs, seed)
    np.testing.assert_array_equal(learner.flipped_, flipped)
    for network, first, rest in (
        (f, learner.policy_, learner.policy_rest_),
        (psi, learner.decoder_, learner.decoder_rest_),
    ):
        expected = np.concatenate([each.ravel() for each in network.weights])
        # float32 against float64, after steps of up to 0.01: the largest difference here is 4e-6.
        np.testing.assert_allclose([*first.ravel(), *rest], expected, rtol=0, atol=5e-5)
    return means.T > 0.5


def test_ai_igl_is_trained_as_described(trials):
    # Five epochs of contrast, then one in which f imitates psi, then perhaps a flip.
    found = [
        trained(ActionInclusiveNetwork, action_inclusive, trials, 6, seed) for seed in (1, 6, 7)
    ]
    by_f, by_psi = np.hstack(found)
    # f is flipped and left, and its own mean would say otherwise both times.
    assert {*zip(by_f, by_psi, strict=True)} == {(a, b) for a in (0, 1) for b in (0, 1)}


def test_full_ci_is_trained_as_described(trials):
    found = [
        trained(FullConditionalNetwork, full_conditional, trials, 3, seed) for seed in (0, 3, 6, 10)
    ]
    taken, every, decoded = np.hstack(found)
    # f, psi, both and none are flipped; the mean of f over all actions would not always say so.
    assert {*zip(taken, decoded, strict=True)} == {(a, b) for a in (0, 1) for b in (0, 1)}
    assert (taken != every).any()
