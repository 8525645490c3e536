"""One person in one design of a plan: what is kept of it, and the work."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Literal

from pydantic import model_validator

from bciigl.base.threads import one_thread
from bciigl.protocol import Protocol
from bciigl.study.cell import ONE_AT_A_TIME, versions
from bciigl.study.grid import Entry, StudyError, identity_of, key_of
from bciigl.study.plan_person import Person
from bciigl.study.plan_search import Goal, Look, accuracy_bounds, lengths, search
from bciigl.study.results import Finished, Kept


class Curve(Kept):
    """What a learner made of each length looked at: percent right on the test trials, verdicts."""

    learner: str
    accuracy: list[float]
    verdict: list[str | None]
    estimated: list[float | None]

    @property
    def entry(self) -> tuple[str, None]:
        """Who learned."""
        return self.learner, None


class PlanResult(Finished):
    """What became of one person; `ended` says why no more was simulated.

    `decided` is after how many trials the person was, who may have been simulated to the end all
    the same.

    ``"decided"``: surely above the target. ``"hours"``: they were used up. ``"signal"``: the test
    session alone showed that not even supervised learning gets there. ``"exploration"``: the agent
    explores so much that no policy gets there.
    """

    protocol: dict[str, Any]
    source: str
    goal: dict[str, Any]
    to_end: bool
    ended: Literal["decided", "hours", "signal", "exploration"]
    signal: float | None
    decided: int | None
    trials: list[int]
    hours: list[float]
    results: list[Curve]

    @property
    def looks(self) -> list[Look]:
        """The lengths looked at."""
        mine, ceiling = self.results
        columns = (self.trials, self.hours, mine.accuracy, ceiling.accuracy)
        return [Look(*each) for each in zip(*columns, mine.verdict, mine.estimated, strict=True)]

    @model_validator(mode="after")
    def _fits(self) -> "PlanResult":
        columns: list[list] = [self.hours]
        for each in self.results:
            columns += [each.accuracy, each.verdict, each.estimated]
        if any(len(each) != len(self.trials) for each in columns):
            raise ValueError("all columns of a curve should have the same length")
        if self.trials != sorted(set(self.trials)):
            raise ValueError("lengths should grow")
        if not all(0 <= value <= 100 for each in self.results for value in each.accuracy):
            raise ValueError("accuracy should be from 0 to 100")
        return self


@dataclass(frozen=True)
class PlanCell:
    """One person in one design: the unit of work."""

    design: int
    repeat: int
    protocol: Protocol
    entries: tuple[Entry, ...]
    goal: Goal
    to_end: bool
    folder: str | None
    fingerprint: str
    result: ClassVar = PlanResult

    @cached_property
    def key(self) -> str:
        """A hash of what its result depends on."""
        return key_of(self.identity)

    @property
    def identity(self) -> dict[str, Any]:
        """What its result depends on, as plain data."""
        return {
            **identity_of(self.protocol, self.fingerprint, self.entries),
            "goal": self.goal._asdict(),
            "to_end": self.to_end,
        }

    def run(self) -> dict[str, Any]:
        """Simulate the person as far as needed, and return what was learned as plain data."""
        looks: list[Look] = []
        signal, ended, decided = None, "exploration", None
        with ONE_AT_A_TIME, one_thread():
            if self.goal.needed <= 100:
                person = Person(self.protocol, self.folder)
                if person.fingerprint != self.fingerprint:
                    raise StudyError("the subject or the region has changed since the plan began")
                signal, ended = person.signal(), "signal"
                if accuracy_bounds(signal, self.goal.tested)[1] >= self.goal.needed:
                    learner = self.entries[0].learner
                    grid = lengths(self.protocol.task.trials)
                    look = partial(person.look, learner=learner)
                    looks, decided = search(grid, self.goal, look, to_end=self.to_end)
                    stopped = decided is not None and looks[-1].trials == decided
                    ended = "decided" if stopped else "hours"
        mine = [each.accuracy for each in looks], [each.verdict for each in looks]
        nothing = [None] * len(looks)
        ceiling = [each.ceiling for each in looks]
        return {
            **self.identity,
            **{"repeat": self.repeat, "versions": versions(), "ended": ended, "signal": signal},
            "decided": decided,
            **{name: [getattr(each, name) for each in looks] for name in ("trials", "hours")},
            "results": [
                _curve(self.entries[0].learner, *mine, [each.estimated for each in looks]),
                _curve(self.entries[1].learner, ceiling, nothing, nothing),
            ],
        }


def _curve(learner: str, *columns: list) -> dict[str, Any]:
    return dict(zip(Curve.model_fields, (learner, *columns), strict=True))
