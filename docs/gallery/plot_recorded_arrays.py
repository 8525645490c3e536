"""
Learn from arrays of any recording
==================================

Learners take features of EEG, fNIRS or fMRI: what was measured before each guess (the context), the
guess, and what was measured after it (the feedback). Here they are made up: eight channels that
share noise.
"""

import numpy as np

import bciigl

rng = np.random.default_rng(0)
trials, channels = 240, 8
imagined, guess = rng.integers(3, size=(2, trials))
patterns = 0.7 * rng.standard_normal((3, channels))
mixing = rng.standard_normal((channels, channels))  # what makes channels share their noise


def noise(rows):
    """Return noise as the channels have it."""
    return rng.standard_normal((rows, channels)) @ mixing


context = patterns[imagined] + noise(trials)
judged = 1.5 * (imagined == guess)[:, None] * rng.standard_normal(channels)
feedback = patterns[guess] + judged + noise(trials)

# %%
# The last 80 trials are kept for the test. Rest, during which nothing happened, tells the noise
# between channels.

arrays = {
    "context": context[:160],
    "action": guess[:160],
    "feedback": feedback[:160],
    "noise": noise(1000),
    "test_context": context[160:],
    "test_label": imagined[160:],
}
results = bciigl.learn(arrays)
results

# %%
# What the learner says is checked against the truth: the confusion of the test trials.

from sklearn.metrics import ConfusionMatrixDisplay

display = ConfusionMatrixDisplay(np.asarray(results.main.confusion), display_labels=["A", "B", "C"])
display.plot(cmap="Blues", colorbar=False)
display.ax_.set(
    xlabel="decoded",
    ylabel="imagined",
    title=f"{results.accuracy:.0f} % of the test trials are right",
)
