"""Plans, and results of people made up without a brain."""

from studies import tiny

from bciigl.study.plan import Plan
from bciigl.study.plan_cell import PlanCell, PlanResult
from bciigl.study.plan_search import lengths
from bciigl.study.store import Results, checked

LEARNERS = {"learners": ["ai_igl", "ceiling"]}


def made(**wanted) -> Plan:
    """Return a plan of a tiny experiment, with few runs to be counted however long it is."""
    runs = {"task": {"trials_per_run": 200}}
    return Plan(tiny(**LEARNERS, **runs, **wanted.pop("sections", {})), **wanted)


def person(cell: PlanCell, trials, *, ceiling=90.0, trusted=True) -> PlanResult:
    """Return the result of a person who needs some trials; None if the target is missed."""
    grid = lengths(cell.protocol.task.trials)
    reached = [trials is not None and each >= trials for each in grid]
    columns = {"estimated": [None] * len(grid)}
    mine = [85.0 if each else 40.0 for each in reached]
    verdicts = ["trust" if trusted and each else "doubtful" for each in reached]
    return checked(
        cell,
        {
            **cell.identity,
            **{"repeat": cell.repeat, "versions": {}, "signal": ceiling},
            "ended": "hours" if trials is None else "decided",
            "decided": None,
            **{"trials": grid, "hours": [each / 100 for each in grid]},
            "results": [
                {"learner": "ai_igl", "accuracy": mine, "verdict": verdicts, **columns},
                {
                    **{"learner": "ceiling", "accuracy": [ceiling] * len(grid)},
                    **{"verdict": [None] * len(grid), **columns},
                },
            ],
        },
    )


def results(mine: Plan, needs, **how) -> Results:
    """Return results of all people, given the trials that each needs in each design."""
    return {
        each.key: person(each, needs[each.design][each.repeat], **how)
        for each in mine.cells
        if each.repeat < len(needs[each.design])
    }
