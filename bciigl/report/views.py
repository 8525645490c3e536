"""What of a recorded session is drawn: rewards, learning, signal, region and patterns."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bciigl.base.errors import BciiglError
from bciigl.base.json_files import read_json
from bciigl.base.registry import LEARNERS
from bciigl.brain import Brain
from bciigl.learn.diagnose import Diagnosis
from bciigl.recording import Dataset
from bciigl.recording.layout import DESCRIPTION
from bciigl.report.guesses import guesses_drawing
from bciigl.report.learning_curve import learning_curve_drawing
from bciigl.report.page import Section
from bciigl.report.patterns import patterns_drawing
from bciigl.report.region import region_drawing
from bciigl.report.results import trusted
from bciigl.report.rewards import rewards_drawing
from bciigl.report.table import Table
from bciigl.report.time_course import time_course_drawing
from bciigl.report.volumes import Volumes, read_volumes, volumes_drawing, volumes_table
from bciigl.study.learning import Sessions, select
from bciigl.study.session_results import LearnerResult, SessionResults, read_results

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
        return [each for each in self.kept.learners if not LEARNERS.get(each.learner_id).told]

    @property
    def main(self) -> LearnerResult | None:
        """The result that the report is about: of the first learner that is told nothing."""
        return next(iter(self.blind), None)

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

    @property
    def no_truth(self) -> str:
        """Why it is not known what was meant."""
        return NOT_KNOWN if self.of_participant else NO_TRUTH


def load(dataset: Dataset, *, folder: str | os.PathLike | None = None) -> SessionView:
    """Return a session with its results; parameters as in `session_sections`."""
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


def views(session: SessionView) -> list[Section]:
    """Return the sections of a report in which a session is drawn."""
    signal = Section(
        "The recorded signal",
        ["What the scanner saw at the beginning of the session, and what happened meanwhile."],
        drawings=[time_course_drawing(session.dataset)],
    )
    return [
        *_decoding(session),
        _learning(session),
        signal,
        *_arrivals(session),
        *([] if session.of_participant else [_where(session)]),
    ]


def _decoding(session: SessionView) -> list[Section]:
    main = session.main
    if main is None:
        return []
    options = session.dataset.protocol.task.options
    words = [
        "A learner without rewards has to find them in the feedback. Where it succeeds, there are "
        "two heaps for each option: guesses that it takes for mismatches at the left, and those "
        "that it takes for matches at the right."
    ]
    if main.diagnosis is not None:
        words.append(f"The verdict of {main.learner_id}: {main.diagnosis.named(options)}")
    decoded = session.decoded[main.learner_id]
    drawing = rewards_drawing(session.sessions["train"], main, decoded, options)
    known = isinstance(main.diagnosis, Diagnosis) and trusted(main)
    tables = [_actions(main.diagnosis, options)] if known else []
    return [Section("Decoded rewards", words, tables=tables, drawings=[drawing])]


def _actions(found: Diagnosis, options: list) -> Table:
    """Return how well the reward of each action is decoded."""
    rows = [
        [
            str(options[each.action]),
            str(each.trials),
            f"{each.match_rate:.2f}",
            f"{each.information_t:.1f}",
        ]
        for each in found.actions
    ]
    head = ("guess", "trials", "match rate", "t")
    caption = (
        "What the learner found out about itself on runs it had not seen. Match rates are of the "
        "trials whose rate is known or expected: catch trials if there are any, otherwise uniform "
        "guesses. t: whether contexts tell of the answers to this guess."
    )
    return Table(head, rows, caption)


def _learning(session: SessionView) -> Section:
    kept, drawings = session.kept, []
    if kept.learning_curve:
        drawings.append(learning_curve_drawing(kept.learning_curve, session.chance))
    if kept.matches_by_run:
        drawings.append(guesses_drawing(kept.matches_by_run, session.chance))
    words = (
        "How accurate policies become as there are more runs to learn from, and how often the "
        "agent was right while the session went on."
        if drawings
        else f"{session.no_truth}, so it is not known how well it went."
    )
    return Section("Learning", [words], drawings=drawings)


def _arrivals(session: SessionView) -> list[Section]:
    if session.volumes is None:
        return []
    words = (
        "How far the head moved, and when volumes were here. Whatever went wrong with a volume is "
        "in *_log.tsv, where there was anything."
    )
    drawing = volumes_drawing(session.volumes, session.dataset.protocol.live)
    tables = [volumes_table(session.volumes)]
    return [Section("Head movement and arrivals", [words], tables=tables, drawings=[drawing])]


def _where(session: SessionView) -> Section:
    title = "Region and patterns"
    if session.brain is None:
        return Section(title, [session.brain_missing])
    drawings = [region_drawing(session.brain)]
    words = ["Where the signal was recorded, and what each event evokes there."]
    if session.has_truth:
        drawings.append(patterns_drawing(session.brain))
    else:
        words.append(f"{session.no_truth}, so the patterns, which belong to it, are not shown.")
    return Section(title, words, drawings=drawings)
