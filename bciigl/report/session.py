"""The report of one recorded session."""

import os
from importlib.metadata import version

from bciigl.base.registry import LEARNERS
from bciigl.brain.simulated import relative_paths
from bciigl.learn.diagnose import DO_NOT_USE, DOUBTFUL, TRUST, Diagnosis
from bciigl.loop.yoked import has_condition
from bciigl.protocol import dump
from bciigl.protocol.recorded import caveat
from bciigl.protocol.summary import summary
from bciigl.recording import Dataset
from bciigl.recording.layout import POLICY, PROTOCOL
from bciigl.report.checklist import checklist_section
from bciigl.report.methods import LiveMethods, counted, methods_paragraph, references
from bciigl.report.page import KeyNumber, Notice, Section, again_section
from bciigl.report.results import cells, told
from bciigl.report.study_tables import sentence
from bciigl.report.table import Table
from bciigl.report.views import SessionView, load, recorded_with, views
from bciigl.report.volumes import Volumes, volume_sentences
from bciigl.study.session_results import LearnerResult

VERDICTS = {
    TRUST: ("good", "trust it"),
    DOUBTFUL: ("unsure", "doubtful"),
    DO_NOT_USE: ("bad", "do not use it"),
}
"""The mood and the words of each verdict."""
PACKAGES = ("bciigl", "numpy", "scipy", "scikit-learn", "brainiak", "matplotlib")


def session_sections(dataset: Dataset, *, folder: str | os.PathLike | None = None) -> list[Section]:
    """Return the report of a session; paths in the protocol are relative to `folder`."""
    session = load(dataset, folder=folder)
    return [
        _head(session),
        _results(session),
        *views(session),
        _methods(session),
        *([checklist_section(session)] if session.volumes else []),
        _again(session),
        Section(
            "Protocol",
            [f"The whole experiment, every field; it is also in {PROTOCOL}."],
            preformatted=dump(dataset.protocol),
        ),
    ]


def lead(dataset: Dataset) -> str:
    """Return what the report says below its title."""
    protocol = dataset.protocol
    live = bool(dataset.arrivals("train", 1))
    what = f"{'live ' if live else ''}session of a {dataset.group}."
    if dataset.group == "simulated":
        noise = f"noise {protocol.brain.noise:g} (1 is a real brain)"
        what = f"simulated session at {noise}, seed {protocol.seed}."
        if live:
            what = f"rehearsal with a simulated person at {noise}, seed {protocol.seed}."
    if said := caveat(protocol):
        what = f"session, seed {protocol.seed}. {sentence(said)}."
    return f"{protocol.description.strip()} A {what}".lstrip()


def _head(session: SessionView) -> Section:
    kept = session.kept
    labelled = (each for each in kept.learners if LEARNERS.get(each.learner_id).told == "label")
    numbers = [
        KeyNumber(
            cells(each).accuracy,
            f"test accuracy of {each.learner_id} ({told(each.learner_id)})",
            f"95 % interval {cells(each).interval}",
        )
        for each in (session.main, next(labelled, None))
        if each is not None and each.accuracy is not None
    ]
    numbers += _estimated(session.main)
    hours = summary(session.dataset.protocol)["scanner_hours"]
    scanner = "the scanner" if session.of_participant else "a real scanner"
    planned = f"{hours:.1f} h in {scanner}, as planned"
    planned = planned if not caveat(session.dataset.protocol) else "semi-real"
    numbers += [
        KeyNumber(f"{session.chance:.1f} %", f"chance, {kept.actions} options"),
        KeyNumber(str(kept.trials), "trials to learn from", planned),
        *_volumes(session.volumes),
    ]
    notices = [*_verdict(session, session.main), *_missing(session)]
    return Section("At a glance", numbers=numbers, notices=notices)


def _volumes(volumes: Volumes | None) -> list[KeyNumber]:
    """Return how much the head of a live session moved, and how many volumes did not come."""
    if volumes is None:
        return []
    late, count = volumes.with_status("late"), counted(volumes.count, "volume")
    found = [KeyNumber(str(volumes.lost), f"missing of {count}", f"{late} came late")]
    if len(volumes.displacement):
        mean, largest = volumes.displacement.mean(), volumes.displacement.max()
        label = "framewise displacement, mean"
        found.append(KeyNumber(f"{mean:.2f} mm", label, f"{largest:.2f} mm at most"))
    return found


def _estimated(result: LearnerResult | None) -> list[KeyNumber]:
    """Return the accuracy that a learner estimates of itself, where it can be trusted."""
    found = result and result.diagnosis
    if not isinstance(found, Diagnosis) or found.accuracy is None:
        return []
    low, high = (100 * each for each in found.interval)
    label = f"accuracy that {result.learner_id} estimates of itself, without labels"
    interval = f"95 % interval {low:.1f} to {high:.1f}"
    return [KeyNumber(f"{100 * found.accuracy:.1f} %", label, interval)]


def _verdict(session: SessionView, result: LearnerResult | None) -> list[Notice]:
    """Return a learner's verdict about itself."""
    if result is None or result.diagnosis is None:
        return []
    found = result.diagnosis.named(session.dataset.protocol.task.options)
    text = " ".join(filter(None, (sentence(found.reason), found.remedy)))
    mood, words = VERDICTS[found.verdict]
    return [Notice(mood, f"{result.learner_id} says of itself: {words}", text)]


def _missing(session: SessionView) -> list[Notice]:
    """Return what a reader might look for in vain, and why."""
    found, dataset = [], session.dataset
    if not session.has_truth:
        learners = "no learners that are told labels or rewards"
        found.append(f"{session.no_truth}: no accuracies, no patterns, and {learners}.")
    if session.rehearsed and not session.has_truth:
        found.append(
            "That of a rehearsal is where bciigl scan wrote the volumes: copy derivatives/truth "
            "from there to the dataset's derivatives, and let bciigl learn score it."
        )
    if not dataset.has("test") and session.volumes is None:
        found.append("The dataset has no test session (ses-test): no accuracies.")
    for name in filter(dataset.has, ("train", "test")):
        if missing := dataset.missing_runs(name):
            runs = counted(missing, "run")
            found.append(f"{runs} that the protocol plans for ses-{name} cannot be found.")
    if session.brain is None and not session.of_participant:
        found.append(f"Region and patterns are not drawn. {session.brain_missing}")
    return [Notice("unsure", "Not all is here", " ".join(found))] if found else []


def _results(session: SessionView) -> Section:
    kept = session.kept
    if not kept.learners:
        learners = ", ".join(session.dataset.protocol.learners)
        words = f"{session.no_truth}, without which none of {learners} can learn."
        return Section("Results", [words])
    words = (
        "What the protocol's learners make of the session. The verdict is the learner's own, found "
        "out without labels. Decoded match rates are in the order of the options; they are shown "
        "where the learner can be trusted to have found the reward."
    )
    head = ("learner", "with", "accuracy", "95 % interval", "verdict", "decoded match rates")
    rows = [[each.learner_id, told(each.learner_id), *cells(each)[1:]] for each in kept.learners]
    tested = (
        f"{kept.test_trials} test trials, each context centred by the mean of its run; chance is "
        f"{session.chance:.1f} %."
        if kept.test_trials
        else "Accuracies are not known."
    )
    table = Table(head, rows, f"{counted(kept.trials, 'trial')}. {tested}")
    # That of the main one is in the head already.
    notices = [notice for each in session.blind[1:] for notice in _verdict(session, each)]
    return Section("Results", [words], tables=[table], notices=notices)


def _methods(session: SessionView) -> Section:
    text = methods_paragraph(
        session.dataset.protocol,
        voxels=session.sessions["train"].interactions.context.shape[1],
        learners=[each.learner_id for each in session.kept.learners],
        tested=session.kept.test_trials > 0,
        own_agent=_by_own_agent(session),
        live=_live(session),
    )
    return Section("Methods", [text], references=references(text))


def _live(session: SessionView) -> LiveMethods | None:
    if session.volumes is None:
        return None
    sentences = [*volume_sentences(session.dataset, session.volumes)]
    return LiveMethods(session.rehearsed, has_condition(session.dataset), sentences)


def _by_own_agent(session: SessionView) -> bool:
    # Guesses were not uniform, though the protocol says so.
    return session.dataset.protocol.agent.policy == "uniform" and not session.kept.uniform_guesses


def _again(session: SessionView) -> Section:
    protocol = session.dataset.protocol
    agent = f" --agent {POLICY}" if protocol.agent.policy == "fixed" else ""
    command = f"bciigl simulate {PROTOCOL}{agent} --out again"
    words = [
        "In the dataset's folder the command below makes the same session again, byte for byte if "
        "the versions are the same."
    ]
    if session.of_participant:
        command = "bciigl learn ."
        words = [
            "What a person did in a scanner cannot be done again. In the dataset's folder the "
            "command below learns again from what was recorded."
        ]
    elif session.rehearsed:
        command = (
            f"bciigl scan {PROTOCOL} --to volumes &\n"
            f"bciigl run {PROTOCOL}{agent} --volumes volumes --out again"
        )
        words = [
            "In the dataset's folder the commands below rehearse it again, with the same person. "
            "It comes out the same as far as the same volumes come in time."
        ]
    if paths := relative_paths(protocol).values():
        words.append(
            f"The protocol names {' and '.join(paths)}, relative to where its own file was: copy "
            f"{PROTOCOL} there first."
        )
    if _by_own_agent(session):
        words.append("Guesses were made by an agent of its own, which is not in the dataset.")
    rows = {
        "seed": str(protocol.seed),
        "protocol, SHA-256": protocol.content_hash,
        "recorded with": recorded_with(session.dataset),
        "reported with": ", ".join(f"{each} {version(each)}" for each in PACKAGES),
    }
    return again_section(words, rows, command)
