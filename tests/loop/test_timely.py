"""The agent that is never late: whatever the other one does, there is a guess in time."""

import logging
import subprocess
import sys
import threading

import numpy as np
import pytest
from recordings import LEARNS, small

from bciigl.learn.interactions import Interactions
from bciigl.loop import simulate
from bciigl.loop.agent import Agent, Choice
from bciigl.loop.session import agent_of
from bciigl.loop.timely import TimelyAgent
from bciigl.testing import check_agent

LONG = 60.0
"""Seconds that no test waits for unless it fails."""
CONTEXT = np.arange(4.0)
PAST = Interactions(
    context=np.zeros((2, 4)), action=np.array([0, 1]), feedback=np.zeros((2, 4)), n_actions=3
)


class Scripted(Agent):
    """An agent that does in each trial what it is told to."""

    def __init__(self, *acts) -> None:
        super().__init__(3)
        self._acts, self.observed = iter(acts), []

    def act(self, context: np.ndarray) -> Choice:
        """Do the next thing."""
        return next(self._acts)(self)

    def observe(self, context, action, feedback, propensity, *, catch=False) -> None:
        """Take that down."""
        self.observed.append((action, propensity, catch))


def guess(agent: Agent) -> Choice:
    return Choice(2, 0.75, False)


def fail(agent: Agent) -> Choice:
    raise ValueError("cannot learn")


def begun(agent: Agent, seconds: float = LONG, seed: int = 0) -> TimelyAgent:
    """Return an agent in a run."""
    timely = TimelyAgent(agent, seconds)
    timely.begin_run(np.random.default_rng(seed))
    return timely


def assert_uniform(choice: Choice) -> None:
    assert choice.action in range(3)
    assert choice[1:] == (1 / 3, True)


def test_guess_is_the_agents():
    timely = begun(Scripted(guess))
    assert timely.n_actions == 3
    assert timely.act(CONTEXT) == Choice(2, 0.75, False)


@pytest.mark.parametrize("policy", ["uniform", "epsilon-greedy"])
def test_session_is_that_of_the_bare_agent(policy):
    sections = {**LEARNS, "task": {"trials": 24, "trials_per_run": 6}}
    sections["agent"] = {"policy": policy} | ({} if policy == "uniform" else {"uniform_runs": 1})
    mine = small(**sections)
    bare, watched = (
        simulate(mine, agent=agent)["train"].interactions
        for agent in (agent_of(mine, 8), TimelyAgent(agent_of(mine, 8), LONG))
    )
    np.testing.assert_equal(vars(watched), vars(bare))


def test_agent_draws_what_it_would_have_drawn_alone():
    bare, watched = Agent(5), Agent(5)
    bare.begin_run(np.random.default_rng(3))
    timely = begun(watched, seed=3)
    alone = [bare.act(CONTEXT) for _ in range(50)]
    assert [timely.act(CONTEXT) for _ in range(50)] == alone
    # A uniform guess in its place is drawn from another stream.
    timely = begun(Agent(5), seed=3)
    for _ in range(20):
        timely.explore()
    assert [timely.act(CONTEXT) for _ in range(50)] == alone


def test_uniform_guesses_are_those_of_the_seed_and_not_of_the_agent():
    def uniform(seed: int) -> list[Choice]:
        timely = begun(Scripted(*[fail] * 30), seed=seed)
        return [timely.act(CONTEXT) for _ in range(30)]

    assert uniform(1) == uniform(1) != uniform(2)
    own = Agent(3)
    own.begin_run(np.random.default_rng(1))
    assert [own.explore() for _ in range(30)] != uniform(1)


def test_agent_that_fails_is_replaced_for_a_trial(caplog):
    timely = begun(Scripted(fail, guess))
    assert_uniform(timely.act(CONTEXT))
    assert timely.troubles == ["the agent cannot guess: a uniform guess is shown"]
    assert "cannot learn" in caplog.text
    assert timely.act(CONTEXT) == Choice(2, 0.75, False)


@pytest.mark.parametrize(
    "choice",
    [
        None,
        7,
        (1,),
        Choice(3, 0.5, False),
        Choice(-1, 0.5, False),
        Choice(0.5, 0.5, False),
        Choice(1, 0.0, False),
        Choice(1, 1.5, False),
        Choice(1, np.nan, False),
        Choice("one", 0.5, False),
        Choice(1, "likely", False),
    ],
    ids=str,
)
def test_guess_that_is_none_is_a_failure(choice):
    timely = begun(Scripted(lambda agent: choice, guess))
    assert_uniform(timely.act(CONTEXT))
    assert timely.act(CONTEXT) == Choice(2, 0.75, False)


def test_agent_that_is_late_is_replaced_and_heard_again_when_it_is_done(caplog):
    done = threading.Event()

    def think(agent: Agent) -> Choice:
        done.wait(LONG)
        return Choice(0, 0.9, False)

    agent = Scripted(think, guess)
    timely = begun(agent, 0.05)
    assert_uniform(timely.act(CONTEXT))
    assert "has not guessed after 0.05 s" in timely.troubles[0]
    timely.observe(CONTEXT, 1, CONTEXT, 1 / 3)  # it is told when it has time
    assert agent.observed == []
    timely._seconds = LONG
    done.set()
    # What it guessed too late is not shown in the next trial.
    assert timely.act(CONTEXT) == Choice(2, 0.75, False)
    assert agent.observed == [(1, 1 / 3, False)]


def test_agent_observes_and_ends_runs_in_order(caplog):
    class Failing(Scripted):
        def observe(self, *trial, catch=False) -> None:
            super().observe(*trial, catch=catch)
            raise ValueError("cannot observe")

        def end_run(self) -> None:
            self.observed.append("end")

    agent = Failing(guess)
    timely = begun(agent)
    timely.observe(CONTEXT, 1, CONTEXT, 0.5)
    timely.observe(CONTEXT, 2, CONTEXT, 0.25, catch=True)
    timely.end_run()
    timely.begin_run(np.random.default_rng(1))
    assert timely.act(CONTEXT) == Choice(2, 0.75, False)
    assert agent.observed == [(1, 0.5, False), (2, 0.25, True), "end"]
    assert caplog.text.count("cannot observe") >= 2


def test_agent_recalls_and_says_whether_units_change(caplog):
    class Recalling(Agent):
        answer: object = True

        def recall(self, past: Interactions) -> bool:
            assert past is PAST
            if self.answer is None:
                raise ValueError("cannot recall")
            return self.answer

    agent = Recalling(3)
    timely = TimelyAgent(agent, LONG)
    assert timely.recall(PAST) is True
    agent.answer = False
    assert timely.recall(PAST) is False
    with caplog.at_level(logging.WARNING, "bciigl"):
        agent.answer = None
        assert timely.recall(PAST) is False  # its policy is in the units of before
    assert "cannot recall" in caplog.text


def test_what_the_agent_was_calibrated_with_is_known():
    agent = Agent(3)
    agent.calibration = "fixed"
    assert TimelyAgent(agent, LONG).calibration == "fixed"
    assert TimelyAgent(Agent(3), LONG).calibration is None


def test_timely_agent_is_one():
    check_agent(lambda: TimelyAgent(Agent(3), LONG))


HANGS = """
import threading
import numpy as np
from bciigl.loop.agent import Agent
from bciigl.loop.timely import TimelyAgent

class Hangs(Agent):
    def act(self, context):
        threading.Event().wait()

timely = TimelyAgent(Hangs(3), 0.01)
timely.begin_run(np.random.default_rng(0))
for _ in range(3):
    print(timely.act(np.zeros(2)).propensity)
"""


@pytest.mark.slow
def test_program_ends_though_the_agent_never_answers():
    found = subprocess.run(
        [sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=LONG, check=True
    )
    assert found.stdout.split() == [str(1 / 3)] * 3
