"""Does the closed loop matter? How often guesses match while an agent learns, and what it costs.

333 trials at the noise of a real brain, of which 46 are guessed uniformly, then epsilon 0.2. The
agent gets contexts and feedback, no labels and no rewards. What is possible is
(1 - epsilon) x ceiling + epsilon / K, with the ceiling of a supervised classifier that was told all
labels of the same session, in the test session.

Usage: OMP_NUM_THREADS=1 python benchmarks/closed_loop.py [first seed [seeds [noise]]]
(about a minute on two cores)
"""

import argparse
import time
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sessions import number_guessing

from bciigl.learn import SupervisedCeiling
from bciigl.loop import simulate
from bciigl.study.learning import matches_by_fifths

FIRST_SEED, SEEDS, NOISE = 2000, 10, 1.0
TRIALS, TEST_TRIALS = 333, 920
EPSILON = 0.2
LEARN_EVERY = (1, "10 trials")
LAST = 3  # fifths of the session in which the agent should have learned
PROCESSES = 2


def session(noise: float, learn_every: int | str, seed: int) -> dict[str, Any]:
    """Return how often guesses matched by fifths, percent, what was possible, and seconds.

    The time of each trial has the brain in it; that of a run's first trial, before which the agent
    may learn and the noise of the run is drawn, is told apart.
    """
    agent = {"policy": "epsilon-greedy", "epsilon": EPSILON, "uniform_runs": 1}
    protocol = number_guessing(
        noise,
        seed,
        task={"trials": TRIALS},
        agent={**agent, "learn_every": learn_every},
        evaluation={"test_trials": TEST_TRIALS},
    )
    calls = [(0, time.perf_counter())]
    held = simulate(protocol, progress=lambda done, _: calls.append((done, time.perf_counter())))
    (train, truth), (test, labels) = held["train"], held["test"]
    ceiling = SupervisedCeiling().fit(train.context, truth.meant, run=train.run)
    # Centred by the training mean, as the agent has to do it.
    best = 100 * ceiling.score(test.context, labels.meant)
    possible = (1 - EPSILON) * best + EPSILON * 100 / len(protocol.task.options)
    done, when = np.array(calls).T
    within = (np.diff(done) == 1) & (done[1:] <= TRIALS)
    first = (done[1:] - 1) % protocol.task.trials_per_run == 0
    seconds = np.diff(when)
    return {
        "fifths": matches_by_fifths(held["train"]),
        "ceiling": best,
        "possible": possible,
        "trial": seconds[within & ~first],
        "run": seconds[within & first],
    }


def row(learn_every: int | str, found: list[dict[str, Any]]) -> str:
    """Return a line of the table."""
    fifths = np.array([each["fifths"] for each in found])
    last, possible = fifths[:, -LAST:].mean(axis=1), np.array([each["possible"] for each in found])
    shares = 100 * last / possible
    every = f"{learn_every} run" if learn_every == 1 else str(learn_every)
    trials = 1000 * np.concatenate([each["trial"] for each in found])
    runs = 1000 * np.concatenate([each["run"] for each in found])
    cells = [
        every,
        " / ".join(f"{each:.1f}" for each in fifths.mean(axis=0)),
        f"{last.mean():.1f}",
        f"{np.mean([each['ceiling'] for each in found]):.1f}",
        f"{possible.mean():.1f}",
        f"{shares.mean():.1f}",
        f"{shares.min():.1f}",
        f"{np.median(trials):.1f}, {np.percentile(trials, 99):.0f}",
        f"{np.median(runs):.0f}",
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", type=int, nargs="?", default=FIRST_SEED, help="first seed")
    parser.add_argument("seeds", type=int, nargs="?", default=SEEDS, help="how many seeds")
    parser.add_argument("noise", type=float, nargs="?", default=NOISE, help="1 is a real brain's")
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + asked.seeds)
    print(
        f"Percent, means of seeds {seeds[0]} to {seeds[-1]}, noise {asked.noise:g}; share: of what"
        " is possible, mean of seeds.\n"
    )
    titles = ["learns every", "matched, by fifths", "last three fifths", "ceiling", "possible"]
    titles += ["share", "worst seed", "ms a trial, median and 99 %", "ms a run's first trial"]
    print("| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|")
    for every in LEARN_EVERY:
        cells = (delayed(session)(asked.noise, every, seed) for seed in seeds)
        print(row(every, Parallel(n_jobs=PROCESSES)(cells)), flush=True)


if __name__ == "__main__":
    main()
