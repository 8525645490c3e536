"""The report of one recorded session."""

import json
import os
import platform
from importlib.metadata import version

import numpy as np

from bciigl.base.progress import Notify, silent
from bciigl.brain.simulated import relative_paths
from bciigl.learn.diagnose import DO_NOT_USE, DOUBTFUL, TRUST
from bciigl.protocol import dump
from bciigl.protocol.summary import summary
from bciigl.recording import Dataset
from bciigl.recording.layout import DESCRIPTION, POLICY, PROTOCOL
from bciigl.report.methods import counted, methods_paragraph, references
from bciigl.report.page import KeyNumber, Notice, Section
from bciigl.report.results import TOLD, cells
from bciigl.report.table import Table
from bciigl.report.views import NO_TRUTH, Session, load, views
from bciigl.study.arrays import Result

MOODS = {TRUST: "good", DOUBTFUL: "unsure", DO_NOT_USE: "bad"}
VERDICTS = {
    TRUST: "trust it",
    DOUBTFUL: "doubtful",
    DO_NOT_USE: "do not use it",
}
PACKAGES = ("bciigl", "numpy", "scipy", "scikit-learn", "brainiak", "matplotlib")


def session_sections(
    dataset: Dataset, *, folder: str | os.PathLike | None = None, report: Notify = silent
) -> list[Section]:
    """Return the report of a recorded session; the first section is its head.

    Parameters
    ----------
    dataset : Dataset
        What `bciigl simulate` recorded.
    folder : path-like, optional
        What paths in the protocol are relative to: the folder of its file.
    report : function, optional
        Told what begins.
    """
    session = load(dataset, folder=folder, report=report)
    return [
        _head(session),
        _results(session),
        *views(session, report),
        _methods(session),
        _again(session),
        _protocol(session),
    ]


def lead(dataset: Dataset) -> str:
    """Return what the report says below its title."""
    protocol = dataset.protocol
    about = f"{protocol.description.strip()} " if protocol.description.strip() else ""
    return (
        f"{about}A simulated session at noise {protocol.brain.noise:g} (1 is a real brain), "
        f"seed {protocol.seed}."
    )


def _head(session: Session) -> Section:
    about, main = summary(session.dataset.protocol), session.main
    numbers = []
    if main is not None and main.accuracy is not None:
        numbers.append(
            KeyNumber(
                cells(main).accuracy,
                f"test accuracy of {main.learner_id} ({TOLD[main.learner_id]})",
                f"95 % interval {cells(main).interval}",
            )
        )
    best = {each.learner_id: each for each in session.results}.get("ceiling")
    if best is not None and best.accuracy is not None:
        numbers.append(
            KeyNumber(
                cells(best).accuracy,
                f"test accuracy of ceiling ({TOLD['ceiling']})",
                f"95 % interval {cells(best).interval}",
            )
        )
    trials = len(session.recorded.action)
    numbers += [
        KeyNumber(f"{session.chance:.1f} %", f"chance, {session.recorded.n_actions} options"),
        KeyNumber(
            str(trials),
            "trials to learn from",
            f"{about['scanner_hours']:.1f} h in a real scanner, as planned",
        ),
    ]
    return Section("At a glance", numbers=numbers, notices=[*_verdict(main), *_missing(session)])


def _verdict(result: Result | None) -> list[Notice]:
    """Return a learner's verdict about itself."""
    if result is None:
        return []
    found = result.diagnosis
    text = " ".join(filter(None, (_sentence(found.reason), found.remedy)))
    title = f"{result.learner_id} says of itself: {VERDICTS[found.verdict]}"
    return [Notice(MOODS[found.verdict], title, text)]


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _missing(session: Session) -> list[Notice]:
    """Return what a reader might look for in vain, and why."""
    found = []
    if not session.has_truth:
        found.append(
            f"{NO_TRUTH}: no accuracies, no patterns, and no learners that are told labels or "
            "rewards."
        )
    if not session.dataset.has("test"):
        found.append("The dataset has no test session (ses-test): no accuracies.")
    for name in ("train", "test"):
        missing = session.dataset.missing_runs(name)
        if missing and session.dataset.has(name):
            runs = counted(missing, "run")
            found.append(f"{runs} that the protocol plans for ses-{name} cannot be found.")
    if session.brain is None:
        found.append(
            f"The subject could not be loaded, so region and patterns are not drawn: "
            f"{session.brain_missing}"
        )
    return [Notice("unsure", "Not all is here", " ".join(found))] if found else []


def _results(session: Session) -> Section:
    if not session.results:
        learners = ", ".join(session.dataset.protocol.learners)
        return Section("Results", [f"{NO_TRUTH}, without which none of {learners} can learn."])
    rows = []
    for each in session.results:
        learner, *others = cells(each)
        rows.append([learner, TOLD[learner], *others])
    tested = (
        f"{len(session.recorded.test_label)} test trials, each context centred by the mean of its "
        f"run; chance is {session.chance:.1f} %."
        if session.tested
        else "Accuracies are not known."
    )
    head = ("learner", "with", "accuracy", "95 % interval", "verdict", "decoded match rates")
    return Section(
        "Results",
        [
            "What the protocol's learners make of the session. The verdict is the learner's own, "
            "found out without labels; it says whether the learner has found the reward, not how "
            "accurate it is. Decoded match rates are in the order of the options."
        ],
        tables=[Table(head, rows, f"{counted(len(session.recorded.action), 'trial')}. {tested}")],
        # That of the main one is in the head already.
        notices=[
            notice
            for each in session.blind
            if each is not session.main
            for notice in _verdict(each)
        ],
    )


def _methods(session: Session) -> Section:
    learners = [each.learner_id for each in session.results]
    protocol = session.dataset.protocol
    text = methods_paragraph(
        protocol,
        voxels=session.recorded.context.shape[1],
        learners=learners,
        tested=session.tested,
        own_agent=_by_own_agent(session),
    )
    return Section("Methods", [text], references=references(text))


def _by_own_agent(session: Session) -> bool:
    """Tell whether guesses were not uniform, though the protocol says so."""
    trials = session.dataset.interactions("train")
    guessed = ~trials["catch"].astype(bool)
    uniform = np.allclose(trials["propensity"][guessed], 1 / session.recorded.n_actions)
    return session.dataset.protocol.agent.policy == "uniform" and not uniform


def _again(session: Session) -> Section:
    protocol = session.dataset.protocol
    rows = [
        ("seed", str(protocol.seed)),
        ("protocol, SHA-256", protocol.content_hash),
        ("recorded with", _recorded_with(session.dataset)),
        ("reported with", ", ".join(f"{each} {version(each)}" for each in PACKAGES)),
        ("Python", platform.python_version()),
    ]
    return Section(
        "How to do it again",
        [
            "In the dataset's folder the command below makes the same session again, byte for "
            "byte if the versions are the same.",
            *_caveats(session),
        ],
        tables=[Table(("what", "value"), rows)],
        preformatted=_command(session),
    )


def _protocol(session: Session) -> Section:
    return Section(
        "Protocol",
        [f"The whole experiment, every field; it is also in {PROTOCOL}."],
        preformatted=dump(session.dataset.protocol),
    )


def _command(session: Session) -> str:
    agent = f" --agent {POLICY}" if session.dataset.protocol.agent.policy == "fixed" else ""
    return f"bciigl simulate {PROTOCOL}{agent} --out again"


def _caveats(session: Session) -> list[str]:
    words, paths = [], relative_paths(session.dataset.protocol).values()
    if paths:
        words.append(
            f"The protocol names {' and '.join(paths)}, relative to where its own file was: copy "
            f"{PROTOCOL} there first."
        )
    if _by_own_agent(session):
        words.append("Guesses were made by an agent of its own, which is not in the dataset.")
    return words


def _recorded_with(dataset: Dataset) -> str:
    """Return which program the dataset says has recorded it."""
    try:
        description = json.loads((dataset.folder / DESCRIPTION).read_text(encoding="utf-8"))
        made = description["GeneratedBy"][0]
        return f"{made['Name']} {made['Version']}"
    except (OSError, ValueError, LookupError, TypeError):
        return "not known"
