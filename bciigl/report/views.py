"""What of a recorded session is drawn: rewards, learning, signal, region and patterns."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from bciigl.base.errors import BciiglError
from bciigl.base.progress import Notify, silent
from bciigl.brain import Brain
from bciigl.learn.diagnose import Diagnosis
from bciigl.recording import Dataset
from bciigl.report.guesses import guesses_drawing, matches_by_run
from bciigl.report.learning_curve import learning_curve, learning_curve_drawing
from bciigl.report.page import Section
from bciigl.report.patterns import patterns_drawing
from bciigl.report.region import region_drawing
from bciigl.report.rewards import rewards_drawing
from bciigl.report.table import Table
from bciigl.report.time_course import time_course_drawing
from bciigl.study.arrays import Recorded, Result, learners_for
from bciigl.study.sessions import learn_session, load_session

NO_TRUTH = "The dataset is without its truth (derivatives/truth)"


@dataclass(frozen=True, eq=False)
class Session:
    """A recorded session with all that its report is made from.

    Attributes
    ----------
    dataset : Dataset
    recorded : Recorded
        Its interactions.
    results : sequence of Result
        Of the learners that could learn from it.
    brain : Brain or None
        Made again from the protocol, if its files are there.
    brain_missing : str
        Why it could not be made.
    """

    dataset: Dataset
    recorded: Recorded
    results: Sequence[Result]
    brain: Brain | None
    brain_missing: str = ""

    @property
    def blind(self) -> list[Result]:
        """The results of learners that were told neither labels nor rewards."""
        return [each for each in self.results if each.diagnosis is not None]

    @property
    def main(self) -> Result | None:
        """The result that the report is about: of ai_igl, or of the first that has no labels."""
        return next((each for each in self.blind if each.learner_id == "ai_igl"), None) or next(
            iter(self.blind), None
        )

    @property
    def chance(self) -> float:
        """How many percent are right by chance."""
        return 100 / self.recorded.n_actions

    @cached_property
    def has_truth(self) -> bool:
        """Whether it is known what was meant."""
        return self.recorded.label is not None

    @property
    def tested(self) -> bool:
        """Whether accuracies are known."""
        return self.recorded.test_label is not None


def load(
    dataset: Dataset, *, folder: str | os.PathLike | None = None, report: Notify = silent
) -> Session:
    """Return a session with its results; parameters as in `session_sections`."""
    recorded = load_session(dataset)
    possible = set(learners_for(recorded)) & set(dataset.protocol.learners)
    results = learn_session(dataset, recorded, report=report) if possible else []
    try:
        return Session(dataset, recorded, results, Brain(dataset.protocol, folder))
    except BciiglError as error:
        return Session(dataset, recorded, results, None, str(error))


def views(session: Session, report: Notify = silent) -> list[Section]:
    """Return the sections of a report in which a session is drawn."""
    sections = [*_decoding(session), *_learning(session, report)]
    report("drawing the recording")
    return [*sections, _recording(session), _where(session)]


def _decoding(session: Session) -> list[Section]:
    if session.main is None:
        return []
    options = session.dataset.protocol.task.options
    drawing = rewards_drawing(session.recorded, session.main, options)
    return [
        Section(
            "Decoded rewards",
            [
                "A learner without rewards has to find them in the feedback. Where it succeeds, "
                "there are two heaps for each option: guesses that it takes for mismatches at the "
                "left, and those that it takes for matches at the right.",
                f"The verdict of {session.main.learner_id}: {session.main.diagnosis}",
            ],
            tables=_actions(session),
            drawings=[drawing],
        )
    ]


def _actions(session: Session) -> list[Table]:
    """Return how well the reward of each action is decoded, where the learner found that out."""
    found = session.main.diagnosis
    if not isinstance(found, Diagnosis):
        return []
    rows = [
        [
            str(session.dataset.protocol.task.options[each.action]),
            str(each.trials),
            f"{each.match_rate:.2f}",
            "{:.2f} to {:.2f}".format(*each.interval),
            f"{each.separation:.1f}",
            "< 0.001" if each.wrong_flip < 0.001 else f"{each.wrong_flip:.3f}",
        ]
        for each in found.actions
    ]
    head = (
        "guess",
        "trials",
        "match rate",
        "95 % interval",
        "match from mismatch",
        "probability that they are confused",
    )
    caption = (
        "What the learner found out about itself on runs it had not seen. Match rates are of the "
        "trials whose rate is known or expected: catch trials if there are any, otherwise uniform "
        "guesses. Match from mismatch: their distance, in units of their width."
    )
    return [Table(head, rows, caption)]


def _learning(session: Session, report: Notify) -> list[Section]:
    drawings = []
    if session.tested:
        seed = session.dataset.protocol.seed
        points = learning_curve(session.recorded, seed=seed, known=session.results, report=report)
        if points:
            drawings.append(learning_curve_drawing(points, session.chance))
    if session.has_truth:
        matches = matches_by_run(session.dataset)
        if matches:
            drawings.append(guesses_drawing(matches, session.chance))
    if not drawings:
        return [Section("Learning", [f"{NO_TRUTH}, so it is not known how well it went."])]
    return [
        Section(
            "Learning",
            [
                "How accurate policies become as there are more runs to learn from, and how often "
                "the agent was right while the session went on."
            ],
            drawings=drawings,
        )
    ]


def _recording(session: Session) -> Section:
    return Section(
        "The recorded signal",
        ["What the scanner saw at the beginning of the session, and what happened meanwhile."],
        drawings=[time_course_drawing(session.dataset)],
    )


def _where(session: Session) -> Section:
    title = "Region and patterns"
    if session.brain is None:
        reason = f"The subject could not be loaded: {session.brain_missing}"
        return Section(title, [reason, "--folder names the folder of the protocol's file."])
    drawings = [region_drawing(session.brain)]
    words = ["Where the signal was recorded, and what each event evokes there."]
    if session.has_truth:
        drawings.append(patterns_drawing(session.brain))
    else:
        words.append(f"{NO_TRUTH}, so the patterns, which belong to it, are not shown.")
    return Section(title, words, drawings=drawings)
