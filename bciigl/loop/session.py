"""The whole experiment: both sessions, run by run, recorded as they go."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from sklearn.base import BaseEstimator

from bciigl.base.errors import BciiglError
from bciigl.base.files import make_folder, remove_unfinished
from bciigl.base.progress import Progress, silent
from bciigl.brain import Brain
from bciigl.estimate import feedback
from bciigl.learn import load_learner, save_learner
from bciigl.loop.agent import Agent
from bciigl.loop.clock import Clock
from bciigl.loop.runs import agent_of, hold, show
from bciigl.protocol import Protocol
from bciigl.protocol.compare import first_difference
from bciigl.protocol.schedule import session_trials, trials_per_run
from bciigl.protocol.validation import validate
from bciigl.recording import open_dataset
from bciigl.recording.bids import write_description, write_run, write_truth
from bciigl.recording.journal import Journal, JournalError
from bciigl.recording.layout import JOURNAL, POLICY, is_finished
from bciigl.recording.trial import Trial


def record(
    protocol: Protocol,
    out: str | os.PathLike,
    *,
    folder: str | os.PathLike | None = None,
    policy: BaseEstimator | None = None,
    agent: Agent | None = None,
    clock: Clock | None = None,
    progress: Progress = silent,
) -> None:
    """Simulate an experiment in a closed loop, and record it as a BIDS dataset.

    If it is stopped, `resume` goes on with it.

    Parameters
    ----------
    protocol : Protocol
        The experiment; its seed fixes every bit of the dataset.
    out : path-like
        A folder that is absent or empty.
    folder : path-like, optional
        What paths in the protocol are relative to.
    policy : estimator, optional
        A fitted learner, for the agent that keeps to it (``agent.policy: fixed``).
    agent : Agent, optional
        One of your own, in place of the protocol's.
    clock : Clock, optional
        Paces frames in real time. Without it all is as fast as possible; the dataset is the same.
    progress : function, optional
        Called after each trial.
    """
    brain = Brain(protocol, folder)
    header = {
        "protocol": protocol.model_dump(mode="json"),
        "folder": None if folder is None else os.path.abspath(folder),
        "brain": brain.fingerprint,
        "agent": agent and type(agent).__name__,
    }
    agent = agent or agent_of(brain, policy)
    _check_pace(protocol, clock)
    out = _new_folder(out)
    if policy is not None:
        save_learner(policy, out / POLICY)
    journal = Journal.create(out, header)
    try:
        _go_on(_Recording(brain, out, journal, clock, progress), agent)
    finally:
        journal.close()


def resume(
    out: str | os.PathLike,
    *,
    expected: Protocol | None = None,
    agent: Agent | None = None,
    clock: Clock | None = None,
    progress: Progress = silent,
) -> None:
    """Go on with a recording that was stopped; the dataset will be as if it had not been.

    Parameters
    ----------
    out : path-like
        The folder of the recording. If nothing is missing there, nothing is done.
    expected : Protocol, optional
        The experiment that it should be of.
    agent : Agent, optional
        A new one of the kind that it was begun with, where that was one of your own.
    clock, progress
        As in `record`.

    Raises
    ------
    BciiglError
        If there is no recording, if it is of another protocol, if another process is at it, or if
        what is there does not fit what this version would record.
    """
    out = Path(out)
    if is_finished(out):
        _refuse_another(out, open_dataset(out).protocol, expected)
        return
    journal = Journal.reopen(out)
    try:
        protocol = _journal_protocol(journal)
        _refuse_another(out, protocol, expected)
        _check_pace(protocol, clock)
        brain = Brain(protocol, journal.header["folder"])
        if brain.fingerprint != journal.header["brain"]:
            raise JournalError(f"{out}: the subject or the region is not what it was: restore it")
        if (agent and type(agent).__name__) != journal.header["agent"]:
            begun_with = journal.header["agent"] or "the protocol's own"
            raise JournalError(f"{out}: was begun with another agent: {begun_with}")
        if agent is None:
            saved = protocol.agent.policy == "fixed"
            agent = agent_of(brain, load_learner(out / POLICY) if saved else None)
        _go_on(_Recording(brain, out, journal, clock, progress), agent)
    finally:
        journal.close()


@dataclass(frozen=True)
class _Recording:
    """What all runs of a recording share."""

    brain: Brain
    out: Path
    journal: Journal
    clock: Clock | None
    progress: Progress

    @property
    def total(self) -> int:
        """How many trials there will be."""
        return sum(session_trials(self.brain.protocol).values())


@dataclass(frozen=True)
class _Past:
    """What the journal has of a run: its first trials and, once written, its files' digests."""

    trials: list[Trial]
    digests: dict[str, str] | None

    def fits(self, trials: int) -> bool:
        """Tell whether this can be of a run of so many trials."""
        known = len(self.trials)
        return known <= trials if self.digests is None else known == trials


def _go_on(recording: _Recording, agent: Agent) -> None:
    """Record what is not recorded yet, and end with a dataset that has no journal."""
    protocol = recording.brain.protocol
    remove_unfinished(recording.out)
    write_description(recording.out, protocol, recording.brain.region)
    known = _known(recording.journal)
    # Uniform guesses in the test session favour no learner.
    agents = {"train": agent, "test": Agent(agent.n_actions)}
    done = 0
    for session, trials in session_trials(protocol).items():
        for run, count in enumerate(trials_per_run(protocol, trials)):
            place, past = next(known, (None, _Past([], None)))
            if place not in (None, (session, run)) or not past.fits(count):
                raise JournalError(f"{recording.journal.path}: its runs are not in order")
            if past.digests is not None and _intact(recording.out, past.digests):
                for trial in past.trials:
                    show(agents[session], trial)
            else:
                _record_run(recording, agents[session], (session, run), count, past, done)
            agents[session].end_run()
            done += count
            recording.progress(done, recording.total)
    recording.journal.remove()


def _record_run(
    recording: _Recording,
    agent: Agent,
    place: tuple[str, int],
    trials: int,
    past: _Past,
    before: int,
) -> None:
    """Record one run, of which there may be some trials already, and so many trials before it."""
    brain, out, journal = recording.brain, recording.out, recording.journal
    protocol, (session, run) = brain.protocol, place

    def keep(number: int, trial: Trial) -> None:
        journal.append({"session": session, "run": run, "trial": number, **trial.as_dict()})
        recording.progress(before + number + 1, recording.total)

    frames, done, truth = hold(
        brain, agent, place, trials, past=past.trials, keep=keep, clock=recording.clock
    )
    written = [
        *write_run(out, protocol, brain.region, place, frames, done, feedback(frames, protocol)),
        write_truth(out, protocol, place, truth),
    ]
    if past.digests is None:
        digests = {str(path.relative_to(out)): _digest(path) for path in written}
        journal.append({"session": session, "run": run, "written": digests})
        journal.sync()


def _intact(folder: Path, digests: dict[str, str]) -> bool:
    """Tell whether files are what they were when they were written."""
    paths = {folder / name: digest for name, digest in digests.items()}
    return all(path.is_file() and _digest(path) == digest for path, digest in paths.items())


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _journal_protocol(journal: Journal) -> Protocol:
    protocol, findings = validate(journal.header.get("protocol"))
    if findings or not {"folder", "brain", "agent"} <= set(journal.header):
        raise JournalError(f"{journal.path}: does not say what session it is of")
    return protocol


def _refuse_another(out: Path, known: Protocol, expected: Protocol | None) -> None:
    """Raise an error that says in what a recording's protocol is not the one expected."""
    if expected is None or known.content_hash == expected.content_hash:
        return
    name, ours, theirs = first_difference(expected, known)
    raise BciiglError(
        f"{out}: was begun with another protocol: {name} is {theirs} there, {ours} here; "
        "without any options it goes on as it was begun"
    )


def _known(journal: Journal) -> Iterator[tuple[tuple[str, int], _Past]]:
    """Yield what the journal has, run by run.

    Each run is read to its end, and one line further, before anything is appended to it; so what is
    appended is not taken for the past.
    """
    try:
        entries = journal.entries()
        for place, group in groupby(entries, lambda each: (each["session"], each["run"])):
            lines = list(group)
            trials = [Trial.from_dict(each) for each in lines if "trial" in each]
            numbers = [each["trial"] for each in lines if "trial" in each]
            if numbers != list(range(len(trials))):
                raise JournalError(f"{journal.path}: its trials are not in order")
            yield place, _Past(trials, lines[-1].get("written"))
    except (KeyError, TypeError, ValueError) as error:
        raise JournalError(f"{journal.path}: is not a journal of a session") from error


def _check_pace(protocol: Protocol, clock: Clock | None) -> None:
    if clock is not None and protocol.recording == "separate":
        raise BciiglError(
            "recording: separate is not made in real time: its signal is scaled after the fact; "
            "use recording: shared"
        )


def _new_folder(out: str | os.PathLike) -> Path:
    out = Path(os.path.abspath(out))
    if os.path.lexists(out / JOURNAL):
        raise BciiglError(f"{out}: a recording was begun there; resume it, or use another folder")
    make_folder(out)
    return out
