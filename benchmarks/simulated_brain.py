"""How near label-free learning gets to the supervised ceiling, on the simulated brain.

One shared BOLD series, uniform guesses, causal contexts in training and test, an independent test
session, ten seeds. Writes benchmarks/simulated_brain.md.

Usage: OMP_NUM_THREADS=1 python benchmarks/simulated_brain.py   (about four minutes on two cores)
"""

from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sessions import number_guessing, simulate
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from bciigl.brain import Brain
from bciigl.learn import ActionInclusiveIGL, ContextualBandit, FullConditionalIGL, SupervisedCeiling

SEEDS = range(10)
NOISE = (0.05, 0.1, 0.5, 1.0)
TRIALS = (690, 2300)
TEST_TRIALS = 2300
WANTED = {(0.5, 2300): 99, (0.5, 690): 97, (1.0, 2300): 97, (1.0, 690): 88}
LEARNERS = ("ai_igl", "igl_full_ci", "cb", "ceiling")


def one(noise: float, seed: int) -> list[dict]:
    """Return the accuracies of all learners for one person, percent."""
    brain = Brain(number_guessing(noise, seed))
    rng = np.random.default_rng([seed, 1])
    whole = simulate(brain, "train", max(TRIALS), rng)
    test = simulate(brain, "test", TEST_TRIALS, rng)
    rows = []
    for trials in TRIALS:
        train = whole.first(trials)
        data, run = (train.context, train.action), train.run
        fitted = {
            "ai_igl": ActionInclusiveIGL().fit(*data, train.feedback, run=run),
            "igl_full_ci": FullConditionalIGL().fit(*data, train.feedback, run=run),
            "cb": ContextualBandit().fit(*data, train.action == train.label, run=run),
            "ceiling": SupervisedCeiling().fit(train.context, train.label, run=run),
        }
        row = {
            name: 100 * np.mean(learner.predict(test.context) == test.label)
            for name, learner in fitted.items()
        }
        guess = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(*data)
        row["guess"] = 100 * guess.score(test.context, test.action)
        rows.append({"noise": noise, "trials": trials, "seed": seed, **row})
        rows[-1]["verdict"] = fitted["ai_igl"].diagnose().verdict
    return rows


def table(rows: list[dict]) -> str:
    """Return the results as Markdown."""
    lines = [
        "# Label-free learning beside the supervised ceiling",
        "",
        "Made by `OMP_NUM_THREADS=1 python benchmarks/simulated_brain.py`. Simulated brain of",
        "`number_guessing`, one shared BOLD series, uniform guesses, GLM estimates, causal",
        "contexts in training and test, an independent test session of",
        f"{TEST_TRIALS} trials, means over {len(SEEDS)} seeds, percent; test contexts are centred",
        "by the training mean. Share: AI-IGL over the ceiling of the same seed, and that of the",
        "worst seed. Guess: how well a classifier tells the agent's later guess from the context;",
        "chance is 33.3.",
        "",
        "| noise | trials | AI-IGL | full-CI IGL | CB | ceiling | share | wanted | worst seed"
        " | guess | trusted |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for noise in NOISE:
        for trials in TRIALS:
            cell = [row for row in rows if (row["noise"], row["trials"]) == (noise, trials)]
            mean = {name: np.mean([row[name] for row in cell]) for name in (*LEARNERS, "guess")}
            share = [100 * row["ai_igl"] / row["ceiling"] for row in cell]
            wanted = WANTED.get((noise, trials), "")
            trusted = sum(row["verdict"] == "trust" for row in cell)
            lines.append(
                f"| {noise:g} | {trials} | "
                + " | ".join(f"{mean[name]:.1f}" for name in LEARNERS)
                + f" | {np.mean(share):.1f} | {wanted} | {min(share):.1f} | {mean['guess']:.1f}"
                + f" | {trusted} of {len(cell)} |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run all cells on all cores and keep the table."""
    cells = [(noise, seed) for noise in NOISE for seed in SEEDS]
    rows = sum(Parallel(n_jobs=-1)(delayed(one)(*cell) for cell in cells), [])
    text = table(rows)
    Path(__file__).with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
