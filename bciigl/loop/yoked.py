"""A control condition that nobody present knows of: another session's guesses are shown."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bciigl.base.errors import BciiglError, printable, shortened
from bciigl.base.files import write_text
from bciigl.learn.interactions import Interactions
from bciigl.loop.agent import Agent, Choice
from bciigl.protocol import Protocol
from bciigl.protocol.schedule import session_trials, trials_per_run
from bciigl.protocol.yaml_reader import Document
from bciigl.recording import Dataset, open_dataset
from bciigl.recording.layout import ESTIMATES
from bciigl.recording.trial import NO_GUESS

CONDITION = ESTIMATES / "condition.json"
"""Where a dataset says in which condition it was recorded; not for analysts who stay blind."""
MOST_BYTES = 10_000


class ConditionError(BciiglError):
    """What is wrong with a condition; it may tell which condition it is."""


class YokedAgent(Agent):
    """Shows the guesses of another session in place of an agent's.

    The agent acts and learns all the same, unseen, so that neither the time that takes nor its
    warnings tell which condition it is. The guesses shown do not depend on it, nor on the person's
    brain. In trials of which the other session has no guess, they are drawn uniformly.

    Parameters
    ----------
    agent : Agent
        Who would guess.
    guesses : sequence of sequences of int
        What is shown in each run and trial, options from 0; `NO_GUESS` where there is none.
    """

    def __init__(self, agent: Agent, guesses: Sequence[Sequence[int]]) -> None:
        super().__init__(agent.n_actions)
        self.calibration = agent.calibration
        self._agent, self._guesses = agent, guesses
        self._next = NO_GUESS

    def begin_trial(self, run: int, trial: int) -> None:
        """Take notice of which trial comes next: run from 1, trial from 0.

        An agent cannot count trials: in catch trials, and in those that are missed, nobody asks it.
        """
        self._next = next(iter(self._guesses[run - 1][trial : trial + 1]), NO_GUESS)

    def act(self, context: np.ndarray) -> Choice:
        """Return the other session's guess, whatever the agent says."""
        self._agent.act(context)
        return self.explore()

    def explore(self) -> Choice:
        """Return the other session's guess, or a uniform one where it has none."""
        if self._next == NO_GUESS:
            return super().explore()
        return Choice(self._next, 1 / self.n_actions, explored=True)

    def recall(self, past: Interactions) -> bool:
        """Let the agent recall."""
        return self._agent.recall(past)

    def begin_run(self, rng: np.random.Generator) -> None:
        """Let the agent begin a run."""
        # Its own stream: the agent draws from the other.
        self.rng = rng.spawn(1)[0]
        self._agent.begin_run(rng)

    def observe(
        self,
        context: np.ndarray,
        action: int,
        feedback: np.ndarray,
        propensity: float,
        *,
        catch: bool = False,
    ) -> None:
        """Let the agent observe a trial."""
        self._agent.observe(context, action, feedback, propensity, catch=catch)

    def end_run(self) -> None:
        """Tell the agent that a run is over."""
        self._agent.end_run()


def read_condition(path: str | os.PathLike, protocol: Protocol) -> dict[str, Any]:
    """Return the condition that a file says, as plain data.

    Parameters
    ----------
    path : path-like
        A YAML or JSON file with the one key `yoked`: the folder of another dataset, relative to the
        file, or null for the real condition.
    protocol : Protocol
        The experiment. The other dataset should have the same options, and in each run at least as
        many trials.

    Returns
    -------
    dict
        `yoked` as the file has it, and the `guesses` of each run, or None.

    Raises
    ------
    BciiglError
        If the file cannot be read; if it says something else, a `ConditionError`, which should not
        be shown to those who stay blind.
    """
    data = _read(Path(path))
    if not isinstance(data, dict) or set(data) != {"yoked"}:
        got = ", ".join(map(shortened, data)) if isinstance(data, dict) else shortened(data)
        raise ConditionError(f"{path}: should have the one key yoked, got {got or 'nothing'}")
    yoked = data["yoked"]
    if yoked is None:
        return {"yoked": None, "guesses": None}
    if not isinstance(yoked, str) or not yoked:
        raise ConditionError(f"{path}: yoked should be a folder or null, got {shortened(yoked)}")
    try:
        return {"yoked": yoked, "guesses": _guesses(Path(path).parent / yoked, protocol)}
    except BciiglError as error:
        raise ConditionError(f"{path}: {error}") from error


def _read(path: Path) -> Any:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BciiglError(f"{path}: is larger than {MOST_BYTES // 1000} kB: not a condition")
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BciiglError(f"{path}: is not UTF-8 text") from error
    except OSError as error:
        raise BciiglError(f"{path}: cannot be read: {error.strerror}") from error
    if not text.strip():
        return None
    document = Document(text)
    if document.complaints:
        raise ConditionError(printable(f"{path}: {document.complaints[0].message}"))
    return document.data


def _guesses(folder: Path, protocol: Protocol) -> list[list[int]]:
    """Return the guesses of another session, run by run."""
    other, found = open_dataset(folder), []
    theirs, ours = (list(each.task.options) for each in (other.protocol, protocol))
    if theirs != ours:
        raise BciiglError(f"{folder}: has the options {theirs}, but the protocol has {ours}")
    trials = session_trials(protocol)["train"]
    for run, count in enumerate(trials_per_run(protocol, trials), start=1):
        shown = [each.action for each in other.shown("train", run)]
        if len(shown) < count:
            raise BciiglError(
                f"{folder}: run {run} should have at least {count} trials, got {len(shown)}"
            )
        found.append(shown[:count])
    return found


def in_condition(agent: Agent, condition: Mapping[str, Any] | None) -> Agent:
    """Return who guesses in a condition, or without one: the agent itself, or a `YokedAgent`."""
    guesses = None if condition is None else condition["guesses"]
    return agent if guesses is None else YokedAgent(agent, guesses)


def write_condition(folder: Path, condition: Mapping[str, Any] | None) -> None:
    """Write into a dataset in which condition it was recorded, if there is one."""
    if condition is not None:
        # Not the path: folders may be named after people.
        text = json.dumps({"yoked": condition["yoked"] is not None}, indent=2) + "\n"
        write_text(folder / CONDITION, text, overwrite=True)


def has_condition(dataset: Dataset) -> bool:
    """Tell whether a session was recorded in a condition, without looking which."""
    return (dataset.folder / CONDITION).exists()
