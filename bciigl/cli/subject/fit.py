"""`bciigl subject fit`."""

import os

import click

from bciigl.cli.output import echo_json, json_option
from bciigl.cli.progress import steps
from bciigl.cli.subject.show import as_document, in_words


@click.command()
@click.argument("bold", metavar="BOLD.nii.gz", type=click.Path())
@click.option("--out", metavar="FOLDER", required=True, type=click.Path(), help="Where to write.")
@click.option(
    "--mask",
    metavar="FILE",
    type=click.Path(),
    help="Brain mask (NIfTI) to use instead of fmrisim's.",
)
@click.option("--tr", type=float, help="Seconds per volume, where the file does not say.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@json_option
def fit(bold: str, out: str, mask: str | None, tr: float | None, seed: int, as_json: bool) -> None:
    """Fit a subject to a recording: its template, brain mask and noise.

    BOLD.nii.gz is a 4-D NIfTI file of at least 20 volumes, not skull-stripped. Writes
    template.nii.gz, mask.nii.gz and subject.json into FOLDER, which a protocol can then name in
    brain.subject. Takes about a second per volume.
    """
    from bciigl.base.files import written_folder
    from bciigl.brain.fit import ENOUGH_FRAMES, fit_subject

    name = os.path.basename(os.path.abspath(out))
    # The folder is made first, so that minutes of work cannot fail at the end for want of it.
    with written_folder(out) as temporary, steps() as report:
        subject, about = fit_subject(bold, name=name, mask=mask, tr=tr, seed=seed, report=report)
        subject.write_files(temporary, **about)
    if about["frames"] < ENOUGH_FRAMES:
        click.echo(
            f"warning: {about['frames']} volumes tell little about autocorrelation (AR, MA); "
            f"with fewer than {ENOUGH_FRAMES} it depends on --seed",
            err=True,
        )
    if as_json:
        echo_json({"folder": out, **as_document(subject)})
    else:
        click.echo(f"wrote {out}; use it in a protocol with brain.subject: {out}")
        click.echo(in_words(subject))
