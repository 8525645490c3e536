"""An agent that is never late: a learner that fails or takes too long does not hold up a run."""

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from typing import Any

import numpy as np

from bciigl.learn.interactions import Interactions
from bciigl.loop.agent import Agent, Choice


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
    """

    def __init__(self, agent: Agent, seconds: float) -> None:
        super().__init__(agent.n_actions)
        self.calibration = agent.calibration
        self._agent, self._seconds = agent, seconds
        self._thread = ThreadPoolExecutor(1)

    def recall(self, past: Interactions) -> bool:
        """Let the agent recall; between runs there is time for it."""
        try:
            return bool(self._submit(self._agent.recall, past).result())
        except Exception:  # it stays with what it has learned before
            _say("the agent cannot learn from the runs before; it goes on with what it knows")
            return False

    def begin_run(self, rng: np.random.Generator) -> None:
        """Get ready for a run."""
        # Its own stream, so that the agent draws what it would have drawn without being watched.
        self.rng = np.random.default_rng(rng.bit_generator.seed_seq.spawn(1)[0])
        self._submit(self._agent.begin_run, rng)

    def act(self, context: np.ndarray) -> Choice:
        """Return the agent's guess, or a uniform one."""
        try:
            return Choice(*self._submit(self._agent.act, context).result(self._seconds))
        except Late:
            _say(f"the agent has not guessed after {self._seconds:g} s: a uniform guess is shown")
        except Exception:
            _say("the agent cannot guess: a uniform guess is shown")
        return self.explore()

    def observe(self, *trial: Any, catch: bool = False) -> None:
        """Let the agent observe a trial, whenever it has time."""
        self._submit(self._agent.observe, *trial, catch=catch)

    def end_run(self) -> None:
        """Tell the agent that a run is over."""
        self._submit(self._agent.end_run)

    def _submit(self, method: Callable, *given: Any, **named: Any) -> Future:
        future = self._thread.submit(method, *given, **named)
        future.add_done_callback(_log_failure)
        return future


def _log_failure(future: Future) -> None:
    if not future.cancelled() and future.exception() is not None:
        logging.getLogger("bciigl").error("the agent failed", exc_info=future.exception())


def _say(message: str) -> None:
    logging.getLogger("bciigl").warning(message)
