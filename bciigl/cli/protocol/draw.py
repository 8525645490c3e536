"""`bciigl protocol draw`."""

from pathlib import Path

import click

from bciigl.cli.output import echo_json, json_option


@click.command()
@click.argument("file", metavar="FILE")
@click.option(
    "--out",
    metavar="FOLDER",
    default=".",
    type=click.Path(file_okay=False),
    help="Where to write; this folder by default.",
)
@click.option("--format", "ending", type=click.Choice(["png", "svg", "pdf"]), default="png")
@json_option
def draw(file: str, out: str, ending: str, as_json: bool) -> None:
    """Draw the region on the subject's brain, and the response to an event.

    Writes NAME_region and NAME_response, where NAME is the protocol's.
    """
    from bciigl.brain import Brain
    from bciigl.report import figures

    brain = Brain.from_file(file)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    name = brain.protocol.name
    written = {
        "region": folder / f"{name}_region.{ending}",
        "response": folder / f"{name}_response.{ending}",
    }
    figures.save(figures.region_figure(brain), written["region"])
    figures.save(figures.response_figure(brain), written["response"])
    if as_json:
        echo_json({figure: str(path) for figure, path in written.items()})
    else:
        x, y, z = brain.region.millimetres.mean(axis=0)
        click.echo(f"{len(brain.region)} voxels around ({x:.0f}, {y:.0f}, {z:.0f}) mm")
        click.echo("wrote " + " and ".join(map(str, written.values())))
