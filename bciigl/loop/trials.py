"""One run, trial by trial: a person imagines, an agent guesses, the person sees it and judges."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bciigl.base.errors import BciiglError
from bciigl.base.progress import silent
from bciigl.brain.events import Event
from bciigl.estimate import UNCALIBRATED, Calibration, context, feedback_so_far
from bciigl.loop.agent import Agent, Choice
from bciigl.loop.participant import Participant
from bciigl.protocol import Protocol
from bciigl.protocol.schedule import frames_complete
from bciigl.protocol.timetable import Timetable
from bciigl.recording.journal import JournalError
from bciigl.recording.trial import NOT_ESTIMATED, Frames, RunId, Shown, Trial
from bciigl.source.interface import DUPLICATE, MISSING, OK, Source

Keep = Callable[[int, Trial], None]
"""Called with each trial, and its number in the run from 0, before the next begins."""


class Decision(NamedTuple):
    """The moment at which a guess is due: the trial, from 0, and its context, (voxels,)."""

    trial: int
    context: np.ndarray


class Series(NamedTuple):
    """What was recorded in a run: its frames, the status of those not ok, and its times."""

    frames: Frames
    status: Mapping[int, str]
    when: Timetable | None = None


Decided = Mapping[int, tuple[np.ndarray, Shown]]
"""Contexts and guesses that were decided on before a run was resumed, by trial from 0."""
OnGuess = Callable[[int, np.ndarray, Shown], None]
"""Called with the number of a trial, its context and the guess, before that is shown."""
Steps = Generator[Any, Any, Series]
"""The steps of a run: each `Decision` must be sent what is `Shown`; a finished `Trial` follows."""


def trial_steps(
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
    """Let a run happen, step by step, of which some trials were recorded before.

    Contexts and feedback are empty where nobody looks at them while the run goes on. Estimates use
    the times at which events were seen; a trial with one that was not has no context or feedback.
    """
    planned, when = participant.when, participant.when.copy()
    length = planned.frames(source.tr)
    if protocol.estimate.motion:
        when = replace(when, confounds=np.full((length, 6), np.nan))
    frames = np.full((length, source.n_voxels), np.nan)
    status: dict[int, str] = {}

    def until(seconds: float) -> np.ndarray:
        """Return the frames that are complete by then."""
        stop = min(frames_complete(seconds, source.tr), length)
        for frame in source.read(stop):
            if frame.status not in (OK, DUPLICATE):
                status[frame.index] = frame.status
            if frame.values is not None and frame.status != DUPLICATE:
                # Rounded as the recording keeps them, so that it tells all that was known.
                frames[frame.index] = np.asarray(frame.values, np.float32)
                if when.confounds is not None and frame.movement is not None:
                    when.confounds[frame.index] = frame.movement
        return frames[:stop]

    def happened(trial: int, *kinds: str) -> bool:
        """Take down when events were seen, and tell whether all were."""
        for kind in kinds:
            found = source.onset(Event(kind, float(planned.onsets[kind][trial]), None))
            when.onsets[kind][trial] = np.nan if found is None else found
        return not when.missed(trial)

    elapsed = float(when.starts[past]) if past else 0.0
    source.begin_run(*place, length, elapsed=elapsed)
    cue, *answers = protocol.task.events
    first = 0 if source.repeatable else past
    for trial in range(first):
        happened(trial, cue, *answers)

    def announce_cue(trial: int) -> None:
        if trial < participant.trials:
            source.announce(participant.imagine(trial))

    announce_cue(first)
    for trial in range(first, participant.trials):
        before = until(planned.decisions[trial])
        if not happened(trial, cue):
            for kind in answers:
                when.onsets[kind][trial] = np.nan
            announce_cue(trial + 1)
            until(planned.starts[trial + 1])
            yield Trial.missed(source.n_voxels)
            continue
        shown: Shown
        if decided is not None and trial in decided:
            seen, shown = decided[trial]
        else:
            seen = NOT_ESTIMATED
            if looked_at:
                seen = context(before, protocol, trial, calibration, when)
            shown = yield Decision(trial, seen)
        for event in participant.answer(trial, shown.action):
            source.announce(event)
        announce_cue(trial + 1)  # before volumes are waited for that it does not need
        rest = until(planned.starts[trial + 1])
        if not happened(trial, *answers) and np.isnan(when.onsets[answers[0]][trial]):
            yield Trial.missed(source.n_voxels)
            continue
        answer = NOT_ESTIMATED
        if trial in source.left_out:
            answer = np.full(source.n_voxels, np.nan)
        elif looked_at:
            answer = feedback_so_far(rest, protocol, trial, calibration, when)
        yield Trial(seen, *shown, answer)
    until(length * source.tr)
    for index in np.flatnonzero(np.isnan(frames).all(axis=1)).tolist():
        status.setdefault(index, MISSING)
    when = replace(when, left_out=dict(source.left_out))
    return Series(frames, dict(sorted(status.items())), when)


def run_trials(
    steps: Steps,
    agent: Agent,
    participant: Participant,
    *,
    past: Sequence[Trial] = (),
    repeated: bool = True,
    keep: Keep = silent,
    on_guess: OnGuess = silent,
) -> tuple[Series, list[Trial]]:
    """Let an agent that has begun a run take part in it; return what was recorded and the trials.

    `past` are the first trials of the run, where they were recorded before. If they are `repeated`,
    they happen again, and must come out the same; otherwise the agent is told of them.
    """
    trials: list[Trial] = []
    if not repeated:
        for trial in past:
            notify_agent(agent, trial)
        trials, past = list(past), ()
    answer = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as end:
            return end.value, trials
        answer = None
        if isinstance(step, Decision):
            answer = participant.shown(step.trial) or _guess(agent, step.context)
            if step.trial >= len(past):
                on_guess(step.trial, step.context, answer)
            continue
        number = len(trials)
        if number >= len(past):
            keep(number, step)
        elif not step.same_as(past[number]):
            raise JournalError(
                f"trial {number + 1} of the run does not come out as the journal has it: it was "
                "written by another version of bciigl or its packages; resume it with that one"
            )
        notify_agent(agent, step)
        trials.append(step)


def notify_agent(agent: Agent, trial: Trial) -> None:
    """Let an agent observe copies of a trial's arrays; not if too many frames were missing."""
    if trial.usable:
        seen, answer = trial.context.copy(), trial.feedback.copy()
        agent.observe(seen, trial.action, answer, trial.propensity, catch=trial.catch)


def _guess(agent: Agent, seen: np.ndarray) -> Shown:
    """Return the agent's guess; a uniform one where there are too few frames to guess from."""
    enough = np.isfinite(seen).all()
    choice = Choice(*(agent.act(seen.copy()) if enough else agent.explore()))
    if choice.action not in range(agent.n_actions) or not 0 < choice.propensity <= 1:
        raise BciiglError(
            f"an agent's action should be from 0 to {agent.n_actions - 1}, and its propensity "
            f"above 0 and at most 1, got {choice.action!r} and {choice.propensity!r}"
        )
    return Shown(int(choice.action), float(choice.propensity), bool(choice.explored))
