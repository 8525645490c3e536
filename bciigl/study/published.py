"""Published figures; data/README.md has their sources."""

import csv
import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parent.parent / "data"


class Published(NamedTuple):
    """A published figure, in percent."""

    accuracy: float
    standard_error: float


def published(table: str, learner: str, noise: float) -> Published | None:
    """Return what a table of the paper reports for a learner at a noise level, if anything.

    The paper's AI-IGL is the procedure `ai_igl_paper`; `ai_igl` is compared with it as well.
    """
    learner = "ai_igl" if learner == "ai_igl_paper" else learner
    for line in _lines(table):
        if line["learner"] == learner and math.isclose(float(line["noise"]), noise):
            return Published(float(line["accuracy"]), float(line["standard_error"]))
    return None


@cache
def _lines(table: str) -> list[dict[str, str]]:
    with (DATA / f"{table}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
