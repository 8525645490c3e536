"""How near label-free learning gets to the supervised ceiling, on the simulated brain.

One shared BOLD series, uniform guesses, estimates calibrated by the frames of the training session,
causal contexts in training and test, an independent test session. Writes
benchmarks/simulated_brain.md if it is run with its own seeds.

Usage: OMP_NUM_THREADS=1 python benchmarks/simulated_brain.py [first seed [seeds]]
(about four minutes on two cores)
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sessions import INDIVIDUAL, RIGHT, Session, estimate, number_guessing, record
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from bciigl.base.registry import LEARNERS
from bciigl.brain import Brain
from bciigl.learn.interactions import Interactions
from bciigl.recording.truth import Truth
from bciigl.study.learning import fit_learner

FIRST_SEED, SEEDS = 2000, 20
TEST_TRIALS = 920
PROCESSES = 2
# What is learned with, in the order of the columns; those that are not installed are left out.
COLUMNS = {"ai_igl": "AI-IGL", "transfer": "perception transfer", "cb": "contextual bandit"}
COLUMNS |= {"ceiling": "supervised"}


@dataclass(frozen=True)
class Setting:
    """A simulated person and task.

    Attributes
    ----------
    name : str
    wanted : dict
        How many trials are learned from, and the share of the ceiling that is wanted, percent; None
        where nothing is.
    protocol : dict
        What is given to `number_guessing` besides the seed.
    noise : float
    catch : bool
        Whether there are catch trials, if the protocol plans any.
    right : bool
        Whether the share is that of the ceiling of estimates that know the person's response.
    """

    name: str
    wanted: Mapping[int, float | None]
    protocol: Mapping[str, Any] = field(default_factory=dict)
    noise: float = 1.0
    catch: bool = True
    right: bool = False


LATE = {"hrf_delay": 2.0}
EARLY = {"hrf_delay": -1.0, "hrf_dispersion": 0.8}
LAPSES = {"imagination_lapse": 0.1, "judgment_lapse": 0.1}
SETTINGS = (
    Setting("default", {92: 85, 138: 97, 322: 99}),
    Setting("similarity 0", {138: 96}, {"brain": {"similarity": 0.0}}),
    Setting("K = 5", {322: 93}, {"options": 5}),
    Setting("K = 10", {1380: 93}, {"options": 10}),
    Setting("patterns smooth, 8 mm", {690: 80, 2300: 96}, {"brain": {"smoothness": 8.0}}),
    Setting("CNR 0.25", {690: 65, 2300: 97}, {"brain": {"cnr": 0.25}}),
    Setting("response 2 s late", {138: 95}, {"brain": LATE}, right=True),
    Setting("response 1 s early, narrower", {138: 95}, {"brain": EARLY}, right=True),
    Setting(
        "people's responses differ",
        {92: None, 138: None, 322: None},
        {"population": True},
        right=True,
    ),
    Setting("10 % lapses of both kinds", {230: 97}, {"human": LAPSES}),
    Setting(
        "K = 2, no catch trials",
        {138: 90},
        {
            "options": 2,
            "brain": {"similarity": 0.894},
            "task": {"trials": 138, "catch": {"share": 0.01}},
        },
        catch=False,
    ),
    Setting("noise 0.05", {138: None}, noise=0.05),
    Setting("noise 0.1", {138: None}, noise=0.1),
    Setting("noise 0.5", {138: None}, noise=0.5),
)


def one(setting: Setting, seed: int, learners: list[str]) -> list[dict]:
    """Return the accuracies of learners for one person, percent, for each number of trials."""
    brain = Brain(number_guessing(setting.noise, seed, **setting.protocol))
    rng = np.random.default_rng([seed, 1])
    whole = record(brain, "train", max(setting.wanted), rng, catch=setting.catch)
    test = record(brain, "test", TEST_TRIALS, rng, catch=False)
    rows = []
    for trials in setting.wanted:
        part = whole.first(trials)
        options = len(brain.protocol.task.options)
        row = learned(*estimate(part, test, INDIVIDUAL), options, learners)
        row["best"] = row["ceiling"]
        if setting.right:
            row["best"], _ = accuracy("ceiling", *estimate(part, test, RIGHT))
        rows.append({"setting": setting.name, "trials": trials, "seed": seed, **row})
    return rows


def learned(train: Session, test: Session, options: int, learners: list[str]) -> dict[str, Any]:
    """Return what each learner made of a training session, percent, and AI-IGL's own word on it."""
    row: dict[str, Any] = {}
    for learner in learners:
        row[learner], fitted = accuracy(learner, train, test, options)
        if learner == "ai_igl":
            told = fitted.diagnose()
            row["verdict"], interval = told.verdict, getattr(told, "interval", None)
    row["covered"] = None
    if row["verdict"] == "trust" and interval is not None:
        row["covered"] = bool(interval[0] <= row["ai_igl"] / 100 <= interval[1])
    guess = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    guess.fit(train.context, train.action)
    row["guess"] = 100 * (guess.score(test.context, test.action) - 1 / options)
    return row


def accuracy(
    learner: str, train: Session, test: Session, options: int | None = None
) -> tuple[float, Any]:
    """Return how often a learner is right, percent, and the learner.

    Test contexts are centred by the training mean, as those of a live session have to be.
    """
    given = Interactions(
        train.context, train.action, train.feedback, run=train.run, n_actions=options
    )
    truth = Truth(train.label, train.label == train.action)
    fitted = fit_learner(LEARNERS.get(learner), given, truth)
    return 100 * float(np.mean(fitted.predict(test.context) == test.label)), fitted


def table(rows: list[dict]) -> str:
    """Return the results as Markdown."""
    seeds = sorted({row["seed"] for row in rows})
    columns = {name: title for name, title in COLUMNS.items() if name in rows[0]}
    titles = [*columns.values(), "with the right response", "share", "wanted", "worst seed"]
    titles += ["guess told", "trusted", "estimate covers"]
    lines = [
        "# Label-free learning beside the supervised ceiling",
        "",
        "Made by `OMP_NUM_THREADS=1 python benchmarks/simulated_brain.py`. Simulated brain of",
        "`number_guessing` at noise 1, that of a real brain, unless stated otherwise; one shared",
        "BOLD series, uniform guesses, GLM estimates with the person's own response and normalised",
        "by the noise, both from the frames of the training session; causal contexts in training",
        f"and test, an independent test session of {TEST_TRIALS} trials, centred by the training",
        f"mean. Means over {len(seeds)} seeds, {seeds[0]} to {seeds[-1]}, percent.",
        "",
        "- with the right response: supervised learning from estimates that know the simulated",
        "  person's response",
        "- share: of AI-IGL in supervised learning of the same seed, with the right response where",
        "  that is given; the mean over seeds",
        "- worst seed: AI-IGL's accuracy there",
        "- guess told: how much better than chance a classifier tells the agent's later guess from",
        "  the context, percentage points",
        "- estimate covers: of the sessions trusted, those whose 95 % interval of the accuracy,",
        "  estimated without labels, has the accuracy of the test session in it",
        "",
        "| setting | trials | " + " | ".join(titles) + " |",
        "|---" * (2 + len(titles)) + "|",
    ]
    for setting in SETTINGS:
        for trials, wanted in setting.wanted.items():
            cell = [
                row for row in rows if (row["setting"], row["trials"]) == (setting.name, trials)
            ]
            if cell:
                cells = [setting.name, str(trials), *_cells(cell, list(columns), setting, wanted)]
                lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cells(
    rows: list[dict], learners: list[str], setting: Setting, wanted: float | None
) -> list[str]:
    found = [f"{np.mean([row[name] for row in rows]):.1f}" for name in learners]
    found.append(f"{np.mean([row['best'] for row in rows]):.1f}" if setting.right else "")
    found.append(f"{np.mean([100 * row['ai_igl'] / row['best'] for row in rows]):.1f}")
    found.append("" if wanted is None else f"{wanted:g}")
    found.append(f"{min(row['ai_igl'] for row in rows):.1f}")
    found.append(f"{np.mean([row['guess'] for row in rows]):+.1f}")
    found.append(f"{sum(row['verdict'] == 'trust' for row in rows)} of {len(rows)}")
    covered = [row["covered"] for row in rows if row["covered"] is not None]
    return [*found, f"{sum(covered)} of {len(covered)}"]


def main() -> None:
    """Run all settings and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", type=int, nargs="?", default=FIRST_SEED, help="first seed")
    parser.add_argument("seeds", type=int, nargs="?", default=SEEDS, help="how many seeds")
    asked = parser.parse_args()
    # The longest first, so that no process is idle at the end.
    order = sorted(SETTINGS, key=lambda each: -sum(each.wanted))
    # Those that can be loaded: metadata may be of another version.
    installed = {each.id for each in LEARNERS.all()}
    learners = [each for each in COLUMNS if each in installed]
    cells = [(setting, asked.first + each) for setting in order for each in range(asked.seeds)]
    rows = sum(Parallel(n_jobs=PROCESSES)(delayed(one)(*cell, learners) for cell in cells), [])
    text = table(rows)
    if (asked.first, asked.seeds) == (FIRST_SEED, SEEDS):
        Path(__file__).with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
