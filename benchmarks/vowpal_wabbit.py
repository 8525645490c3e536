"""Our learners beside Vowpal Wabbit's, on the same data in one run: accuracy and time.

Vowpal Wabbit's `--experimental_igl` (inverse kinematics) assumes feedback without the action, takes
DSJSON only, and weighs trials by its own exploration rate instead of the recorded propensity; with
`--epsilon 0.999` both agree for uniform guesses. It is given each run centred by its own mean and
features of unit variance, as our learners make them, and also ten principal components and ten
passes, which is the best of 56 settings that we tried on noise 0.5 (chosen with test labels, in its
favour). Writes benchmarks/vowpal_wabbit.md.

Usage: pip install vowpalwabbit==9.11.9 (Python 3.10 to 3.12), then
OMP_NUM_THREADS=1 python benchmarks/vowpal_wabbit.py   (about four minutes)
"""

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sessions import Session, estimate, number_guessing, record
from vowpalwabbit import LabelType, Workspace

from bciigl.brain import Brain
from bciigl.learn import ActionInclusiveIGL, ContextualBandit, FullConditionalIGL
from bciigl.learn.interactions import Scaling

SEEDS = range(3)
TRIALS, TEST_TRIALS, ACTIONS = 2300, 1150, 3
COMPONENTS = 10


def standardised(values: np.ndarray, run: np.ndarray) -> np.ndarray:
    """Return features centred by run, with unit variance, as our learners have them."""
    return Scaling.of(values, run).apply(values, run)


def reduced(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first principal components of training features, and the same of test features."""
    axes = np.linalg.svd(train, full_matrices=False)[2][:COMPONENTS].T
    scale = (train @ axes).std(axis=0)
    return train @ axes / scale, test @ axes / scale


def features(row: np.ndarray, prefix: str) -> dict[str, float]:
    """Return a row of features, and a constant, by name."""
    named = {f"{prefix}{place}": round(float(value), 6) for place, value in enumerate(row)}
    return {**named, "one": 1.0}


def igl_event(context: np.ndarray, action: int = 0, feedback: np.ndarray | None = None) -> str:
    """Return a trial as a line of DSJSON; without feedback it is for prediction."""
    event = (
        {
            "_label_cost": 0,
            "_label_probability": 1 / ACTIONS,
            "_label_Action": int(action) + 1,
            "_labelIndex": int(action),
            "o": [{"v": features(feedback, "y"), "_definitely_bad": False}],
        }
        if feedback is not None
        else {}
    )
    event |= {
        "a": list(range(ACTIONS)),
        "c": {"c": features(context, "x"), "_multi": [{"a": {f"a{k}": 1}} for k in range(ACTIONS)]},
        "p": [1 / ACTIONS] * ACTIONS,
    }
    return json.dumps(event)


def cb_example(context: np.ndarray, action: int | None = None, cost: float = 0.0) -> str:
    """Return a trial in the text format; without an action it is for prediction."""
    named = " ".join(f"{name}:{value}" for name, value in features(context, "x").items())
    labels = [f"0:{cost}:{1 / ACTIONS:.6f} " if k == action else "" for k in range(ACTIONS)]
    return "\n".join([f"shared |c {named}", *(f"{each}|a a{k}" for k, each in enumerate(labels))])


def vowpal_wabbit(
    arguments: str, train: list[str], test: list[str], passes: int, seed: int
) -> np.ndarray:
    """Return Vowpal Wabbit's scores of all actions for the test trials."""
    rng = np.random.default_rng(seed)
    kind = LabelType.CONTEXTUAL_BANDIT
    scores = []
    with Workspace(f"{arguments} -q ca --noconstant --quiet -b 20") as workspace:
        for index in np.concatenate([rng.permutation(len(train)) for _ in range(passes)]):
            example = workspace.parse(train[index], labelType=kind)
            workspace.learn(example)
            workspace.finish_example(example)
        for line in test:
            example = workspace.parse(line, labelType=kind)
            scores.append(workspace.predict(example))
            workspace.finish_example(example)
    return np.array(scores)


def vw_igl(train: Session, test: Session, seed: int, *, few: bool) -> np.ndarray:
    """Return the actions chosen by `--experimental_igl`."""
    x, xt = standardised(train.context, train.run), standardised(test.context, test.run)
    y = standardised(train.feedback, train.run)
    if few:
        (x, xt), (y, _) = reduced(x, xt), reduced(y, y)
    lines = [igl_event(*row) for row in zip(x, train.action, y, strict=True)]
    arguments = "--cb_explore_adf --coin --experimental_igl --dsjson --epsilon 0.999"
    scores = vowpal_wabbit(arguments, lines, [igl_event(row) for row in xt], 10 if few else 1, seed)
    return scores.argmax(axis=1)


def vw_cb(train: Session, test: Session, seed: int) -> np.ndarray:
    """Return the actions chosen by `--cb_adf`, which is told the reward."""
    x, xt = standardised(train.context, train.run), standardised(test.context, test.run)
    cost = -1.0 * (train.action == train.label)
    lines = [cb_example(*row) for row in zip(x, train.action, cost, strict=True)]
    scores = vowpal_wabbit("--cb_adf", lines, [cb_example(row) for row in xt], 1, seed)
    return scores.argmin(axis=1)


def ours(learner: object, train: Session, test: Session, *, told: bool = False) -> np.ndarray:
    """Return the actions chosen by one of our learners."""
    answer = train.action == train.label if told else train.feedback
    learner.fit(train.context, train.action, answer, run=train.run)
    return learner.predict(test.context, run=test.run)


LEARNERS: dict[str, Callable[[Session, Session, int], np.ndarray]] = {
    "bciigl AI-IGL": lambda a, b, seed: ours(ActionInclusiveIGL(), a, b),
    "bciigl full-CI IGL": lambda a, b, seed: ours(FullConditionalIGL(random_state=seed), a, b),
    "VW --experimental_igl": lambda a, b, seed: vw_igl(a, b, seed, few=False),
    "VW --experimental_igl, 10 components, 10 passes": lambda a, b, seed: vw_igl(
        a, b, seed, few=True
    ),
    "bciigl contextual bandit (told the reward)": lambda a, b, seed: ours(
        ContextualBandit(), a, b, told=True
    ),
    "VW --cb_adf (told the reward)": vw_cb,
}


def data_sets() -> dict[str, tuple[Session, Session]]:
    """Return training and test sessions by name."""
    found = {}
    for noise in (0.1, 0.5, 1.0):
        for only in ("perception and judgment", "judgment only"):
            weights = {"perception": 0.5 if "and" in only else 0.0, "judgment": 0.5}
            brain = Brain(number_guessing(noise, 0, feedback=weights))
            rng = np.random.default_rng(0)
            found[f"noise {noise:g}, {only}"] = estimate(
                record(brain, "train", TRIALS, rng), record(brain, "test", TEST_TRIALS, rng)
            )
    return found


def main() -> None:
    """Run all learners on all data sets, and keep the table."""
    data = data_sets()
    lines = [
        "# Beside Vowpal Wabbit",
        "",
        "Made by `OMP_NUM_THREADS=1 python benchmarks/vowpal_wabbit.py`, which says what was given",
        f"to it. Simulated brain, {TRIALS} trials, {TEST_TRIALS} to test, chance 33.3 %. Percent",
        f"right (mean of {len(SEEDS)} seeds of the learner, and the range), then seconds.",
        "",
        "| learner | " + " | ".join(data) + " |",
        "|---" * (1 + len(data)) + "|",
    ]
    for name, learner in LEARNERS.items():
        cells = []
        for train, test in data.values():
            start = time.perf_counter()
            right = [100 * np.mean(learner(train, test, seed) == test.label) for seed in SEEDS]
            took = (time.perf_counter() - start) / len(SEEDS)
            cells.append(
                f"{np.mean(right):.1f} ({min(right):.1f} to {max(right):.1f}), {took:.2f} s"
            )
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
