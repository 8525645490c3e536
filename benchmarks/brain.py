"""How fast the simulated brain is, beside fmrisim in the same run.

Usage: OMP_NUM_THREADS=1 python benchmarks/brain.py   (about two minutes, 4 GB)
"""

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from timing import seconds

from bciigl.base.seeds import Seed
from bciigl.brain import Brain, Trials, load_subject
from bciigl.brain.noise import ExactNoise, RunPlan, StockNoise
from bciigl.brain.region import find_region
from bciigl.protocol import load
from bciigl.protocol.model import Cube, NoiseSources


def peak_bytes(work: Callable[[], object]) -> int:
    """Return the most memory that numpy and Python held at once."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def session(brain: Brain, trials: int) -> list[np.ndarray]:
    """Return the frames of all runs of a session with uniform guesses."""
    per_run = brain.protocol.task.trials_per_run
    runs = []
    for run, start in enumerate(range(0, trials, per_run), start=1):
        count = min(per_run, trials - start)
        truth = Trials.random(brain.protocol, count, np.random.default_rng(run))
        runs.append(brain.scan(run=run, trials=count).play(truth.events(brain.protocol)))
    return runs


def main() -> None:
    """Measure each claim, both sides one after the other."""
    protocol = load("number_guessing")
    subject = load_subject("brainiak")
    region = find_region(Cube(), subject)
    setup = seconds(partial(ExactNoise, subject, region, NoiseSources()))
    print(f"set up once per subject and region: {setup:.2f} s")

    plan = RunPlan(1.5, np.zeros(200, bool))
    exact = ExactNoise(subject, region, NoiseSources())
    ours = seconds(lambda: exact.run(plan, Seed(0)), 21)
    whole = seconds(lambda: StockNoise(subject, region, NoiseSources()).run(plan, Seed(0)))
    print(
        f"noise of the region, 200 frames: {1000 * ours:.2f} ms; fmrisim's whole brain"
        f" {whole:.1f} s: {whole / ours:.0f} times faster (wanted: 1000)"
    )

    brain = Brain(protocol)
    ours = seconds(lambda: session(brain, 666), 5)
    frames = [len(run) for run in session(brain, 666)]
    bare = replace(
        subject, template=subject.template[13:17, 40:44, 29:33], mask=np.ones((4, 4, 4), bool)
    )
    alone = StockNoise(bare, find_region(Cube(center=(1, 1, 1)), bare), NoiseSources())

    def stock_session(runs: list[int]) -> None:
        for run, count in enumerate(runs):
            alone.run(RunPlan(1.5, np.zeros(count, bool)), Seed(run))

    print(
        f"666 trials, {sum(frames)} frames, signal and noise: {ours:.3f} s; fmrisim's noise alone"
    )
    for how, runs in {"in one run": [sum(frames)], "run by run": frames}.items():
        cube = seconds(partial(stock_session, runs))
        print(f"  on the bare cube, {how}: {cube:.1f} s: {cube / ours:.0f} times faster")
    print("  (wanted: 100, in one run)")

    twice = seconds(lambda: session(brain, 1332), 5)
    memory = [peak_bytes(lambda n=n: session(brain, n)) for n in (666, 1332)]
    print(
        f"twice the trials: {twice / ours:.2f} times the time, {memory[1] / memory[0]:.2f} times"
        " the memory (wanted: at most 2.2)"
    )

    scanner = brain.scan(whole_brain=True, trials=20)
    times = [seconds(lambda: next(scanner)) for _ in range(scanner.frames)]
    slowest = np.percentile(times, 99)
    print(
        f"a frame of the whole brain: {1000 * np.median(times):.0f} ms, 99th percentile"
        f" {1000 * slowest:.0f} ms of {len(times)}: {slowest / scanner.tr:.3f} TR (wanted: 0.1)"
    )


if __name__ == "__main__":
    main()
