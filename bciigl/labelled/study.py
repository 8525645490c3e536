"""A study of labelled data: which guesses about which datasets, and who learns from them."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from bciigl import __version__
from bciigl.base.seeds import Seed
from bciigl.base.threads import one_thread
from bciigl.labelled.refit import labelled_learner
from bciigl.labelled.rules import RULES, Labelled, Rule, find_rule, interactions
from bciigl.learn.action_inclusive import AI_IGL
from bciigl.learn.bandit import BANDIT
from bciigl.learn.full_conditional import FULL_CI
from bciigl.study.cell import ONE_AT_A_TIME, versions
from bciigl.study.grid import StudyError, key_of
from bciigl.study.learning import Sessions, learn_from
from bciigl.study.results import Finished, Kept, Learned

if TYPE_CHECKING:
    from bciigl.labelled.rows import LabelledRow
    from bciigl.labelled.sources import Source

LEARNERS = (BANDIT.id, FULL_CI.id, AI_IGL.id)
REPEATS = 20


class _Described(Kept):
    """A dataset as the folder of a study describes it: see `Dataset`."""

    name: str
    openml_id: int | None = Field(ge=1)
    n: int = Field(ge=2)
    k: int = Field(ge=2)
    features: int = Field(ge=1)
    majority: float = Field(gt=0, le=1)
    own_test: bool
    digest: str
    notes: list[str]


class _Document(Kept):
    """A study as its folder describes it: see `LabelledStudy`."""

    kind: Literal["labelled"]
    bciigl: str
    datasets: list[_Described] = Field(max_length=10_000)
    feedback: list[str] = Field(max_length=1000)
    learners: list[str] = Field(max_length=1000)
    repeats: int = Field(ge=1, le=10_000)
    seed: int = Field(ge=0)
    samples: int | None = Field(ge=1)
    table: str | None


class LearnerResult(Learned):
    """What one learner made of a repeat: for how many test examples its label was right."""

    right: int = Field(ge=0)
    tested: int = Field(ge=1)

    @property
    def entry(self) -> str:
        """Who learned."""
        return self.learner

    @model_validator(mode="after")
    def _share(self) -> "LearnerResult":
        if self.right > self.tested:
            raise ValueError("right should be at most tested")
        return self


class LabelledResult(Finished):
    """What all learners of a cell made of a repeat."""

    dataset: str
    feedback: str
    seed: int
    samples: int | None
    results: list[LearnerResult]


@dataclass(frozen=True)
class Dataset:
    """A dataset as a study knows it; one of a study that is only read has no `source`."""

    name: str
    openml_id: int | None
    n: int  # examples
    k: int  # classes
    features: int
    majority: float  # share of the most frequent label
    own_test: bool  # whether it comes with a part to be tested on
    digest: str  # a hash of all that is in it
    notes: tuple[str, ...] = ()
    source: "Source | Labelled | None" = field(default=None, compare=False, repr=False)

    @property
    def id(self) -> int | str:
        """What tables call it: the id that OpenML has for it, or its name."""
        return self.name if self.openml_id is None else self.openml_id

    def load(self) -> Labelled:
        """Return the data, which must be what they were when the study was begun."""
        if self.source is None:
            raise StudyError(f"{self.id}: where the data are is not known")
        data, digest = _loaded(self.source, self.digest)
        if digest != self.digest:
            _loaded.cache_clear()  # or data that are put back would not be seen
            raise StudyError(f"{self.id}: the data have changed since the study began")
        return data


def describe(source: "Source | Labelled") -> Dataset:
    """Return a dataset, or labelled data in memory, as a study knows it; it is read for that."""
    data = source.load()
    sizes = (len(data.label), len(data.classes), data.features.shape[1])
    split = data.training is not None
    known = (*sizes, data.majority, split, digest_of(data), data.notes)
    return Dataset(data.name, data.openml_id, *known, source)


def digest_of(data: Labelled) -> str:
    """Return a hash of features, labels and how they are split."""
    digest = hashlib.sha256(f"{data.features.shape} {data.training} {data.classes}".encode())
    # By value: the same numbers read from files of another kind or type are the same data.
    for start in range(0, len(data.label), 10_000):
        rows = slice(start, start + 10_000)
        features = np.ascontiguousarray(data.features[rows], float) + 0.0  # -0 is 0
        digest.update(features.data)
        digest.update(np.ascontiguousarray(data.label[rows], np.int64).data)
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _loaded(source: "Source | Labelled", expected: str) -> tuple[Labelled, str]:
    # Cells of a dataset follow each other, and one dataset may be all that fits into memory. A file
    # that has changed is read again for a study that was begun after it had.
    data = source.load()
    return data, digest_of(data)


@dataclass(frozen=True)
class LabelledCell:
    """One repeat, from 0, with one dataset and one feedback rule: the unit of work.

    The same repeat has the same split and guesses whatever the rule. The rule comes along, so that
    a custom one is known where the work is done.
    """

    dataset: Dataset
    feedback: str
    repeat: int
    seed: int
    samples: int | None
    entries: tuple[str, ...]
    rule: Rule | None = field(default=None, compare=False, repr=False)
    result: ClassVar = LabelledResult

    @cached_property
    def key(self) -> str:
        """A hash of what its result depends on; versions of other packages are kept beside it."""
        return key_of(self.identity)

    @property
    def identity(self) -> dict[str, Any]:
        """What its result depends on, as plain data."""
        return {
            "bciigl": __version__,
            "dataset": self.dataset.digest,
            **{name: getattr(self, name) for name in ("feedback", "repeat", "seed", "samples")},
            "learners": [
                {"learner": each, "parameters": labelled_learner(each).make().get_params()}
                for each in self.entries
            ],
        }

    @property
    def random(self) -> Seed:
        """Where its random numbers come from."""
        return Seed(self.seed).child(self.dataset.digest, "repeat", self.repeat)

    def run(self) -> dict[str, Any]:
        """Guess, let all learn from it, count what they get right; return plain data.

        The same cell gives the same result in any process, whatever else is run there.
        """
        with ONE_AT_A_TIME, one_thread():
            rule = self.rule or find_rule(self.feedback)
            recorded = interactions(self.dataset.load(), rule, self.random, samples=self.samples)
            results = [self._learned(recorded, each) for each in self.entries]
        return {**self.identity, "versions": versions(), "results": results}

    def _learned(self, sessions: Sessions, learner: str) -> dict[str, Any]:
        seed = int(self.random.rng("learner").integers(2**32))
        found = learn_from(sessions, labelled_learner(learner), seed=seed)
        return {
            "learner": learner,
            "right": int(found.confusion.trace()),
            "tested": int(found.confusion.sum()),
            "verdict": None if found.diagnosis is None else found.diagnosis.verdict,
            "objective": getattr(found.learner, "objective_", None),
        }


@dataclass(frozen=True)
class LabelledStudy:
    """Guesses about labelled data, over datasets, feedback rules and repeats.

    Parameters
    ----------
    datasets : sequence of Dataset
    feedback : sequence of str
        Names of rules (`bciigl.labelled.rules.RULES`).
    learners : sequence of str
    repeats, seed : int
    samples : int, optional
        How many trials there are in each repeat; by default one for each example for training.
    table : str, optional
        The table of the paper that it reproduces.
    """

    datasets: Sequence[Dataset]
    feedback: Sequence[str]
    learners: Sequence[str] = LEARNERS
    repeats: int = REPEATS
    seed: int = 0
    samples: int | None = None
    table: str | None = None
    kind: ClassVar = "labelled"

    def __post_init__(self) -> None:
        """Refuse what cannot be a study."""
        for name, least in (("repeats", 1), ("seed", 0), ("samples", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise StudyError(f"{name} should be {least} or more, got {value}")
        if not self.datasets:
            raise StudyError("there are no datasets to learn from")
        for words, name in (("called", "id"), ("made of the same data as", "digest")):
            seen: dict[Any, Dataset] = {}
            for each in self.datasets:
                if (other := seen.setdefault(getattr(each, name), each)) is not each:
                    same = f"{each.id} is {words} {other.id}, too"
                    raise StudyError(f"two datasets are the same: {same}")
        for learner in self.learners:
            labelled_learner(learner)

    @cached_property
    def cells(self) -> list[LabelledCell]:
        """All units of work, dataset by dataset: so that a worker reads each of them once."""
        same = (self.seed, self.samples, tuple(self.learners))
        return [
            LabelledCell(dataset, rule, repeat, *same, RULES.get(rule))
            for dataset in self.datasets
            for repeat in range(self.repeats)
            for rule in self.feedback
        ]

    def document(self) -> dict[str, Any]:
        """Return plain data that describe it, but not where the data are."""
        names = _Described.model_fields
        return {
            "kind": self.kind,
            "bciigl": __version__,
            "datasets": [{name: getattr(each, name) for name in names} for each in self.datasets],
            "feedback": list(self.feedback),
            "learners": list(self.learners),
            **{name: getattr(self, name) for name in ("repeats", "seed", "samples", "table")},
        }

    @classmethod
    def read(cls, document: Any) -> "LabelledStudy":
        """Return the study that `document` described; it can be read, not run."""
        found = _Document.model_validate(document)
        datasets = (
            Dataset(**{**dict(each), "notes": tuple(each.notes)}) for each in found.datasets
        )
        numbers = {name: getattr(found, name) for name in ("repeats", "seed", "samples", "table")}
        return cls(tuple(datasets), tuple(found.feedback), tuple(found.learners), **numbers)

    def difference(self, other: "LabelledStudy") -> tuple[str, Any, Any] | None:
        """Return what makes the other another study; more of the same does not."""
        for name in ("table", "seed", "samples"):
            ours, theirs = getattr(self, name), getattr(other, name)
            if ours != theirs:
                return name, "none" if ours is None else ours, "none" if theirs is None else theirs
        return None

    def rows(self, results: Mapping[str, LabelledResult]) -> "list[LabelledRow]":
        """Return its table, as `bciigl.labelled.labelled_rows` does."""
        from bciigl.labelled.rows import labelled_rows

        return labelled_rows(self, results)

    def read_row(self, document: Any) -> "LabelledRow":
        """Return the row of its table that plain data describe."""
        from bciigl.labelled.rows import LabelledRow

        return LabelledRow.read(document, {each.id: each for each in self.datasets})
