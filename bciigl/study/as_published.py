"""Table 2 as the paper's authors ran it: their networks, on their arrays and on recordings of ours.

Each arm departs from the released code in one thing, so that the table shows what of the published
figures is the method, what is the optimiser, and what is the data.
"""

import csv
import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field, TypeAdapter
from scipy.stats import rankdata

from bciigl import __version__
from bciigl.base.errors import did_you_mean
from bciigl.base.files import written_file
from bciigl.base.registry import LEARNERS
from bciigl.base.seeds import Seed
from bciigl.base.threads import one_thread
from bciigl.learn.action_inclusive import AI_IGL
from bciigl.learn.network_igl import AI_IGL_NETWORK, FULL_CI_NETWORK, NetworkIGL
from bciigl.loop import simulate
from bciigl.protocol import load
from bciigl.recording.truth import Session, Truth
from bciigl.study.cell import ONE_AT_A_TIME, versions
from bciigl.study.grid import Entry, StudyError, key_of
from bciigl.study.learning import Sessions, select
from bciigl.study.published import DATA, published
from bciigl.study.released import TEST_RUNS, TRAIN_RUNS, released_arrays
from bciigl.study.results import EntryResult, Finished, Kept
from bciigl.study.rows import Scored
from bciigl.study.statistics import Mean, accuracy, mean_and_error, mean_of, within
from bciigl.study.table2 import NAME, PUBLISHED_NOISE, SEPARATE

TRIALS = 2300
SEEN_NOISE = "test rows that share their noise with training rows"
KEPT = "each option's network kept as its own training left it"
FOUND = 0.9
"""An option is found if its matches are ranked above mismatches this often."""
UPSIDE_DOWN = 0.3
"""An option is upside down if they are ranked above less often than this: clearly below 1/2."""
DRIFT = 1 / 6
"""An option has moved if what f calls a match changed by this share of the test trials."""
DETAILS: dict[str, type] = {"options": str, "found": float, "flipped": int, "right": float}
"""What is told of each option of a repeat."""
COLUMNS = ("arm", "noise", "learner", "tested", "repeat", "accuracy", *DETAILS)
TABLE = "table.csv"
"""In a study's folder, what `write_table` writes."""
COMMITTED = DATA / "table2_as_published.csv"
"""The results of the full run; data/README.md has its command and versions."""
OUTCOMES = {
    "kept": "found and kept",
    "moved": "found, and moved while others were trained",
    "upside down": "found upside down (the flip was wrong)",
    "not found": "not found",
}
"""What may become of an option: of its scores, which need not cost accuracy."""


class Arm(NamedTuple):
    """One way to run the procedure, and how often by default."""

    words: str
    learner: str
    repeats: int
    parameters: Mapping[str, Any] = {}
    changes: Mapping[str, Any] | None = None  # of our protocol; None: the released arrays
    split: bool = False  # whether test rows are of runs that were not learned from
    raw: bool = False  # whether our voxels keep their whole mean


ARMS = {
    "published": Arm("as published", AI_IGL_NETWORK.id, 20),
    "full_ci": Arm("as published", FULL_CI_NETWORK.id, 5),
    "robust": Arm("this package's AI-IGL", AI_IGL.id, 1),
    "linear": Arm("linear, as in the text", AI_IGL_NETWORK.id, 5, {"hidden": ()}),
    "centred": Arm("features centred and scaled", AI_IGL_NETWORK.id, 5, {"centre": True}),
    "split": Arm("trained on 40 of the 50 runs", AI_IGL_NETWORK.id, 5, split=True),
    "short": Arm("500 epochs, not 4000", AI_IGL_NETWORK.id, 5, {"epochs": 500}),
    "faster": Arm("learning rate 1e-4, not 1e-5", AI_IGL_NETWORK.id, 5, {"rate": 1e-4}),
    "own": Arm("as published", AI_IGL_NETWORK.id, 5, changes={}),
    "own_full_ci": Arm("as published", FULL_CI_NETWORK.id, 5, changes={}),
    "own_robust": Arm("this package's AI-IGL", AI_IGL.id, 5, changes={}),
    "own_raw": Arm("voxels with their whole mean", AI_IGL_NETWORK.id, 5, changes={}, raw=True),
    # With 7 s between events the guess would come before the volume, of 10 s, that it rests on.
    "own_pauses": Arm("12 s pauses, not 7", AI_IGL_NETWORK.id, 5, changes={"timing.isi": 12.0}),
    "own_timing": Arm(
        "12 s pauses, and a volume every 10 s, as in the text",
        AI_IGL_NETWORK.id,
        5,
        changes={"timing.tr": 10.0, "timing.isi": 12.0},
    ),
}
NOTES = [
    "as published: two networks of 250 and 100 units, raw features, minibatches of 128, Adam with"
    " a learning rate of 1e-5, 4000 epochs for each option, one option after the other in shared"
    " networks; then a flip where the mean decoded reward is above 1/2. All trials are learned"
    " from; test rows share their noise with training rows of the same number.",
    "own recordings: simulated by bciigl as three separate series, 2300 trials; every repeat is"
    " another brain, and test trials have noise of their own. The released code multiplies the"
    " whole noise volume by the noise level, its mean included; so each voxel's mean is multiplied"
    " here, too, unless it says otherwise.",
    "each other arm differs from the published one in what it says, and in nothing else.",
]


class Option(Kept):
    """What became of an option: when its own training was over, and in the end.

    `found` is how often f is higher in matches than in mismatches of test trials (the area under
    the ROC curve), `above` the share of test trials in which f says match.
    """

    found: float
    above: float
    found_in_the_end: float
    above_in_the_end: float
    flipped: bool

    @property
    def outcome(self) -> str:
        """One of `OUTCOMES`."""
        if self.found < UPSIDE_DOWN:
            return "upside down"
        if self.found < FOUND:
            return "not found"
        moved = abs(self.above_in_the_end - self.above) > DRIFT
        return "moved" if moved or self.found_in_the_end < FOUND else "kept"


class PublishedResult(Finished):
    """What a learner made of the recordings of one cell."""

    arm: str
    noise: float
    seed: int
    digest: str | None
    results: list[EntryResult]
    options: list[Option]


class _Document(Kept):
    kind: Literal["as published"]
    bciigl: str
    digests: list[str]
    arms: list[str] = Field(min_length=1)
    noise: list[float] = Field(min_length=1)
    repeats: int | None = Field(ge=1, le=10_000)
    seed: int = Field(ge=0)


@dataclass(frozen=True)
class PublishedCell:
    """One training: the unit of work."""

    arm: str
    noise: float
    repeat: int
    seed: int
    digest: str | None
    folder: Path | None = None
    result: ClassVar = PublishedResult

    @property
    def _arm(self) -> Arm:
        return ARMS[self.arm]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Who learns, by how it is tested."""
        ways: list[str | None] = [None]
        ways += [KEPT] if self._arm.learner == AI_IGL_NETWORK.id else []
        ways += [SEEN_NOISE] if self._arm.split else []
        return tuple(Entry(self._arm.learner, each) for each in ways)

    @property
    def identity(self) -> dict[str, Any]:
        """What its result depends on, as plain data."""
        made = LEARNERS.get(self._arm.learner).make(**self._arm.parameters)
        learner = {"learner": self._arm.learner, "parameters": made.get_params()}
        return {
            **{"bciigl": __version__, "arm": self.arm, "noise": self.noise, "seed": self.seed},
            "digest": self.digest,
            # As JSON has them: lists for tuples.
            "learners": json.loads(json.dumps([learner])),
        }

    @cached_property
    def key(self) -> str:
        """A hash of what its result depends on."""
        return key_of({**self.identity, "repeat": self.repeat})

    def run(self) -> dict[str, Any]:
        """Train and test; return plain data."""
        arm = self._arm
        with ONE_AT_A_TIME, one_thread():
            sessions = self._recordings()
            train, test = sessions["train"].interactions, sessions["test"]
            tests: dict[str | None, Session] = {}
            if arm.split:
                train = select(sessions, TRAIN_RUNS, None)["train"].interactions
                test = select(sessions, None, TEST_RUNS)["test"]
                tests[SEEN_NOISE] = select(sessions, None, TRAIN_RUNS)["test"]
            # The same first weights in every arm.
            random_state = int(Seed(self.seed).rng("published", self.repeat).integers(2**32))
            given = {"n_actions": train.n_actions, "random_state": random_state}
            learner = LEARNERS.get(arm.learner).make(**given, **arm.parameters)
            learner.fit(train.context, train.action, train.feedback, run=train.run)
            found = [
                {
                    **entry._asdict(),
                    "confusion": _confusion(learner, tests.get(entry.control, test), entry),
                    "verdict": learner.diagnose().verdict,
                    "objective": None,
                }
                for entry in self.entries
            ]
            options = _options(learner, test) if arm.learner == AI_IGL_NETWORK.id else []
        identity = {**self.identity, "repeat": self.repeat, "versions": versions()}
        return {**identity, "results": found, "options": options}

    def _recordings(self) -> Sessions:
        if self._arm.changes is None:
            if self.folder is None:
                raise StudyError("where the released arrays are is not known")
            return released_arrays(self.folder)[self.noise]
        seed = int(Seed(self.seed).rng("recordings", self.repeat).integers(2**32))
        changes = {**SEPARATE, "task.trials": TRIALS, "brain.noise": self.noise, "seed": seed}
        sessions = simulate(load(NAME, changes={**changes, **self._arm.changes}))
        return sessions if self._arm.raw else _with_less_mean(sessions, self.noise)


def _with_less_mean(sessions: Sessions, noise: float) -> Sessions:
    """Return recordings in which each voxel's mean is multiplied by the noise level, too."""
    train = sessions["train"].interactions
    less = [(1 - noise) * getattr(train, name).mean(axis=0) for name in ("context", "feedback")]
    found = {}
    for name, (given, truth) in sessions.items():
        both = {"context": given.context - less[0]}
        if given.feedback is not None:
            both["feedback"] = given.feedback - less[1]
        found[name] = Session(given.__class__(**{**vars(given), **both}), truth)
    return found


def _confusion(learner: Any, test: Session, entry: Entry) -> list[list[int]]:
    right, given = _meant(test), test.interactions
    if entry.control == KEPT:
        scores = learner.scores_by_stage(given.context, run=given.run)
        chosen = np.stack([scores[k, :, k] for k in range(len(scores))], axis=1).argmax(axis=1)
    else:
        chosen = learner.predict(given.context, run=given.run)
    confusion = np.zeros((learner.n_actions_,) * 2, int)
    np.add.at(confusion, (right, chosen), 1)
    return confusion.tolist()


def _meant(test: Session) -> np.ndarray:
    truth = test.truth
    if not isinstance(truth, Truth) or truth.meant is None:
        raise StudyError("there is no test session to score learners on")
    return truth.meant


def _options(learner: NetworkIGL, test: Session) -> list[dict[str, Any]]:
    """Return what became of each option, in test trials."""
    scores = learner.scores_by_stage(test.interactions.context, run=test.interactions.run)
    right, found = _meant(test), []
    for option in range(learner.n_actions_):
        then, last = scores[option, :, option], scores[-1, :, option]
        found.append(
            {
                "found": _ranked_above(then, right == option),
                "above": float((then > 0).mean()),
                "found_in_the_end": _ranked_above(last, right == option),
                "above_in_the_end": float((last > 0).mean()),
                "flipped": bool(learner.flipped_[option]),
            }
        )
    return found


def _ranked_above(scores: np.ndarray, match: np.ndarray) -> float:
    """Return how often a match has a higher score than a mismatch: 1/2 by chance."""
    matches, ranks = int(match.sum()), rankdata(scores)
    above = ranks[match].sum() - matches * (matches + 1) / 2
    return float(above / (matches * (len(match) - matches)))


@dataclass(frozen=True)
class PublishedRow(Scored):
    """What an arm reaches at a noise level, in percent, beside the published figure.

    `numbers` are those of its repeats, from 1. For each repeat, `options` has what became of each
    option, one of `OUTCOMES`; `found` how often its matches were ranked above mismatches when its
    own training was over; `flipped` whether it was flipped then, as 0 or 1; `right` the percentage
    of its test trials that were right. Learners that train no option alone have `right` only.
    """

    arm: str
    noise: float
    learner: str
    control: str | None
    accuracy: Mean
    accuracies: list[float]
    published: Any
    numbers: list[int]
    options: list[list[str]]
    found: list[list[float]]
    flipped: list[list[int]]
    right: list[list[float]]

    def minus(self, other: "PublishedRow") -> tuple[float, float] | None:
        """Return by how much it is better than another, with its standard error, if that is known.

        Repeats of the same number are compared if first weights or recordings are the same in both;
        else all repeats are.
        """
        found, error, _ = self.accuracy
        less, its_error, _ = other.accuracy
        if _drawn(self.arm) == _drawn(other.arm):
            one, two = (
                dict(zip(row.numbers, row.accuracies, strict=True)) for row in (self, other)
            )
            both = [one[each] - two[each] for each in one if each in two]
            found, error, _ = mean_and_error(both or [0.0])
            less = its_error = 0.0
        if error is None or its_error is None:
            return None
        return found - less, math.hypot(error, its_error)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as for JSON."""
        known = {name: getattr(self, name) for name in ("arm", "noise", "learner", "control")}
        details = {name: getattr(self, name) for name in ("accuracies", "numbers", *DETAILS)}
        return {**known, **self.scores(), **details}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> "PublishedRow":
        """Return the row that `as_dict` gave."""
        names = ("arm", "noise", "learner", "control", "numbers", *DETAILS)
        found = {name: document[name] for name in names} | cls.read_scores(document)
        return TypeAdapter(cls).validate_python(found)


@dataclass(frozen=True)
class PublishedStudy:
    """Arms at noise levels, each repeated as often as it says, or as given for all.

    The unit of resuming is a training: one that was stopped begins anew, as others do not.
    """

    arms: tuple[str, ...]
    noise: tuple[float, ...] = PUBLISHED_NOISE
    repeats: int | None = None
    seed: int = 0
    digests: tuple[str, ...] = ()  # of the released arrays, one a noise level
    folder: Path | None = field(default=None, compare=False)
    kind: ClassVar = "as published"

    @cached_property
    def cells(self) -> list[PublishedCell]:
        """All units of work, first repeats of all arms first."""
        repeats = {arm: self.repeats or ARMS[arm].repeats for arm in self.arms}
        digest = dict(zip(self.noise, self.digests, strict=False))
        return [
            PublishedCell(
                *(arm, noise, repeat, self.seed),
                *(digest.get(noise) if _released(arm) else None, self.folder),
            )
            for repeat in range(max(repeats.values()))
            for arm in self.arms
            if repeat < repeats[arm]
            for noise in self.noise
        ]

    def document(self) -> dict[str, Any]:
        """Return plain data that describe it, but not where the recordings are."""
        names = ("arms", "noise", "repeats", "seed", "digests")
        known = {name: getattr(self, name) for name in names}
        return {"kind": self.kind, "bciigl": __version__, **known}

    @classmethod
    def read(cls, document: Any) -> "PublishedStudy":
        """Return the study that `document` described; it can be read, not run."""
        found = _Document.model_validate(document)
        _check_arms(found.arms)
        arms, noise, digests = tuple(found.arms), tuple(found.noise), tuple(found.digests)
        return cls(arms, noise, found.repeats, found.seed, digests)

    def difference(self, other: "PublishedStudy") -> tuple[str, Any, Any] | None:
        """Return what makes the other another study; more of the same does not."""
        here, there = (dict(zip(each.noise, each.digests, strict=False)) for each in (self, other))
        for noise in here.keys() & there.keys():
            if here[noise] != there[noise]:
                return f"recordings at noise {noise:g}", here[noise], there[noise]
        return ("seed", self.seed, other.seed) if self.seed != other.seed else None

    def rows(self, results: Mapping[str, PublishedResult]) -> list[PublishedRow]:
        """Return its table: a row for each arm, noise level and test that has results."""
        table = []
        for arm in self.arms:
            for noise in self.noise:
                cells = [each for each in self.cells if (each.arm, each.noise) == (arm, noise)]
                done = [results[each.key] for each in cells if each.key in results]
                options = [each.options for each in done]
                for place, entry in enumerate(cells[0].entries if done else ()):
                    confusions = [each.results[place].confusion for each in done]
                    table.append(
                        _row(
                            *(arm, noise, entry),
                            [accuracy(each) for each in confusions],
                            [each.repeat + 1 for each in done],
                            [[each.outcome for each in one] for one in options],
                            [[round(each.found, 3) for each in one] for one in options],
                            [[int(each.flipped) for each in one] for one in options],
                            [_right(each) for each in confusions],
                        )
                    )
        return table

    def read_row(self, document: Any) -> PublishedRow:
        """Return the row of its table that plain data describe."""
        return PublishedRow.read(document)


def _row(
    arm: str, noise: float, entry: Entry, accuracies: list[float], *details: Any
) -> PublishedRow:
    mean = within(mean_of(accuracies), 0.0)
    paper = published(NAME, entry.learner, noise)
    known = (arm, noise, entry.learner, entry.control, mean, accuracies, paper)
    return PublishedRow(*known, *details)


def _drawn(arm: str) -> tuple[bool, Any]:
    """Return what first weights and recordings of a repeat depend on, besides its number."""
    return _released(arm), ARMS[arm].parameters.get("hidden")


def _right(confusion: list[list[int]]) -> list[float]:
    """Return the percentage of each option's test trials that were right."""
    return [round(100 * row[place] / max(sum(row), 1), 1) for place, row in enumerate(confusion)]


def write_table(rows: Sequence[PublishedRow], path: str | os.PathLike) -> None:
    """Write a table with a line for each repeat, as data/table2_as_published.csv."""
    lines = []
    for row in rows:
        known = [row.arm, row.noise, row.learner, row.control or ""]
        details = (getattr(row, name) for name in DETAILS)
        for number, right, *told in zip(row.numbers, row.accuracies, *details, strict=True):
            lines.append([*known, number, right, *("; ".join(map(str, each)) for each in told)])
    with written_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *lines])


def read_table(path: str | os.PathLike = COMMITTED) -> list[PublishedRow]:
    """Return the rows of a table that `write_table` wrote, by default that of the full run."""
    with open(path, newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    groups: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for each in lines:
        groups.setdefault(tuple(each[name] for name in COLUMNS[:4]), []).append(each)
    return [
        _row(
            *(arm, float(noise), Entry(learner, way or None)),
            [float(each["accuracy"]) for each in mine],
            [int(each["repeat"]) for each in mine],
            *(
                [[kind(one) for one in each.get(name, "").split("; ") if one] for each in mine]
                for name, kind in DETAILS.items()
            ),
        )
        for (arm, noise, learner, way), mine in groups.items()
    ]


def published_study(
    released: str | None = None,
    *,
    arms: Sequence[str] = (),
    noise: Sequence[float] = (),
    repeats: int | None = None,
    seed: int = 0,
) -> PublishedStudy:
    """Return the study of the arms wanted, by default of all for which there are recordings."""
    _check_arms(arms)
    if repeats is not None and repeats < 1:
        raise StudyError(f"repeats should be 1 or more, got {repeats}")
    if released is None and any(_released(arm) for arm in arms):
        raise StudyError("the arms of the released arrays need --released")
    chosen = tuple(each for each in ARMS if each in arms or not arms)
    chosen = tuple(each for each in chosen if released is not None or not _released(each))
    levels = tuple(sorted(set(noise))) or PUBLISHED_NOISE
    digests: tuple[str, ...] = ()
    folder = None
    if released is not None:
        folder = Path(released).resolve()
        recorded = released_arrays(folder)
        if missing := sorted(set(levels) - set(recorded)):
            raise StudyError(f"{released}: has no arrays at noise level {missing[0]:g}")
        digests = tuple(_digest(recorded[each]) for each in levels)
    return PublishedStudy(chosen, levels, repeats, seed, digests, folder)


def _check_arms(arms: Sequence[str]) -> None:
    for each in arms:
        if each not in ARMS:
            near = did_you_mean(each, ARMS)
            raise StudyError(f"there is no arm {each!r}{near}; known are {', '.join(ARMS)}")


def _released(arm: str) -> bool:
    return ARMS[arm].changes is None


def _digest(sessions: Sessions) -> str:
    """Return a hash of all that is learned from and tested on at a noise level."""
    found, test = hashlib.sha256(), sessions["test"]
    train, tested = sessions["train"].interactions, test.interactions
    arrays = (train.context, train.action, train.feedback, train.run)
    for each in (*arrays, tested.context, tested.run, _meant(test)):
        values = np.array([] if each is None else each, dtype=np.float64)
        found.update(f"{values.shape}".encode() + values.tobytes())
    return found.hexdigest()[:16]
