"""The report of one recorded session."""

from importlib.metadata import version

from bciigl.base.registry import LEARNERS
from bciigl.brain.simulated import relative_paths
from bciigl.learn.diagnose import Diagnosis
from bciigl.loop.yoked import has_condition
from bciigl.protocol import dump
from bciigl.recording.layout import POLICY, PROTOCOL
from bciigl.report.checklist import checklist_section
from bciigl.report.methods import LiveMethods, counted, methods_paragraph, references
from bciigl.report.page import KeyNumber, Notice, Section, again_section
from bciigl.report.results import cells, told, trusted
from bciigl.report.session_figures import figure_sections
from bciigl.report.session_words import about, guesses_sentence, short_name, verdict_notice
from bciigl.report.table import Table
from bciigl.report.views import SessionView, recorded_with
from bciigl.report.volumes import Volumes, volume_sentences
from bciigl.study.session_results import LearnerResult

PACKAGES = ("bciigl", "numpy", "scipy", "scikit-learn", "brainiak", "matplotlib")


def session_sections(view: SessionView) -> list[Section]:
    """Return the report of a session."""
    learning, *figures = figure_sections(view)
    return [
        _head(view, learning),
        *figures,
        _statistics(view),
        _methods(view),
        *([checklist_section(view)] if view.volumes else []),
        _again(view),
        _protocol(view),
    ]


def _head(view: SessionView, learning: Section) -> Section:
    """Return what is seen first: the verdict, few numbers, and learning during the session."""
    kept = view.kept
    numbers = [
        KeyNumber(
            cells(each).accuracy,
            f"right choices in new trials: {LEARNERS.get(each.learner_id).name}",
            f"95 % interval {cells(each).interval}",
        )
        for each in (view.main, view.told)
        if each is not None and each.accuracy is not None
    ]
    numbers += _estimated(view.main)
    scanner = "the scanner" if view.volumes else "a real scanner"
    hours = f"{view.hours[-1]:.1f} h in {scanner}" if view.hours else "semi-real"
    numbers += [
        KeyNumber(f"{view.chance:.1f} %", f"chance, {kept.actions} options"),
        KeyNumber(str(kept.trials), "trials to learn from", hours),
        *_volumes(view.volumes),
    ]
    notices = [*verdict_notice(view, view.main), *_missing(view)]
    words, drawings = [about(view)], learning.drawings
    return Section("At a glance", words, numbers=numbers, notices=notices, drawings=drawings)


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
    label = f"right choices, as {short_name(result)} estimates without labels"
    interval = f"95 % interval {low:.0f} to {high:.0f}"
    return [KeyNumber(f"{100 * found.accuracy:.0f} %", label, interval)]


def _missing(view: SessionView) -> list[Notice]:
    """Return what a reader might look for in vain, and why."""
    found, dataset = [], view.dataset
    if not view.has_truth:
        learners = "no learners that are told labels or rewards"
        found.append(f"{view.no_truth}: no accuracies, no patterns, and {learners}.")
    if view.rehearsed and not view.has_truth:
        found.append(
            "That of a rehearsal is where bciigl scan wrote the volumes: copy derivatives/truth "
            "from there to the dataset's derivatives, and let bciigl learn score it."
        )
    if not dataset.has("test") and view.volumes is None:
        found.append("The dataset has no test session (ses-test): no accuracies.")
    for name in filter(dataset.has, ("train", "test")):
        if missing := dataset.missing_runs(name):
            runs = counted(missing, "run")
            found.append(f"{runs} that the protocol plans for ses-{name} cannot be found.")
    if view.brain is None and not view.of_participant:
        found.append(f"Region and patterns are not drawn. {view.brain_missing}")
    return [Notice("unsure", "Not all is here", " ".join(found))] if found else []


def _statistics(view: SessionView) -> Section:
    kept = view.kept
    if not kept.learners:
        learners = ", ".join(LEARNERS.get(each).name for each in view.dataset.protocol.learners)
        words = f"{view.no_truth}, without which none of these can learn: {learners}."
        return Section("Statistics", [words])
    words = ["What the protocol's learners make of the session, and what each says of itself."]
    words += guesses_sentence(view)
    main = view.main
    if main is not None and main.diagnosis is not None:
        found = main.diagnosis.named(view.dataset.protocol.task.options)
        words.append(f"The verdict of {short_name(main)} with its statistics: {found}")
    head = ("learner", "told", "accuracy", "95 % interval", "verdict")
    rows = [[short_name(each), told(each.learner_id), *cells(each)] for each in kept.learners]
    tested = (
        f"{kept.test_trials} test trials, each context centred by the mean of its run; chance is "
        f"{view.chance:.1f} %."
        if kept.test_trials
        else "Accuracies are not known."
    )
    tables = [Table(head, rows, f"{counted(kept.trials, 'trial')}. {tested}")]
    if main is not None and isinstance(main.diagnosis, Diagnosis) and trusted(main):
        tables.append(_options(main, view.dataset.protocol.task.options))
    # That of the main one is in the head already.
    notices = [notice for each in view.blind[1:] for notice in verdict_notice(view, each)]
    return Section("Statistics", words, tables=tables, notices=notices)


def _options(result: LearnerResult, options: list) -> Table:
    """Return how well the reward of each option is decoded; it means something with trust only."""
    rows = [
        [
            str(options[each.action]),
            str(each.trials),
            f"{each.match_rate:.2f}",
            f"{each.information_t:.1f}",
        ]
        for each in result.diagnosis.actions
    ]
    head = ("guess", "trials", "match rate", "t")
    caption = (
        f"What {short_name(result)} found out about itself on runs it had not seen. Match rates "
        "are of the trials whose rate is known or expected: catch trials if there are any, "
        "otherwise uniform guesses. t: whether contexts tell of the answers to this guess."
    )
    return Table(head, rows, caption)


def _methods(view: SessionView) -> Section:
    text = methods_paragraph(
        view.dataset.protocol,
        voxels=view.sessions["train"].interactions.context.shape[1],
        learners=[each.learner_id for each in view.kept.learners],
        tested=view.kept.test_trials > 0,
        own_agent=_by_own_agent(view),
        live=_live(view),
    )
    return Section("Methods", [text], references=references(text))


def _live(view: SessionView) -> LiveMethods | None:
    if view.volumes is None:
        return None
    sentences = [*volume_sentences(view.dataset, view.volumes)]
    return LiveMethods(view.rehearsed, has_condition(view.dataset), sentences)


def _by_own_agent(view: SessionView) -> bool:
    # Guesses were not uniform, though the protocol says so.
    return view.dataset.protocol.agent.policy == "uniform" and not view.kept.uniform_guesses


def _again(view: SessionView) -> Section:
    protocol = view.dataset.protocol
    agent = f" --agent {POLICY}" if protocol.agent.policy == "fixed" else ""
    command = f"bciigl simulate {PROTOCOL}{agent} --out again"
    words = [
        "In the dataset's folder the command below makes the same session again, byte for byte if "
        "the versions are the same."
    ]
    if view.of_participant:
        command = "bciigl learn ."
        words = [
            "What a person did in a scanner cannot be done again. In the dataset's folder the "
            "command below learns again from what was recorded."
        ]
    elif view.rehearsed:
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
    if _by_own_agent(view):
        words.append("Guesses were made by an agent of its own, which is not in the dataset.")
    rows = {
        "seed": str(protocol.seed),
        "protocol, SHA-256": protocol.content_hash,
        "recorded with": recorded_with(view.dataset),
        "reported with": ", ".join(f"{each} {version(each)}" for each in PACKAGES),
    }
    return again_section(words, rows, command)


def _protocol(view: SessionView) -> Section:
    protocol = view.dataset.protocol
    words = [f"The whole experiment, every field; it is also in {PROTOCOL}."]
    if protocol.description.strip():
        words.append(f"Its file describes it as: {protocol.description.strip()}")
    return Section("Protocol", words, preformatted=dump(protocol))
