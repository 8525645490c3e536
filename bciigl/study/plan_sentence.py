"""The answer of a plan as a sentence."""

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from bciigl.study.statistics import TAIL, share_with_interval

if TYPE_CHECKING:
    from bciigl.study.plan import Plan
    from bciigl.study.plan_answer import Answer


def sentence(plan: "Plan", answer: "Answer", missed: int) -> str:
    """Return the answer of a design in words; supervised learning missed the goal in some."""
    what = f"{'' if plan.measure == 'accuracy' else 'a match rate of '}{plan.target:g} %"
    who = people_in_words(plan.power)
    if answer.reached:
        low, high = answer.interval
        bounded = f"{low:.2g} to {high:.2g}" if high is not None else f"from {low:.2g}, not bounded"
        few = people_to_bound(plan.power)
        if high is None and answer.people < few:
            bounded += f" with fewer than {few} people"
        return (
            f"{who} reach {what} after {answer.trials} trials, {answer.hours:.2g} scanner hours "
            f"(95 % interval {bounded})"
        )
    _, (low, high) = share_with_interval(answer.reaching, answer.people)
    some = f"{answer.reaching} of {answer.people} do (95 % interval {low:.0f} to {high:.0f} %)"
    reasons: dict[str | None, str] = {
        "signal": "the signal: supervised learning, which is told the labels, misses it too in "
        f"{missed} of {answer.people}",
        "learning": "learning without labels: supervised learning misses it in "
        f"{f'only {missed}' if missed else 'none'} of {answer.people}",
        "exploration": "exploration: too few guesses are left to the policy (agent.policy, "
        "agent.epsilon, agent.uniform_runs)",
    }
    why = reasons[answer.limit]
    return (
        f"fewer than {who} reach {what} within {plan.hours:g} scanner hours: {some}. What limits "
        f"it is {why}"
    )


def people_in_words(power: float) -> str:
    """Return a share of people, such as ``"9 in 10 people"``."""
    share = Fraction(power).limit_denominator(100)
    if abs(share - power) > 1e-9:
        return f"{100 * power:g} % of people"
    return f"{share.numerator} in {share.denominator} people"


def people_to_bound(power: float) -> int:
    """Return how many people it takes for the interval to have an upper end."""
    return math.ceil(math.log(TAIL) / math.log(power))
