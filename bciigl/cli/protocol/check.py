"""`bciigl protocol check`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from bciigl.cli.output import echo_json, json_option

if TYPE_CHECKING:
    from pathlib import Path

    from bciigl.protocol import CheckReport, Protocol
    from bciigl.protocol.design_checks import Finding


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@json_option
@click.pass_context
def check(ctx: click.Context, files: tuple[str, ...], as_json: bool) -> None:
    """Check protocols, and print the scanner time that each needs.

    Exit code 0 and a summary, or 2 and every problem as file:line:column: path: message.
    """
    from bciigl.protocol import check as check_file

    reports = [check_file(file, _brain_findings) for file in files]
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
        "problems": [problem.as_dict() for problem in report.problems],
        "warnings": [warning.as_dict() for warning in report.warnings],
    }


def _echo(report: CheckReport) -> None:
    for problem in report.problems:
        click.echo(str(problem), err=True)
    if report.protocol is not None:
        click.echo(f"{report.file}: valid\n{_in_words(report.protocol)}")
    for warning in report.warnings:
        click.echo(str(replace(warning, message=f"warning: {warning.message}")), err=True)


def _in_words(protocol: Protocol) -> str:
    from bciigl.protocol.summary import summary

    facts = summary(protocol)
    options = ", ".join(map(str, protocol.task.options))
    catch = f" ({facts['catch_trials']} catch trials)" if facts["catch_trials"] else ""
    runs = "1 run" if facts["runs"] == 1 else f"{facts['runs']} runs"
    return (
        f"  {len(protocol.task.options)} options ({options}), guesses by chance match"
        f" {facts['chance']:.1f} % of the time\n"
        f"  {facts['trials']} trials{catch} in {runs}, {facts['trial_seconds']:g} s a trial;"
        f" the agent guesses {facts['decision_seconds']:g} s into it\n"
        f"  a session in a real scanner: {facts['scanner_hours']:.1f} h to learn,"
        f" {facts['test_scanner_hours']:.1f} h more to test"
    )
