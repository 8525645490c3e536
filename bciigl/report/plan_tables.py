"""The answers of a plan in words and tables: the same on a terminal and in a page."""

from collections.abc import Sequence

from bciigl.report.study_tables import learner_name
from bciigl.report.table import Table
from bciigl.study.plan import Plan
from bciigl.study.plan_answer import FEWEST, Answer
from bciigl.study.plan_search import ERROR
from bciigl.study.plan_sentence import people_in_words


def about(plan: Plan, answer: Answer) -> str:
    """Return what an answer rests on, in a sentence."""
    noise = answer.varied.get("brain.noise", plan.noise)
    real = ", that of a real brain" if noise == 1 else ""
    return (
        f"{answer.people} simulated people at noise {noise:g}{real}, seed {plan.protocol.seed}; "
        f"{learner_name(plan.learner)}, which is told no labels and no rewards. Who was clearly "
        "above or could not get there was not simulated to the end (error rate of each bound "
        f"{100 * ERROR:g} %{_checked(answer)})."
    )


def _checked(answer: Answer) -> str:
    people, wrong = answer.checked
    if not people:
        return ""
    found = f"; of {people} simulated to the end all the same, {wrong or 'none'} fell back later"
    return found + (": people may need more than this says" if wrong else "")


def verdict_words(plan: Plan, answer: Answer) -> str:
    """Return how often the verdict would have been right, if the learner has one."""
    if answer.verdicts is None:
        return ""
    right, trusted, people = answer.verdicts
    said = f"the verdict would have been right in {right} of {people} (it trusts {trusted})"
    who = people_in_words(plan.power)
    if answer.trusted_hours is None:
        return f"{said}; fewer than {who} are at the target and trusted within the hours"
    return f"{said}; {who} are at the target and trusted after {answer.trusted_hours:.2g} hours"


def comparison(answers: Sequence[Answer]) -> str:
    """Return how much better the best design is than the next, and which are not clearly worse."""
    best, *others = answers
    if best.people < FEWEST:
        return f"Too few people to tell designs apart: simulate {FEWEST} or more."
    alike = [each.design for each in others if not each.difference.clear]
    if alike:
        which = "; ".join(alike)
        return f"Not clearly worse, with {best.people} people: {which}."
    hours, low, high, _ = others[0].difference
    least = "" if others[0].reached else "at least "
    return (
        f"It needs {least}{hours:.2g} scanner hours less than the next, {others[0].design} (95 % "
        f"interval {low:.2g} to {high:.2g}, paired by people)."
    )


def design_table(answers: Sequence[Answer]) -> Table:
    """Return a table of designs, the best first."""
    head = ("design", "trials", "hours", "95 % interval", "more than best", "reach it")
    return Table(head, [_line(each) for each in answers])


def _line(answer: Answer) -> list[str]:
    low, high = answer.interval
    more = "best"
    if answer.difference is not None:
        least = "" if answer.reached else "at least "
        hours, low_more, high_more, people = answer.difference
        more = f"{least}{hours:.2g}"
        more += f" ({low_more:.2g} to {high_more:.2g})" if people >= FEWEST else ""
    return [
        answer.design or "as it is",
        "-" if answer.trials is None else str(answer.trials),
        "-" if answer.hours is None else f"{answer.hours:.2g}",
        f"{low:.2g} to {'?' if high is None else f'{high:.2g}'}",
        more,
        f"{answer.reaching} of {answer.people}",
    ]
