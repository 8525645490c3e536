"""What earns its place: AI-IGL with each of its ideas switched off in turn.

Sessions are those of `simulated_brain.py`; a part of the search is switched off by replacing a
constant or a function of its module, in this process alone. With BCIIGL_TEST_DATA set, the arrays
that the paper's authors released are in it, too (its folder `released`). Writes
benchmarks/ablation.md if it is run with its own seeds.

Usage: OMP_NUM_THREADS=1 python benchmarks/ablation.py [first seed [seeds]]
(about three minutes on two cores)
"""

import argparse
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from joblib import Parallel, delayed
from sessions import CANONICAL, INDIVIDUAL, Recording, Session, estimate, number_guessing, record

from bciigl.brain import Brain
from bciigl.learn import ActionInclusiveIGL, search
from bciigl.study.learning import load_arrays, select
from bciigl.study.released import TEST_RUNS, TRAIN_RUNS

FIRST_SEED, SEEDS = 2000, 10
TEST_TRIALS = 920
PROCESSES = 2


@dataclass(frozen=True)
class Setting:
    """A simulated person and task."""

    trials: tuple[int, ...]
    noise: float = 1.0
    protocol: Mapping[str, Any] = field(default_factory=dict)


SETTINGS = {
    "default": Setting((92, 138)),
    "similarity 0": Setting((138,), protocol={"brain": {"similarity": 0.0}}),
    "people's responses differ": Setting((138,), protocol={"population": True}),
    "CNR 0.25": Setting((690,), protocol={"brain": {"cnr": 0.25}}),
    "noise 0.1": Setting((138,), 0.1),
}


@dataclass(frozen=True)
class Ablation:
    """What is switched off: parts of the search, and how estimates are made."""

    parts: Mapping[tuple[object, str], Any] = field(default_factory=dict)
    response: str = INDIVIDUAL
    normalise: bool = True

    @property
    def changes_estimates(self) -> bool:
        """Whether estimates are others: arrays that were released are as they are."""
        return (self.response, self.normalise) != (INDIVIDUAL, True)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Switch it off."""
        with ExitStack() as stack:
            for (owner, name), value in self.parts.items():
                stack.enter_context(patch.object(owner, name, value))
            yield


def _families(*spherical: bool) -> dict[tuple[object, str], Any]:
    """Return how to leave only families in which actions share directions, with such noise."""
    left = (each for each in search.FAMILIES if each.shared and each.spherical in spherical)
    return {(search, "FAMILIES"): tuple(left)}


def _unseen(found: search.Search) -> np.ndarray:
    """Return nothing to compare contexts with."""
    return np.zeros((found.task.data.n_actions, found.task.data.context.shape[1]))


ABLATIONS = {
    "all as it is": Ablation(),
    "no normalisation by the frames": Ablation(normalise=False),
    "fmrisim's response, not the person's": Ablation(response=CANONICAL),
    "spherical noise only": Ablation(_families(True)),
    "full covariance only": Ablation(_families(False)),
    "no directions of actions' own": Ablation(_families(True, False)),
    "noise measured again once only (ROUNDS = 1)": Ablation({(search, "ROUNDS"): 1}),
    "one singular pair (PAIRS = 1)": Ablation({(search, "PAIRS"): 1}),
    "match rate ignored (WRONG_RATE = 0)": Ablation({(search, "WRONG_RATE"): 0.0}),
    "resemblance of imagining and seeing ignored": Ablation({(search.Search, "_seen"): _unseen}),
    "what leaks left in": Ablation({(search, "without_leak"): lambda task: task}),
}
Cell = tuple[str, str, float, str]
"""Column, ablation, accuracy in percent, verdict."""


def one(name: str, seed: int) -> list[Cell]:
    """Return how often AI-IGL is right about one person, with and without each idea, percent."""
    setting = SETTINGS[name]
    brain = Brain(number_guessing(setting.noise, seed, **setting.protocol))
    rng = np.random.default_rng([seed, 1])
    whole = record(brain, "train", max(setting.trials), rng)
    test = record(brain, "test", TEST_TRIALS, rng)
    return [
        (f"{name}, {trials}", *found)
        for trials in setting.trials
        for found in _ablated(whole.first(trials), test)
    ]


def _ablated(train: Recording, test: Recording) -> Iterator[tuple[str, float, str]]:
    sessions: dict[tuple, tuple[Session, Session]] = {}
    for title, ablation in ABLATIONS.items():
        how = (ablation.response, ablation.normalise)
        if how not in sessions:
            sessions[how] = estimate(train, test, how[0], normalise=how[1])
        learned, tested = sessions[how]
        with ablation.applied():
            learner = ActionInclusiveIGL().fit(
                learned.context, learned.action, learned.feedback, run=learned.run
            )
        right = 100 * float(np.mean(learner.predict(tested.context) == tested.label))
        yield title, right, learner.diagnose().verdict


def released(folder: Path) -> list[Cell]:
    """Return the same of released arrays; training and test are as in `reproduce table2`."""
    rows = []
    for path in sorted(folder.glob("noise_*.npz")):
        sessions = select(load_arrays(path), TRAIN_RUNS, TEST_RUNS)
        (train, _), (test, truth) = sessions["train"], sessions["test"]
        level = path.stem.removeprefix("noise_")
        for title, ablation in ABLATIONS.items():
            if not ablation.changes_estimates:
                with ablation.applied():
                    learner = ActionInclusiveIGL().fit(
                        train.context, train.action, train.feedback, run=train.run
                    )
                right = 100 * learner.score(test.context, truth.meant, run=test.run)
                rows.append((f"released, {level}", title, right, learner.diagnose().verdict))
    return rows


def table(rows: list[Cell], seeds: range) -> str:
    """Return the results as Markdown."""
    columns = list(dict.fromkeys(row[0] for row in rows))
    lines = [
        "# What earns its place",
        "",
        "Made by `OMP_NUM_THREADS=1 python benchmarks/ablation.py`. AI-IGL with one idea switched",
        "off at a time. Percent right in a test session, mean and, in parentheses, worst of",
        f"{len(seeds)} seeds from {seeds[0]} on, then how many were trusted; simulated brain,",
        "noise 1, 3 options, unless stated otherwise. The number after the setting is that of",
        "training trials, of released arrays their noise (40 runs to learn from, 10 to test).",
        "",
        "| switched off | " + " | ".join(columns) + " |",
        "|---" * (1 + len(columns)) + "|",
    ]
    for title in ABLATIONS:
        cells = []
        for column in columns:
            mine = [row[2:] for row in rows if row[:2] == (column, title)]
            right = [accuracy for accuracy, _ in mine]
            trusted = sum(verdict == "trust" for _, verdict in mine)
            several = f"{np.mean(right):.1f} ({min(right):.1f}), {trusted}" if mine else ""
            cells.append(f"{right[0]:.1f}" if len(mine) == 1 else several)
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run all settings, and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", type=int, nargs="?", default=FIRST_SEED, help="first seed")
    parser.add_argument("seeds", type=int, nargs="?", default=SEEDS, help="how many seeds")
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + asked.seeds)
    cells = [(name, seed) for name in SETTINGS for seed in seeds]
    rows = sum(Parallel(n_jobs=PROCESSES)(delayed(one)(*cell) for cell in cells), [])
    if "BCIIGL_TEST_DATA" in os.environ:
        rows += released(Path(os.environ["BCIIGL_TEST_DATA"], "released"))
    text = table(rows, seeds)
    if (asked.first, asked.seeds) == (FIRST_SEED, SEEDS):
        Path(__file__).with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
