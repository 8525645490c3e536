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
    """Return what a table of the paper reports for a learner at a noise level, if anything."""
    theirs = LEARNERS.get(learner).published_as if learner in LEARNERS else None
    for line in lines(table):
        if line["learner"] == theirs and math.isclose(float(line["noise"]), noise):
            return Published(float(line["accuracy"]), float(line["standard_error"]))
    return None


@cache
def lines(table: str) -> list[dict[str, str]]:
    """Return a published table, line by line."""
    with (DATA / f"{table}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
