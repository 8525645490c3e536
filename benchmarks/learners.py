"""How fast estimates and learners are, as ratios within one run.

Usage: OMP_NUM_THREADS=1 python benchmarks/learners.py   (about two minutes)
"""

import time
import warnings

import numpy as np
from sessions import number_guessing, simulate
from sklearn.linear_model import LogisticRegression
from timing import seconds

from bciigl.brain import Brain, Trials
from bciigl.estimate import context, feedback
from bciigl.learn import ActionInclusiveIGL, FullConditionalIGL


def fits() -> None:
    """Compare fits with one logistic regression of contexts against actions."""
    for noise in (0.05, 0.5, 1.0):
        rng = np.random.default_rng(0)
        session = simulate(Brain(number_guessing(noise, 0)), "train", 2300, rng)
        data = session.context, session.action, session.feedback
        unit = seconds(lambda s=session: LogisticRegression().fit(s.context, s.action), 5)
        for learner in (ActionInclusiveIGL(), FullConditionalIGL()):
            ours = seconds(lambda one=learner, d=data, s=session: one.fit(*d, run=s.run), 5)
            wanted = " (wanted: at most 30)" if isinstance(learner, ActionInclusiveIGL) else ""
            print(
                f"{type(learner).__name__}, 2300 trials x 64 voxels x 3 actions, noise {noise:g}:"
                f" {ours:.3f} s, {ours / unit:.1f} logistic regressions of {1000 * unit:.1f} ms"
                f"{wanted}"
            )


def growth() -> None:
    """Show how the time grows with trials."""
    session = simulate(Brain(number_guessing(0.5, 0)), "train", 9200, np.random.default_rng(0))
    times = {}
    for trials in (2300, 4600, 9200):
        part = session.first(trials)
        times[trials] = seconds(
            lambda p=part: ActionInclusiveIGL().fit(p.context, p.action, p.feedback, run=p.run), 3
        )
    print(
        "growth of ActionInclusiveIGL in trials: "
        + ", ".join(f"{n} trials {t:.2f} s ({t / times[2300]:.1f} x)" for n, t in times.items())
        + " (wanted: at most 2 x and 4 x)"
    )


def many_actions() -> None:
    """Time 26 actions and 20 000 trials, as a speller has."""
    rng = np.random.default_rng(0)
    actions, trials, features = 26, 20_000, 64
    label, action = rng.integers(actions, size=(2, trials))
    context = 1.5 * rng.normal(size=(actions, features))[label] + rng.normal(
        size=(trials, features)
    )
    reward = (label == action)[:, None]
    feedback = rng.normal(size=(actions, features))[action] + rng.normal(size=(trials, features))
    feedback = feedback + 3 * reward * rng.normal(size=features)
    start = time.perf_counter()
    learner = ActionInclusiveIGL().fit(context[:-2000], action[:-2000], feedback[:-2000])
    took = time.perf_counter() - start
    accuracy = np.mean(learner.predict(context[-2000:]) == label[-2000:])
    print(
        f"26 actions x 20 000 trials: {took:.1f} s (wanted: at most 60), {100 * accuracy:.1f} %"
        f" right, {learner.diagnose().verdict}"
    )


def estimates() -> None:
    """Time causal contexts and whole-run feedback."""
    protocol = number_guessing(0.5, 0)
    brain = Brain(protocol)
    rng = np.random.default_rng(0)
    runs = [
        brain.scan(run=run, trials=46).play(Trials.random(protocol, 46, rng).events(protocol))
        for run in range(1, 16)
    ]
    times = []
    for frames in runs:
        for trial in range(46):
            start = time.perf_counter()
            context(frames, protocol, trial)
            times.append(time.perf_counter() - start)
    slowest = np.percentile(times, 99)
    print(
        f"a causal context: {1000 * np.median(times):.2f} ms, 99th percentile"
        f" {1000 * slowest:.2f} ms of {len(times)} (wanted: 3)"
    )
    took = seconds(lambda: [feedback(frames, protocol) for frames in runs], 3)
    print(
        f"feedback of {len(runs) * 46} trials from whole runs: {took:.2f} s (wanted: 0.5 per 666)"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # logistic regression that stops before it converges
    estimates()
    fits()
    growth()
    many_actions()
