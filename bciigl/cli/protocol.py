"""`bciigl protocol`: protocol files."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bciigl.base.errors import BciiglError
from bciigl.cli.output import (
    echo,
    echo_json,
    json_option,
    notice,
    path_option,
    set_option,
    verbose,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bciigl.protocol import CheckReport, Protocol
    from bciigl.protocol.design_checks import Finding

HEADER = """\
# A starting point: every field has its default, and a comment with its unit and range.
# Change what differs in your experiment, delete what does not, then run
#   bciigl protocol check {name}.yaml
# Most experiments change task.options, task.trials and the timing; brain.noise 1 is a real brain.
# For completion in your editor: bciigl protocol schema > protocol.schema.json
# yaml-language-server: $schema=protocol.schema.json

"""


@click.group()
def protocol() -> None:
    """Write, check, draw and show protocol files.

    FILE is the path of a YAML file, or the name of a shipped protocol.
    """


@protocol.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@set_option("timing.isi=8")
@json_option
@click.pass_context
def check(
    ctx: click.Context, files: tuple[str, ...], settings: tuple[str, ...], as_json: bool
) -> None:
    """Check protocols: the scanner time each needs, its trials, and how well they are estimated.

    Exit code 0 and a summary, or 2 and every problem as file:line:column: path: message.
    """
    from bciigl.protocol import check as check_file
    from bciigl.protocol import parse_change

    changes = dict(map(parse_change, settings))
    reports = [check_file(file, _brain_findings, changes) for file in files]
    valid = all(report.protocol is not None for report in reports)
    if as_json:
        echo_json({"valid": valid, "files": [_as_dict(report) for report in reports]})
    else:
        for report in reports:
            _echo(report)
    ctx.exit(0 if valid else 2)


def _brain_findings(protocol: Protocol, folder: Path) -> list[Finding]:
    # Imported only after a file has passed all other checks, because it takes a second.
    from bciigl.brain.check import brain_findings

    return brain_findings(protocol, folder)


def _as_dict(report: CheckReport) -> dict[str, Any]:
    from bciigl.protocol.summary import summary

    return {
        "file": report.file,
        "valid": report.protocol is not None,
        "summary": report.protocol and summary(report.protocol),
        "region": report.protocol and _region_facts(report.protocol, report.file),
        "efficiency": report.protocol and _efficiency(report.protocol),
        "problems": [problem.as_dict() for problem in report.problems],
        "warnings": [warning.as_dict() for warning in report.warnings],
    }


def _echo(report: CheckReport) -> None:
    for problem in report.problems:
        click.echo(str(problem), err=True)
    if report.protocol is not None:
        click.echo(f"{report.file}: {click.style('valid', fg='green', bold=True)}")
        facts = [*_in_words(report.protocol)]
        facts.append(f"region: {_region_in_words(report.protocol, report.file)}")
        click.echo("\n".join(wrapped(each, "  ", "    ") for each in facts))
        click.echo("".join(f"  {line}\n" for line in _design_in_words(report.protocol)), nl=False)
    for warning in report.warnings:
        notice(str(replace(warning, message=f"warning: {warning.message}")))


def _in_words(protocol: Protocol) -> Iterator[str]:
    from bciigl.protocol.recorded import caveat
    from bciigl.protocol.schedule import steps
    from bciigl.protocol.summary import summary

    facts = summary(protocol)
    options = ", ".join(map(str, protocol.task.options))
    catch = f" ({facts['catch_trials']} catch trials)" if facts["catch_trials"] else ""
    runs = "1 run" if facts["runs"] == 1 else f"{facts['runs']} runs"
    guess, jitter = facts["decision_seconds"], steps(protocol)[0].jitter
    seconds = f"{round(facts['trial_seconds'], 1):g} s each"
    late = f" to {guess + jitter:g}" if jitter and protocol.timing.decision is None else ""
    yield (
        f"{len(protocol.task.options)} options ({options}); guesses by chance match"
        f" {facts['chance']:.1f} % of the time"
    )
    yield (
        f"{facts['trials']} trials{catch} in {runs}, {seconds};"
        f" the agent guesses {guess:g}{late} s into a trial"
    )
    if not caveat(protocol):
        yield f"noise: {protocol.brain.noise:g}, where 1 is a real brain's (brain.noise)"
    yield caveat(protocol) or (
        f"in a real scanner: {facts['scanner_hours']:.1f} h to learn,"
        f" {facts['test_scanner_hours']:.1f} h more to test"
    )
    if facts["population"]:
        from bciigl.study.grid import with_unit

        for name, words in facts["population"].items():
            yield f"people differ in {with_unit(name)}: {words}"


def _efficiency(protocol: Protocol) -> dict[str, dict[str, float | None]] | None:
    """Return how much estimates vary; None for recorded responses, which take no design."""
    from bciigl.estimate.efficiency import efficiency

    if protocol.brain.responses == "recorded":
        return None
    return {
        kind: {name: each if math.isfinite(each) else None for name, each in mine._asdict().items()}
        for kind, mine in efficiency(protocol).items()
    }


def _design_in_words(protocol: Protocol) -> list[str]:
    """Return a trial as a picture, and how much its estimates vary."""
    from bciigl.protocol.timeline import timeline

    found = _efficiency(protocol)
    if found is None:
        return []
    lines = timeline(protocol)
    lines.append("how much noise is left in estimates (variance, of a frame's; less is better):")
    for kind, each in found.items():
        one, hour = ("infinite" if value is None else f"{value:.2g}" for value in each.values())
        lines.append(f"  {kind}: {one} of one trial, {hour} of the mean of one scanner hour")
    return lines


def _region_facts(protocol: Protocol, file: str) -> dict[str, Any]:
    from bciigl.brain.check import region_facts
    from bciigl.protocol import find

    return region_facts(protocol, find(file).parent)


def _region_in_words(protocol: Protocol, file: str) -> str:
    from bciigl.brain.region import where

    facts, wanted = _region_facts(protocol, file), protocol.brain.region
    shape = f"label {wanted.label!r}" if facts["shape"] == "atlas" else facts["shape"]
    voxels = "1 voxel" if facts["voxels"] == 1 else f"{facts['voxels']} voxels"
    what = voxels if facts["shape"] == "recorded" else f"{shape} of {voxels}"
    # Only a recording that was normalised to MNI has MNI's mm; its file does not say so.
    assumed = facts["space"] == "recording" and (
        facts["shape"] == "atlas" or getattr(wanted, "mni", None) is not None
    )
    return (
        f"{what} ({facts['mm3']:.0f} mm3) around {where(facts)}"
        + (f", voxel {tuple(facts['voxel'])}" if verbose() else "")
        + (f"; {facts['outside']} more are outside the brain" if facts["outside"] else "")
        + ("; MNI if the recording was normalised to it" if assumed else "")
    )


@protocol.command()
@click.argument("file", metavar="FILE")
@path_option(
    "--out",
    "Where to write; this folder by default.",
    default=".",
    type=click.Path(file_okay=False),
)
@click.option("--format", "ending", type=click.Choice(["png", "svg", "pdf"]), default="png")
@json_option
def draw(file: str, out: str, ending: str, as_json: bool) -> None:
    """Draw the region on the subject's brain, and the response to an event.

    Writes NAME_region and NAME_response, where NAME is the protocol's.
    """
    from bciigl.brain import Brain
    from bciigl.report.figures import response_figure, save
    from bciigl.report.region import region_figure

    brain = Brain.from_file(file)
    Path(out).mkdir(parents=True, exist_ok=True)
    written = {}
    for name, drawn in (("region", region_figure), ("response", response_figure)):
        written[name] = str(Path(out, f"{brain.protocol.name}_{name}.{ending}"))
        save(drawn(brain), written[name])
    region = _region_in_words(brain.protocol, file)
    echo(as_json, written, region, "wrote " + " and ".join(written.values()))


@protocol.command(name="list")
@json_option
def list_shipped(as_json: bool) -> None:
    """List the shipped protocols."""
    from bciigl.protocol import load, shipped
    from bciigl.protocol.summary import summary

    rows = [summary(load(name)) for name in shipped()]
    if as_json:
        echo_json(rows)
        return

    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("name", no_wrap=True)
    for heading in ("options", "trials", "scanner"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("what it is")
    for row in rows:
        hours = f"{row['scanner_hours']:.1f} h"
        options, trials = str(len(row["options"])), str(row["trials"])
        table.add_row(row["name"], options, trials, hours, row["description"])
    Console().print(table)


@protocol.command()
@click.argument("name")
@json_option
def new(name: str, as_json: bool) -> None:
    """Write NAME.yaml, a commented protocol to start from, into this folder."""
    from pydantic import ValidationError

    from bciigl.base.files import write_text
    from bciigl.protocol import Protocol, dump, shipped

    name = name.removesuffix(".yaml")
    try:
        fresh = Protocol(name=name, task={"options": [7, 8, 9]})
    except ValidationError as error:
        raise BciiglError(
            f"{name!r}: a name should be at most 64 letters, digits, _ and -, "
            "and begin with a letter or digit"
        ) from error
    if name in shipped():
        raise BciiglError(f"{name!r} is the name of a shipped protocol; choose another")
    file = f"{name}.yaml"
    try:
        write_text(file, HEADER.format(name=name) + dump(fresh))
    except FileExistsError as error:
        raise BciiglError(f"{file}: exists already; choose another name or remove it") from error
    except OSError as error:
        raise BciiglError(f"{file}: cannot be written: {error.strerror}") from error
    words = f"wrote {file}; edit it, then: bciigl protocol check {file}"
    echo(as_json, {"name": name, "file": file}, words)


@protocol.command()
@json_option
def schema(as_json: bool) -> None:
    """Print the JSON Schema of protocols, for completion and checks in editors.

    The output is one JSON document, with or without --json.
    """
    from bciigl.protocol.schema import json_schema

    click.echo(json_schema(), nl=False)


@protocol.command()
@click.argument("file", metavar="FILE")
@json_option
def show(file: str, as_json: bool) -> None:
    """Print the full protocol, defaults included, with a comment on every field.

    The output, YAML or JSON, is itself a valid protocol.
    """
    from bciigl.protocol import dump, load

    loaded = load(file)
    if as_json:
        echo_json(loaded.model_dump(mode="json"))
    else:
        click.echo(dump(loaded), nl=False)
