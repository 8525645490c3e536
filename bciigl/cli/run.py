"""`bciigl run`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import click

from bciigl.base.errors import BciiglError
from bciigl.cli.output import echo, json_option, path_option, protocol_of, set_option
from bciigl.cli.pages import page_options, pages, watching
from bciigl.cli.progress import bar
from bciigl.cli.results import echo_blinded, echo_results
from bciigl.cli.simulate import agent_or_folder, learned, saved_policy, stoppable

if TYPE_CHECKING:
    from bciigl.live.state import SessionState
    from bciigl.protocol import Protocol
    from bciigl.recording import Dataset


@click.command(short_help="Run an experiment live, at a scanner.")
@click.argument("protocol", required=False)
@path_option("--volumes", "Where the scanner, or bciigl scan, writes volumes.")
@click.option("--lsl", metavar="NAME", help="Take the region's values from this LSL stream.")
@path_option("--out", "Record here.")
@path_option("--region", "What bciigl region wrote: the region in the participant's own space.")
@click.option("--agent", metavar="NAME|FOLDER", help="As in bciigl simulate.")
@path_option("--condition", "Says whose guesses are shown, and does not tell you.", metavar="FILE")
@click.option("--seed", type=int, help="Of the guesses; in a rehearsal, that of bciigl scan.")
@path_option("--resume", "Join a session that was stopped, in the run that is being scanned.")
@path_option("--replay", "Play the volumes of this recorded live session again.")
@click.option("--no-screen", is_flag=True, help="Show cues and guesses in this terminal.")
@page_options
@set_option("live.dummies=4")
@json_option
def run(
    protocol: str | None,
    volumes: str | None,
    lsl: str | None,
    out: str | None,
    region: str | None,
    agent: str | None,
    condition: str | None,
    seed: int | None,
    resume: str | None,
    replay: str | None,
    no_screen: bool,
    host: str,
    port: int | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run an experiment live, on volumes as a scanner exports them, and record it.

    PROTOCOL is the path of a YAML file or the name of a shipped protocol. The session waits for the
    first volume of each run, shows what is to be imagined, seen and judged, and guesses from the
    volumes that have arrived. Volumes may be NIfTI or DICOM; they are realigned to the first one,
    and never changed. If `bciigl scan` writes them, it is a rehearsal, with a simulated person.

    It serves two pages to browsers on this computer: a screen for the participant, which must be
    open before a run begins (or give --no-screen), and a monitor for the operator.

    If it is stopped, by whatever, `bciigl run --resume FOLDER` joins the run that is being scanned.
    `bciigl run --replay DATASET --volumes FOLDER --out DIR` computes a session again from its
    volumes.
    """
    from bciigl.loop.live import record_live, resume_live
    from bciigl.protocol import find, parse_change
    from bciigl.recording.layout import is_finished
    from bciigl.source.triggers import Triggers

    changes = {"agent.policy": agent_or_folder(agent)[0], "seed": seed}
    changes = {name: value for name, value in changes.items() if value is not None}
    changes |= dict(map(parse_change, settings))
    folder, late = resume or out, []
    if replay is not None:
        if None in (volumes, out) or protocol or lsl or condition or resume or changes:
            needs = "--replay needs --volumes and --out, and perhaps --region"
            raise BciiglError(f"{needs}; all else is as it was in {replay}")
        _replayed(replay, volumes, out, region)
        echo(as_json, {"out": out}, f"recorded in {out}")
        return
    if resume is not None and (protocol or volumes or lsl or out or region or condition or changes):
        raise BciiglError("--resume goes on as the session was begun: give no other options")
    if resume is None and None in (protocol, volumes or lsl, out):
        raise BciiglError("give PROTOCOL, --volumes (or --lsl) and --out; or --resume FOLDER alone")
    if resume is not None and is_finished(Path(resume)):
        echo_live(resume, late, as_json)
        return
    if resume is not None:
        state, paths = _begun(resume)
    else:
        wanted, paths = protocol_of(protocol, changes), find(protocol).parent
        state = _new_state(wanted, volumes, condition is not None)
    served = {"folder": paths, "host": host, "port": port}
    served["needs_screen"] = state.kind == "session" and not no_screen
    with (
        stoppable(folder, "run"),
        pages(state, **served) as (stage, terminal, progress),
        Triggers(stage.draw) as triggers,
    ):
        watched = watching(stage, terminal, triggers, progress, late.append)
        if resume is not None:
            resume_live(resume, watching=watched)
        else:
            how = {"lsl": lsl, "region": region, "watching": watched, "folder": paths}
            how |= saved_policy(agent_or_folder(agent)[1])
            with blinded(condition):
                how["condition"] = condition
                record_live(wanted, volumes, out, **how)
    echo_live(folder, late, as_json)


def _new_state(protocol: Protocol, volumes: str | None, blind: bool) -> SessionState:
    """Return the state of a session that is to begin."""
    from bciigl.live.state import SessionState
    from bciigl.protocol import draw
    from bciigl.source.channel import find_scanner

    scanner = None if volumes is None else find_scanner(volumes)
    kind, speed = ("session", 1.0) if scanner is None else ("rehearsal", scanner.speed)
    return SessionState(draw(protocol), kind, speed, blinded=blind)


def _begun(folder: str) -> tuple[SessionState, str]:
    """Return the state of a session that was stopped, and what its paths are relative to."""
    from bciigl.live.state import SessionState
    from bciigl.loop.live import begun_session

    protocol, settings = begun_session(folder)
    if settings["rehearsed"] and not Path(settings["volumes"]).is_dir():
        raise BciiglError(f"{folder}: was a rehearsal, and its simulated scanner is gone")
    kind = "rehearsal" if settings["rehearsed"] else "session"
    blind = settings.get("condition") is not None
    state = SessionState(protocol, kind, settings["rehearsed"] or 1.0, blinded=blind)
    return state, settings["folder"] or ""


def echo_live(folder: str, late: list[float], as_json: bool) -> None:
    """Print what learners make of a live session, and what was lost of it."""
    from bciigl.loop.yoked import has_condition
    from bciigl.recording import open_dataset

    dataset: Dataset = open_dataset(folder)
    seconds = {"median": median(late), "largest": max(late)} if late else {}
    further = {"lateness_seconds": seconds} if late else {}
    if has_condition(dataset):
        echo_blinded(dataset, as_json, **further)
        return
    sessions, results = learned(dataset)
    runs = range(1, 1 + len(list(dataset.folder.rglob("*_interactions.npz"))))
    all_trials = sum(dataset.trials("train", number) for number in runs)
    if lost := all_trials - sessions["train"].interactions.trials:
        further["lost_trials"] = lost
    echo_results(sessions, results, dataset, folder, as_json, **further)


def _replayed(dataset: str, volumes: str, out: str, region: str | None) -> None:
    """Play an old session again."""
    from bciigl.loop.replayed import replay_live

    with bar("trials") as progress:
        replay_live(dataset, volumes, out, region=region, progress=progress)


@contextmanager
def blinded(condition: str | None) -> Iterator[None]:
    """Say no more of a condition that cannot be used: who runs the session should not know."""
    from bciigl.loop.yoked import ConditionError

    try:
        yield
    except ConditionError:
        raise BciiglError(
            f"{condition}: does not fit this experiment; the person who prepared it can "
            "see why with bciigl.loop.yoked.read_condition (docs/live.md)"
        ) from None
