"""How often the verdict about a learner is right: a test bed of good, bad and treacherous sessions.

With g = (accuracy - chance) / (ceiling - chance), and a ceiling less than 10 points above chance
counted as a failure: sessions with g < 0.5 should not be trusted, those with g >= 0.9 should. The
thresholds of the verdict were chosen on other seeds than these. Writes benchmarks/verdicts.md.

Usage: OMP_NUM_THREADS=1 python benchmarks/verdicts.py [first seed]   (three minutes on two cores)
"""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sessions import Session, simulate

from bciigl.brain import Brain
from bciigl.learn import ActionInclusiveIGL, SupervisedCeiling
from bciigl.protocol import Protocol

SESSIONS_PER_KIND = 30
TEST_TRIALS = 460
KINDS = {
    "easy": "noise 0.05 to 0.7",
    "hard": "noise 0.9 to 2, few trials",
    "hopeless": "noise 4 to 10, or no judgment in the feedback",
    "drifting": "a random walk within each run, shared by context and feedback",
    "leaking": "the context added to the feedback, as it is, rotated, or along one direction",
    "smooth": "patterns smoothed by 2 to 8 mm, noise 0.2 to 1.2",
    "lapsing": "5 to 40 % wrong judgments, up to 30 % wrong imaginations",
    "two options": "K = 2 without catch trials",
    "two options, catch trials": "K = 2 with 10 to 40 % catch trials",
}


def draw(kind: str, rng: np.random.Generator, seed: int) -> Protocol:
    """Return the protocol of a session of some kind."""
    options = 2 if kind.startswith("two") else int(rng.choice([3, 3, 3, 4, 5]))
    runs, low, high = [10, 15, 30], 0.05, 0.7
    brain, human, feedback, catch = {}, {}, {}, {}
    if kind == "hard":
        runs, low, high = [5, 10, 15, 30], 0.9, 2.0
    elif kind == "hopeless":
        if rng.random() < 0.5:
            feedback = {"perception": 1.0, "judgment": 0.0}
        else:
            low, high = 4.0, 10.0
    elif kind in ("drifting", "leaking"):
        low, high = 0.2, 1.0
    elif kind == "smooth":
        low, high, brain = 0.2, 1.2, {"smoothness": rng.uniform(2, 8)}
    elif kind == "lapsing":
        low, high = 0.1, 0.9
        human = {
            "judgment_lapse": rng.uniform(0.05, 0.4),
            "imagination_lapse": rng.uniform(0, 0.3),
        }
    elif options == 2:
        # Without catch trials two options are refused, so they get a few that nobody is told of.
        low, high = 0.1, 1.0
        share = rng.uniform(0.1, 0.4) if "catch" in kind else 0.01
        catch = {"share": share, "match_rate": 0.8}
    return Protocol(
        name="verdict",
        task={
            "options": list(range(options)),
            "trials": 46 * int(rng.choice(runs)),
            "catch": catch,
        },
        brain={"noise": rng.uniform(low, high), **brain},
        human=human,
        feedback=feedback,
        seed=seed,
    )


def spoil(kind: str, session: Session, rng: np.random.Generator) -> Session:
    """Return a session with drift or a leak added, where its kind has one."""
    context, feedback = session.context, session.feedback
    voxels = context.shape[1]
    if kind == "drifting":
        size = 10 ** rng.uniform(-1, 0.2)
        walk = np.concatenate(
            [
                np.cumsum(rng.normal(0, 0.15, ((session.run == run).sum(), 3)), axis=0)
                for run in np.unique(session.run)
            ]
        )
        places = rng.normal(size=(2, 3, voxels))
        context = context + size * context.std() * walk @ places[0]
        feedback = feedback + size * feedback.std() * walk @ places[1]
    if kind == "leaking":
        size = 10 ** rng.uniform(-1, 0.5)
        ways = (
            np.eye(voxels),
            np.linalg.qr(rng.normal(size=(voxels, voxels)))[0],
            np.outer(rng.normal(size=voxels), rng.normal(size=voxels)) / voxels,
        )
        way = ways[rng.integers(len(ways))]
        leak = (context - context.mean(axis=0)) / context.std() @ way
        feedback = feedback + size * feedback.std() * leak
    return session._replace(context=context, feedback=feedback)


def one(kind: str, seed: int) -> dict:
    """Return what became of one session."""
    rng = np.random.default_rng([list(KINDS).index(kind), seed])
    protocol = draw(kind, rng, seed)
    brain = Brain(protocol)
    train = spoil(kind, simulate(brain, "train", protocol.task.trials, rng), rng)
    test = simulate(brain, "test", TEST_TRIALS, rng)
    catch = train.catch if "catch" in kind else None
    learner = ActionInclusiveIGL(
        n_actions=len(protocol.task.options), match_rate=None if catch is None else 0.8
    ).fit(train.context, train.action, train.feedback, run=train.run, catch=catch)
    ceiling = SupervisedCeiling().fit(train.context, train.label, run=train.run)
    accuracy, best = (
        np.mean(each.predict(test.context, run=test.run) == test.label)
        for each in (learner, ceiling)
    )
    chance = 1 / len(protocol.task.options)
    g = (accuracy - chance) / (best - chance) if best >= chance + 0.1 else -np.inf
    return {"kind": kind, "seed": seed, "g": g, "verdict": learner.diagnose().verdict}


def share(rows: list[dict], verdict: str) -> float:
    """Return how many of the sessions got a verdict, percent."""
    return 100 * np.mean([row["verdict"] == verdict for row in rows])


def report(rows: list[dict]) -> str:
    """Return the results as Markdown."""
    failed = [row for row in rows if row["g"] < 0.5]
    good = [row for row in rows if row["g"] >= 0.9]
    blind = [row for row in rows if row["kind"] == "two options"]
    lines = [
        "# How often the verdict is right",
        "",
        "Made by `OMP_NUM_THREADS=1 python benchmarks/verdicts.py`. The numbers in the verdict's",
        "rules were chosen on other seeds. g = (accuracy - chance) / (ceiling - chance); a ceiling",
        "less than 10 points above chance counts as a failure. What the kinds are meant to be and",
        "what becomes of them differs: where the judgment has no weight in the feedback, it can",
        "still leak into it.",
        "",
        "| | sessions | measured | wanted |",
        "|---|---|---|---|",
        f"| g < 0.5, not trusted | {len(failed)} | {100 - share(failed, 'trust'):.1f} % | 95 % |",
        f"| g >= 0.9, trusted | {len(good)} | {share(good, 'trust'):.1f} % | 80 % |",
        f"| g >= 0.9, do not use | {len(good)} | {share(good, 'do not use'):.1f} % | at most 5 % |",
        f"| K = 2 without catch trials, trusted | {len(blind)} | {share(blind, 'trust'):.1f} %"
        " | 0 % |",
        "",
        "| kind | what it is | g < 0.5 | g >= 0.9 | trust | doubtful | do not use"
        " | of failed, trusted |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind, what in KINDS.items():
        mine = [row for row in rows if row["kind"] == kind]
        count = Counter(row["verdict"] for row in mine)
        trusted = sum(row["verdict"] == "trust" and row["g"] < 0.5 for row in mine)
        lines.append(
            f"| {kind} | {what} | {sum(row['g'] < 0.5 for row in mine)}"
            f" | {sum(row['g'] >= 0.9 for row in mine)}"
            f" | {count['trust']} | {count['doubtful']} | {count['do not use']} | {trusted} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run all sessions on all cores and keep the report."""
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    cells = [(kind, first + each) for kind in KINDS for each in range(SESSIONS_PER_KIND)]
    rows = Parallel(n_jobs=-1)(delayed(one)(*cell) for cell in cells)
    text = report(rows)
    if first == 1000:
        Path(__file__).with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
