"""Does the closed loop matter? How often guesses match while an agent learns, and what it costs.

Usage: python benchmarks/closed_loop.py [SEEDS [NOISE...]]

666 trials, of which 138 are guessed uniformly, then epsilon 0.2: an agent that knew all would match
in 86.7 % of them. The agent gets contexts and feedback, no labels and no rewards.
"""

import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from sessions import number_guessing

from bciigl.loop import record
from bciigl.recording import open_dataset
from bciigl.study.learning import load_sessions, matches_by_fifths

AGENT = {"policy": "epsilon-greedy", "epsilon": 0.2, "uniform_runs": 3}


def session(noise: float, seed: int) -> tuple[list[float], np.ndarray]:
    """Return the match rates of one session by fifths, and the seconds that trials took.

    The first trial of each run is left out: learning and the run's noise come before it.
    """
    protocol = number_guessing(noise, seed, agent=AGENT, evaluation={"test_trials": 46})
    calls = []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "session")
        record(protocol, out, progress=lambda done, _: calls.append((done, time.perf_counter())))
        fifths = matches_by_fifths(load_sessions(open_dataset(out))["train"])
    done, when = np.array(calls).T
    # It is called after each trial and, with the same number again, after each run.
    in_run = (np.diff(done) == 1) & (np.diff(done, prepend=0)[:-1] == 1)
    return fifths, np.diff(when)[in_run]


def main() -> None:
    """Print the table."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    levels = [float(each) for each in sys.argv[2:]] or [0.1, 0.5, 1.0]
    print("| noise | guesses that matched, by fifths, mean of seeds | last fifth, worst seed |")
    print("|---|---|---|")
    for noise in levels:
        with ProcessPoolExecutor(2) as pool:
            found = list(pool.map(partial(session, noise), range(seeds)))
        fifths = np.array([rates for rates, _ in found])
        mean = " / ".join(f"{each:.1f}" for each in fifths.mean(axis=0))
        print(f"| {noise:g} | {mean} % | {fifths[:, -1].min():.1f} % |", flush=True)
    _, times = session(0.5, 0)  # alone on the machine
    middle, most = 1000 * np.percentile(times, [50, 99])
    print(
        f"\nmilliseconds a trial, brain and journal included: median {middle:.2f}, 99 % {most:.2f}"
    )


if __name__ == "__main__":
    main()
