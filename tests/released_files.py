"""Arrays as the authors released them, made up."""

from pathlib import Path

import numpy as np

RUNS, EACH, FEATURES = 50, 6, 5
TRIALS = RUNS * EACH


def arrays(each: int = EACH) -> dict[str, np.ndarray]:
    """Return interactions of a person who imagines, and answers with match or mismatch."""
    rng, noise, trials = np.random.default_rng(0), 0.1, RUNS * each
    patterns, answers = rng.normal(size=(3, FEATURES)), rng.normal(size=(2, FEATURES))
    meant, action, label = rng.integers(3, size=(3, trials))
    match = (meant == action).astype(int)

    def noisy(signal: np.ndarray) -> np.ndarray:
        return signal + noise * rng.normal(size=signal.shape)

    return {
        "context": noisy(patterns[meant]),
        "action": action,
        "feedback": noisy(0.5 * patterns[action] + answers[match]),
        "run": np.arange(trials) // each,
        "test_context": noisy(patterns[label]),
        "test_label": label,
    }


def packed(folder: Path, name: str = "noise_0.05.npz", **changes) -> Path:
    """Write arrays as one file; None leaves an array out."""
    folder.mkdir(exist_ok=True)
    whole = {**arrays(), **changes}
    np.savez(folder / name, **{key: each for key, each in whole.items() if each is not None})
    return folder
