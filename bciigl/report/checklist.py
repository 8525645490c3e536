"""The CRED-nf checklist of a session, filled in as far as its protocol and its dataset know it."""

from collections.abc import Iterator
from typing import NamedTuple

from bciigl.learn.diagnose import Diagnosis
from bciigl.loop.yoked import CONDITION, has_condition
from bciigl.protocol.schedule import durations
from bciigl.protocol.summary import summary
from bciigl.recording.bids import BIDS_VERSION
from bciigl.recording.layout import PROTOCOL
from bciigl.report.methods import (
    agent_sentences,
    counted,
    estimate_sentences,
    listed,
    references,
)
from bciigl.report.page import Section
from bciigl.report.session_words import short_name
from bciigl.report.table import Table
from bciigl.report.views import SessionView, recorded_with
from bciigl.report.volumes import volume_sentences

TO_FILL_IN = "To be filled in by the experimenters"
ABOUT = (
    "What reports of neurofeedback studies should say, by the CRED-nf checklist (Ros et al., "
    "2020): its items in our words, and what is known of this session. Items about regulation are "
    "answered by how well guesses match what was imagined."
)


class Item(NamedTuple):
    """An item of the checklist.

    It has its number, such as ``"1a"``, what to report, what is known of this, and what is left to
    the experimenters, who know more.
    """

    number: str
    question: str
    known: str = ""
    left: str = ""

    @property
    def answer(self) -> str:
        """What is known, and what is left."""
        left = self.left and f"{TO_FILL_IN}: {self.left}."
        return " ".join(filter(None, (self.known, left)))


DOMAINS = {
    "1": "Before the experiment",
    "2": "Control groups",
    "3": "Control measures",
    "4": "Feedback specifications",
    "5": "Outcome measures: brain",
    "6": "Outcome measures: behaviour",
    "7": "Data storage",
}


def checklist(session: SessionView) -> list[Item]:
    """Return all items of the checklist, in order."""
    return [
        *_before(session),
        *_controls(session),
        *_measures(session),
        *_feedback(session),
        *_outcomes(session),
        Item(
            "7a",
            "Where data, code and materials can be had",
            f"The recording is a BIDS {BIDS_VERSION} dataset with its events and the whole "
            f"protocol ({PROTOCOL}); bciigl is open source.",
            "the repository, and how to ask for what cannot be open",
        ),
    ]


def checklist_section(session: SessionView) -> Section:
    """Return the checklist as a section of a report."""
    rows = [(each.number, each.question, each.answer) for each in checklist(session)]
    table = Table(("item", "what to report", "this session"), rows)
    return Section("CRED-nf checklist", [ABOUT], tables=[table], references=references(ABOUT))


def checklist_text(session: SessionView) -> str:
    """Return the checklist in Markdown, to be completed in an editor."""
    lines = [f"# CRED-nf checklist: {session.dataset.protocol.name}", "", ABOUT]
    domain = ""
    for each in checklist(session):
        if each.number[0] != domain:
            domain = each.number[0]
            lines += ["", f"## {domain}. {DOMAINS[domain]}"]
        left = each.left and f"- [ ] {TO_FILL_IN}: {each.left}."
        said = each.known and f"- [x] {each.known}"
        lines += ["", f"**{each.number}. {each.question}**", "", *filter(None, (said, left))]
    return "\n".join([*lines, "", *references(ABOUT), ""])


def _before(session: SessionView) -> Iterator[Item]:
    protocol = session.dataset.protocol
    yield Item(
        "1a",
        "Whether protocol and analyses were registered before",
        f"The SHA-256 of the protocol's content, {protocol.content_hash}, tells whether it is "
        "the one registered.",
        "where and when it was registered",
    )
    hours = summary(protocol)["scanner_hours"]
    size = f"{counted(protocol.task.trials, 'trial')} and {hours:.1f} h in the scanner"
    yield Item(
        "1b",
        "How many people there are, and why that number",
        f"This is one session, planned with {size}.",
        "how many people and sessions, and why (bciigl plan justifies trials and people)",
    )


def _controls(session: SessionView) -> Iterator[Item]:
    known, blinded = has_condition(session.dataset), ""
    control = "This session was not run in one of several conditions (bciigl run --condition)."
    if known:
        control = (
            "There are two conditions: the agent's guesses are shown, or those of another session "
            "(yoked)."
        )
        blinded = (
            "The condition came from a file that somebody else had prepared; bciigl run neither "
            "printed nor logged it."
        )
    catch = session.dataset.protocol.task.catch
    if catch.share:
        control += (
            f" In catch trials ({100 * catch.share:g} % of all) the option was cued, and the "
            "experimenter chose the guess."
        )
    yield Item("2a", "Control groups or conditions", control, "how people were assigned to groups")
    yield Item(
        "2b",
        "Whether neither participants nor experimenters knew the condition",
        blinded,
        "whether the participant and all who were present were blind",
    )
    apart = ""
    if known:
        apart = f"{CONDITION} and the journal beside it say which one it was; no result names it"
        learns = session.dataset.protocol.agent.policy != "uniform"
        apart += ", but the probabilities of guesses can tell. " if learns else ". "
    yield Item(
        "2c",
        "Whether those who rate outcomes or analyse data knew it",
        f"{apart}Outcomes were computed, not rated.",
        "whether analysts were blind",
    )
    yield Item("2d", "Whether blinding held", left="what people guessed their condition was")
    yield Item(
        "2e",
        "In clinical trials, a comparison with the standard treatment",
        left="which one, or that it is not a clinical trial",
    )


def _measures(session: SessionView) -> Iterator[Item]:
    dataset, options = session.dataset, session.dataset.protocol.task.options
    yield Item(
        "3a",
        "Psychosocial factors, such as motivation and expectation",
        left="what was asked",
    )
    yield Item(
        "3b",
        "Whether participants were told a strategy",
        f"The task is to imagine one of {len(options)} options in each trial.",
        "the instructions, word by word",
    )
    yield Item("3c", "Which strategies they used", left="what participants reported")
    processed = [*volume_sentences(dataset, session.volumes)] if session.volumes else []
    yield Item(
        "3d",
        "How data were processed online, and artefacts handled",
        " ".join(processed),
        "how breathing, heart beat and other artefacts were handled",
    )
    moved = session.volumes and len(session.volumes.displacement)
    mean = f"{session.volumes.displacement.mean():.2f} mm" if moved else ""
    yield Item(
        "3e",
        "Whether artefacts differ between conditions and groups",
        f"Mean framewise displacement in this session: {mean}." if moved else "",
        "the comparison over all sessions",
    )


def _feedback(session: SessionView) -> Iterator[Item]:
    dataset, protocol = session.dataset, session.dataset.protocol
    yield Item(
        "4a",
        "How the signal was turned into what feedback is based on",
        " ".join(estimate_sentences(protocol)),
        "why this region",
    )
    scheduled = " ".join(agent_sentences(protocol, in_condition=has_condition(dataset)))
    yield Item("4b", "When what is reinforced, and why", scheduled, "why guesses are made so")
    lasts, kinds = durations(protocol), protocol.task.events[1:]
    shown = (
        f"The option that was guessed was shown for {lasts['perception']:g} s"
        if "perception" in kinds
        else f"The option that was guessed was shown to be judged for {lasts['judgment']:g} s"
    )
    yield Item(
        "4c",
        "What participants got as feedback, and by which sense",
        f"{shown}, once in each trial.",
        "what the screen looked like",
    )
    yield Item(
        "4d",
        "All brain variables that feedback was based on, as they were shown",
        "Every context with the guess and its probability is in interactions.npz of its run, "
        "every guess with the time at which it was shown in events.tsv.",
    )
    simulated = ", with the simulated scanner of bciigl scan" if session.rehearsed else ""
    yield Item(
        "4e",
        "Hardware and software",
        f"{recorded_with(dataset)}{simulated}.",
        "scanner, coil, sequence, screen, response device and computer",
    )


def _outcomes(session: SessionView) -> Iterator[Item]:
    protocol = session.dataset.protocol
    yield Item(
        "5a",
        "How well regulation succeeded, by the feedback signal",
        _success(session),
        "the same over all sessions",
    )
    yield Item(
        "5b",
        "Figures of the feedback variables within and between sessions",
        "The report of bciigl has those of this session.",
        "figures over sessions and baselines",
    )
    yield Item(
        "5c",
        "Whether experiment and control were compared with each other",
        left="the test and its result",
    )
    judged = protocol.human.key_press and "judgment" in protocol.task.events
    yield Item(
        "6a",
        "Clinical or behavioural outcomes, and whether they were reached",
        "Judgments given by key, with response times, are in events.tsv." if judged else "",
        "which outcomes matter, and what came of them",
    )
    yield Item(
        "6b",
        "How regulation and behaviour are related",
        left="the comparison and its result",
    )


def _success(session: SessionView) -> str:
    """Return what the main learner says of itself."""
    if session.main is None or session.main.diagnosis is None:
        return ""
    found = session.main.diagnosis
    said = f"{short_name(session.main)}, without labels, says of itself: {found.verdict}"
    if isinstance(found, Diagnosis) and found.accuracy is not None:
        low, high = (100 * each for each in found.interval)
        said += (
            f", with an estimated accuracy of {100 * found.accuracy:.1f} % (95 % interval "
            f"{low:.1f} to {high:.1f}; chance {session.chance:.1f} %)"
        )
    if session.has_truth and session.kept.matches_by_run:
        runs = listed([f"{each.matched:.0f} %" for each in session.kept.matches_by_run])
        said += f"; guesses that matched, by run: {runs}"
    return f"{said}."
