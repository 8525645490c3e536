"""The study of games from real recordings: its cells, and the rows of its table."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, TypeAdapter

from bciigl import __version__
from bciigl.base.registry import LEARNERS
from bciigl.base.seeds import Seed
from bciigl.base.threads import one_thread
from bciigl.learn.ceiling import CEILING
from bciigl.learn.diagnose import TRUST
from bciigl.study.cell import ONE_AT_A_TIME, entry_result, versions
from bciigl.study.grid import Entry, StudyError, key_of
from bciigl.study.real import BEDS, Setting, load, make_game, settings
from bciigl.study.results import EntryResult, Finished, Kept
from bciigl.study.rows import Scored
from bciigl.study.statistics import Mean, accuracy, is_good, mean_of, within

REPEATS = 12
NOTES = [
    "real: every context and all that perception adds to feedback (fMRI of one person, each volume"
    " a context once; EEG of 12 people in C), and the EEG answers to right and wrong actions in B"
    " and C. Runs or sessions that are tested on were not learned from.",
    "not real: nobody played these games. Contexts and answers are of different moments, in B and C"
    " of different people, put together at random; contexts are seen, not imagined. In A the"
    " judgment is a random pattern, added in matches, of that RMS in SDs of a voxel.",
    "control: the picture shown is of a category outside the game (K = 3), or of the next option"
    " (K = 5, 8). Elsewhere in A, context and feedback are both perception, so that perception"
    " transfer needs no judgment. leak: half of the context is added to the feedback.",
    "supervised learning is told the labels, the contextual bandit the rewards. trusted: draws in"
    " which the learner says so; judged: those of them that rest on judgments, as the others rest"
    " on resemblance alone or in part; right: trusted, and at least half as far above chance as"
    " supervised learning.",
]


class _Document(Kept):
    kind: Literal["real"]
    bciigl: str
    digest: str
    beds: list[Literal["A", "B", "C"]] = Field(min_length=1)
    people: list[str] = Field(max_length=1000)
    repeats: int = Field(ge=1, le=10_000)
    seed: int = Field(ge=0)


class RealResult(Finished):
    """What all learners made of a game."""

    digest: str
    setting: dict[str, Any]
    seed: int
    results: list[EntryResult]


@dataclass(frozen=True)
class RealCell:
    """One draw of a game with all that learn from it: the unit of work."""

    setting: Setting
    repeat: int
    seed: int
    digest: str
    beds: tuple[str, ...]
    folder: Path | None = None
    result: ClassVar = RealResult

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Who learns: all that can."""
        same = self.setting.bed == "A"
        return tuple(Entry(each.id) for each in LEARNERS.usual() if same or not each.same_features)

    @property
    def identity(self) -> dict[str, Any]:
        """What its result depends on, as plain data."""
        return {
            **{"bciigl": __version__, "digest": self.digest, "seed": self.seed},
            **{"setting": asdict(self.setting), "repeat": self.repeat},
            "learners": [
                {"learner": each, "parameters": LEARNERS.get(each).make().get_params()}
                for each, _ in self.entries
            ],
        }

    @cached_property
    def key(self) -> str:
        """A hash of what its result depends on."""
        return key_of(self.identity)

    def run(self) -> dict[str, Any]:
        """Put a game together and let all learn from it; return plain data."""
        if self.folder is None:
            raise StudyError("where the recordings are is not known")
        data = load(self.folder, self.beds)
        if data.digest != self.digest:
            raise StudyError(f"{self.folder}: the recordings have changed since the study began")
        with ONE_AT_A_TIME, one_thread():
            game = make_game(self.setting, data, Seed(self.seed).child("real", self.repeat))
            found = [entry_result(game, each, self.seed) for each in self.entries]
        return {**self.identity, "versions": versions(), "results": found}


@dataclass(frozen=True)
class RealRow(Scored):
    """What a learner reaches in a setting, in percent; `share` is of the ceiling in each draw.

    `trusted` counts draws by what their trust rests on, ``"judgment"``, ``"resemblance"`` or an
    empty text; `right` counts those of them that are. They are None if it has no verdict.
    """

    setting: Setting
    learner: str
    accuracy: Mean
    accuracies: list[float]
    share: Mean | None
    trusted: dict[str, int] | None
    right: int | None
    published: None = field(default=None, init=False)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as for JSON."""
        share = self.share or (None, None, None)
        return {
            **asdict(self.setting),
            "learner": self.learner,
            **{"accuracy": self.accuracy.mean, "repeats": self.repeats},
            **{"standard_error": self.accuracy.standard_error, "interval": self.accuracy.interval},
            **{"share_of_ceiling": share[0], "share_standard_error": share[1]},
            **{"share_interval": share[2], "accuracies": self.accuracies},
            **{"trusted": self.trusted, "trusted_right": self.right},
        }

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> "RealRow":
        """Return the row that `as_dict` gave."""
        names = ("share_of_ceiling", "share_standard_error", "share_interval")
        share = [document[name] for name in names]
        scores = {**document, "published": None, "published_standard_error": None}
        found = {
            "setting": {each.name: document[each.name] for each in fields(Setting)},
            **{name: document[name] for name in ("learner", "trusted")},
            "right": document["trusted_right"],
            "share": None if share[0] is None else share,
            **cls.read_scores(scores),
        }
        return TypeAdapter(cls).validate_python(found)


@dataclass(frozen=True)
class RealStudy:
    """Games from real recordings, over all settings of some beds, and repeats; see `real_study`."""

    beds: tuple[str, ...]
    people: tuple[str, ...]
    digest: str
    repeats: int = REPEATS
    seed: int = 0
    folder: Path | None = field(default=None, compare=False)
    kind: ClassVar = "real"

    @cached_property
    def settings(self) -> list[Setting]:
        """All settings, in the order of the table."""
        return settings(self.beds, self.people)

    @cached_property
    def cells(self) -> list[RealCell]:
        """All units of work."""
        same = (self.seed, self.digest, self.beds, self.folder)
        return [
            RealCell(each, repeat, *same)
            for each in self.settings
            for repeat in range(self.repeats)
        ]

    def document(self) -> dict[str, Any]:
        """Return plain data that describe it, but not where the recordings are."""
        names = ("digest", "beds", "people", "repeats", "seed")
        known = {name: getattr(self, name) for name in names}
        return {"kind": self.kind, "bciigl": __version__, **known}

    @classmethod
    def read(cls, document: Any) -> "RealStudy":
        """Return the study that `document` described; it can be read, not run."""
        found = _Document.model_validate(document)
        names = (tuple(found.beds), tuple(found.people))
        return cls(*names, found.digest, found.repeats, found.seed)

    def difference(self, other: "RealStudy") -> tuple[str, Any, Any] | None:
        """Return what makes the other another study; more of the same does not."""
        for name in ("beds", "digest", "seed"):
            ours, theirs = getattr(self, name), getattr(other, name)
            if ours != theirs:
                return ("recordings" if name == "digest" else name), ours, theirs
        return None

    def rows(self, results: Mapping[str, RealResult]) -> list[RealRow]:
        """Return its table: a row for each setting and learner that has results."""
        table = []
        for setting in self.settings:
            cells = [each for each in self.cells if each.setting is setting]
            draws = [results[each.key].results for each in cells if each.key in results]
            learned = {each[0].learner: each for each in zip(*draws, strict=True)}
            if learned:
                ceiling = [accuracy(each.confusion) for each in learned[CEILING.id]]
                table += [_row(setting, each, ceiling) for each in learned.values()]
        return table

    def read_row(self, document: Any) -> RealRow:
        """Return the row of its table that plain data describe."""
        return RealRow.read(document)


def real_study(
    folder: str, beds: Sequence[str] = (), *, repeats: int = REPEATS, seed: int = 0
) -> RealStudy:
    """Return the study of the recordings in a folder, by default of all beds."""
    if repeats < 1 or seed < 0:
        raise StudyError(f"repeats should be 1 or more and seed 0 or more, got {repeats}, {seed}")
    beds = tuple(each for each in BEDS if each in beds or not beds)
    data = load(Path(folder).resolve(), beds)
    return RealStudy(beds, data.people, data.digest, repeats, seed, Path(folder).resolve())


def _row(setting: Setting, draws: Sequence[EntryResult], ceiling: list[float]) -> RealRow:
    mine = [accuracy(each.confusion) for each in draws]
    share = None
    if min(ceiling) > 0:
        share = mean_of((100 * np.array(mine) / ceiling).tolist())
    trusted = right = None
    if draws[0].verdict is not None:
        at = [place for place, each in enumerate(draws) if each.verdict == TRUST]
        trusted = dict(Counter(draws[place].rests_on or "" for place in at))
        chance = 100 / setting.options
        right = sum(is_good(mine[place], ceiling[place], chance) for place in at)
    mean = within(mean_of(mine), 0.0)
    return RealRow(setting, draws[0].learner, mean, mine, share, trusted, right)
