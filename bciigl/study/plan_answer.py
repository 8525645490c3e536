"""The answer of a plan: how long sessions must be, how sure that is, and what limits it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from pydantic import TypeAdapter
from scipy.stats import binom

from bciigl.learn.diagnose import TRUST
from bciigl.study.grid import in_words
from bciigl.study.plan_search import Goal, first_reached
from bciigl.study.plan_sentence import sentence
from bciigl.study.statistics import TAIL, is_good

if TYPE_CHECKING:
    from bciigl.study.plan import Plan
    from bciigl.study.plan_cell import PlanCell, PlanResult

RESAMPLES = 4000
FEWEST = 20
"""Of fewer people a bootstrap of the 90 % quantile tells too little: it is that of the longest."""


class Interval(NamedTuple):
    """Scanner hours; `high` is None where it is not bounded."""

    low: float
    high: float | None


class Difference(NamedTuple):
    """Scanner hours more than another design needs, in the same people, with its 95 % interval.

    Who does not reach the target counts as if it were reached when the hours are used up. `people`
    were simulated in both designs.
    """

    hours: float
    low: float
    high: float
    people: int

    @property
    def clear(self) -> bool:
        """Whether the designs can be told apart; never by fewer than 20 people."""
        return self.people >= FEWEST and (self.low > 0 or self.high < 0)


class Checked(NamedTuple):
    """People decided early but simulated to the end, and for how many another length was true."""

    people: int
    wrong: int


class Verdicts(NamedTuple):
    """In how many people the verdict was right at the answer's length, and how many it trusted.

    Right is trust in a policy at least half as far above chance as the ceiling, or none in others.
    """

    right: int
    trusted: int
    people: int


@dataclass(frozen=True)
class Answer:
    """What a design needs.

    Attributes
    ----------
    varied : dict
        Values of the varied fields.
    people, reaching : int
        How many were simulated, and how many of them reach the target within the hours.
    trials, hours : number or None
        What the wanted share of people needs; None if it is not reached.
    interval : Interval
        The 95 % interval of the hours.
    reached : bool
    trusted_hours : float or None
        After which the same share of people have reached the target and the learner trusts itself,
        at most: between a length without trust and this one not all were looked at.
    limit : str or None
        Why not: ``"signal"``, ``"learning"`` or ``"exploration"``.
    sentence : str
    verdicts : Verdicts or None
        None if the learner has no verdict.
    checked : Checked
        How often deciding people early was right.
    difference : Difference or None
        To the best design; None of the best itself, and with too few people to tell.
    """

    varied: dict[str, Any]
    people: int
    reaching: int
    trials: int | None
    hours: float | None
    interval: Interval
    reached: bool
    trusted_hours: float | None
    limit: str | None
    sentence: str
    verdicts: Verdicts | None = None
    checked: Checked = Checked(0, 0)
    difference: Difference | None = None

    @property
    def design(self) -> str:
        """The values of varied fields in words."""
        return in_words(self.varied)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as for JSON."""
        named = {
            name: None if (each := getattr(self, name)) is None else each._asdict()
            for name in ("verdicts", "checked", "difference")
        }
        return {**asdict(self), "interval": list(self.interval), **named}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> "Answer":
        """Return the answer that `as_dict` gave."""
        return TypeAdapter(cls).validate_python(document)


class Need(NamedTuple):
    """Scanner hours that a person needs, infinite if not reached.

    `trusted` are the hours after which the learner trusts itself as well.
    """

    hours: float
    trials: int | None
    trusted: float


def ranks(people: int, power: float) -> tuple[int, int, int | None]:
    """Return the ranks, from 1, of the estimate and of the 95 % interval's ends.

    By the binomial distribution: in at most 2.5 % of samples the quantile is below the one of
    rank `low`, which is 0 where there is none, and in at most 2.5 % above that of rank `high`,
    which is None where there are too few people to bound it.

    Examples
    --------
    >>> ranks(60, 0.9), ranks(20, 0.9)
    ((54, 49, 59), (18, 15, None))
    """
    counts = np.arange(people + 1)
    low = int(np.sum(binom.cdf(counts, people, power) <= TAIL))
    above = binom.sf(counts - 1, people, power) <= TAIL
    high = int(np.argmax(above)) if above.any() else None
    # Rounded first: 0.9 of 10 should not come out as a little more than 9.
    return math.ceil(round(power * people, 9)), low, high


def need_of(cell: "PlanCell", result: "PlanResult") -> Need:
    """Return what one person needs."""
    found = first_reached(result.looks, cell.goal)
    if found is None:
        return Need(math.inf, None, math.inf)
    trusted = math.inf
    for each in reversed(result.looks):
        if each.trials < found.trials or not each.trusted:
            break
        trusted = each.hours
    return Need(found.hours, found.trials, trusted)


def answers(plan: "Plan", results: Mapping[str, "PlanResult"]) -> list[Answer]:
    """Return the answer for each design that has results, the best first."""
    found, needs = {}, needs_of_designs(plan, results)
    for design, mine in needs.items():
        people = [each for each in plan.cells if each.design == design and each.key in results]
        given = [(each.goal, results[each.key]) for each in people]
        found[design] = _answer(plan, design, list(mine.values()), given)
    hours = {design: capped_hours(plan, mine) for design, mine in needs.items()}
    order = sorted(
        found,
        # A design that was stopped was clearly worse, whatever its fewer people say.
        key=lambda each: (
            each in plan.stopped,
            quantile(hours[each], plan.power),
            -_share(found[each]),
            each,
        ),
    )
    compared = {each: difference(hours[each], hours[order[0]], plan.power) for each in order[1:]}
    return [replace(found[each], difference=compared.get(each)) for each in order]


def _share(answer: Answer) -> float:
    return answer.reaching / answer.people


def needs_of_designs(
    plan: "Plan", results: Mapping[str, "PlanResult"]
) -> dict[int, dict[int, Need]]:
    """Return what each person needs, by design and person, as far as they are finished."""
    found: dict[int, dict[int, Need]] = {}
    for cell in plan.cells:
        if cell.key in results:
            need = need_of(cell, results[cell.key])
            found.setdefault(cell.design, {})[cell.repeat] = need
    return dict(sorted(found.items()))


def capped_hours(plan: "Plan", needs: Mapping[int, Need]) -> dict[int, float]:
    """Return the hours that people need, all hours of those who do not reach the target."""
    return {person: min(each.hours, plan.hours) for person, each in needs.items()}


def quantile(hours: Mapping[int, float], power: float) -> float:
    """Return the hours within which a share of people reach the target."""
    return sorted(hours.values())[ranks(len(hours), power)[0] - 1]


def difference(
    hours: Mapping[int, float], others: Mapping[int, float], power: float, tail: float = TAIL
) -> Difference:
    """Return how many hours more a design needs than another one, by bootstrap over people.

    Only people who were simulated in both designs count, and each resample has the same people in
    both. `tail` is the share of resamples beyond each end of the interval.
    """
    both = sorted(set(hours) & set(others))
    pair = np.array([[each[person] for person in both] for each in (hours, others)])
    rank = ranks(len(both), power)[0] - 1
    drawn = np.random.default_rng(0).integers(len(both), size=(RESAMPLES, len(both)))
    mine, other = (np.sort(each[drawn], axis=1)[:, rank] for each in pair)
    low, high = np.quantile(mine - other, (tail, 1 - tail)).tolist()
    point = np.subtract(*np.sort(pair, axis=1)[:, rank])
    return Difference(float(point), low, high, len(both))


def _answer(
    plan: "Plan", design: int, needs: Sequence[Need], people: Sequence[tuple[Goal, "PlanResult"]]
) -> Answer:
    """Return the answer of one design from what its people need, and how they were."""
    varied, protocol = plan.designs[design]
    place, *_ = ranks(len(needs), plan.power)
    found = sorted(needs)[place - 1]
    reached = math.isfinite(found.hours)
    missed = sum(_ceiling_misses(*each) for each in people)
    limit = None
    if not reached:
        limit = "signal" if missed > len(needs) - place else "learning"
        if people[0][1].ended == "exploration":
            limit = "exploration"
    answer = Answer(
        varied,
        len(needs),
        sum(math.isfinite(each.hours) for each in needs),
        found.trials,
        found.hours if reached else None,
        interval_of(needs, plan.power, plan.hours),
        reached,
        _finite(sorted(each.trusted for each in needs)[place - 1]),
        limit,
        "",
        _verdicts(people, found.trials, 100 / len(protocol.task.options)),
        _checked(people),
    )
    return replace(answer, sentence=sentence(plan, answer, missed))


def interval_of(needs: Sequence[Need], power: float, most: float) -> Interval:
    """Return the 95 % interval of the hours that a share of people need, of `most` hours."""
    _, low, high = ranks(len(needs), power)
    hours = sorted(each.hours for each in needs)
    upper = math.inf if high is None else hours[high - 1]
    return Interval(min(hours[low - 1], most) if low else 0.0, _finite(upper))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _ceiling_misses(goal: Goal, result: "PlanResult") -> bool:
    """Tell whether supervised learning misses the goal at the last length."""
    return not result.looks or result.looks[-1].ceiling < goal.needed


def _checked(people: Sequence[tuple[Goal, "PlanResult"]]) -> Checked:
    """Count people for whom later lengths changed what they need after they were decided."""
    longer = [
        (goal, found.looks, found.decided)
        for goal, found in people
        if found.decided and found.trials[-1] > found.decided
    ]
    wrong = 0
    for goal, looks, at in longer:
        then = first_reached([each for each in looks if each.trials <= at], goal)
        wrong += first_reached(looks, goal) != then
    return Checked(len(longer), wrong)


def _verdicts(
    people: Sequence[tuple[Goal, "PlanResult"]], trials: int | None, chance: float
) -> Verdicts | None:
    """Count verdicts at the length nearest to `trials`, or at the last one if that is None."""
    looked = [each.looks for _, each in people if each.looks]
    at = [
        looks[-1] if trials is None else min(looks, key=lambda each: abs(each.trials - trials))
        for looks in looked
    ]
    if not at or at[0].verdict is None:
        return None
    right = sum(
        (each.verdict == TRUST) == is_good(each.accuracy, each.ceiling, chance) for each in at
    )
    return Verdicts(right, sum(each.verdict == TRUST for each in at), len(at))
