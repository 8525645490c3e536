"""The whole experiment: both sessions, run by run, whatever the source and the sink."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from bciigl.base.errors import BciiglError
from bciigl.base.progress import Progress, silent
from bciigl.base.seeds import run_seed
from bciigl.estimate import UNCALIBRATED, Calibration, Calibrator
from bciigl.learn import load_learner, save_learner
from bciigl.loop.agent import Agent, make_agent
from bciigl.loop.finished import FinishedRuns
from bciigl.loop.participant import Participant, SimulatedPerson
from bciigl.loop.separate import separate_steps, simulated_brain
from bciigl.loop.trials import (
    Decided,
    Keep,
    OnGuess,
    Steps,
    notify_agent,
    run_trials,
    trial_steps,
)
from bciigl.protocol import Protocol, draw
from bciigl.protocol.design_checks import known_match_rate
from bciigl.protocol.schedule import (
    series,
    session_trials,
    trials_per_run,
)
from bciigl.protocol.summary import first_difference
from bciigl.protocol.timetable import timetable
from bciigl.protocol.validation import validate
from bciigl.recording import open_dataset
from bciigl.recording.calibration import read_calibration, write_calibration
from bciigl.recording.journal import Journal, JournalError
from bciigl.recording.layout import CALIBRATION, POLICY, is_finished
from bciigl.recording.sink import DatasetSink, MemorySink
from bciigl.recording.trial import NO_GUESS, RecordedRun, RunId, Shown, Trial
from bciigl.recording.truth import Session
from bciigl.source import PacedSource, Source, make_source
from bciigl.source.watched import WatchedSource

Lateness = Callable[[float], None]
"""Called with the seconds by which each guess was late."""
Line = Callable[[dict[str, Any]], None]
"""Called with a line such as a journal has."""


def run_session(
    protocol: Protocol,
    source: Source,
    agent: Agent,
    sink: MemorySink | DatasetSink,
    *,
    progress: Progress = silent,
    lateness: Lateness = silent,
    line: Line = silent,
) -> None:
    """Let an agent and a person go through an experiment: the one loop of all sessions.

    Parameters
    ----------
    protocol, progress, lateness, line
        As in `record`; the protocol is that of one person (`bciigl.protocol.draw`).
    source : Source
        Where the frames come from.
    agent : Agent
        Who guesses in the training session. In the test session guesses are uniform, which favours
        no learner.
    sink : MemorySink or DatasetSink
        Where it goes.
    """
    runs = session_runs(
        protocol, source, agent, sink, progress=progress, lateness=lateness, line=line
    )
    for _ in runs:
        pass


def session_runs(
    protocol: Protocol,
    source: Source,
    agent: Agent,
    sink: MemorySink | DatasetSink,
    sessions: Sequence[str] = ("train", "test"),
    *,
    progress: Progress = silent,
    lateness: Lateness = silent,
    line: Line = silent,
) -> Iterator[RunId]:
    """Yield each run of some sessions when it is over; the next begins when it is asked for.

    Parameters are those of `run_session`. When no more runs are asked for, the session has ended
    there, without its final estimates.
    """
    agents = {"train": agent, "test": Agent(agent.n_actions)}
    calibrator = Calibrator(protocol)
    trials_of = {session: session_trials(protocol)[session] for session in sessions}
    done, total = 0, sum(trials_of.values())

    def keep(place: RunId, number: int, trial: Trial) -> None:
        sink.keep(place, number, trial)
        line({**place._asdict(), "trial": number, **trial.as_dict()})
        progress(done + number + 1, total)

    def tell_guess(place: RunId, number: int, context: np.ndarray, shown: Shown) -> None:
        line({**place._asdict(), "decision": number, **shown._asdict()})

    def known() -> Calibration:
        """Return what the training runs so far have told, unless another is fixed."""
        return calibrator.calibration if agent.calibration is None else agent.calibration

    for session, trials in trials_of.items():
        present = known()
        over = FinishedRuns(protocol, session, sink.frames)
        for run, count in enumerate(trials_per_run(protocol, trials), start=1):
            place, who = RunId(session, run), agents[session]
            if session == "train" and run > 1 and _recalled(who, over, known()):
                present = known()
            past, finished = sink.past(place, count)
            # Trials that happen again, happen with the same random numbers.
            who.begin_run(_agent_rng(protocol, place, 0 if source.repeatable else len(past)))
            if finished:
                frames, when = sink.frames(place), sink.when(place)
                _skip_run(protocol, source, place, past)
                for trial in past:
                    notify_agent(who, trial)
            else:
                how: dict[str, Any] = {"past": past, "keep": partial(keep, place)}
                how["lateness"] = lateness
                # Estimates cost more than all else where nobody learns or keeps what it saw.
                how["looked_at"] = type(who) is not Agent or not isinstance(sink, MemorySink)
                how["decide"] = partial(tell_guess, place)
                if not source.repeatable:
                    how |= {"decided": sink.decided, "decide": partial(sink.decide, place)}
                given = (protocol, source, who, place, count, present)
                recorded = simulate_run(*given, **how)
                sink.write(place, recorded)
                line({**place._asdict(), "written": {}})
                frames, past, when = recorded.frames, recorded.trials, recorded.when
            who.end_run()
            when = timetable(protocol, count, *place) if when is None else when
            over.add(past, present, when)
            if session == "train" and agent.calibration is None:
                calibrator.add(frames, when)
            done += count
            progress(done, total)
            yield place
        # Learners get all of a session in the same units, those of the whole training session.
        for run, estimates in enumerate(over.estimates(known()), start=1):
            sink.write_estimates(RunId(session, run), *estimates)
    sink.finish(known())


def _recalled(agent: Agent, over: FinishedRuns, calibration: Calibration) -> bool:
    """Show an agent all trials before, and return whether it changes to their units."""
    # Nothing is computed for agents that would not look at it.
    ignores = type(agent).recall is Agent.recall
    return ignores or bool(agent.recall(over.interactions(calibration)))


def _skip_run(protocol: Protocol, source: Source, place: RunId, past: list[Trial]) -> None:
    """Tell a source what happened in a run that was recorded before."""
    person = participant_of(protocol, source, place, len(past))
    events = (
        event
        for number, trial in enumerate(past)
        if trial.action != NO_GUESS
        for event in (person.imagine(number), *person.answer(number, trial.action))
    )
    source.skip_run(*place, person.when.frames(protocol.timing.tr), events)


def _agent_rng(protocol: Protocol, place: RunId, trials: int = 0) -> np.random.Generator:
    """Return random numbers to guess with; others than before where trials are past for good."""
    # Not the stream itself: it would lead to the seed, and that to the person's stream.
    names = ("agent", trials) if trials else ("agent",)
    return np.random.default_rng(int(run_seed(protocol.seed, *place).rng(*names).integers(2**63)))


def simulate_run(
    protocol: Protocol,
    source: Source,
    agent: Agent,
    place: RunId,
    trials: int,
    calibration: Calibration = UNCALIBRATED,
    *,
    past: list[Trial] | tuple = (),
    keep: Keep = silent,
    lateness: Lateness = silent,
    decided: Decided | None = None,
    decide: OnGuess = silent,
    looked_at: bool = True,
) -> RecordedRun:
    """Let an agent that has begun a run and a person go through it; some trials may be `past`.

    `decided` and `looked_at` are as in `trial_steps`; `decide` is called before a guess is shown.
    """
    participant = participant_of(protocol, source, place, trials)

    def on_guess(trial: int, context: np.ndarray, shown: Shown) -> None:
        decide(trial, context, shown)
        lateness(max(source.elapsed() - participant.when.decisions[trial], 0.0))

    given = (protocol, source, participant, place, calibration, len(past))
    steps = run_steps(*given, decided=decided, looked_at=looked_at)
    (frames, status, when), done = run_trials(
        *(steps, agent, participant),
        past=past,
        repeated=source.repeatable,
        keep=keep,
        on_guess=on_guess,
    )
    truth = participant.truth([each.action for each in done])
    keys = [participant.key(number, each.action) for number, each in enumerate(done)]
    report = source.report()
    return RecordedRun(frames, done, truth, status, calibration, keys, when, report)


def run_steps(
    protocol: Protocol,
    source: Source,
    participant: Participant,
    place: RunId,
    calibration: Calibration = UNCALIBRATED,
    past: int = 0,
    *,
    decided: Decided | None = None,
    looked_at: bool = True,
) -> Steps:
    """Return the steps of a run, of which some trials may be past."""
    given = (protocol, source, participant, place, calibration)
    if len(series(protocol)) > 1:
        return separate_steps(*given, looked_at=looked_at)
    return trial_steps(*given, past, decided=decided, looked_at=looked_at)


def participant_of(protocol: Protocol, source: Source, place: RunId, trials: int) -> Participant:
    """Return the person of a run: the source's own, or a simulated one."""
    own = source.participant(*place, trials)
    if own is not None:
        return own
    # The test session is for scoring: it has no catch trials.
    rng = run_seed(protocol.seed, *place).rng("human")
    return SimulatedPerson(protocol, trials, rng, *place, catch=place.session == "train")


def agent_of(
    protocol: Protocol,
    voxels: int,
    policy: BaseEstimator | None = None,
    calibration: Calibration = UNCALIBRATED,
) -> Agent:
    """Return the agent that a protocol asks for, with a fitted learner if its policy is fixed."""
    return make_agent(
        protocol.agent,
        len(protocol.task.options),
        voxels,
        catch_match_rate=known_match_rate(protocol),
        policy=policy,
        calibration=calibration,
    )


def simulate(
    protocol: Protocol,
    *,
    folder: str | os.PathLike | None = None,
    agent: Agent | None = None,
    source: Source | None = None,
    progress: Progress = silent,
) -> dict[str, Session]:
    """Simulate an experiment in a closed loop, and keep it in memory.

    Parameters
    ----------
    protocol, folder, agent, progress
        As in `record`, but the protocol's own agent cannot be a fixed one here.
    source : Source, optional
        A custom source, in place of the protocol's. If that has a population, make the source of
        the person that is simulated, ``draw(protocol)``.

    Returns
    -------
    dict
        The sessions ``"train"`` and ``"test"``.
    """
    protocol = draw(protocol)
    sink, source = MemorySink(), source or make_source(protocol, folder)
    agent = agent or agent_of(protocol, source.n_voxels)
    run_session(protocol, source, agent, sink, progress=progress)
    return sink.sessions(protocol)


def record(
    protocol: Protocol,
    out: str | os.PathLike,
    *,
    folder: str | os.PathLike | None = None,
    policy: BaseEstimator | None = None,
    calibration: Calibration = UNCALIBRATED,
    agent: Agent | None = None,
    speed: float | None = None,
    progress: Progress = silent,
    lateness: Lateness = silent,
    line: Line | None = None,
    begin: Callable[[Source], None] = silent,
) -> None:
    """Run an experiment in a closed loop, and record it as a BIDS dataset.

    If it is stopped, `resume` continues it.

    Parameters
    ----------
    protocol : Protocol
        The experiment; its seed fixes every bit of the dataset. If it has a population, the
        session is of the person whom the seed draws, and that person's protocol is recorded.
    out : path-like
        A folder that is absent or empty, or in which recording was killed before it began.
    folder : path-like, optional
        What paths in the protocol are relative to.
    policy : estimator, optional
        A fitted learner, for the agent that keeps to it (``agent.policy: fixed``).
    calibration : Calibration, optional
        What the contexts that it learned from were estimated with (`Dataset.calibration`).
    agent : Agent, optional
        A custom agent, in place of the protocol's.
    speed : float, optional
        Give frames in real time (1) or faster (above 1) instead of as fast as possible. The dataset
        is the same.
    progress : function, optional
        Called after each trial with the number of trials done, and of all.
    lateness : function, optional
        Called with the seconds by which each guess was late.
    line : function, optional
        Called with what happens, frame by frame and trial by trial, as a journal of a live session
        has it; for monitors.
    begin : function, optional
        Called with the source when the session begins.
    """
    protocol = draw(protocol)
    source = _paced(protocol, make_source(protocol, folder), speed, line)
    begin(source)
    header = {
        "protocol": protocol.model_dump(mode="json"),
        "folder": None if folder is None else os.path.abspath(folder),
        "source": source.fingerprint,
        "agent": agent and type(agent).__name__,
    }
    agent = agent or agent_of(protocol, source.n_voxels, policy, calibration)
    out = Path(os.path.abspath(out))

    def save_policy() -> None:
        if policy is not None:
            save_learner(policy, out / POLICY)
            write_calibration(out / POLICY / CALIBRATION, calibration)

    with closing(Journal.create(out, header, save_policy)) as journal:
        sink = DatasetSink(journal, protocol, source)
        run_session(
            *(protocol, source, agent, sink),
            progress=progress,
            lateness=lateness,
            line=line or silent,
        )


def resume(
    out: str | os.PathLike,
    *,
    expected: Protocol | None = None,
    agent: Agent | None = None,
    speed: float | None = None,
    progress: Progress = silent,
    lateness: Lateness = silent,
) -> None:
    """Continue a recording that was stopped; the dataset will be as if it had not been.

    Parameters
    ----------
    out : path-like
        The folder of the recording. If it is complete, nothing is done.
    expected : Protocol, optional
        The experiment that it should be of.
    agent : Agent, optional
        A new agent of the class that it was begun with, where that was a custom one.
    speed, progress, lateness
        As in `record`.

    Raises
    ------
    BciiglError
        If there is no recording, if it is of another protocol, if another process is recording
        there, or if the journal does not fit what this version would record.
    """
    out = Path(out)
    if is_finished(out):
        refuse_another(out, open_dataset(out).protocol, expected)
        return
    with closing(Journal.reopen(out)) as journal:
        if "live" in journal.header:
            raise JournalError(f"{out}: is a live session; use bciigl run --resume")
        protocol, findings = validate(journal.header.get("protocol"))
        known = {"folder", "source", "agent"} <= set(journal.header)
        if findings or protocol is None or not known:
            raise JournalError(f"{journal.path}: does not say what session it is of")
        refuse_another(out, protocol, expected)
        source = _paced(protocol, make_source(protocol, journal.header["folder"]), speed)
        if source.fingerprint != journal.header["source"]:
            raise JournalError(f"{out}: the subject or the region is not what it was: restore it")
        if (agent and type(agent).__name__) != journal.header["agent"]:
            begun_with = journal.header["agent"] or "the protocol's own"
            raise JournalError(f"{out}: was begun with another agent: {begun_with}")
        if agent is None:
            policy = load_learner(out / POLICY) if (out / POLICY).exists() else None
            calibration = read_calibration(out / POLICY / CALIBRATION)
            agent = agent_of(protocol, source.n_voxels, policy, calibration)
        sink = DatasetSink(journal, protocol, source)
        run_session(protocol, source, agent, sink, progress=progress, lateness=lateness)


def _paced(
    protocol: Protocol, source: Source, speed: float | None, line: Line | None = None
) -> Source:
    """Return the source at its speed, watched by somebody, if it can record the protocol."""
    source = source if line is None else WatchedSource(source, line)
    source = source if speed is None else PacedSource(source, speed)
    if len(series(protocol)) > 1:
        simulated_brain(source)  # refuses others before anything is written
    return source


def refuse_another(out: Path, known: Protocol, expected: Protocol | None) -> None:
    """Refuse to resume a recording that is not of the protocol expected."""
    expected = expected and draw(expected)
    if expected is None or (difference := first_difference(expected, known)) is None:
        return
    name, ours, theirs = difference
    raise BciiglError(
        f"{out}: was begun with another protocol: {name} is {theirs} there, {ours} here; "
        "without any options it is resumed as it was begun"
    )
