"""Planning: how many trials and scanner hours an experiment needs."""

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bciigl.base.progress import Notify, Progress, silent
from bciigl.brain.check import brain_findings
from bciigl.protocol import Protocol, find, load
from bciigl.study.grid import StudyError
from bciigl.study.plan import Plan
from bciigl.study.plan_answer import (
    Answer,
    answers,
    capped_hours,
    difference,
    needs_of_designs,
    quantile,
)
from bciigl.study.run import Outcome, run_study
from bciigl.study.store import Results

BATCH = 20
"""People that a design gets before it may be stopped, and then again."""
RACE_ERROR = 0.01
"""How often any design may be stopped that is as good as the best, over all looks."""
EVERY = 8
"""People between two preliminary answers."""
Preliminary = Callable[[list[Answer]], None]
"""Called with the answers so far, the best first."""


@dataclass(frozen=True)
class Planned:
    """A plan and its answers, one for each design, the best first.

    `trials`, `hours`, `interval`, `reached`, `limit` and `sentence` are those of the best design:
    see `Answer`. `results` has all curves, for `bciigl.report.plan_drawings`.
    """

    plan: Plan
    designs: list[Answer]
    results: Results

    def __getattr__(self, name: str) -> Any:
        """Return what the best design's answer has."""
        if name not in Answer.__dataclass_fields__:
            raise AttributeError(f"a plan's answer has no {name!r}")
        return getattr(self.designs[0], name)

    def __str__(self) -> str:
        """Return the answer in a sentence."""
        return self.designs[0].sentence

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as for JSON."""
        plan, best = self.plan, self.designs[0].as_dict()
        names = ("trials", "hours", "interval", "reached", "sentence", "limit")
        told = ("target", "measure", "power")
        found = {
            **{name: best[name] for name in names},
            "people": best["people"],
            "reaching": best["reaching"],
            **{name: getattr(plan, name) for name in told},
            "most_hours": plan.hours,
            "noise": best["varied"].get("brain.noise", plan.noise),
            "seed": plan.protocol.seed,
            "learner": plan.learner,
            "trusted_hours": best["trusted_hours"],
            "verdicts": best["verdicts"],
            "checked": best["checked"],
        }
        if plan.vary:
            found["best"] = best["varied"]
            found["designs"] = [each.as_dict() for each in self.designs]
        return found


def plan(
    protocol: Protocol | str | os.PathLike,
    *,
    changes: Mapping[str, Any] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    folder: str | os.PathLike | None = None,
    out: str | os.PathLike | None = None,
    progress: Progress = silent,
    preliminary: Preliminary = silent,
    jobs: int | None = None,
    cluster: str | None = None,
    **wanted: Any,
) -> Planned:
    """Return how many trials and scanner hours an experiment needs.

    Parameters
    ----------
    protocol : Protocol, or path-like
        The experiment, or the file or the shipped name that it has.
    changes : dict, optional
        Other values of fields, such as ``{"timing.isi": 5}``.
    vary : dict, optional
        Designs to compare, such as ``{"timing.isi": [3, 5, 7]}``.
    folder : path-like, optional
        What paths in the protocol are relative to; by default the folder of its file.
    out : path-like, optional
        Where results are kept, and resumed if they are there; by default nowhere.
    progress, jobs, cluster
        As in `bciigl.study.run_study`.
    preliminary : function, optional
        Called every few people with the answers so far.
    **wanted
        `target`, `power`, `measure`, `hours`, `noise` and `people`, as in `Plan`.

    Examples
    --------
    >>> found = bciigl.plan("number_guessing", target=80, power=0.9)  # doctest: +SKIP
    >>> print(found, found.hours, found.interval)  # doctest: +SKIP
    """
    if not isinstance(protocol, Protocol):
        folder = folder or find(protocol).parent.resolve()
        protocol, changes = load(protocol, brain_findings, changes), None
    if changes:
        raise ValueError("changes are for a protocol that is given by its name or file")
    where = None if folder is None else os.fspath(folder)
    made = Plan(protocol, where, vary or {}, **wanted)
    how: dict[str, Any] = {"progress": progress, "preliminary": preliminary}
    how |= {"jobs": jobs, "cluster": cluster}
    with tempfile.TemporaryDirectory() as temporary:
        kept = os.path.join(temporary, "plan") if out is None else out
        found, outcome = run_plan(made, kept, **how)
        if not found.designs:
            said = (
                outcome.failed[0].read_text().strip() if outcome.failed else "nobody was simulated"
            )
            raise StudyError(f"all people failed: {said}")
        return found


def run_plan(
    plan: Plan,
    out: str | os.PathLike,
    *,
    progress: Progress = silent,
    preliminary: Preliminary = silent,
    report: Notify = silent,
    share: tuple[int, int] | None = None,
    **where: Any,
) -> tuple[Planned, Outcome]:
    """Run a plan as `run_study` does; designs that are clearly worse get fewer people.

    Every `BATCH` people a design is stopped if it needs more hours than the best in the same
    people: if the paired interval of the difference is above 0, with an error rate of `RACE_ERROR`
    over all looks and designs. The jobs of an array do not know each other's results: with `share`
    all designs get all people.
    """
    several = len(plan.designs) > 1 and share is None
    last = plan.people
    batches = [*range(BATCH, last, BATCH), last] if several else [last]
    for people in batches:
        part = replace(plan, people=people)
        total = sum(plan.people_of(each) for each in range(len(plan.designs)))

        def shown(done: int, _: int, total: int = total) -> None:
            progress(done, total)

        seen = _every_few(part, preliminary)
        outcome = run_study(
            part, out, progress=shown, report=report, share=share, seen=seen, **where
        )
        if people < last:
            stopped = stopped_designs(part, outcome.results, len(batches) - 1)
            plan = replace(plan, stopped={**plan.stopped, **stopped})
    return Planned(part, outcome.rows, outcome.results), outcome


def stopped_designs(plan: Plan, results: Results, looks: int) -> dict[int, int]:
    """Return the designs that are clearly worse than the best, with the people they had."""
    needs = needs_of_designs(plan, results)
    hours = {each: capped_hours(plan, mine) for each, mine in needs.items()}
    running = {each: mine for each, mine in hours.items() if each not in plan.stopped}
    best = min(running, key=lambda each: quantile(running[each], plan.power), default=None)
    tail = RACE_ERROR / looks / (len(plan.designs) - 1)
    return {
        each: plan.people
        for each, mine in running.items()
        if best is not None
        and each != best
        and (more := difference(mine, running[best], plan.power, tail)).clear
        and more.low > 0
    }


def _every_few(plan: Plan, preliminary: Preliminary) -> Callable[[Results], None]:
    """Return what is called with results whenever there are more, and tells them now and then."""
    told = 0

    def seen(results: Results) -> None:
        nonlocal told
        first = _first_missing(plan, results)
        if first >= told + EVERY and first < plan.people:
            told = first
            # Without the others, of whom only those are there who take little time.
            known = {each.key for each in plan.cells if each.repeat < first}
            preliminary(answers(plan, {key: results[key] for key in known}))

    return seen


def _first_missing(plan: Plan, results: Results) -> int:
    missing = (cell.repeat for cell in plan.cells if cell.key not in results)
    return min(missing, default=plan.people)
