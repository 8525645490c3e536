"""The rows of a study of labelled data, and what they add up to over datasets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bciigl.labelled.study import Dataset, LabelledStudy
from bciigl.learn.diagnose import TRUST
from bciigl.study.published import Published, lines, published_labelled
from bciigl.study.statistics import Mean, mean_of, percent, within
from bciigl.study.store import Results


@dataclass(frozen=True)
class LabelledRow:
    """What a learner reaches on a dataset with a feedback rule; rates are in percent.

    Attributes
    ----------
    dataset : Dataset
    feedback, learner : str
    accuracy : Mean
        Over repeats.
    accuracies : list of float
        Of the repeats, in order.
    trusted : float or None
        Share of the repeats in which the learner says that it can be trusted.
    relative : float or None
        Its mean accuracy as a share of that of the contextual bandit, which is told the rewards.
    published : Published or None
        What the paper reports.
    """

    dataset: Dataset
    feedback: str
    learner: str
    accuracy: Mean
    accuracies: list[float]
    trusted: float | None
    relative: float | None
    published: Published | None

    @property
    def repeats(self) -> int:
        """How many it is a mean of."""
        return len(self.accuracies)

    @property
    def difference(self) -> float | None:
        """How much higher it is than published."""
        return None if self.published is None else self.accuracy.mean - self.published.accuracy

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as for JSON."""
        published = self.published or (None, None)
        return {
            "dataset": self.dataset.id,
            "n": self.dataset.n,
            "k": self.dataset.k,
            "feedback": self.feedback,
            "learner": self.learner,
            "accuracy": self.accuracy.mean,
            "standard_error": self.accuracy.standard_error,
            "repeats": self.repeats,
            "published": published[0],
            "published_standard_error": published[1],
            "difference": self.difference,
            "interval": self.accuracy.interval,
            "relative_to_cb": self.relative,
            "trusted_repeats": self.trusted,
            "name": self.dataset.name,
            "best_constant": 100 * self.dataset.majority,
            "accuracies": self.accuracies,
        }


def labelled_rows(study: LabelledStudy, results: Results) -> list[LabelledRow]:
    """Return a row for each dataset, feedback rule and learner that has results.

    Parameters
    ----------
    study : LabelledStudy
    results : dict
        Of the cells that are finished, as `run_study` and `open_study` give them.
    """
    found: dict[tuple[str, str, str], list] = {}
    for cell in study.cells:
        if cell.key in results:
            for each in results[cell.key].results:
                place = (cell.dataset.digest, cell.feedback, each.learner)
                found.setdefault(place, []).append(each)
    table = []
    for dataset in study.datasets:
        for feedback in study.feedback:
            mine = {
                learner: found[dataset.digest, feedback, learner]
                for learner in study.learners
                if (dataset.digest, feedback, learner) in found
            }
            rates = {
                name: [100 * each.right / each.tested for each in repeats]
                for name, repeats in mine.items()
            }
            skyline = mean_of(rates["cb"]).mean if "cb" in rates else 0.0
            for learner, repeats in mine.items():
                verdicts = [each.verdict for each in repeats if each.verdict is not None]
                mean = within(mean_of(rates[learner]), 0.0)
                table.append(
                    LabelledRow(
                        dataset,
                        feedback,
                        learner,
                        mean,
                        rates[learner],
                        percent(each == TRUST for each in verdicts),
                        mean.mean / skyline if skyline else None,
                        published_labelled(study.table or "", learner, feedback, dataset.openml_id),
                    )
                )
    return table


@dataclass(frozen=True)
class Subset:
    """Datasets that are averaged over.

    Attributes
    ----------
    name : str
    has : function
        Whether a dataset of so many examples and classes is one of them.
    """

    name: str
    has: Callable[[int, int], bool]


SUBSETS = (
    Subset("K>=3", lambda n, k: k >= 3),
    Subset("K>=3 and N>=70000", lambda n, k: k >= 3 and n >= 70_000),
    Subset("3<=K<=10 and N/K>=200", lambda n, k: 3 <= k <= 10 and n / k >= 200),
)
"""Those of the paper's Table 1, and those with enough right guesses to learn a code from."""


@dataclass(frozen=True)
class Average:
    """What a learner reaches on average over a subset of the datasets.

    Attributes
    ----------
    subset, feedback, learner : str
        ``"best constant"`` is the learner that knows the most frequent label and nothing else.
    datasets : int
        How many there are of the subset.
    accuracy : Mean
        Over datasets.
    relative : Mean or None
        The share of the contextual bandit's accuracy, mean over datasets.
    of_means : float or None
        The learner's mean accuracy as a share of the bandit's mean accuracy.
    published : float or None
        Published accuracy, mean over those of the same datasets that the paper has.
    published_datasets : int
        How many these are.
    table1 : Published or None
        What the paper's Table 1 has for its own datasets.
    """

    subset: str
    feedback: str
    learner: str
    datasets: int
    accuracy: Mean
    relative: Mean | None
    of_means: float | None
    published: float | None
    published_datasets: int
    table1: Published | None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as for JSON."""
        plain = {
            name: getattr(self, name)
            for name in ("subset", "feedback", "learner", "datasets", "published")
        }
        return {
            **plain,
            "published_datasets": self.published_datasets,
            "accuracy": self.accuracy.mean,
            "standard_error": self.accuracy.standard_error,
            "relative_to_cb": None if self.relative is None else self.relative.mean,
            "relative_of_means": self.of_means,
            "table1": None if self.table1 is None else self.table1.accuracy,
        }


def averages(rows: Sequence[LabelledRow]) -> list[Average]:
    """Return what learners reach on average over the subsets that there are datasets of."""
    found = []
    for feedback in dict.fromkeys(row.feedback for row in rows):
        for subset in SUBSETS:
            mine = [
                row
                for row in rows
                if row.feedback == feedback and subset.has(row.dataset.n, row.dataset.k)
            ]
            if mine:
                found.append(_constant(subset.name, feedback, mine))
                bandit = [row.accuracy.mean for row in mine if row.learner == "cb"]
                for learner in dict.fromkeys(row.learner for row in mine):
                    of_learner = [row for row in mine if row.learner == learner]
                    found.append(_average(subset.name, feedback, learner, of_learner, bandit))
    return found


def _average(
    subset: str, feedback: str, learner: str, rows: list[LabelledRow], bandit: list[float]
) -> Average:
    accuracy = mean_of([row.accuracy.mean for row in rows])
    shares = [row.relative for row in rows if row.relative is not None]
    known = [row.published.accuracy for row in rows if row.published is not None]
    comparable = len(bandit) == len(rows) and sum(bandit) > 0
    return Average(
        subset,
        feedback,
        learner,
        len(rows),
        accuracy,
        mean_of(shares) if shares else None,
        accuracy.mean / mean_of(bandit).mean if comparable else None,
        sum(known) / len(known) if known else None,
        len(known),
        _table1(subset, learner) if feedback == "action_reward" else None,
    )


def _constant(subset: str, feedback: str, rows: list[LabelledRow]) -> Average:
    shares = {row.dataset.digest: 100 * row.dataset.majority for row in rows}
    mean = mean_of(list(shares.values()))
    table1 = _table1(subset, "best_constant") if feedback == "action_reward" else None
    return Average(
        subset, feedback, "best constant", len(shares), mean, None, None, None, 0, table1
    )


def _table1(subset: str, learner: str) -> Published | None:
    for line in lines("table1"):
        if line["subset"] == subset and f"{learner}_se" in line:
            return Published(float(line[learner]), float(line[f"{learner}_se"]))
    return None
