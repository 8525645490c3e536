"""Learners, agents and sources by name: one specification each, others' packages included.

A package adds its own by an entry point, as bciigl does in its setup.cfg::

    [options.entry_points]
    bciigl.learners =
        my_learner = my_package:MY_LEARNER

where ``MY_LEARNER`` is a `Specification` whose id is the entry point's name.
"""

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from bciigl.base.errors import BciiglError, did_you_mean

# In the order in which learners are listed.
_TOLD = ("", "reward", "label", "policy")


@dataclass(frozen=True)
class Specification:
    """All that bciigl knows about a learner, an agent or a source besides its class."""

    id: str  # what protocols, commands and tables call it
    # A learner gets those keyword arguments that this has; for agents see `loop.agent.make_agent`.
    make: Callable[..., Any]
    name: str  # a plain one, such as "AI-IGL, no labels"
    # In a report's methods, without the full stop, or made of the protocol; of an agent, what
    # follows "The agent".
    sentence: str | Callable[[Any], str] = ""
    # Besides contexts, actions and feedback, if anything: "reward", "label"; an agent: "policy".
    told: str = ""
    same_features: bool = False  # contexts and feedback must have the same, such as voxels
    minutes: bool = False  # it needs minutes, and learns only where it is named
    published_as: str = ""  # the learner of the paper whose figures are shown beside it
    style: Mapping[str, Any] = field(default_factory=dict)  # color, marker and linestyle

    @property
    def short_name(self) -> str:
        """The name without what it is told, such as "AI-IGL", for tables that say so elsewhere."""
        return self.name.partition(",")[0]


class Registry:
    """Specifications by id, found by a group of entry points and loaded when they are needed."""

    def __init__(self, kind: str, group: str) -> None:
        self.kind, self.group = kind, group

    @cached_property
    def _found(self) -> dict[str, EntryPoint]:
        # bciigl's own come first, and cannot be replaced by others'.
        points = sorted(entry_points(group=self.group), key=lambda each: (not _is_own(each), each))
        found: dict[str, EntryPoint] = {}
        for point in points:
            found.setdefault(point.name, point)
        return found

    def _called(self, name: object) -> str:
        """Return a hint at the id of what has this plain name, or ``""``."""
        for each in self.all():
            if _plain(name) in (_plain(each.name), _plain(each.short_name)):
                return f"; its id is {each.id!r}"
        return ""

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all that are installed."""
        return tuple(self._found)

    @property
    def own_ids(self) -> tuple[str, ...]:
        """The ids of those that come with bciigl."""
        return tuple(name for name, point in self._found.items() if _is_own(point))

    def __contains__(self, name: object) -> bool:
        """Tell whether there is one of that id."""
        return name in self._found

    def all(self) -> list[Specification]:
        """Return all that can be loaded: those told nothing first, then by id."""
        found = []
        for name in self.ids:
            try:
                found.append(self.get(name))
            except BciiglError as error:
                logging.getLogger("bciigl").warning("%s", error)
        return sorted(found, key=lambda each: (_TOLD.index(each.told), each.id))

    def usual(self) -> list[Specification]:
        """Return all but those that need minutes: who learns where nobody is named."""
        return [each for each in self.all() if not each.minutes]

    def get(self, name: str) -> Specification:
        """Return a specification; `BciiglError` if there is none, or if it cannot be loaded."""
        if name not in self._found:
            near = did_you_mean(name, self.ids) or self._called(name)
            known = ", ".join(self.ids)
            raise BciiglError(f"{self.kind} must be one of {known}, got {name!r}{near}")
        point = self._found[name]
        try:
            found = point.load()
        except Exception as error:  # another package's code may fail in any way
            raise BciiglError(f"{self.kind} {name!r} cannot be loaded: {error}") from error
        if not isinstance(found, Specification) or found.id != name or found.told not in _TOLD:
            raise BciiglError(
                f"{self.kind} {name!r}: {point.value} should be a Specification with that id, "
                f"told one of {', '.join(map(repr, _TOLD))}"
            )
        return found


def _plain(name: object) -> str:
    return re.sub(r"\W+", " ", str(name)).strip().lower()


def _is_own(point: EntryPoint) -> bool:
    return point.value.startswith("bciigl.")


LEARNERS = Registry("learner", "bciigl.learners")
AGENTS = Registry("agent", "bciigl.agents")
SOURCES = Registry("source", "bciigl.sources")
