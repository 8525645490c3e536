"""The sections of a report in which a session is drawn."""

from bciigl.report.learning_curve import learning_drawing
from bciigl.report.page import Section
from bciigl.report.patterns import patterns_drawing
from bciigl.report.region import region_drawing
from bciigl.report.results import trusted
from bciigl.report.rewards import rewards_drawing
from bciigl.report.session_words import guesses_sentence, short_name
from bciigl.report.time_course import time_course_drawing
from bciigl.report.views import SessionView
from bciigl.report.volumes import volumes_drawing, volumes_table


def figure_sections(view: SessionView) -> list[Section]:
    """Return the sections of a report in which a session is drawn, learning first."""
    return [
        learning_section(view),
        *_decoding(view),
        Section(
            "The recorded signal",
            ["What the scanner saw, what happened meanwhile, and what that should have evoked."],
            drawings=[time_course_drawing(view)],
        ),
        *_arrivals(view),
        *([] if view.of_participant else [_where(view)]),
    ]


def learning_section(view: SessionView) -> Section:
    """Return how accurate the policy became during the session."""
    drawing = learning_drawing(view)
    return Section("Learning", guesses_sentence(view), drawings=[drawing] if drawing else [])


def _decoding(view: SessionView) -> list[Section]:
    if view.main is None:
        return []
    name = short_name(view.main)
    words = [
        "A learner without rewards has to find them in the brain's answers to the guesses: was it "
        "a match, or not?"
    ]
    truth = view.sessions["train"].truth
    known = truth is not None and truth.match is not None
    if not trusted(view.main) and not known:
        words.append(
            f"{name} does not trust itself here, and what was a match is not known: what it "
            "decodes is not shown, as it may look convincing and mean nothing."
        )
        return [Section("Decoded rewards", words)]
    if not trusted(view.main):
        words.append(f"{name} does not trust itself here; these are the trials it learned from.")
    return [Section("Decoded rewards", words, drawings=[rewards_drawing(view)])]


def _arrivals(view: SessionView) -> list[Section]:
    if view.volumes is None:
        return []
    words = (
        "How far the head moved, and when volumes were here. Whatever went wrong with a volume is "
        "in *_log.tsv, where there was anything."
    )
    tables = [volumes_table(view.volumes)]
    drawing = volumes_drawing(view)
    return [Section("Head movement and arrivals", [words], tables=tables, drawings=[drawing])]


def _where(view: SessionView) -> Section:
    title = "Region and patterns"
    if view.brain is None:
        return Section(title, [view.brain_missing])
    drawings = [region_drawing(view.brain)]
    words = ["Where the signal was recorded, and what each event evokes there."]
    if view.has_truth:
        drawings.append(patterns_drawing(view.brain))
    else:
        words.append(f"{view.no_truth}, so the patterns, which belong to it, are not shown.")
    return Section(title, words, drawings=drawings)
