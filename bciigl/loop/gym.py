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
from bciigl.brain.check import brain_findings
from bciigl.estimate import Calibrator
from bciigl.loop.participant import Participant
from bciigl.loop.session import participant_of, run_steps
from bciigl.loop.trials import Decision, Steps
from bciigl.protocol import draw, find, load
from bciigl.protocol.load import Changes
from bciigl.protocol.schedule import series, trials_per_run
from bciigl.recording.trial import RunId, Shown
from bciigl.source import make_source

ENVIRONMENT = "bciigl/ClosedLoop-v0"
LARGEST = 1e6
"""Far beyond any estimate, because Gymnasium asks for bounds."""

Observation = dict[str, Any]


class ClosedLoopEnv(gymnasium.Env):
    """A person in a scanner, whose imagined options are to be guessed.

    An episode is a session of the protocol; the seed given to `reset` is the protocol's. An
    observation has the `context` of the decision to be made, and of the trial before it the
    `feedback`, the `guess` that was shown, and whether it was a `catch` trial, in which the
    experimenter's guess took the place of the action. What is not there, because no trial is before
    or, in the end, no decision to come, is 0. Estimates are calibrated by the runs before, so their
    units change from run to run (``estimate.normalise``). `info` says of which `run`, from 1, and
    of which `trial`, from 0, the context is.

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
        if len(series(self._protocol)) > 1:
            raise BciiglError("the environment has one series of frames: use recording: shared")
        self._folder = find(protocol).parent
        options = len(self._protocol.task.options)
        voxels = make_source(self._protocol, self._folder).n_voxels
        estimate = gymnasium.spaces.Box(-LARGEST, LARGEST, (voxels,), np.float64)
        discrete = gymnasium.spaces.Discrete
        self.action_space = discrete(options)
        trial = {"guess": discrete(options), "catch": discrete(2)}
        self.observation_space = gymnasium.spaces.Dict(
            {"context": estimate, "feedback": estimate, **trial}
        )
        self._nothing = np.zeros(voxels)
        self._decision: Decision | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a session: that of the seed, or another one."""
        super().reset(seed=seed)
        chosen = self.np_random.integers(2**32) if seed is None else seed
        self._runs = self._session(int(chosen) % 2**32)
        self._participant, self._steps, self._run = next(self._runs)
        self._decision = next(self._steps)
        return self._observed(self._nothing, 0)

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Show a guess, or the experimenter's on a catch trial, and go to the next decision."""
        if self._decision is None:
            raise gymnasium.error.ResetNeeded("the session is over, or not begun: call reset")
        if not self.action_space.contains(action):
            raise gymnasium.error.InvalidAction(f"should be in {self.action_space}, got {action!r}")
        guess = Shown(int(action), 1.0, explored=False)
        shown = self._participant.shown(self._decision.trial) or guess
        trial = self._steps.send(shown)
        self._decision = next(self._steps, None)
        if self._decision is None and (following := next(self._runs, None)) is not None:
            self._participant, self._steps, self._run = following
            self._decision = next(self._steps)
        observation, info = self._observed(trial.feedback, shown.action, shown.catch)
        return observation, 0.0, self._decision is None, False, info

    def _session(self, seed: int) -> Iterator[tuple[Participant, Steps, int]]:
        protocol = draw(self._protocol.model_copy(update={"seed": seed}))
        source, calibrator = make_source(protocol, self._folder), Calibrator(protocol)
        for run, trials in enumerate(trials_per_run(protocol, protocol.task.trials), start=1):
            place = RunId("train", run)
            participant = participant_of(protocol, source, place, trials)
            given = (protocol, source, participant, place, calibrator.calibration)
            yield participant, _calibrating(run_steps(*given), calibrator, participant), run

    def _observed(
        self, feedback: np.ndarray, guess: int, catch: bool = False
    ) -> tuple[Observation, dict[str, Any]]:
        trial, context = self._decision or (0, self._nothing)
        # Within bounds, and 0 where too many frames are missing.
        estimates = np.clip(np.nan_to_num([context, feedback]), -LARGEST, LARGEST)
        observation = dict(zip(("context", "feedback"), estimates, strict=True))
        observation |= {"guess": guess, "catch": int(catch)}
        return observation, {"run": self._run, "trial": trial}


def _calibrating(steps: Steps, calibrator: Calibrator, participant: Participant) -> Steps:
    """Go through the steps of a run, after which its frames calibrate those to come."""
    series = yield from steps
    calibrator.add(series.frames, participant.when)
    return series


gymnasium.register(ENVIRONMENT, entry_point="bciigl.loop.gym:ClosedLoopEnv")
