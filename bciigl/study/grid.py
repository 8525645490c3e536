"""The grid of a study: which sessions are simulated, and who learns from each of them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from bciigl import __version__
from bciigl.base.errors import BciiglError, did_you_mean, printable
from bciigl.base.registry import LEARNERS
from bciigl.base.seeds import Seed
from bciigl.brain.check import brain_findings
from bciigl.brain.simulated import relative_paths
from bciigl.protocol import Protocol, draw
from bciigl.protocol.load import changed
from bciigl.protocol.schema import fields
from bciigl.protocol.summary import first_difference
from bciigl.protocol.validation import validate
from bciigl.source import make_source
from bciigl.study.controls import CONTROLS, SILENCED
from bciigl.study.results import CellResult, Kept

if TYPE_CHECKING:
    from bciigl.study.rows import Row

NOT_VARIED = {
    "brain.noise": "give noise levels instead",
    "learners": "all learners of a protocol learn from the same sessions",
    "seed": "repeats have seeds of their own",
    "study": "it is what the study is made of",
    "name": "it changes nothing",
    "description": "it changes nothing",
}
TABLES = ("table2",)
"""Tables of the paper that a study can reproduce."""
# What changes neither a session nor what is learned from it.
UNIMPORTANT = {"name", "description", "study", "learners"}
SYMBOLS = {"s", "mm", "mm FWHM", "1/min", "noise SD"}
"""Units of fields that are written after a number; others are words such as "share of trials"."""


class StudyError(BciiglError):
    """What is wrong with a study or its results."""


def key_of(identity: dict[str, Any]) -> str:
    """Return a hash of plain data."""
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class Entry(NamedTuple):
    """Who learns from a session: a learner's id, and a control or None for sessions as they are."""

    learner: str
    control: str | None = None

    @property
    def label(self) -> str:
        """A name of its own for each row of a table."""
        return self.learner if self.control is None else f"{self.learner}, {self.control}"


@dataclass(frozen=True)
class Setting:
    """A place in the grid, of which there are repeats; `varied` has values by field."""

    noise: float
    varied: dict[str, Any]
    protocol: Protocol


def identity_of(protocol: Protocol, fingerprint: str, entries: Sequence[Entry]) -> dict[str, Any]:
    """Return what a simulated session and what is learned from it depend on, as plain data."""
    return {
        "bciigl": __version__,
        "protocol": protocol.model_dump(mode="json", exclude=UNIMPORTANT),
        "source": fingerprint,
        "learners": [
            {**each._asdict(), "parameters": LEARNERS.get(each.learner).make().get_params()}
            for each in entries
        ],
    }


def first_told_nothing(protocol: Protocol) -> str | None:
    """Return the first of a protocol's learners that is told neither labels nor rewards."""
    told_nothing = (each for each in protocol.learners if not LEARNERS.get(each).told)
    return next(told_nothing, None)


@dataclass(frozen=True)
class Cell:
    """One simulated session with all that learn from it: the unit of work.

    The same repeat, from 0, is the same person in all settings. `protocol` is what is simulated:
    the setting's experiment, or a control of it, with the repeat's seed, for the person of the
    population whom that seed draws.
    """

    setting: Setting
    repeat: int
    protocol: Protocol
    entries: tuple[Entry, ...]
    folder: str | None
    fingerprint: str
    result: ClassVar = CellResult

    @cached_property
    def key(self) -> str:
        """A hash of what its result depends on; versions of other packages are kept beside it."""
        return key_of(self.identity)

    @property
    def identity(self) -> dict[str, Any]:
        """What its result depends on, as plain data."""
        return identity_of(self.protocol, self.fingerprint, self.entries)

    def run(self) -> dict[str, Any]:
        """Simulate the session, learn from it, and return its result as plain data."""
        from bciigl.study.cell import run_cell

        return run_cell(self)


class _Document(Kept):
    """A study as its folder describes it."""

    kind: Literal["simulated"]
    bciigl: str
    protocol: Protocol
    folder: str | None
    vary: dict[str, list[Any]]
    controls: list[str]
    table: str | None


@dataclass(frozen=True)
class Study:
    """Simulated sessions over a grid: noise levels, varied fields, repeats.

    Parameters
    ----------
    protocol : Protocol
        The experiment. Its section `study` has the noise levels and how often each is repeated;
        its `learners` all learn from the same sessions.
    folder : str, optional
        What paths in the protocol are relative to.
    vary : dict
        Values of further fields, such as ``{"timing.isi": [3, 5, 7]}``.
    controls : sequence of str
        Which of `bciigl.study.controls.CONTROLS` are run as well, with the first of the
        protocol's learners that is told neither labels nor rewards.
    table : str, optional
        The table of the paper that it reproduces, such as ``"table2"``.
    """

    protocol: Protocol
    folder: str | None = None
    vary: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    controls: Sequence[str] = ()
    table: str | None = None
    kind: ClassVar = "simulated"

    def __post_init__(self) -> None:
        """Refuse what cannot be a study."""
        for name, values in self.vary.items():
            for known, reason in NOT_VARIED.items():
                if name == known or name.startswith(f"{known}."):
                    raise StudyError(f"{name} cannot be varied: {reason}")
            if not values or any(each in values[:place] for place, each in enumerate(values)):
                raise StudyError(f"{name}: should have values that all differ, got {values}")
        for drawn in sorted({name for each in self.settings for name in each.protocol.population}):
            self._refuse_drawn(drawn)
        if self.table not in (None, *TABLES):
            raise StudyError(f"there is no table {self.table!r}; known are {', '.join(TABLES)}")
        for name in self.controls:
            if name not in CONTROLS:
                near = did_you_mean(name, CONTROLS)
                raise StudyError(f"unknown control {name!r}{near}; known are {', '.join(CONTROLS)}")
        if self.controls and self.controlled is None:
            raise StudyError("controls need a learner that is told neither labels nor rewards")
        if any(each.protocol.agent.policy == "fixed" for each in self.settings):
            raise StudyError("agent.policy is fixed: a study has no saved policy; use another one")

    def _refuse_drawn(self, field: str) -> None:
        """Refuse a field that both the population and the grid would set."""
        remedy = f"leave out population.{field}"
        if field == "brain.noise":
            instead = "let brain.cnr differ, which is in units of the noise"
            raise StudyError(f"{field} is set by the noise levels of a study: {remedy}; {instead}")
        for name in self.vary:
            if field == name or field.startswith(f"{name}."):
                raise StudyError(f"{name} cannot be varied: it is drawn for each person; {remedy}")

    @cached_property
    def settings(self) -> list[Setting]:
        """Every combination of noise level and varied fields, noise changing fastest."""
        return [
            Setting(noise, varied, self._changed({**varied, "brain.noise": noise}))
            for values in product(*self.vary.values())
            for varied in [dict(zip(self.vary, values, strict=True))]
            for noise in self.protocol.study.noise
        ]

    @property
    def entries(self) -> list[Entry]:
        """The rows of its table, for each setting."""
        learners = [Entry(each) for each in self.protocol.learners]
        return learners + [Entry(self.controlled, each) for each in self.controls]

    @property
    def controlled(self) -> str | Any:
        """The learner of its controls; None without one, and then it has no controls."""
        return first_told_nothing(self.protocol)

    @cached_property
    def cells(self) -> list[Cell]:
        """All units of work: every setting of the first repeat, then of the second, and so on."""
        plain = tuple(each for each in self.entries if each.control != SILENCED)
        silenced = tuple(each for each in self.entries if each.control == SILENCED)
        cells, fingerprints = [], {}
        for repeat in range(self.protocol.study.repeats):
            seed = int(Seed(self.protocol.seed).rng("repeat", repeat).integers(2**32))
            for entries in filter(None, (plain, silenced)):
                for setting in self.settings:
                    protocol = self.simulated(setting, entries[0])
                    protocol = draw(protocol.model_copy(update={"seed": seed}))
                    where = (protocol.source, protocol.brain.subject, protocol.brain.region)
                    if where not in fingerprints:
                        fingerprints[where] = make_source(protocol, self.folder).fingerprint
                    same = (self.folder, fingerprints[where])
                    cells.append(Cell(setting, repeat, protocol, entries, *same))
        return cells

    def simulated(self, setting: Setting, entry: Entry) -> Protocol:
        """Return the experiment that is simulated for an entry: the setting's, or a control's."""
        changes = CONTROLS[entry.control].changes if entry.control is not None else {}
        population = setting.protocol.model_dump(mode="json")["population"]
        if fixed := changes.keys() & population.keys():
            drawn = {name: each for name, each in population.items() if name not in fixed}
            changes = {**changes, "population": drawn}
        return self._changed(changes, setting.protocol)

    def document(self) -> dict[str, Any]:
        """Return plain data that describe it."""
        needed = any(relative_paths(each.protocol) for each in self.settings)
        return {
            "kind": self.kind,
            "bciigl": __version__,
            "protocol": self.protocol.model_dump(mode="json"),
            # Where bciigl is installed does not matter to anybody.
            "folder": self.folder if needed else None,
            "vary": {name: list(values) for name, values in self.vary.items()},
            "controls": list(self.controls),
            "table": self.table,
        }

    @classmethod
    def read(cls, document: Any) -> "Study":
        """Return the study that `document` described."""
        found = _Document.model_validate(document)
        return cls(found.protocol, found.folder, found.vary, tuple(found.controls), found.table)

    def difference(self, other: "Study") -> tuple[str, Any, Any] | None:
        """Return what makes the other another study, if anything does; more repeats do not."""
        if self.table != other.table:
            return "table", self.table or "none", other.table or "none"
        here, there = (", ".join(each.controls) or "none" for each in (self, other))
        if here != there:
            return "controls", here, there
        return first_difference(self._experiment, other._experiment)

    @property
    def _experiment(self) -> Protocol:
        """What makes a study the same: its experiment but for noise and size."""
        unimportant = {name: Protocol.model_fields[name].default for name in UNIMPORTANT - {"name"}}
        brain = self.protocol.brain.model_copy(update={"noise": 0.0})  # noise levels are used
        return self.protocol.model_copy(update={**unimportant, "brain": brain})

    def rows(self, results: Mapping[str, CellResult]) -> "list[Row]":
        """Return its table, as `bciigl.study.rows` does."""
        from bciigl.study.rows import rows

        return rows(self, results)

    @staticmethod
    def read_row(document: Any) -> "Row":
        """Return the row of its table that plain data describe."""
        from bciigl.study.rows import Row

        return Row.read(document)

    def example(self, results: Mapping[str, Any]) -> Cell | None:
        """Return the first finished session at the highest noise; a control's if need be."""
        finished = [cell for cell in self.cells if cell.key in results]
        plain = [cell for cell in finished if cell.entries[0].control is None]
        return max(
            plain or finished, key=lambda cell: (cell.setting.noise, -cell.repeat), default=None
        )

    def _changed(self, changes: Mapping[str, Any], protocol: Protocol | None = None) -> Protocol:
        """Return a protocol, by default the study's own, with other values of fields."""
        if not changes:
            return protocol or self.protocol
        data = (protocol or self.protocol).model_dump(mode="json")
        found, findings = validate(changed(data, changes))
        if found is not None and not findings:
            findings = brain_findings(found, Path(self.folder or ""))
        if findings or found is None:
            given = ", ".join(f"{name}={value}" for name, value in changes.items())
            said = [f"{'.'.join(map(str, each.path))}: {each.message}" for each in findings]
            raise StudyError("\n".join(printable(f"with {given}: {each}") for each in said))
        return found


def in_words(varied: Mapping[str, Any]) -> str:
    """Return the values of varied fields, such as ``timing.isi = 3 s``."""
    return ", ".join(f"{name} = {value_in_words(name, each)}" for name, each in varied.items())


def value_in_words(name: str, value: Any) -> str:
    """Return the value of a field in full, with its unit if that is a symbol, such as ``3 s``."""
    if not is_number(value):
        return str(value)
    unit = unit_of(name)
    return f"{str(value).removesuffix('.0')}{f' {unit}' if unit in SYMBOLS else ''}"


def with_unit(name: str) -> str:
    """Return a field with its unit, as an axis is labelled."""
    unit = unit_of(name)
    return f"{name} ({unit})" if unit and name.rpartition(".")[2] != unit else name


def unit_of(name: str) -> str:
    """Return the unit that the protocol's model states for a field, or nothing."""
    return fields().get(tuple(name.split(".")), {}).get("unit", "")


def is_number(value: Any) -> bool:
    """Tell whether a value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)
