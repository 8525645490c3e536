"""The networks of the released code: their slopes, and Adam's steps."""

import numpy as np
import pytest

from bciigl.learn.network import STRENGTH, Networks, backward, flip, forward, views


@pytest.fixture(params=[(5, 4), ()], ids=["two hidden layers", "none"])
def networks(request):
    """Return small networks of high precision."""
    return Networks(3, 2, 3, 3, request.param, np.random.default_rng(0), 1e-3, np.float64)


@pytest.fixture
def trials():
    """Return contexts, feedback and actions of some trials."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(7, 3)), rng.normal(size=(7, 2)), np.array([0, 1, 2, 2, 1, 0, 1])


def outputs(weights, sizes, values, action):
    """Return a network's outputs, computed from its weights in plain steps."""
    layers = views(weights, sizes)
    for place, (by, bias) in enumerate(layers):
        values = values @ by + bias
        if place < len(layers) - 1:
            values = np.where(values > 0, values, 0)
    return (1 / (1 + np.exp(-values)))[np.arange(len(action)), action]


def losses(networks, weights, context, feedback, action):
    """Return f, psi and the contrastive loss of trials by given weights."""
    f = outputs(weights[networks.of_f], networks.sizes[0], context, action)
    psi = outputs(weights[networks.of_f.stop :], networks.sizes[1], feedback, action)
    return f, psi, 100 * (f.mean() * psi.mean() - (f * psi).mean())


def slopes_by_differences(loss, weights, step=1e-6):
    """Return how a loss changes with each weight, by small changes of each."""
    found = []
    for place in range(len(weights)):
        ends = []
        for change in (step, -step):
            changed = weights.copy()
            changed[place] += change
            ends.append(loss(changed))
        found.append((ends[0] - ends[1]) / (2 * step))
    return np.array(found)


def test_slopes_of_the_contrastive_loss_are_those_of_finite_differences(networks, trials):
    before = networks.weights.copy()
    loss = networks.contrast(*trials, trials[2])
    assert loss == pytest.approx(losses(networks, before, *trials)[2])
    expected = slopes_by_differences(lambda each: losses(networks, each, *trials)[2], before)
    np.testing.assert_allclose(networks.slopes, expected, rtol=1e-5, atol=1e-7)


def test_slopes_of_the_squared_error_are_those_of_finite_differences(networks, trials):
    context, _, action = trials
    before, target = networks.weights.copy(), np.linspace(0, 1, len(action))

    def error(weights):
        f = outputs(weights[networks.of_f], networks.sizes[0], context, action)
        return 100 * np.mean((f - target) ** 2)

    assert networks.imitate(context, target, action) == pytest.approx(error(before))
    expected = slopes_by_differences(error, before)
    np.testing.assert_allclose(networks.slopes, expected, rtol=1e-5, atol=1e-7)
    of_psi = slice(networks.of_f.stop, None)
    np.testing.assert_array_equal(networks.weights[of_psi], before[of_psi])


def test_a_step_of_a_tiny_network_is_the_one_computed_by_hand():
    # One input and one output each, no hidden layer: f = s(u x + b), psi = s(v y + d).
    networks = Networks(1, 1, 1, 1, (), np.random.default_rng(0), 0.1, np.float64)
    networks.weights[:] = u, b, v, d = 0.5, 0.0, -1.0, 0.25
    context, feedback, output = np.array([[1.0], [2.0]]), np.array([[0.0], [1.0]]), [0, 0]
    f = [1 / (1 + np.exp(-(u * x + b))) for x in (1.0, 2.0)]
    psi = [1 / (1 + np.exp(-(v * y + d))) for y in (0.0, 1.0)]
    # d loss / d f_i = 100 / 2 (mean psi - psi_i), times f_i (1 - f_i) by the log-odds.
    by_f = [50 * (sum(psi) / 2 - p) * a * (1 - a) for a, p in zip(f, psi, strict=True)]
    by_psi = [50 * (sum(f) / 2 - a) * p * (1 - p) for a, p in zip(f, psi, strict=True)]
    slopes = [by_f[0] + 2 * by_f[1], sum(by_f), by_psi[1], sum(by_psi)]
    first, second = np.zeros(4), np.zeros(4)
    for step in (1, 2):
        networks.weights[:] = u, b, v, d  # so that the slopes are the same again
        networks.contrast(context, feedback, output, output)
        np.testing.assert_allclose(networks.slopes, slopes)
        first = 0.9 * first + 0.1 * np.array(slopes)
        second = 0.999 * second + 0.001 * np.array(slopes) ** 2
        root = np.sqrt(second / (1 - 0.999**step)) + 1e-8
        expected = [u, b, v, d] - 0.1 * first / (1 - 0.9**step) / root
        np.testing.assert_allclose(networks.weights, expected, rtol=1e-12)


def test_adam_forgets_its_memory(networks, trials):
    networks.contrast(*trials, trials[2])
    networks.forget()
    assert (networks.steps, networks.mean.any(), networks.square.any()) == (0, False, False)


def test_first_weights_are_uniform_within_their_bounds():
    networks = Networks(64, 64, 3, 1, (250, 100), np.random.default_rng(0), 1e-5)
    assert networks.weights.dtype == np.float32
    for layers, features, last in ((networks.f, 64, 3), (networks.psi, 64, 1)):
        shapes = [by.shape for by, _ in layers]
        assert shapes == [(features, 250), (250, 100), (100, last)]
        for by, bias in layers:
            bound = 1 / np.sqrt(len(by))
            assert max(np.abs(by).max(), np.abs(bias).max()) <= bound
            if by.size > 1000:
                # A uniform number's SD; its standard error with 16000 numbers is 0.4 %.
                assert np.std(by) == pytest.approx(bound / np.sqrt(3), rel=0.02)


def test_an_output_is_flipped_alone(networks, trials):
    before = forward(networks.f, trials[0])[-1]
    flip(networks.f, 1)
    after = forward(networks.f, trials[0])[-1]
    np.testing.assert_allclose(after, before * [1, -1, 1])


def test_outputs_that_are_not_meant_have_no_slopes(networks, trials):
    found = forward(networks.f, trials[0])
    rows = np.arange(7)
    backward(networks.f, networks.f_slopes, found, rows, np.zeros(7, int), np.ones(7))
    weights, biases = networks.f_slopes[-1]
    assert biases[0] == 7 and not biases[1:].any() and not weights[:, 1:].any()


def test_losses_are_a_hundredfold():
    assert STRENGTH == 100
