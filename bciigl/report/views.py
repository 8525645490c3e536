"""A recorded session with all that its figures and its report show."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logit

from bciigl.base.errors import BciiglError
from bciigl.base.json_files import read_json
from bciigl.base.progress import Notify, silent
from bciigl.base.registry import LEARNERS
from bciigl.brain import Brain
from bciigl.learn import InputError, load_learner
from bciigl.protocol.recorded import caveat
from bciigl.protocol.schedule import series
from bciigl.recording import Dataset
from bciigl.recording.layout import DESCRIPTION, ESTIMATES
from bciigl.report.volumes import Volumes, read_volumes
from bciigl.study.learning import Sessions, select
from bciigl.study.session_results import (
    POLICIES,
    LearnerResult,
    SessionResults,
    has_results,
    learn_and_keep,
    read_results,
)

NO_TRUTH = "The dataset is without its truth (derivatives/truth)"
NOT_KNOWN = "Nobody but the participant knows what was imagined"


@dataclass(frozen=True, eq=False)
class SessionView:
    """A recorded session with all that its report shows; its brain is made again."""

    dataset: Dataset
    kept: SessionResults
    decoded: Mapping[str, np.ndarray]
    brain: Brain | None
    brain_missing: str = ""
    volumes: Volumes | None = None
    """How volumes came, of a live session."""

    @cached_property
    def sessions(self) -> Sessions:
        """What was learned from, and tested on."""
        return select(self.dataset.sessions, self.kept.train_runs, self.kept.test_runs)

    @property
    def blind(self) -> list[LearnerResult]:
        """The results of learners that were told neither labels nor rewards."""
        return [each for each in self.kept.learners if not _told(each)]

    @property
    def main(self) -> LearnerResult | None:
        """The result that the report is about: of the first learner that is told nothing."""
        return next(iter(self.blind), None)

    @property
    def told(self) -> LearnerResult | None:
        """The result to compare it with: of the first learner that is told the labels."""
        labelled = (each for each in self.kept.learners if _told(each) == "label")
        return next(labelled, None)

    @property
    def chance(self) -> float:
        """How many percent are right by chance."""
        return 100 / self.kept.actions

    @property
    def has_truth(self) -> bool:
        """Whether it is known what was meant."""
        return self.sessions["train"].truth is not None

    @property
    def rehearsed(self) -> bool:
        """Whether it is a live session with a simulated person."""
        return self.volumes is not None and self.dataset.group == "simulated"

    @property
    def of_participant(self) -> bool:
        """Whether it is a live session of a real person."""
        return self.volumes is not None and not self.rehearsed

    @cached_property
    def hours(self) -> list[float]:
        """The hours in a scanner until the end of each run that was learned from, without pauses.

        Empty where frames are those of another recording, whose hours they do not tell.
        """
        dataset, run = self.dataset, self.sessions["train"].interactions.run
        if caveat(dataset.protocol):
            return []
        seconds = [dataset.timetable("train", each).seconds for each in np.unique(run).tolist()]
        return (len(series(dataset.protocol)) * np.cumsum(seconds) / 3600).tolist()

    def log_odds(self, learner_id: str) -> np.ndarray:
        """Return the log-odds of a match that a learner decodes for each trial, (trials,)."""
        trials = self.sessions["train"].interactions
        try:
            learner = load_learner(self.dataset.folder / ESTIMATES / POLICIES / learner_id)
            return learner.decode_log_odds(trials.feedback, trials.action, run=trials.run)
        except (AttributeError, BciiglError, InputError):
            # It decodes probabilities alone, or is of another version.
            return logit(np.clip(self.decoded[learner_id], 1e-16, 1 - 1e-16))

    def needed_brain(self) -> Brain:
        """Return the brain, or raise `BciiglError` that says why there is none."""
        if self.brain is None:
            raise BciiglError(
                f"{self.dataset.folder}: there is no brain to draw. {self.brain_missing}"
            )
        return self.brain

    @property
    def no_truth(self) -> str:
        """Why it is not known what was meant."""
        return NOT_KNOWN if self.of_participant else NO_TRUTH


def load(dataset: Dataset, *, folder: str | os.PathLike | None = None) -> SessionView:
    """Return a session with its results; paths in its protocol are relative to `folder`."""
    kept, decoded = read_results(dataset)
    brain, missing = None, "It is not of a simulated brain."
    if dataset.group == "simulated":
        try:
            brain = Brain(dataset.protocol, folder)
        except BciiglError as error:
            missing = f"The subject cannot be loaded: {error}"
    return SessionView(dataset, kept, decoded, brain, missing, read_volumes(dataset))


def recorded_with(dataset: Dataset) -> str:
    """Return which program the dataset says has recorded it."""
    try:
        made = read_json(dataset.folder / DESCRIPTION)["GeneratedBy"][0]
        return f"{made['Name']} {made['Version']}"
    except (BciiglError, LookupError, TypeError):
        return "not known"


def learned(
    dataset: Dataset, *, folder: str | os.PathLike | None = None, report: Notify = silent
) -> SessionView:
    """Return a session with its results as `load` does; let its learners learn first if needed."""
    if not has_results(dataset):  # of a recording made in Python, or by an older version
        learn_and_keep(dataset, report=report)
    return load(dataset, folder=folder)


def _told(result: LearnerResult) -> str:
    return LEARNERS.get(result.learner_id).told
