"""An agent that is never late: a learner that fails or takes too long does not hold up a run."""

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from typing import Any

import numpy as np

from bciigl.learn.interactions import Interactions
from bciigl.loop.agent import Agent, Choice

LONGEST_RECALL = 300.0
"""Seconds between runs after which an agent is not waited for any more."""


class TimelyAgent(Agent):
    """Lets another agent act and learn in a thread of its own, and guesses uniformly in its place.

    It does so where the other agent fails, or has not answered in time. That does not depend on the
    context, so the guess has the propensity of a uniform one.

    Parameters
    ----------
    agent : Agent
        Who guesses.
    seconds : float
        How long its guess is waited for.

    Attributes
    ----------
    troubles : list of str
        What went wrong.
    """

    def __init__(self, agent: Agent, seconds: float) -> None:
        super().__init__(agent.n_actions)
        self.calibration = agent.calibration
        self._agent, self._seconds = agent, seconds
        self.troubles: list[str] = []
        self._lost = False  # whether it did not come back from learning
        self._calls: queue.SimpleQueue[tuple[Future, Callable]] = queue.SimpleQueue()
        # Not a pool: a program would not end before an agent that never answers.
        threading.Thread(target=_answer, args=(self._calls,), daemon=True).start()

    def recall(self, past: Interactions) -> bool:
        """Let the agent recall; between runs there is time for it, but no end of time."""
        try:
            return bool(self._submit(self._agent.recall, past).result(LONGEST_RECALL))
        except Late:
            # What it will have learned is in units that the session does not change to.
            self._lost = True
            what = f"the agent has not learned in {LONGEST_RECALL:g} s"
            self.troubles.append(f"{what}: all guesses are uniform from now on")
        except Exception:  # it stays with what it has learned before
            what = "the agent cannot learn from the runs before"
            self.troubles.append(f"{what}; it continues with what it knows")
        return False

    def begin_run(self, rng: np.random.Generator) -> None:
        """Get ready for a run."""
        # Its own stream, so that the agent draws what it would have drawn without being watched.
        self.rng = rng.spawn(1)[0]
        self._submit(self._agent.begin_run, rng)

    def act(self, context: np.ndarray) -> Choice:
        """Return the agent's guess, or a uniform one."""
        if self._lost:
            return self.explore()
        try:
            choice = Choice(*self._submit(self._agent.act, context).result(self._seconds))
            if choice.action in range(self.n_actions) and 0 < choice.propensity <= 1:
                return choice
            self.troubles.append(f"the agent's guess is none ({choice}): a uniform guess is shown")
        except Late:
            self.troubles.append(
                f"the agent has not guessed after {self._seconds:g} s: a uniform guess is shown"
            )
        except Exception:
            self.troubles.append("the agent cannot guess: a uniform guess is shown")
        return self.explore()

    def observe(
        self,
        context: np.ndarray,
        action: int,
        feedback: np.ndarray,
        propensity: float,
        *,
        catch: bool = False,
    ) -> None:
        """Let the agent observe a trial, whenever it has time."""
        self._submit(self._agent.observe, context, action, feedback, propensity, catch=catch)

    def end_run(self) -> None:
        """Tell the agent that a run is over."""
        self._submit(self._agent.end_run)

    def _submit(self, method: Callable, *given: Any, **named: Any) -> Future:
        future: Future = Future()
        self._calls.put((future, lambda: method(*given, **named)))
        return future


def _answer(calls: queue.SimpleQueue[tuple[Future, Callable]]) -> None:
    """Call functions, one after the other."""
    while True:
        future, call = calls.get()
        try:
            future.set_result(call())
        except Exception as error:
            logging.getLogger("bciigl").error("the agent failed", exc_info=error)
            future.set_exception(error)
