"""How often the verdict about a learner is right: a test bed of good, bad and treacherous sessions.

With g = (accuracy - chance) / (ceiling - chance), and a ceiling less than 10 points above chance
counted as a failure: sessions with g < 0.5 should not be trusted, those with g >= 0.9 should. The
thresholds of the verdict were chosen on other seeds than these. `session_kinds.py` has the kinds.
Writes benchmarks/verdicts.md if it is run as a whole with its own seeds.

Usage: OMP_NUM_THREADS=1 python benchmarks/verdicts.py [first seed [sessions per kind]]
       [--kinds "easy; two options"] [--details wrong.json]   (seven minutes on two cores)

Seeds from 100 on are for development. Kinds are separated by semicolons.
"""

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from session_kinds import CATCH_MATCH_RATE, KINDS, PURE_NOISE, recordings, white_noise
from sessions import Session

from bciigl.learn import ActionInclusiveIGL, InputError, SupervisedCeiling, Verdict

FIRST_SEED, SESSIONS = 15000, 25
PROCESSES = 2
# Sessions of pure noise for each one of another kind: a share near 0 needs many.
NOISE_SESSIONS = 8
# A ceiling that is no further above chance has failed.
LEAST_CEILING = 0.1
FAILED, GOOD = 0.5, 0.9


def one(kind: str, seed: int) -> dict[str, Any]:
    """Return what became of one session."""
    every = [*KINDS, *PURE_NOISE]
    rng = np.random.default_rng([every.index(kind), seed])
    row = {"kind": kind, "seed": seed}
    if kind == "noise, white":
        train, options = white_noise(rng)
        return row | _told(fitted(train, options), train, options) | {"noise": None, "g": -np.inf}
    plan, recorded, tested = recordings(kind, rng, seed)
    options = len(plan.protocol.task.options)
    known = recorded.calibration(normalise="not normalised" not in kind)
    in_scanner_units = known._replace(whitening=None)
    train = plan.spoil(recorded.estimated(in_scanner_units))
    train = train._replace(
        context=known.normalised(train.context), feedback=known.normalised(train.feedback)
    )
    learner = fitted(train, options)
    row |= _told(learner, train, options) | {"noise": plan.protocol.brain.noise}
    if kind in PURE_NOISE or isinstance(learner, Verdict):
        return row | {"g": -np.inf}
    test = tested.estimated(known)
    ceiling = SupervisedCeiling().fit(train.context, train.label, run=train.run)
    accuracy, best = (
        float(np.mean(each.predict(test.context, run=test.run) == test.label))
        for each in (learner, ceiling)
    )
    chance = 1 / options
    g = (accuracy - chance) / (best - chance) if best >= chance + LEAST_CEILING else -np.inf
    return row | {"g": g, "right": accuracy, "ceiling": best, "tested": len(test.label)}


def fitted(train: Session, options: int) -> ActionInclusiveIGL | Verdict:
    """Return AI-IGL, or a verdict where it refuses to learn."""
    catch = train.catch if train.catch.any() else None
    learner = ActionInclusiveIGL(options, match_rate=None if catch is None else CATCH_MATCH_RATE)
    how = {"run": train.run, "propensity": train.propensity, "catch": catch}
    try:
        return learner.fit(train.context, train.action, train.feedback, **how)
    except InputError as error:
        return Verdict("do not use", f"refused: {error}", "")


def _told(learner: ActionInclusiveIGL | Verdict, train: Session, options: int) -> dict[str, Any]:
    found = learner if isinstance(learner, Verdict) else learner.diagnose()
    return {"options": options, "trials": len(train.action), **found.as_dict()}


def covered(row: dict, *, test_error: bool = False) -> bool:
    """Tell whether the interval of the estimated accuracy has that of the test session in it.

    `test_error` is to allow for the standard error of the test session's.
    """
    (low, high), right = row["interval"], row["right"]
    low, high = low - row["accuracy"], high - row["accuracy"]
    if test_error:
        error = 1.96 * np.sqrt(right * (1 - right) / row["tested"])
        low, high = -np.hypot(low, error), np.hypot(high, error)
    return bool(low <= right - row["accuracy"] <= high)


def is_wrong(row: dict) -> bool:
    """Tell whether a session is to be listed: wrongly trusted or doubted, or not covered."""
    trusted = row["verdict"] == "trust"
    wrong = trusted if row["g"] < FAILED else not trusted and row["g"] >= GOOD
    return wrong or bool(trusted and row.get("interval") and "right" in row and not covered(row))


def share(rows: list[dict], verdict: str) -> float:
    """Return how many of the sessions got a verdict, percent."""
    return 100 * np.mean([row["verdict"] == verdict for row in rows]) if rows else np.nan


def report(rows: list[dict]) -> str:
    """Return the results as Markdown."""
    noise = [row for row in rows if row["kind"] in PURE_NOISE]
    others = [row for row in rows if row["kind"] in KINDS]
    failed, good = _failed(others), _good(others)
    trusted = [row for row in others if row["verdict"] == "trust" and row.get("interval")]
    seeds = [row["seed"] for row in rows]
    raw, allowed = (
        100 * np.mean([covered(row, test_error=each) for row in trusted]) if trusted else np.nan
        for each in (False, True)
    )
    lines = [
        "# How often the verdict is right",
        "",
        "Made by `OMP_NUM_THREADS=1 python benchmarks/verdicts.py`, with seeds from",
        f"{min(seeds)} on. The numbers in the verdict's rules were chosen on other seeds.",
        "g = (accuracy - chance) / (ceiling - chance); a ceiling less than 10 points above chance",
        "counts as a failure. Where nothing else is said, noise is 0.3 to 1.1, K is 3 to 5, and",
        "there are 138 to 690 trials. What the kinds are meant to be and what becomes of them",
        "differs: where the judgment has no weight in the feedback, it can still leak into it.",
        "Test contexts are centred by the means of their own runs.",
        "",
        "| | sessions | measured | wanted |",
        "|---|---|---|---|",
        f"| g < 0.5, not trusted | {len(failed)} | {100 - share(failed, 'trust'):.1f} % | 99 % |",
        f"| g >= 0.9, trusted | {len(good)} | {share(good, 'trust'):.1f} % | 90 % |",
        f"| g >= 0.9, do not use | {len(good)} | {share(good, 'do not use'):.1f} % | |",
        *(
            f"| pure {kind}: trusted | {len(mine)} | {share(mine, 'trust'):.1f} % | at most 1 % |"
            for kind in PURE_NOISE
            if (mine := [row for row in noise if row["kind"] == kind])
        ),
        "| trusted: the estimated accuracy's 95 % interval has the test session's in it |"
        f" {len(trusted)} | {raw:.1f} % | 85 % |",
        f"| the same, the test session's own error allowed for | {len(trusted)} | {allowed:.1f} %"
        " | |",
        "",
        "| kind | what it is | g < 0.5 | of them trusted | g >= 0.9 | of them trusted | trust"
        " | doubtful | do not use | interval covers |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for kind, what in {**KINDS, **PURE_NOISE}.items():
        mine = [row for row in rows if row["kind"] == kind]
        if mine:
            lines.append(f"| {kind} | {what} | {' | '.join(map(str, _counts(mine)))} |")
    return "\n".join(lines) + "\n"


def _failed(rows: list[dict]) -> list[dict]:
    return [row for row in rows if row["g"] < FAILED]


def _good(rows: list[dict]) -> list[dict]:
    return [row for row in rows if row["g"] >= GOOD]


def _counts(rows: list[dict]) -> list[object]:
    count = Counter(row["verdict"] for row in rows)
    found: list[object] = []
    for some in (_failed(rows), _good(rows)):
        found += [len(some), sum(row["verdict"] == "trust" for row in some)]
    found += [count[each] for each in ("trust", "doubtful", "do not use")]
    asked = [row for row in rows if row["verdict"] == "trust" and "right" in row]
    asked = [covered(row) for row in asked if row["interval"]]
    return [*found, f"{sum(asked)} of {len(asked)}"]


def main() -> None:
    """Run all sessions, and keep the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", type=int, nargs="?", default=FIRST_SEED, help="first seed")
    parser.add_argument("sessions", type=int, nargs="?", default=SESSIONS, help="of each kind")
    parser.add_argument("--kinds", help="only these, separated by semicolons")
    parser.add_argument("--details", type=Path, help="a JSON file for sessions judged wrongly")
    asked = parser.parse_args()
    known = [*KINDS, *PURE_NOISE]
    kinds = known if asked.kinds is None else [each.strip() for each in asked.kinds.split(";")]
    if unknown := sorted(set(kinds) - set(known)):
        parser.error(f"unknown kind {unknown[0]!r}; known are {'; '.join(known)}")
    cells = [
        (kind, asked.first + each)
        for kind in kinds
        for each in range(asked.sessions * (NOISE_SESSIONS if kind in PURE_NOISE else 1))
    ]
    rows = Parallel(n_jobs=PROCESSES)(delayed(one)(*cell) for cell in cells)
    text = report(rows)
    if (asked.first, asked.sessions, kinds) == (FIRST_SEED, SESSIONS, known):
        Path(__file__).with_suffix(".md").write_text(text)
    if asked.details is not None:
        wrong = [{**row, "g": max(row["g"], -9.0)} for row in rows if is_wrong(row)]
        asked.details.write_text(json.dumps(wrong, indent=1, default=float) + "\n")
    print(text)


if __name__ == "__main__":
    main()
