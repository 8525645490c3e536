"""`bciigl plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bciigl.base.errors import BciiglError
from bciigl.cli import study as shared
from bciigl.cli.output import (
    echo,
    json_option,
    path_option,
    protocol_of,
    set_option,
    table_text,
    wrapped,
)
from bciigl.cli.progress import noted_bar
from bciigl.cli.sweep import values_of, vary_option, warn_of_designs

if TYPE_CHECKING:
    from bciigl.study.plan_answer import Answer
    from bciigl.study.planning import Planned


@click.command()
@click.argument("protocol", default="number_guessing")
@click.option("--target", type=float, default=80.0, show_default=True, help="Percent to reach.")
@click.option(
    "--measure",
    type=click.Choice(["accuracy", "match-rate"]),
    default="accuracy",
    show_default=True,
    help="Of the policy on test trials, or of the guesses in the closed loop.",
)
@click.option(
    "--power", type=float, default=0.9, show_default=True, help="Share of people to reach it."
)
@click.option("--hours", type=float, default=3.0, show_default=True, help="Scanner hours at most.")
@click.option("--noise", type=float, help="Noise level; by default 1, the real brain.")
@click.option("--people", type=int, default=100, show_default=True, help="People to simulate.")
@vary_option
@set_option("timing.isi=5")
@shared.where_options
@path_option("--out", "Keep results here; by default in the protocol's name with _plan.")
@json_option
def plan(
    protocol: str,
    noise: float | None,
    vary: tuple[str, ...],
    settings: tuple[str, ...],
    seed: int | None,
    out: str | None,
    as_json: bool,
    jobs: int | None,
    cluster: str | None,
    share: tuple[int, int] | None,
    **wanted: Any,
) -> None:
    """Tell how many trials and scanner hours an experiment needs.

    PROTOCOL is the path of a YAML file or the name of a shipped protocol. Simulated people are
    trained until they reach the target: by default 80 % of independent test trials decoded right,
    without labels, at the noise of a real brain. The answer is for a share of people, with its
    95 % interval; if the target is not reached within the hours, it says what limits it.

    With --vary designs are ranked by the hours they need, in the same people.

    A finished person is kept at once: if it is stopped, the same command resumes it.
    """
    from bciigl.protocol import find, parse_change
    from bciigl.study.plan import Plan
    from bciigl.study.planning import run_plan

    given = {} if seed is None else {"seed": seed}
    changes, varied = given | dict(map(parse_change, settings)), values_of(vary)
    if "task.trials" in changes:
        raise BciiglError("--set task.trials: give --hours instead")
    noise = changes.pop("brain.noise", None) if noise is None else noise
    if noise is not None and {"brain.noise"} & {*changes, *varied}:
        raise BciiglError("brain.noise is given twice: leave out one")
    experiment = protocol_of(protocol, changes, "task.trials")  # hours are what counts here
    wanted["noise"] = 1.0 if noise is None else noise
    made = Plan(experiment, str(find(protocol).parent.resolve()), varied, **wanted)
    warn_of_designs(made.grid, ("task", "trials"))
    out = out or f"{experiment.name}_plan"
    where = {"jobs": jobs, "cluster": cluster, "share": share}
    with shared.resumable(out, jobs, cluster), noted_bar("simulating people") as (progress, note):
        how = {"progress": progress, "report": note}
        how["preliminary"] = lambda found: note(_preliminary(found))
        planned, outcome = run_plan(made, out, **how, **where)
    if planned.designs and shared.worth_a_table(outcome, as_json, share is not None):
        echo(as_json, planned.as_dict(), *_in_words(planned))
    shared.tell_outcome(planned.plan, out, outcome, as_json, "people")


def _preliminary(found: list[Answer]) -> str:
    best = found[0]
    design = f" ({best.design})" if best.varied else ""
    return f"after {best.people} people: {best.sentence}{design}"


def _in_words(planned: Planned) -> list[str]:
    """Return the answer, what it rests on, and a table of designs."""
    from bciigl.report.plan_tables import about, comparison, design_table, verdict_words

    best = planned.designs[0]
    lines = [f"{best.sentence}."]
    if len(planned.designs) > 1:
        lines = [f"best: {best.design}. {best.sentence}.", comparison(planned.designs)]
    lines += filter(None, [verdict_words(planned.plan, best), about(planned.plan, best)])
    first, *others = (wrapped(_sentence(each)) for each in lines)
    shown = [click.style(first, bold=True), "", *others]
    if len(planned.designs) > 1:
        shown += ["", table_text(design_table(planned.designs))]
    return shown


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."
