"""`bciigl sweep`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bciigl.base.errors import BciiglError
from bciigl.cli import study as shared
from bciigl.cli.output import json_option, path_option, protocol_of, set_option, warn

if TYPE_CHECKING:
    from bciigl.study import Study


vary_option = click.option(
    "--vary",
    metavar="FIELD=A,B,...",
    multiple=True,
    help="Values of any field of the protocol, such as timing.isi=3,5,7; may be repeated.",
)


@click.command(short_help="Simulate an experiment over a grid.")
@click.argument("protocol", default="number_guessing")
@shared.study_options
@vary_option
@set_option("task.trials=1000")
@click.option("--learner", "learners", multiple=True, help="Only these learners; may be repeated.")
@path_option("--out", "Keep results here; by default in the protocol's name with _sweep.")
@json_option
def sweep(
    protocol: str,
    noise: tuple[float, ...],
    repeats: int | None,
    seed: int | None,
    vary: tuple[str, ...],
    settings: tuple[str, ...],
    learners: tuple[str, ...],
    out: str | None,
    as_json: bool,
    **where: Any,
) -> None:
    """Simulate an experiment over a grid: noise levels, any fields of the protocol, repeats.

    PROTOCOL is the path of a YAML file or the name of a shipped protocol. Its section study has the
    noise levels and repeats unless they are given. All learners learn from the same sessions.

    A finished session is kept at once and never simulated again: if it is stopped, the same command
    resumes it. With more noise levels, values or repeats it adds what is missing. A session that
    fails leaves its traceback in FOLDER/failed, and the exit code is then 1.
    """
    from bciigl.protocol import find, parse_change
    from bciigl.study import Study

    fields: dict[str, Any] = {
        "study.noise": list(noise) or None,
        "study.repeats": repeats,
        "seed": seed,
        "learners": list(learners) or None,
    }
    changes = {name: value for name, value in fields.items() if value is not None}
    for name, value in map(parse_change, settings):
        if name in changes:
            raise BciiglError(f"--set {name} is given by another option already")
        changes[name] = value
    wanted = protocol_of(protocol, changes)
    study = Study(wanted, str(find(protocol).parent.resolve()), values_of(vary))
    _warn(study)
    warn_of_designs(study)
    shared.simulate(study, out or f"{wanted.name}_sweep", as_json, **where)


def _warn(study: Study) -> None:
    """Tell that the protocol's own noise is not used."""
    protocol = study.protocol
    noise, levels = protocol.brain.noise, protocol.study.noise
    if "noise" in protocol.brain.model_fields_set and noise not in levels:
        listed = ", ".join(f"{each:g}" for each in levels)
        said = f"brain.noise ({noise:g}) is not used: noise levels are {listed}"
        warn(f"{said} (--noise, study.noise)")


def warn_of_designs(study: Study, unused: tuple[str, ...] = ()) -> None:
    """Tell what is unwise about varied values; the protocol's own warnings have been told."""
    from bciigl.protocol.design_checks import advice
    from bciigl.study.grid import in_words

    known = set(advice(study.protocol))
    for setting in study.settings:
        for finding in advice(setting.protocol):
            if finding not in known and finding.path != unused:
                known.add(finding)
                field = ".".join(map(str, finding.path))
                warn(f"with {in_words(setting.varied)}: {field}: {finding.message}")


def values_of(vary: tuple[str, ...]) -> dict[str, list[Any]]:
    """Return the values of each field in texts such as ``timing.isi=3,5,7``."""
    from bciigl.protocol import parse_change

    found: dict[str, list[Any]] = {}
    for text in vary:
        field, equals, values = text.partition("=")
        name, listed = parse_change(f"{field}=[{values}]" if equals and values else text)
        if name in found:
            raise BciiglError(f"--vary {name} is given twice; list all its values in one")
        found[name] = listed
    return found
