"""The rows of a study of labelled data, and what they add up to over datasets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from pydantic import TypeAdapter

from bciigl.labelled.paper import published_average, published_labelled
from bciigl.labelled.study import Dataset, LabelledResult, LabelledStudy, LearnerResult
from bciigl.learn.bandit import BANDIT
from bciigl.learn.diagnose import TRUST
from bciigl.study.published import Published
from bciigl.study.rows import Scored
from bciigl.study.statistics import Mean, mean_and_error, mean_of, percent, within


@dataclass(frozen=True)
class LabelledRow(Scored):
    """What a learner reaches on a dataset with a feedback rule; rates are in percent."""

    dataset: Dataset
    feedback: str
    learner: str
    accuracy: Mean  # over repeats
    accuracies: list[float]  # of each repeat
    trusted: float | None  # repeats in which the learner says that it can be trusted
    relative: float | None  # mean accuracy as a share (not in percent) of the contextual bandit's
    published: Published | None  # what the paper reports

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as for JSON."""
        return {
            "dataset": self.dataset.id,
            "n": self.dataset.n,
            "k": self.dataset.k,
            "feedback": self.feedback,
            "learner": self.learner,
            **self.scores(),
            "relative_to_cb": self.relative,
            "trusted_repeats": self.trusted,
            "name": self.dataset.name,
            "best_constant": 100 * self.dataset.majority,
            "accuracies": self.accuracies,
        }

    @classmethod
    def read(
        cls, document: Mapping[str, Any], datasets: Mapping[int | str, Dataset]
    ) -> "LabelledRow":
        """Return the row that `as_dict` gave, of one of the datasets by id."""
        number = TypeAdapter(float | None).validate_python
        return cls(
            dataset=datasets[document["dataset"]],
            feedback=str(document["feedback"]),
            learner=str(document["learner"]),
            trusted=number(document["trusted_repeats"]),
            relative=number(document["relative_to_cb"]),
            **cls.read_scores(document),
        )


def labelled_rows(study: LabelledStudy, results: Mapping[str, LabelledResult]) -> list[LabelledRow]:
    """Return a row for each dataset, feedback rule and learner that has results.

    Parameters
    ----------
    study : LabelledStudy
    results : dict
        Of the finished cells by their keys, as `run_study` and `open_study` give them.
    """
    found: dict[tuple[str, str], dict[str, list[LearnerResult]]] = {}
    for cell in study.cells:
        mine = found.setdefault((cell.dataset.digest, cell.feedback), {})
        for each in results[cell.key].results if cell.key in results else ():
            mine.setdefault(each.learner, []).append(each)
    table = []
    for dataset, feedback in product(study.datasets, study.feedback):
        mine = found[dataset.digest, feedback]
        rates = {
            learner: [100 * each.right / each.tested for each in repeats]
            for learner, repeats in mine.items()
        }
        skyline = mean_of(rates[BANDIT.id]).mean if BANDIT.id in rates else 0.0
        for learner, repeats in mine.items():
            mean = within(mean_of(rates[learner]), 0.0)
            verdicts = (each.verdict for each in repeats if each.verdict is not None)
            trusted = percent(each == TRUST for each in verdicts)
            relative = mean.mean / skyline if skyline else None
            paper = published_labelled(study.table, learner, feedback, dataset.openml_id)
            more = (mean, rates[learner], trusted, relative, paper)
            table.append(LabelledRow(dataset, feedback, learner, *more))
    return table


SUBSETS: dict[str, Callable[[int, int], bool]] = {
    "K>=3": lambda n, k: k >= 3,
    "K>=3 and N>=70000": lambda n, k: k >= 3 and n >= 70_000,
    "3<=K<=10 and N/K>=200": lambda n, k: 3 <= k <= 10 and n / k >= 200,
}
"""The datasets that are averaged over, by their numbers of examples and classes.

Those of the paper's Table 1, and those with enough right guesses to learn a code from.
"""
ALL_SETS = next(iter(SUBSETS))
CONSTANT = "best constant"
"""The learner that knows the most frequent label and nothing else."""


@dataclass(frozen=True)
class Average:
    """What a learner, or `CONSTANT`, reaches on average over a subset of the datasets."""

    subset: str
    feedback: str
    learner: str
    datasets: int
    accuracy: Mean
    relative: Mean | None = None  # over datasets, of the share of the contextual bandit's accuracy
    of_means: float | None = None  # the ratio of both mean accuracies
    published: float | None = None  # mean over those of the same datasets that the paper has
    published_datasets: int = 0
    table1: Published | None = None  # what the paper has for its own datasets


def averages(rows: Sequence[LabelledRow]) -> list[Average]:
    """Return what learners reach on average over the subsets that there are datasets of."""
    found = []
    rules = dict.fromkeys(row.feedback for row in rows)
    for feedback, (subset, has) in product(rules, SUBSETS.items()):
        mine = [row for row in rows if row.feedback == feedback]
        mine = [row for row in mine if has(row.dataset.n, row.dataset.k)]
        if mine:
            shares = {row.dataset.digest: 100 * row.dataset.majority for row in mine}
            mean = mean_and_error(list(shares.values()))
            table1 = published_average(subset, feedback, CONSTANT.replace(" ", "_"))
            found.append(Average(subset, feedback, CONSTANT, len(shares), mean, table1=table1))
        bandit = [row.accuracy.mean for row in mine if row.learner == BANDIT.id]
        for learner in dict.fromkeys(row.learner for row in mine):
            of_learner = [row for row in mine if row.learner == learner]
            found.append(_average(subset, of_learner, bandit))
    return found


def _average(subset: str, rows: list[LabelledRow], bandit: list[float]) -> Average:
    accuracy = mean_and_error([row.accuracy.mean for row in rows])
    shares = [row.relative for row in rows if row.relative is not None]
    known = [row.published.accuracy for row in rows if row.published is not None]
    comparable = len(bandit) == len(rows) and sum(bandit) > 0
    about = (subset, rows[0].feedback, rows[0].learner)
    return Average(
        *about,
        len(rows),
        accuracy,
        relative=mean_and_error(shares) if shares else None,
        of_means=accuracy.mean / mean_and_error(bandit).mean if comparable else None,
        published=sum(known) / len(known) if known else None,
        published_datasets=len(known),
        table1=published_average(*about),
    )
