"""`bciigl simulate`."""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import click

from bciigl.base.errors import BciiglError
from bciigl.cli.output import json_option, path_option, protocol_of, set_option
from bciigl.cli.pages import Terminal, pages
from bciigl.cli.progress import noted_bar, steps
from bciigl.cli.results import echo_results

if TYPE_CHECKING:
    from bciigl.live.state import SessionState
    from bciigl.protocol import Protocol
    from bciigl.protocol.population import Population
    from bciigl.recording import Dataset
    from bciigl.source import PacedSource
    from bciigl.study.learning import Result, Sessions

DEFAULT = "number_guessing"
LIVE_SPEED = 20.0
"""How many times as fast as a scanner a session is that is watched."""


@click.command(short_help="Simulate a session, and learn from it.")
@click.argument("protocol", required=False)
@click.option("--noise", type=float, help="Share of a real brain's noise (brain.noise).")
@click.option("--trials", type=int, help="How many trials to learn from (task.trials).")
@click.option("--seed", type=int, help="The same seed gives the same bytes (seed).")
@click.option(
    "--agent",
    metavar="NAME|FOLDER",
    help="uniform, explore-then-commit or epsilon-greedy; or what bciigl learn --out saved.",
)
@click.option("--engine", help="Noise engine: exact or fmrisim (brain.engine).")
@set_option("timing.isi=8")
@path_option(
    "--out", "Record here; by default under the protocol's name, with a number if that is taken."
)
@path_option("--resume", "Go on with a recording that was stopped.")
@click.option("--real-time", is_flag=True, help="Give frames when a scanner would.")
@click.option(
    "--live",
    is_flag=True,
    help="Show it in a browser, 20 times as fast or --real-time.",
)
@json_option
def simulate(
    protocol: str | None,
    noise: float | None,
    trials: int | None,
    seed: int | None,
    agent: str | None,
    engine: str | None,
    settings: tuple[str, ...],
    out: str | None,
    resume: str | None,
    real_time: bool,
    live: bool,
    as_json: bool,
) -> None:
    """Simulate an experiment in a closed loop, record it, and learn from it.

    PROTOCOL is the path of a YAML file or the name of a shipped protocol, number_guessing by
    default. A simulated person imagines options, an agent guesses, and the brain answers; all of it
    is recorded as a BIDS dataset. The protocol's learners then learn from the first session and are
    tested on a second one. It is one session: the section study is not for this command. If the
    protocol has a population, the seed draws the person.

    If it is stopped, by whatever, `bciigl simulate --resume FOLDER` goes on, and ends with the same
    dataset.
    """
    from bciigl.protocol import parse_change
    from bciigl.protocol.population import person_values
    from bciigl.recording import open_dataset

    agent, policy = agent_or_folder(agent)
    fields = {
        "brain.noise": noise,
        "task.trials": trials,
        "seed": seed,
        "brain.engine": engine,
        "agent.policy": agent,
    }
    changes = {name: value for name, value in fields.items() if value is not None}
    changes |= dict(map(parse_change, settings))
    late: list[float] = []
    speed = 1.0 if real_time else LIVE_SPEED if live else None
    pace = {"speed": speed, "lateness": late.append}
    folder, population = _recorded(protocol, changes, policy, out, resume, pace, live)
    dataset = open_dataset(folder)
    sessions, results = learned(dataset)
    further: dict[str, Any] = {}
    if population:
        further["person"] = person_values(dataset.protocol, population)
    if real_time:
        seconds = {"median": median(late or [0.0]), "largest": max(late, default=0.0)}
        further["lateness_seconds"] = seconds
    echo_results(sessions, results, dataset, folder, as_json, **further)


def _recorded(
    source: str | None,
    changes: dict[str, Any],
    policy: str | None,
    out: str | None,
    resume: str | None,
    pace: dict[str, Any],
    live: bool,
) -> tuple[str, Population]:
    """Record a session, or the rest of one; return its folder and whom the person was drawn from.

    A recording that is resumed without any options does not say that.
    """
    from bciigl import loop
    from bciigl.protocol import find
    from bciigl.recording import is_dataset

    begun = resume is not None and is_dataset(resume)
    if resume is not None and out is not None:
        raise BciiglError("--out is for a new recording, --resume for one that was stopped")
    if begun and policy is not None:
        raise BciiglError(f"{resume}: keeps the policy it was begun with; leave out --agent")
    # Without any options, a recording is resumed as it was begun.
    told = resume is None or source is not None or bool(changes)
    wanted = protocol_of(source or DEFAULT, changes) if told else None
    folder = resume or out or free_folder(wanted.name)
    if live and resume is not None:
        raise BciiglError("--live is for a new recording, --resume for one that was stopped")
    if begun or wanted is None:
        with stoppable(folder, "simulate"), noted_bar("recording trials") as (progress, _):
            loop.resume(folder, expected=wanted, progress=progress, **pace)
        return folder, {} if wanted is None else wanted.population
    paths, saved = find(source or DEFAULT).parent, saved_policy(policy)
    with stoppable(folder, "simulate"), _watched(wanted, paths, pace["speed"], live) as watched:
        loop.record(wanted, folder, folder=paths, **saved, **pace, **watched)
    return folder, wanted.population


@contextmanager
def _watched(
    protocol: Protocol, paths: Path, speed: float | None, live: bool
) -> Iterator[dict[str, Any]]:
    """Give what shows a session while it is recorded, as named arguments of `record`."""
    if speed is None:  # too fast to be watched
        with noted_bar("recording trials") as (progress, _):
            yield {"progress": progress}
        return
    from bciigl.live.state import SessionState
    from bciigl.protocol import draw

    if live and protocol.recording != "shared":
        raise BciiglError("--live shows one series of volumes: use recording: shared")
    state = SessionState(draw(protocol), "simulation", speed, sessions=("train", "test"))
    if not live:
        with noted_bar("recording trials") as (progress, note):
            shown = Terminal(state, note)
            yield _telling(state, shown, progress, state.take)
        return
    with pages(state, step="recording trials", folder=paths) as (stage, shown, progress):
        yield _telling(state, shown, progress, stage.line, stage.is_paused)


def _telling(
    state: SessionState,
    shown: Terminal,
    progress: Any,
    take: Callable[[dict[str, Any]], None],
    paused: Callable[[], bool] = bool,
) -> dict[str, Any]:
    def line(entry: dict[str, Any]) -> None:
        take(entry)
        shown.refresh()

    def begin(source: PacedSource) -> None:
        state.elapsed, source.paused = source.elapsed, paused

    return {"progress": progress, "line": line, "begin": begin}


def agent_or_folder(agent: str | None) -> tuple[str | None, str | None]:
    """Return the agent that is named, or the fixed one and the folder of its policy."""
    from bciigl.base.registry import AGENTS

    saved = agent is not None and agent not in AGENTS.ids and os.path.isdir(agent)
    return ("fixed", agent) if saved else (agent, None)


def saved_policy(folder: str | None) -> dict[str, Any]:
    """Return the policy in a folder and what it was learned with, as named arguments."""
    from bciigl.learn import load_learner
    from bciigl.recording.calibration import read_calibration
    from bciigl.recording.layout import CALIBRATION

    if folder is None:
        return {}
    calibration = read_calibration(Path(folder, CALIBRATION))
    return {"policy": load_learner(folder), "calibration": calibration}


def learned(dataset: Dataset) -> tuple[Sessions, list[Result]]:
    """Let the protocol's learners learn from a recording, and keep the results."""
    from bciigl.study.session_results import learn_and_keep

    try:
        with steps() as report:
            sessions, results = learn_and_keep(dataset, report=report)
        if not results:
            learners = ", ".join(dataset.protocol.learners)
            raise BciiglError(f"without its truth, none of {learners} can learn")
        return sessions, results
    except BciiglError as error:
        raise BciiglError(f"recorded in {dataset.folder}, but {error}") from error
    except KeyboardInterrupt:
        folder = shlex.quote(str(dataset.folder))
        click.echo(f"stopped; all is recorded: bciigl learn {folder}", err=True)
        raise


def free_folder(name: str) -> str:
    """Return a name for a folder that is not there: the given one, or with a number after it."""
    names = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(2)))
    return next(each for each in names if not os.path.lexists(each))


@contextmanager
def stoppable(folder: str, command: str) -> Iterator[None]:
    """Say how to go on, where a recording stops that was begun."""
    from bciigl.recording import is_dataset

    how = f"go on with: bciigl {command} --resume {shlex.quote(folder)}"
    try:
        yield
    except KeyboardInterrupt:
        if is_dataset(folder):
            click.echo(f"stopped; {how}", err=True)
        raise
    except OSError as error:
        # Not if there was a dataset before, or still is none.
        if isinstance(error, FileExistsError) or not is_dataset(folder):
            raise
        problem = f"{error.filename}: {error.strerror}"
        raise BciiglError(f"{problem}; when that is mended, {how}") from error
