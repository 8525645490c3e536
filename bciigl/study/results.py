"""What is kept of a finished cell, as it is on disk."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Kept(BaseModel):
    """Plain data of a finished cell, or of a part of it."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class Learned(Kept):
    """What one learner made of a cell's data; verdict and objective are None where it has none."""

    learner: str
    verdict: str | None
    objective: float | None


class EntryResult(Learned):
    """What one learner made of a session: right (rows) and chosen options (columns).

    `rests_on` is what trust rests on, if the learner tells.
    """

    control: str | None
    rests_on: str | None = None
    confusion: list[list[int]] = Field(min_length=2)

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


class Finished(Kept):
    """What is kept of any finished cell: all that it depends on; its results come on top."""

    bciigl: str
    repeat: int = Field(ge=0)
    learners: list[dict[str, Any]]
    versions: dict[str, str]


class CellResult(Finished):
    """What all learners of a cell made of its session."""

    protocol: dict[str, Any]
    source: str
    truth_objective: float | None
    results: list[EntryResult]
