"""Small recorded interactions with a reward that is easy to find."""

import numpy as np


def interactions(
    trials: int = 240, options: int = 3, features: int = 6, noise: float = 0.3, seed: int = 0
) -> dict[str, np.ndarray]:
    """Return arrays as `bciigl learn` reads them, reward and label among them; 6 runs.

    Feedback is a pattern of the action and one of the reward; test contexts are as many as a
    quarter of the trials.
    """
    rng = np.random.default_rng(seed)
    imagined, seen = rng.standard_normal((2, options, features))
    judged = 2 * rng.standard_normal((2, features))
    label, action = rng.integers(options, size=(2, trials))
    test_label = rng.integers(options, size=trials // 4)
    reward = (label == action).astype(int)

    def noisy(patterns: np.ndarray) -> np.ndarray:
        return patterns + noise * rng.standard_normal(patterns.shape)

    return {
        "context": noisy(imagined[label]),
        "action": action,
        "feedback": noisy(seen[action] + judged[reward]),
        "run": np.arange(trials) * 6 // trials,
        "reward": reward.astype(float),
        "label": label,
        "test_context": noisy(imagined[test_label]),
        "test_label": test_label,
        "test_run": np.arange(trials // 4) * 6 // (trials // 4),
    }
