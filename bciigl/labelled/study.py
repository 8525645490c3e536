"""A study of labelled data: which guesses about which datasets, and who learns from them."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from bciigl import __version__
from bciigl.base.seeds import Seed
from bciigl.labelled.refit import labelled_learner
from bciigl.labelled.rules import RULES, Labelled, Rule
from bciigl.study.grid import StudyError, key_of

LEARNERS = ("cb", "igl_full_ci", "ai_igl")
REPEATS = 20
KEPT = ("name", "openml_id", "n", "k", "features", "majority", "own_test", "digest", "notes")


class Loads(Protocol):
    """What a dataset is read from, such as `bciigl.labelled.sources.Source`."""

    def load(self) -> Labelled:
        """Return the data."""


@dataclass(frozen=True)
class Dataset:
    """A dataset as a study knows it.

    Attributes
    ----------
    name : str
    openml_id : int or None
    n, k, features : int
        How many examples, classes and features it has.
    majority : float
        The share of its most frequent label.
    own_test : bool
        Whether it comes with a part to be tested on.
    digest : str
        A hash of all that is in it.
    notes : tuple of str
        What was done to it while it was read.
    source : object with a method load, or None
        Where it is read from. A study that is opened to be read only has none.
    """

    name: str
    openml_id: int | None
    n: int
    k: int
    features: int
    majority: float
    own_test: bool
    digest: str
    notes: tuple[str, ...] = ()
    source: Loads | None = field(default=None, compare=False, repr=False)

    @property
    def id(self) -> int | str:
        """What tables call it: the id that OpenML has for it, or its name."""
        return self.name if self.openml_id is None else self.openml_id


def describe(source: Loads) -> Dataset:
    """Return a dataset, or labelled data in memory, as a study knows it; it is read for that."""
    data = source.load()
    return Dataset(
        data.name,
        data.openml_id,
        len(data.label),
        len(data.classes),
        data.features.shape[1],
        data.majority,
        data.training is not None,
        digest_of(data),
        data.notes,
        source,
    )


def digest_of(data: Labelled) -> str:
    """Return a hash of features, labels and how they are split."""
    digest = hashlib.sha256(f"{data.features.shape} {data.training} {data.classes}".encode())
    # By value: the same numbers read from files of another kind or type are the same data.
    for start in range(0, len(data.label), 10_000):
        rows = slice(start, start + 10_000)
        digest.update(np.ascontiguousarray(data.features[rows], float) + 0.0)  # -0 is 0
        digest.update(np.ascontiguousarray(data.label[rows], np.int64))
    return digest.hexdigest()


@dataclass(frozen=True)
class LabelledCell:
    """One repeat with one dataset and one feedback rule: the unit of work.

    Attributes
    ----------
    dataset : Dataset
    feedback : str
        The rule's name.
    repeat : int
        From 0. The same repeat has the same split and guesses whatever the rule.
    seed : int
        Of the study.
    samples : int or None
        As in `LabelledStudy`.
    entries : tuple of str
        The learners.
    rule : function or None
        It comes along, so that a rule of one's own is known where the work is done.
    """

    dataset: Dataset
    feedback: str
    repeat: int
    seed: int
    samples: int | None
    entries: tuple[str, ...]
    rule: Rule | None = field(default=None, compare=False, repr=False)

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
            "feedback": self.feedback,
            "repeat": self.repeat,
            "seed": self.seed,
            "samples": self.samples,
            "learners": [
                {
                    "learner": each,
                    "parameters": labelled_learner(each).make().get_params(),
                }
                for each in self.entries
            ],
        }

    @property
    def random(self) -> Seed:
        """Where its random numbers come from."""
        return Seed(self.seed).child(self.dataset.digest, "repeat", self.repeat)


@dataclass(frozen=True)
class LabelledStudy:
    """Guesses about labelled data, over datasets, feedback rules and repeats.

    Parameters
    ----------
    datasets : sequence of Dataset
    feedback : sequence of str
        Names of rules (`bciigl.labelled.rules.RULES`).
    learners : sequence of str
    repeats : int
    seed : int
    samples : int, optional
        How many trials there are in each repeat; by default one for each example for training.
    table : str, optional
        The table of the paper that it reproduces.

    Raises
    ------
    StudyError
        If there are no datasets, or two that cannot be told apart.
    """

    datasets: Sequence[Dataset]
    feedback: Sequence[str]
    learners: Sequence[str] = LEARNERS
    repeats: int = REPEATS
    seed: int = 0
    samples: int | None = None
    table: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be a study."""
        for name, least in (("repeats", 1), ("seed", 0), ("samples", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise StudyError(f"{name} should be {least} or more, got {value}")
        if not self.datasets:
            raise StudyError("there are no datasets to learn from")
        self._refuse_twins("called", lambda each: each.id)
        self._refuse_twins("made of the same data as", lambda each: each.digest)
        for each in self.learners:
            labelled_learner(each)

    def _refuse_twins(self, words: str, what: Callable[[Dataset], Any]) -> None:
        seen: dict[Any, Dataset] = {}
        for each in self.datasets:
            if (other := seen.setdefault(what(each), each)) is not each:
                shown = each.id if words == "called" else other.id
                raise StudyError(f"two datasets are the same: {each.id} is {words} {shown}, too")

    @cached_property
    def cells(self) -> list[LabelledCell]:
        """All units of work, dataset by dataset: so that a worker reads each of them once."""
        return [
            LabelledCell(
                dataset,
                rule,
                repeat,
                self.seed,
                self.samples,
                tuple(self.learners),
                RULES.get(rule),
            )
            for dataset in self.datasets
            for repeat in range(self.repeats)
            for rule in self.feedback
        ]

    def document(self) -> dict[str, Any]:
        """Return plain data that describe it. Where the data are is nobody's concern."""
        return {
            "bciigl": __version__,
            "datasets": [{name: getattr(each, name) for name in KEPT} for each in self.datasets],
            "feedback": list(self.feedback),
            "learners": list(self.learners),
            "repeats": self.repeats,
            "seed": self.seed,
            "samples": self.samples,
            "table": self.table,
        }

    @classmethod
    def read(cls, document: dict[str, Any]) -> "LabelledStudy":
        """Return the study that `document` described; it can be read, not run."""
        datasets = [
            Dataset(**{**each, "notes": tuple(each["notes"])}) for each in document["datasets"]
        ]
        listed = {name: tuple(document[name]) for name in ("feedback", "learners")}
        rest = {name: document[name] for name in ("repeats", "seed", "samples", "table")}
        return cls(tuple(datasets), **listed, **rest)

    def difference(self, other: "LabelledStudy") -> tuple[str, Any, Any] | None:
        """Return what makes the other another study; more of the same does not."""
        for name in ("table", "seed", "samples"):
            ours, theirs = getattr(self, name), getattr(other, name)
            if ours != theirs:
                return name, "none" if ours is None else ours, "none" if theirs is None else theirs
        return None
