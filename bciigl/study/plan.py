"""A plan: simulated people in one or more designs, each trained until a target is reached."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import Field

from bciigl import __version__
from bciigl.base.errors import did_you_mean
from bciigl.brain.simulated import relative_paths
from bciigl.learn.ceiling import CEILING
from bciigl.loop.agent import EPSILON_GREEDY, EXPLORE_THEN_COMMIT
from bciigl.protocol import Protocol
from bciigl.protocol.schedule import session_hours
from bciigl.protocol.summary import first_difference
from bciigl.study.grid import Cell, Entry, Setting, Study, StudyError, first_told_nothing
from bciigl.study.plan_answer import Answer, answers
from bciigl.study.plan_cell import PlanCell, PlanResult
from bciigl.study.plan_search import FIRST, Goal
from bciigl.study.plan_time import most_trials
from bciigl.study.results import Kept

PEOPLE, HOURS, TARGET, POWER, NOISE = 100, 3.0, 80.0, 0.9, 1.0
TEST_TRIALS = 920
"""Of each person's test session, at least: 80 % is then known to 1.3 points."""
CHECKED = 10
"""Every tenth person is simulated to the end, to see whether deciding people early is right."""
MEASURES = ACCURACY, MATCH_RATE = "accuracy", "match-rate"
_NOISE = "brain.noise"
_FOUND = {
    "task.trials": "it is what a plan finds; --hours limits it",
    "evaluation.test_trials": "a plan has test sessions of its own",
}


class _Document(Kept):
    """A plan as its folder describes it."""

    kind: Literal["plan"]
    bciigl: str
    protocol: Protocol
    folder: str | None
    vary: dict[str, list[Any]]
    target: float
    power: float
    measure: str
    hours: float
    noise: float
    people: int = Field(ge=1, le=100_000)
    stopped: dict[int, int]


@dataclass(frozen=True)
class Plan:
    """People simulated until they reach a target, in one or more designs.

    Parameters
    ----------
    protocol : Protocol
        The experiment. The first of its learners that is told nothing learns from the sessions,
        and beside it supervised learning, the ceiling. Its numbers of trials are not used.
    folder : str, optional
        What paths in the protocol are relative to.
    vary : dict
        Values of fields, such as ``{"timing.isi": [3, 5, 7]}``: each combination is a design, with
        the same people in all of them.
    target : float
        What should be reached, in percent.
    power : float
        By which share of people, between 0 and 1.
    measure : str
        ``"accuracy"`` of the policy on independent trials, or ``"match-rate"``: how often guesses
        match in the closed loop.
    hours : float
        The longest training session, in scanner hours.
    noise : float
        1 is the real brain. Not used if ``brain.noise`` is varied.
    people : int
        How many are simulated.
    stopped : dict
        By the number of a design that was clearly worse: how many people it got.
    """

    protocol: Protocol
    folder: str | None = None
    vary: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    target: float = TARGET
    power: float = POWER
    measure: str = ACCURACY
    hours: float = HOURS
    noise: float = NOISE
    people: int = PEOPLE
    stopped: Mapping[int, int] = field(default_factory=dict)
    kind: ClassVar = "plan"

    def __post_init__(self) -> None:
        """Refuse what cannot be planned."""
        if self.measure not in MEASURES:
            near = did_you_mean(self.measure, MEASURES)
            raise StudyError(f"measure should be {' or '.join(MEASURES)}, got {self.measure}{near}")
        if not 0 < self.power < 1:
            raise StudyError(f"power is a share of people: between 0 and 1, got {self.power:g}")
        for noise in self.vary.get(_NOISE, [self.noise]):
            if not isinstance(noise, int | float) or not 0 <= noise <= 10:
                raise StudyError(f"noise should be from 0 to 10, 1 is the real brain, got {noise}")
        if self.people < 1:
            raise StudyError(f"people should be 1 or more, got {self.people}")
        for name in set(_FOUND) & set(self.vary):
            raise StudyError(f"{name} cannot be varied: {_FOUND[name]}")
        if self.learner is None:
            raise StudyError(
                "learners: a plan needs one that is told neither labels nor rewards, such as ai_igl"
            )
        for _, protocol in self.designs:
            self._refuse(protocol)

    def _refuse(self, protocol: Protocol) -> None:
        chance = 100 / len(protocol.task.options)
        if not chance < self.target <= 100:
            raise StudyError(
                f"target should be above chance ({chance:.1f} %) and at most 100, got "
                f"{self.target:g}: it is in percent"
            )
        if protocol.source.name != "simulated" or protocol.brain.responses != "simulated":
            what = "source.name and brain.responses should be simulated"
            raise StudyError(f"a plan simulates people: {what}")
        least = session_hours(protocol, FIRST)
        if not least <= self.hours <= 1000:
            raise StudyError(
                f"hours should be from {math.ceil(100 * least) / 100:g}, which the {FIRST} trials "
                f"of the shortest session take, to 1000, got {self.hours:g}"
            )

    @cached_property
    def grid(self) -> Study:
        """The study whose settings are its designs, and whose repeats are its people."""
        vary = dict(self.vary)
        noise = vary.pop(_NOISE, [self.noise])
        size = {"noise": tuple(noise), "repeats": self.people}
        study = self.protocol.study.model_copy(update=size)
        return Study(self.protocol.model_copy(update={"study": study}), self.folder, vary)

    @cached_property
    def designs(self) -> list[tuple[dict[str, Any], Protocol]]:
        """The varied values and the protocol of each design."""
        return [(self._varied(each), each.protocol) for each in self.grid.settings]

    def _varied(self, setting: Setting) -> dict[str, Any]:
        noise = {_NOISE: setting.noise} if _NOISE in self.vary else {}
        return {name: {**setting.varied, **noise}[name] for name in self.vary}

    @property
    def learner(self) -> str | Any:
        """The first learner that is told nothing."""
        return first_told_nothing(self.protocol)

    @cached_property
    def cells(self) -> list[PlanCell]:
        """All units of work: every design of the first person, then of the second, and so on."""
        numbers = {id(setting): number for number, setting in enumerate(self.grid.settings)}
        found = (self._cell(numbers[id(each.setting)], each) for each in self.grid.cells)
        return [each for each in found if each.repeat < self.people_of(each.design)]

    def people_of(self, design: int) -> int:
        """Return how many people a design needs."""
        return min(self.stopped.get(design, self.people), self.people)

    def _cell(self, design: int, person: Cell) -> PlanCell:
        protocol = person.protocol
        most = most_trials(protocol, self.hours)
        tested = max(protocol.evaluation.test_trials, TEST_TRIALS)
        sizes = {
            "task": protocol.task.model_copy(update={"trials": most}),
            "evaluation": protocol.evaluation.model_copy(update={"test_trials": tested}),
        }
        entries = (Entry(self.learner), Entry(CEILING.id))
        given = (protocol.model_copy(update=sizes), entries, self.goal(protocol, tested, most))
        same = (person.folder, person.fingerprint)
        return PlanCell(design, person.repeat, *given, person.repeat % CHECKED == 0, *same)

    def goal(self, protocol: Protocol, tested: int, most: int) -> Goal:
        """Return the accuracy that the target takes, on `tested` trials.

        It is above 100 where exploration leaves too few guesses to the policy, or none of the
        `most` trials.
        """
        if self.measure == ACCURACY:
            return Goal(float(self.target), tested)
        agent, chance = protocol.agent, 100 / len(protocol.task.options)
        known = {EXPLORE_THEN_COMMIT.id: 0.0, EPSILON_GREEDY.id: agent.epsilon}
        explored = known.get(agent.policy, 1.0)
        needed = 1000.0  # percent: no policy is used
        uniform = agent.uniform_runs * protocol.task.trials_per_run
        if explored < 1 and uniform < most:
            needed = (self.target - explored * chance) / (1 - explored)
        return Goal(needed, tested, True, uniform)

    def document(self) -> dict[str, Any]:
        """Return plain data that describe it."""
        needed = any(relative_paths(each) for _, each in self.designs)
        names = ("target", "power", "measure", "hours", "noise", "people")
        return {
            "kind": self.kind,
            "bciigl": __version__,
            "protocol": self.protocol.model_dump(mode="json"),
            "folder": self.folder if needed else None,
            "vary": {name: list(values) for name, values in self.vary.items()},
            **{name: getattr(self, name) for name in names},
            "stopped": {str(design): people for design, people in self.stopped.items()},
        }

    @classmethod
    def read(cls, document: Any) -> "Plan":
        """Return the plan that `document` described."""
        if isinstance(document, dict) and isinstance(stopped := document.get("stopped"), dict):
            numbers = {int(name): each for name, each in stopped.items() if name.isdecimal()}
            document = {**document, "stopped": numbers}
        found = _Document.model_validate(document)
        return cls(**{each.name: getattr(found, each.name) for each in fields(cls)})

    def difference(self, other: "Plan") -> tuple[str, Any, Any] | None:
        """Return what makes the other another plan; people, power and designs do not."""
        for name in ("target", "measure", "hours", "noise"):
            if getattr(self, name) != getattr(other, name):
                return name, getattr(self, name), getattr(other, name)
        same = {"study": self.protocol.study, "description": "", "learners": (self.learner,)}
        other_learner = {**same, "learners": (other.learner,)}
        mine = self.protocol.model_copy(update=same)
        return first_difference(mine, other.protocol.model_copy(update=other_learner))

    def rows(self, results: Mapping[str, PlanResult]) -> list[Answer]:
        """Return the answer for each design, the best first."""
        return answers(self, results)

    @staticmethod
    def read_row(document: Any) -> Answer:
        """Return the answer that plain data describe."""
        return Answer.read(document)
