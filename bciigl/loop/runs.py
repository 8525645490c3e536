"""One run from beginning to end: what agent and person do in it, and what is recorded."""

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.base import BaseEstimator

from bciigl.base.errors import BciiglError
from bciigl.base.progress import silent
from bciigl.base.seeds import Seed
from bciigl.brain import Brain
from bciigl.estimate import contexts, feedback_so_far
from bciigl.loop.agent import Agent, Choice, make_agent
from bciigl.loop.clock import Clock
from bciigl.loop.live import LiveRun
from bciigl.loop.person import Human
from bciigl.protocol import Protocol
from bciigl.protocol.design_checks import known_match_rate
from bciigl.protocol.schedule import decision_time, trial_start
from bciigl.recording.bids import Frames, RecordedTruth
from bciigl.recording.journal import JournalError
from bciigl.recording.trial import Trial

Keep = Callable[[int, Trial], None]
"""Called with each trial, and its number in the run from 0, before the next begins."""


def agent_of(brain: Brain, policy: BaseEstimator | None = None) -> Agent:
    """Return the agent that a brain's protocol asks for, with a fitted learner if that is fixed."""
    protocol = brain.protocol
    return make_agent(
        protocol.agent,
        len(protocol.task.options),
        len(brain.region),
        catch_match_rate=known_match_rate(protocol),
        policy=policy,
    )


def human_of(protocol: Protocol, place: tuple[str, int], trials: int) -> Human:
    """Return the person of a run, given by its session and its number in it, from 0.

    The test session is for scoring: it has no catch trials.
    """
    rng = run_seed(protocol, place).rng("human")
    return Human(protocol, trials, rng, catch=place[0] == "train")


def run_seed(protocol: Protocol, place: tuple[str, int]) -> Seed:
    """Return where the random numbers of a run begin."""
    session, run = place
    return Seed(protocol.seed).child("session", session, "run", run)


def hold(
    brain: Brain,
    agent: Agent,
    place: tuple[str, int],
    trials: int,
    *,
    past: Sequence[Trial] = (),
    keep: Keep = silent,
    clock: Clock | None = None,
) -> tuple[Frames, list[Trial], RecordedTruth]:
    """Let a person and an agent go through a run; return what is recorded, and the truth about it.

    Parameters
    ----------
    trials : int
        How many the run has.
    brain, agent, place, past, keep, clock
        As in `conduct`; the agent has not begun the run.
    """
    human = human_of(brain.protocol, place, trials)
    # Not the stream itself: it would lead to the seed, and that to the person's stream.
    agents_seed = run_seed(brain.protocol, place).rng("agent").integers(2**63)
    agent.begin_run(np.random.default_rng(int(agents_seed)))
    frames, done = conduct(brain, human, agent, place, past=past, keep=keep, clock=clock)
    judgments = [human.judge(number, trial.action) for number, trial in enumerate(done)]
    return frames, done, RecordedTruth(human.meant, human.imagined, *zip(*judgments, strict=True))


def conduct(
    brain: Brain,
    human: Human,
    agent: Agent,
    place: tuple[str, int],
    *,
    past: Sequence[Trial] = (),
    keep: Keep,
    clock: Clock | None = None,
) -> tuple[Frames, list[Trial]]:
    """Let a run happen; return its recording and its trials.

    Parameters
    ----------
    brain : Brain
        Who is in the scanner.
    human : Human
        What that person means, in this run.
    agent : Agent
        Who guesses; it has begun the run.
    place : (str, int)
        The session, and the run within it, from 0.
    past : sequence of Trial
        The first trials of the run, where they have been recorded before. They happen again, as
        fast as possible, and must come out the same.
    keep : function
        Called with each further trial before the next begins. Separate recordings exist only when
        the run is over, so their trials are kept then.
    clock : Clock, optional
        Paces the frames.
    """
    if brain.protocol.recording == "separate":
        frames, trials = _in_separate_recordings(brain, human, agent, place)
        for number, trial in enumerate(trials):
            _keep_or_compare(trial, number, past, keep)
        return frames, trials
    live = LiveRun(brain, human, *place)
    trials = []
    for number in range(len(human.meant)):
        if clock is not None and number == len(past):
            clock.begin(trial_start(brain.protocol, number) if number else 0.0)
            live.wait = clock.wait
        context = live.imagine()
        choice = _choose(human, agent, number, context)
        if live.wait is not None:
            due = trial_start(brain.protocol, number) + decision_time(brain.protocol.timing)
            clock.note_guess(due)
        trial = _trial(human, number, context, choice, live.answer(choice.action))
        _keep_or_compare(trial, number, past, keep)
        show(agent, trial)
        trials.append(trial)
    return live.finish(), trials


def show(agent: Agent, trial: Trial) -> None:
    """Let an agent observe a trial, of which it gets copies."""
    agent.observe(
        trial.context.copy(),
        trial.action,
        trial.feedback.copy(),
        trial.propensity,
        catch=trial.catch,
    )


def _in_separate_recordings(
    brain: Brain, human: Human, agent: Agent, place: tuple[str, int]
) -> tuple[dict[str, np.ndarray], list[Trial]]:
    """Let a run happen as in the paper's code: each kind of event has a recording of its own.

    All imagination comes first. That changes nothing for the agent, which learns between runs.
    """
    protocol, numbers = brain.protocol, range(len(human.meant))

    def recorded(events: list) -> dict[str, np.ndarray]:
        series = brain.record_separately(events, *place, trials=len(numbers))
        return {kind: each.astype(np.float32).astype(float) for kind, each in series.items()}

    frames = recorded([human.imagine(number) for number in numbers])
    seen = contexts(frames, protocol)
    choices = [_choose(human, agent, number, seen[number]) for number in numbers]
    answers = (human.answer(number, choices[number].action) for number in numbers)
    frames |= recorded([event for answer in answers for event in answer])
    trials = [
        _trial(
            human, number, seen[number], choices[number], feedback_so_far(frames, protocol, number)
        )
        for number in numbers
    ]
    for trial in trials:
        show(agent, trial)
    return frames, trials


def _choose(human: Human, agent: Agent, trial: int, context: np.ndarray) -> Choice:
    """Return the experimenter's guess on a catch trial, the agent's on all others."""
    on_cue = human.guess_on_cue(trial)
    if on_cue is not None:
        return Choice(on_cue, 1 / agent.n_actions, False)
    choice = Choice(*agent.act(context.copy()))
    if choice.action not in range(agent.n_actions) or not 0 < choice.propensity <= 1:
        raise BciiglError(
            f"an agent's action should be from 0 to {agent.n_actions - 1}, and its propensity "
            f"above 0 and at most 1, got {choice.action!r} and {choice.propensity!r}"
        )
    return Choice(int(choice.action), float(choice.propensity), bool(choice.explored))


def _trial(
    human: Human, number: int, context: np.ndarray, choice: Choice, feedback: np.ndarray
) -> Trial:
    return Trial(context, *choice, bool(human.catch[number]), feedback)


def _keep_or_compare(trial: Trial, number: int, past: Sequence[Trial], keep: Keep) -> None:
    if number >= len(past):
        keep(number, trial)
    elif not trial.same_as(past[number]):
        raise JournalError(
            f"trial {number + 1} of the run does not come out as the journal has it: it was "
            "written by another version of bciigl or its packages; go on with that one"
        )
