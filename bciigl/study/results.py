"""What is kept of a finished cell, as it is on disk."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Kept(BaseModel):
    """Plain data of a finished cell, or of a part of it."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class EntryResult(Kept):
    """What one learner made of a session.

    Attributes
    ----------
    learner, control
        As in `Entry`.
    confusion : list of lists of int
        For how many test trials of each option (rows) it chose each option (columns).
    verdict : str or None
        Its own, where it has one.
    objective : float or None
        Of full-CI IGL.
    """

    learner: str
    control: str | None
    confusion: list[list[int]] = Field(min_length=2)
    verdict: str | None
    objective: float | None

    @property
    def entry(self) -> tuple[str, str | None]:
        """Who learned from what."""
        return self.learner, self.control

    @model_validator(mode="after")
    def _counts(self) -> "EntryResult":
        counts = [count for row in self.confusion for count in row]
        square = all(len(row) == len(self.confusion) for row in self.confusion)
        if not square or min(counts, default=-1) < 0 or not sum(counts):
            raise ValueError("confusion should be a square table of counts")
        return self


class CellResult(Kept):
    """What all learners of a cell made of its session, and all that it depends on."""

    bciigl: str
    protocol: dict[str, Any]
    brain: str
    learners: list[dict[str, Any]]
    repeat: int
    versions: dict[str, str]
    truth_objective: float | None
    results: list[EntryResult]


class LearnerResult(Kept):
    """What one learner made of a repeat with labelled data.

    Attributes
    ----------
    learner : str
    right, tested : int
        For how many test examples its label was right, and of how many.
    verdict : str or None
        Its own, where it has one.
    objective : float or None
        Of full-CI IGL.
    """

    learner: str
    right: int = Field(ge=0)
    tested: int = Field(ge=1)
    verdict: str | None
    objective: float | None

    @property
    def entry(self) -> str:
        """Who learned."""
        return self.learner

    @model_validator(mode="after")
    def _share(self) -> "LearnerResult":
        if self.right > self.tested:
            raise ValueError("right should be at most tested")
        return self


class LabelledResult(Kept):
    """What all learners of a cell made of a repeat, and all that it depends on."""

    bciigl: str
    dataset: str
    feedback: str
    repeat: int
    seed: int
    samples: int | None
    learners: list[dict[str, Any]]
    versions: dict[str, str]
    results: list[LearnerResult]
