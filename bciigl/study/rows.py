"""The rows of a study's table: for each setting and learner, what all repeats add up to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from bciigl.learn.diagnose import TRUST
from bciigl.protocol import Protocol
from bciigl.protocol.population import person_values
from bciigl.protocol.summary import summary
from bciigl.study import statistics
from bciigl.study.grid import Entry, Setting, Study, in_words
from bciigl.study.published import Published, published
from bciigl.study.results import CellResult, EntryResult
from bciigl.study.statistics import Chance, Difference, Mean, accuracy, percent, within

Results = Mapping[str, CellResult]
_SAME = ("objective", "truth_objective", "scanner_hours", "test_scanner_hours")


class Scored:
    """What rows of all studies share: a learner's accuracy over repeats, beside the paper's."""

    learner: str
    accuracy: Mean
    accuracies: list[float]
    published: Published | None

    @property
    def repeats(self) -> int:
        """How many repeats it is a mean of."""
        return len(self.accuracies)

    @property
    def difference(self) -> float | None:
        """How much higher it is than published."""
        return None if self.published is None else self.accuracy.mean - self.published.accuracy

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as for JSON."""
        raise NotImplementedError

    def scores(self) -> dict[str, Any]:
        """Return what all rows have, as plain data."""
        published = self.published or (None, None)
        return {
            "accuracy": self.accuracy.mean,
            "standard_error": self.accuracy.standard_error,
            "repeats": self.repeats,
            "published": published[0],
            "published_standard_error": published[1],
            "difference": self.difference,
            "interval": self.accuracy.interval,
        }

    @staticmethod
    def read_scores(document: Mapping[str, Any]) -> dict[str, Any]:
        """Return what `scores` gave as values of fields, checked."""
        mean = tuple(document[name] for name in ("accuracy", "standard_error", "interval"))
        published = None
        if document["published"] is not None:
            published = (document["published"], document["published_standard_error"])
        return {
            "accuracy": TypeAdapter(Mean).validate_python(mean),
            "accuracies": TypeAdapter(list[float]).validate_python(document["accuracies"]),
            "published": TypeAdapter(Published | None).validate_python(published),
        }


@dataclass(frozen=True)
class Row(Scored):
    """What a learner reaches in a setting; all rates are in percent.

    `accuracy` is the mean of `accuracies`, those of the repeats in order. `chance` is by permuted
    test labels. `failed` and `trusted` are shares of the sessions in which an option is recognised
    no better than by guessing, and in which the learner says that it can be trusted. `objective` is
    that of full-CI IGL, `truth_objective` that of the truth. `paired` has the difference to each
    other learner without a control, on the same sessions. `people` has the values that were drawn
    for the person of each repeat, if the protocol has a population.
    """

    noise: float
    varied: dict[str, Any]
    learner: str
    control: str | None
    accuracy: Mean
    accuracies: list[float]
    chance: Chance
    failed: float
    trusted: float | None
    objective: float | None = None
    truth_objective: float | None = None
    paired: dict[str, Difference] = field(default_factory=dict)
    scanner_hours: float | None = None
    test_scanner_hours: float | None = None
    published: Published | None = None
    people: list[dict[str, float]] = field(default_factory=list)

    @property
    def label(self) -> str:
        """The learner, and its control."""
        return Entry(self.learner, self.control).label

    @property
    def setting(self) -> str:
        """The values of varied fields in words."""
        return in_words(self.varied)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as for JSON."""
        return {
            "noise": self.noise,
            "varied": self.varied,
            "learner": self.label,
            "control": self.control,
            **self.scores(),
            "chance": self.chance.mean,
            "chance_interval": self.chance.interval,
            "failed_sessions": self.failed,
            "trusted_sessions": self.trusted,
            **{name: getattr(self, name) for name in _SAME},
            "paired": {name: each._asdict() for name, each in self.paired.items()},
            "accuracies": self.accuracies,
            "people": self.people,
        }

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> "Row":
        """Return the row that `as_dict` gave."""
        found = {
            **{name: document[name] for name in ("noise", "varied", "control", "paired", *_SAME)},
            **cls.read_scores(document),
            "learner": document["learner"].removesuffix(f", {document['control']}"),
            "chance": (document["chance"], document["chance_interval"]),
            "failed": document["failed_sessions"],
            "trusted": document["trusted_sessions"],
            "people": document.get("people", []),
        }
        return TypeAdapter(cls).validate_python(found)


def rows(study: Study, results: Results) -> list[Row]:
    """Return the table of a study: a row for each setting and learner that has results."""
    table = []
    for setting in study.settings:
        found = _of_setting(study, setting, results)
        mine = {
            label: {repeat: accuracy(each.confusion) for repeat, (each, *_) in repeats.items()}
            for label, repeats in found.items()
        }
        for entry in study.entries:
            if entry.label in found:
                protocol = study.simulated(setting, entry)
                # A control that is simulated anew has no sessions in common with the others.
                same = protocol == setting.protocol
                others = [each for each in study.protocol.learners if each != entry.label]
                paired = {
                    other: _difference(mine[entry.label], mine[other])
                    for other in others
                    if same and set(mine[entry.label]) & set(mine.get(other, ()))
                }
                about, repeats = summary(protocol), found[entry.label].values()
                timed = protocol.brain.responses == "simulated"
                hours = ("scanner_hours", "test_scanner_hours") if timed else ()
                known = {name: about[name] for name in hours}
                known |= {"noise": setting.noise, "varied": setting.varied, "paired": paired}
                if protocol.population:
                    values = [person_values(each, protocol.population) for *_, each in repeats]
                    known["people"] = values
                pairs = [
                    (each.objective, truth)
                    for each, truth, _ in repeats
                    if each.objective is not None and truth is not None
                ]
                if pairs:
                    objectives = np.mean(pairs, axis=0).tolist()
                    known["objective"], known["truth_objective"] = objectives
                mean = within(statistics.mean_of(list(mine[entry.label].values())), 0.0)
                learned = [each for each, *_ in repeats]
                table.append(row_of(study.table, entry, mean, learned, **known))
    return table


Repeats = dict[int, tuple[EntryResult, float | None, Protocol]]
"""By repeat: what a learner made of its session, the truth's objective there, and the protocol."""


def _of_setting(study: Study, setting: Setting, results: Results) -> dict[str, Repeats]:
    found: dict[str, Repeats] = {}
    for cell in study.cells:
        if cell.setting is setting and cell.key in results:
            result = results[cell.key]
            for entry, each in zip(cell.entries, result.results, strict=True):
                learned = (each, result.truth_objective, cell.protocol)
                found.setdefault(entry.label, {})[cell.repeat] = learned
    return found


def _difference(mine: Mapping[int, float], others: Mapping[int, float]) -> Difference:
    both = sorted(set(mine) & set(others))
    found = statistics.difference_of([mine[each] for each in both], [others[each] for each in both])
    return within(found, -100.0)


def row_of(
    table: str | None, entry: Entry, mean: Mean, learned: Sequence[EntryResult], **known: Any
) -> Row:
    """Return the row of what a learner made of repeats, with further fields that are known."""
    confusions = [each.confusion for each in learned]
    verdicts = [each.verdict for each in learned if each.verdict is not None]
    paper = None
    if table is not None and entry.control is None:
        paper = published(table, entry.learner, known["noise"])
    return Row(
        **entry._asdict(),
        accuracy=mean,
        accuracies=[accuracy(each) for each in confusions],
        chance=statistics.permutation_chance(confusions),
        failed=percent(map(statistics.failed_option, confusions)),
        trusted=percent(each == TRUST for each in verdicts),
        published=paper,
        **known,
    )
