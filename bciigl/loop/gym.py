"""The closed loop as a Gymnasium environment, for agents that others have written.

Needs the extra ``bciigl[gym]``. Importing this module registers the environment:

>>> import gymnasium
>>> import bciigl.loop.gym
>>> env = gymnasium.make("bciigl/ClosedLoop-v0", changes={"task.trials": 100})

The reward is always 0: what the brain answers is all there is.
"""

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np

from bciigl.base.errors import BciiglError
from bciigl.brain import Brain
from bciigl.brain.check import brain_findings
from bciigl.loop.live import LiveRun
from bciigl.loop.person import Human
from bciigl.loop.runs import human_of
from bciigl.protocol import find, load
from bciigl.protocol.load import Changes
from bciigl.protocol.schedule import trials_per_run

ENVIRONMENT = "bciigl/ClosedLoop-v0"
LARGEST = 1e6
"""Scanner units: far beyond any estimate, because Gymnasium asks for bounds."""

Observation = dict[str, Any]


class ClosedLoopEnv(gymnasium.Env):
    """A person in a scanner, whose imagined options are to be guessed.

    An episode is a session of the protocol; the seed given to `reset` is the protocol's. An
    observation has the `context` of the decision to be made, and of the trial before it the
    `feedback`, the `guess` that was shown, and whether it was a `catch` trial, in which the
    experimenter's guess took the place of the action. What is not there, because no trial is before
    or, in the end, no decision to come, is 0. `info` says of which `run` and `trial`, from 0, the
    context is.

    Parameters
    ----------
    protocol : str
        A protocol file, or the name of a shipped protocol.
    changes : dict, optional
        New values of its fields, such as ``{"brain.noise": 0.5}``.
    """

    metadata = {"render_modes": []}

    def __init__(self, protocol: str = "number_guessing", changes: Changes | None = None) -> None:
        self._protocol = load(protocol, brain_findings, changes)
        if self._protocol.recording == "separate":
            raise BciiglError("the environment has one recording: use recording: shared")
        self._folder = find(protocol).parent
        options, voxels = len(self._protocol.task.options), len(self._brain(0).region)
        estimate = gymnasium.spaces.Box(-LARGEST, LARGEST, (voxels,), np.float64)
        self.action_space = gymnasium.spaces.Discrete(options)
        self.observation_space = gymnasium.spaces.Dict(
            {
                "context": estimate,
                "feedback": estimate,
                "guess": gymnasium.spaces.Discrete(options),
                "catch": gymnasium.spaces.Discrete(2),
            }
        )
        self._nothing = np.zeros(voxels)
        self._live: LiveRun | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a session: that of the seed, or another one."""
        super().reset(seed=seed)
        chosen = self.np_random.integers(2**32) if seed is None else seed
        self._runs = self._session(self._brain(int(chosen) % 2**32))
        self._human, self._live, self._run = next(self._runs)
        return self._observed(self._live.imagine(), self._nothing, 0)

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Show a guess, or the experimenter's on a catch trial, and go on to the next decision."""
        if self._live is None:
            raise gymnasium.error.ResetNeeded("the session is over, or not begun: call reset")
        if not self.action_space.contains(action):
            raise gymnasium.error.InvalidAction(f"should be in {self.action_space}, got {action!r}")
        on_cue = self._human.guess_on_cue(self._live.trial)
        guess = int(action) if on_cue is None else on_cue
        feedback = self._live.answer(guess)
        if self._live.trial == len(self._human.meant):
            self._human, self._live, self._run = next(self._runs, (None, None, self._run))
        context = self._nothing if self._live is None else self._live.imagine()
        observation, info = self._observed(context, feedback, guess, on_cue is not None)
        return observation, 0.0, self._live is None, False, info

    def _brain(self, seed: int) -> Brain:
        return Brain(self._protocol.model_copy(update={"seed": seed}), self._folder)

    def _session(self, brain: Brain) -> Iterator[tuple[Human, LiveRun, int]]:
        for run, trials in enumerate(trials_per_run(self._protocol, self._protocol.task.trials)):
            human = human_of(brain.protocol, ("train", run), trials)
            yield human, LiveRun(brain, human, "train", run), run

    def _observed(
        self, context: np.ndarray, feedback: np.ndarray, guess: int, catch: bool = False
    ) -> tuple[Observation, dict[str, Any]]:
        observation = {
            "context": np.clip(context, -LARGEST, LARGEST),
            "feedback": np.clip(feedback, -LARGEST, LARGEST),
            "guess": guess,
            "catch": int(catch),
        }
        return observation, {
            "run": self._run,
            "trial": 0 if self._live is None else self._live.trial,
        }


gymnasium.register(ENVIRONMENT, entry_point="bciigl.loop.gym:ClosedLoopEnv")
