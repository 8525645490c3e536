"""One run: who is asked, who is shown what, what is kept, and in which order."""

from collections.abc import Sequence

import numpy as np
import pytest
from recordings import small, some_policy

from bciigl.base.errors import BciiglError
from bciigl.brain import Brain
from bciigl.estimate import contexts, feedback_so_far
from bciigl.loop import Agent, Choice, Clock, FixedAgent, LearningAgent
from bciigl.loop.person import Human
from bciigl.loop.runs import agent_of, conduct, hold, human_of, run_seed
from bciigl.protocol import Protocol
from bciigl.protocol.schedule import decision_time, trial_start
from bciigl.recording.journal import JournalError
from bciigl.recording.trial import Trial

TRIALS = 8
CATCH = {"task": {"catch": {"share": 0.4}}}
BRAINS = {
    "shared": Brain(small(**CATCH)),
    "separate": Brain(small(**CATCH, recording="separate")),
    "separate, frame": Brain(small(**CATCH, recording="separate", estimate="frame")),
    "separate, no perception": Brain(
        small(task={"events": ["imagination", "judgment"], **CATCH["task"]}, recording="separate")
    ),
}
each_brain = pytest.mark.parametrize("brain", BRAINS.values(), ids=BRAINS)


class Diary(Agent):
    """Guesses uniformly, and writes down what it is asked and shown."""

    def __init__(self, n_actions: int = 3) -> None:
        super().__init__(n_actions)
        self.pages: list[tuple] = []
        self.begin_run(np.random.default_rng(7))

    def act(self, context: np.ndarray) -> Choice:
        """Guess."""
        choice = super().act(context)
        self.pages.append(("act", context, choice))
        return choice

    def observe(self, context, action, feedback, propensity, *, catch=False) -> None:
        """Look on."""
        self.pages.append(("observe", context, action, feedback, propensity, catch))

    def named(self, name: str) -> list[tuple]:
        """Return the pages of that name, without it."""
        return [page[1:] for page in self.pages if page[0] == name]


def person(mine: Protocol, trials: int = TRIALS) -> Human:
    return Human(mine, trials, np.random.default_rng(3))


def run(brain: Brain, agent: Agent, past: Sequence[Trial] = (), keep=None, clock=None):
    """Return frames, trials, and what was kept."""
    kept: list[tuple[int, Trial]] = []
    frames, trials = conduct(
        brain,
        person(brain.protocol),
        agent,
        ("train", 0),
        past=past,
        keep=keep or (lambda *each: kept.append(each)),
        clock=clock,
    )
    return frames, trials, kept


@each_brain
def test_catch_trials_never_reach_the_agent_to_act_on(brain):
    agent, human = Diary(), person(brain.protocol)
    _, trials, _ = run(brain, agent)
    assert 0 < human.catch.sum() < TRIALS
    assert len(agent.named("act")) == (~human.catch).sum()
    assert [each.catch for each in trials] == human.catch.tolist()
    for number, trial in enumerate(trials):
        if trial.catch:
            expected = (human.guess_on_cue(number), 1 / 3, False)
            assert (trial.action, trial.propensity, trial.explored) == expected
    asked = [trial for trial in trials if not trial.catch]
    for (context, choice), trial in zip(agent.named("act"), asked, strict=True):
        np.testing.assert_array_equal(context, trial.context)
        assert choice == (trial.action, trial.propensity, trial.explored)


@each_brain
def test_agent_observes_all_trials_as_they_are_kept(brain):
    agent = Diary()
    _, trials, kept = run(brain, agent)
    assert [number for number, _ in kept] == list(range(TRIALS))
    for (_, mine), trial, seen in zip(kept, trials, agent.named("observe"), strict=True):
        assert mine.same_as(trial)
        context, action, feedback, propensity, catch = seen
        np.testing.assert_array_equal(context, trial.context)
        np.testing.assert_array_equal(feedback, trial.feedback)
        assert (action, propensity, catch) == (trial.action, trial.propensity, trial.catch)


@each_brain
def test_estimates_are_those_of_the_run_s_recording(brain):
    frames, trials, _ = run(brain, Diary())
    np.testing.assert_array_equal(
        contexts(frames, brain.protocol), [each.context for each in trials]
    )
    for number, trial in enumerate(trials):
        np.testing.assert_array_equal(
            feedback_so_far(frames, brain.protocol, number), trial.feedback
        )
    series = frames if isinstance(frames, dict) else {"": frames}
    assert set(series) in ({""}, set(brain.protocol.task.events))
    for each in series.values():
        np.testing.assert_array_equal(each.astype(np.float32), each)


def test_trial_is_kept_before_the_agent_sees_what_came_of_it():
    order: list[str] = []
    agent = Diary()
    agent.act = lambda context: order.append("act") or Agent.act(agent, context)
    agent.observe = lambda *_, **__: order.append("observe")
    brain = BRAINS["shared"]
    run(brain, agent, keep=lambda number, trial: order.append("keep"))
    catch = person(brain.protocol).catch
    assert order == [
        step
        for catch in catch
        for step in (("keep", "observe") if catch else ("act", "keep", "observe"))
    ]


@each_brain
def test_agent_that_scribbles_on_what_it_is_given_changes_nothing(brain):
    class Vandal(Agent):
        def act(self, context):
            choice = super().act(context)
            context[:] = np.nan
            return choice

        def observe(self, context, action, feedback, propensity, *, catch=False):
            context[:], feedback[:] = np.nan, np.nan

    vandal = Vandal(3)
    vandal.begin_run(np.random.default_rng(7))
    _, expected, _ = run(brain, Diary())
    _, found, _ = run(brain, vandal)
    assert all(mine.same_as(other) for mine, other in zip(found, expected, strict=True))


@each_brain
@pytest.mark.parametrize("known", [1, 5, TRIALS])
def test_trials_known_before_happen_again_and_are_not_kept_twice(brain, known):
    frames, trials, _ = run(brain, Diary())
    agent = Diary()
    again, same, kept = run(brain, agent, past=trials[:known])
    assert [number for number, _ in kept] == list(range(known, TRIALS))
    assert len(agent.named("observe")) == TRIALS
    assert all(mine.same_as(other) for mine, other in zip(same, trials, strict=True))
    np.testing.assert_equal(again, frames)


@each_brain
@pytest.mark.parametrize("field", ["context", "action", "propensity", "explored", "feedback"])
def test_trial_that_comes_out_otherwise_is_refused(brain, field):
    _, trials, _ = run(brain, Diary())
    value = getattr(trials[2], field)
    changed = not value if isinstance(value, bool) else value + 1e-9 if field != "action" else 9
    past = [*trials[:2], trials[2]._replace(**{field: changed}), trials[3]]
    with pytest.raises(JournalError, match="trial 3 of the run does not come out"):
        run(brain, Diary(), past=past)


class Recorder(Clock):
    """Sleeps never; keeps what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, float]] = []

    def begin(self, seconds: float = 0.0) -> None:
        """Keep it."""
        self.asked.append(("begin", seconds))

    def wait(self, seconds: float) -> None:
        """Keep it."""
        self.asked.append(("wait", seconds))

    def note_guess(self, due: float) -> None:
        """Keep it."""
        self.asked.append(("guess", due))


@pytest.mark.parametrize("known", [0, 3])
def test_clock_begins_where_new_trials_do_and_each_guess_is_noted_when_due(known):
    brain, clock = BRAINS["shared"], Recorder()
    expected, trials, _ = run(brain, Diary())
    frames, same, _ = run(brain, Diary(), past=trials[:known], clock=clock)
    np.testing.assert_array_equal(frames, expected)
    assert all(mine.same_as(other) for mine, other in zip(same, trials, strict=True))
    mine = brain.protocol
    began = trial_start(mine, known) if known else 0.0
    assert [each for each in clock.asked if each[0] == "begin"] == [("begin", began)]
    assert clock.asked[0][0] == "begin"
    due = [trial_start(mine, t) + decision_time(mine.timing) for t in range(known, TRIALS)]
    assert [seconds for name, seconds in clock.asked if name == "guess"] == due
    waits = [seconds for name, seconds in clock.asked if name == "wait"]
    assert waits == [k * 1.5 for k in range(len(frames) - len(waits) + 1, len(frames) + 1)]
    assert min(waits) > began
    # Each guess comes when all frames up to its time have been waited for, and no other.
    for place, (name, seconds) in enumerate(clock.asked):
        if name == "guess":
            waited = clock.asked[place - 1][1]
            assert waited <= seconds < waited + 1.5


@each_brain
def test_run_that_is_held_is_a_person_s_and_an_agent_s_with_their_own_streams(brain):
    frames, trials, truth = hold(brain, Agent(3), ("train", 1), TRIALS)
    human = human_of(brain.protocol, ("train", 1), TRIALS)
    agent, rng = Agent(3), run_seed(brain.protocol, ("train", 1)).rng("agent")
    agent.begin_run(np.random.default_rng(int(rng.integers(2**63))))
    again, same = conduct(brain, human, agent, ("train", 1), keep=lambda *_: None)
    assert all(one.same_as(other) for one, other in zip(trials, same, strict=True))
    for one, other in zip(_arrays(frames), _arrays(again), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(truth.meant, human.meant)
    np.testing.assert_array_equal(truth.imagined, human.imagined)
    np.testing.assert_array_equal(truth.match, [each.action for each in trials] == human.meant)


def _arrays(frames):
    return list(frames.values()) if isinstance(frames, dict) else [frames]


def test_truth_of_a_held_run_has_what_was_judged_beside_what_matched():
    lapses = {"judgment_lapse": 0.4, "imagination_lapse": 0.4}
    brain = Brain(small(human=lapses))
    _, trials, truth = hold(brain, Agent(3), ("train", 0), 40)
    human = human_of(brain.protocol, ("train", 0), 40)
    expected = [human.judge(number, trial.action) for number, trial in enumerate(trials)]
    assert list(zip(truth.match, truth.judged, strict=True)) == expected
    assert (np.array(truth.match) != truth.judged).any()
    assert (np.array(truth.meant) != truth.imagined).any()


def test_test_session_has_no_catch_trials():
    brain = BRAINS["shared"]
    held = {each: hold(brain, Agent(3), (each, 0), 20)[1] for each in ("train", "test")}
    assert any(trial.catch for trial in held["train"])
    assert not any(trial.catch for trial in held["test"])


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, Agent),
        ({"policy": "epsilon-greedy"}, LearningAgent),
        ({"policy": "explore-then-commit", "uniform_runs": 2}, LearningAgent),
    ],
)
def test_agent_is_the_one_that_the_protocol_asks_for(settings, kind):
    agent = agent_of(Brain(small(agent=settings, task={"options": [1, 2, 3, 4]})))
    assert (type(agent), agent.n_actions) == (kind, 4)


def test_agent_with_a_saved_policy_needs_one_of_as_many_voxels():
    brain = Brain(small(agent={"policy": "fixed"}))
    assert isinstance(agent_of(brain, some_policy()), FixedAgent)
    with pytest.raises(BciiglError, match="needs a saved policy"):
        agent_of(brain)
    with pytest.raises(BciiglError):
        agent_of(brain, some_policy(features=8))
    with pytest.raises(BciiglError, match="takes no saved policy"):
        agent_of(Brain(small()), some_policy())
