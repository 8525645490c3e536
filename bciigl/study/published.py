"""Published figures; data/README.md has their sources."""

import csv
import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

from bciigl.base.registry import LEARNERS

DATA = Path(__file__).parent.parent / "data"


class Published(NamedTuple):
    """A published figure, in percent."""

    accuracy: float
    standard_error: float


def published(table: str, learner: str, noise: float) -> Published | None:
    """Return what a table of the paper reports for a learner at a noise level, if anything.

    Which learner of the paper it is compared with is in its specification.
    """
    learner = LEARNERS.get(learner).published_as if learner in LEARNERS else ""
    for line in lines(table):
        if line["learner"] == learner and math.isclose(float(line["noise"]), noise):
            return Published(float(line["accuracy"]), float(line["standard_error"]))
    return None


def published_labelled(
    table: str, learner: str, feedback: str, openml_id: int | None
) -> Published | None:
    """Return what the paper reports for a learner on labelled data, if anything.

    Parameters
    ----------
    table : str
        ``"table1"``, whose datasets are those of Table 4, or ``"table3"``, which is about MNIST.
    learner : str
    feedback : str
        The rule's name.
    openml_id : int or None
        Of the dataset.
    """
    learner = LEARNERS.get(learner).published_as if learner in LEARNERS else ""
    if table == "table3":
        for line in lines(table):
            if (line["feedback"], line["learner"]) == (feedback, learner):
                return Published(float(line["accuracy"]), float(line["standard_error"]))
    elif (
        table == "table1" and feedback == "action_reward" and f"{learner}_se" in lines("table4")[0]
    ):
        for line in lines("table4"):
            if int(line["openml_id"]) == openml_id:
                return Published(float(line[learner]), float(line[f"{learner}_se"]))
    return None


@cache
def lines(table: str) -> list[dict[str, str]]:
    """Return a published table, line by line."""
    with (DATA / f"{table}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
