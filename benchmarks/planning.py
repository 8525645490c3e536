"""How often a plan's interval is right, and how often people are stopped wrongly.

Calibration: the default plan of number_guessing, again and again with other people, against a
reference of 400 people: do the true hours lie in the stated interval, and how wide is it? People
are simulated once, plans are disjoint groups of them or, where there are too few, random ones.

Stopping: people whose training sessions are looked at in full length, at all lengths. What a plan
would have found with its rules is compared with what is true, for many targets.

Writes benchmarks/planning.md if it is run with its own numbers. People are kept in a folder, and
those who are there are not simulated again.

Usage: OMP_NUM_THREADS=1 python benchmarks/planning.py FOLDER [--people 800] [--whole 40]
(25 minutes on two cores: 2.9 seconds of a core for a person, 10 if looked at in full length)
"""

import argparse
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from bciigl.base.threads import one_thread
from bciigl.protocol import load
from bciigl.study import run_study
from bciigl.study.plan import Plan
from bciigl.study.plan_answer import Need, interval_of, needs_of_designs, ranks
from bciigl.study.plan_person import Person
from bciigl.study.plan_search import Look, accuracy_bounds, first_reached, lengths, search

SEED, PEOPLE, WHOLE = 7000, 800, 40
WHOLE_SEED = 8000  # the rules for stopping were chosen on people from 7001 to 7048
REFERENCE, PLANS, SIZE = 400, 40, 100
PROCESSES = 2
TARGETS = (75, 80, 85, 88, 90, 92, 94)


def needs(folder: Path, people: int) -> list[Need]:
    """Return what simulated people need, each a person of the default plan."""
    plan = Plan(load("number_guessing", changes={"seed": SEED}), people=people)
    outcome = run_study(plan, folder / "people", jobs=PROCESSES)
    return list(needs_of_designs(plan, outcome.results)[0].values())


def calibration(found: list[Need], size: int = SIZE, power: float = 0.9) -> dict[str, float]:
    """Return how many plans have the true hours in their interval, and the median of its width."""
    reference, others = found[:REFERENCE], found[REFERENCE:]
    true = sorted(each.hours for each in reference)[ranks(len(reference), power)[0] - 1]
    rng = np.random.default_rng(0)
    groups = [others[place * size : (place + 1) * size] for place in range(PLANS)]
    if len(others) < PLANS * size:
        groups = [
            [others[each] for each in rng.permutation(len(others))[:size]] for _ in range(PLANS)
        ]
    inside, width, bounded = [], [], []
    for group in groups:
        middle = sorted(each.hours for each in group)[ranks(size, power)[0] - 1]
        low, high = interval_of(group, power)
        inside.append(low <= true and (high is None or true <= high))
        bounded.append(high is not None)
        width.append(np.inf if high is None else (high - low) / middle)
    return {
        **{"size": size, "true": true, "inside": 100 * np.mean(inside)},
        **{"width": 100 * np.median(width), "bounded": 100 * np.mean(bounded)},
    }


def whole(seed: int) -> tuple[float, list[Look]]:
    """Return what the signal allows, and looks at all lengths, of one person."""
    plan = Plan(load("number_guessing", changes={"seed": seed}), people=1)
    with one_thread():
        person = Person(plan.cells[0].protocol)
        grid = lengths(plan.cells[0].protocol.task.trials)
        return person.signal(), [person.look(each, plan.learner) for each in grid]


def stopping(people: list[tuple[float, list[Look]]]) -> list[dict[str, float]]:
    """Return, for each target, how often a plan would have found something else, and its cost."""
    goal = Plan(load("number_guessing"), people=1).cells[0].goal
    rows = []
    for target in TARGETS:
        mine = goal._replace(needed=float(target))
        early = hopeless = late = 0
        looked = []
        for signal, looks in people:
            at = {each.trials: each for each in looks}
            true = first_reached(looks, mine)
            if accuracy_bounds(signal, mine.tested)[1] < mine.needed:
                hopeless += 1
                late += true is not None
                looked.append(0)
                continue
            some, _ = search(list(at), mine, at.get)
            found = first_reached(some, mine)
            early += (found and found.trials) != (true and true.trials)
            looked.append(len(some))
        rows.append(
            {
                **{"target": target, "people": len(people), "differs": early},
                **{"hopeless": hopeless, "wrongly": late},
                **{"looks": np.mean(looked), "of": len(people[0][1])},
                "reach": sum(first_reached(looks, mine) is not None for _, looks in people),
            }
        )
    return rows


def report(calibrated: list[dict], stopped: list[dict], people: int) -> str:
    """Return the results as Markdown."""
    lines = [
        "# How often a plan is right",
        "",
        "Made by `OMP_NUM_THREADS=1 python benchmarks/planning.py FOLDER`. The plan is the default",
        f"one of number_guessing: 80 %, 9 in 10 people, noise 1, 3 hours. {PLANS} plans of people",
        f"from {people - REFERENCE}, against a reference of {REFERENCE} other people.",
        "",
        "| people of a plan | true hours | in the interval | wanted | median width | wanted |"
        " bounded above |",
        "|---|---|---|---|---|---|---|",
        *(
            "| {size} | {true:.2f} | {inside:.0f} % | 90 % | {width:.0f} % | 40 % |"
            " {bounded:.0f} % |".format(**each)
            for each in calibrated
        ),
        "",
        "## Stopping early",
        "",
        "People looked at in full length. Differs: the plan's rules find another length than all",
        "lengths do, because the accuracy falls below the target after a person was decided.",
        "",
        "| target | people | reach it | differs | hopeless by the signal | wrongly so | lengths"
        " looked at |",
        "|---|---|---|---|---|---|---|",
        *(
            "| {target} % | {people} | {reach} | {differs} | {hopeless} | {wrongly} | {looks:.1f}"
            " of {of} |".format(**each)
            for each in stopped
        ),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Simulate all people, and keep the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where people are kept")
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--whole", type=int, default=WHOLE, help="looked at in full length")
    asked = parser.parse_args()
    seeds = range(WHOLE_SEED, WHOLE_SEED + asked.whole)
    runs = Parallel(n_jobs=PROCESSES)(delayed(whole)(each) for each in seeds)
    stopped = stopping(runs) if runs else []
    calibrated = []
    if asked.people > REFERENCE:
        found = needs(asked.folder, asked.people)
        calibrated = [calibration(found, size) for size in (40, 60, SIZE)]
    text = report(calibrated, stopped, asked.people)
    if (asked.people, asked.whole) == (PEOPLE, WHOLE):
        Path(__file__).with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
