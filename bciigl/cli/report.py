"""`bciigl report`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from bciigl.base.errors import BciiglError
from bciigl.cli.output import echo, json_option, path_option, warn
from bciigl.cli.progress import steps


@click.command(short_help="Write the report of a session or a study.")
@click.argument("source", metavar="DIR", type=click.Path())
@path_option(
    "--out",
    "Write this HTML file; by default report.html in DIR, or among a dataset's derivatives.",
    metavar="FILE",
)
@path_option(
    "--checklist",
    "Write the CRED-nf checklist of a session to this Markdown file, as far as it is known.",
    metavar="FILE",
)
@path_option("--folder", "Where the protocol's file was, if it names a subject or mask beside it.")
@click.option("--open", "show", is_flag=True, help="Show the report in the browser.")
@json_option
def report(
    source: str,
    out: str | None,
    checklist: str | None,
    folder: str | None,
    show: bool,
    as_json: bool,
) -> None:
    """Write the report of a session or a study: one HTML file that needs nothing else.

    DIR is a dataset that `bciigl simulate` or `bciigl run` recorded, or the folder of a study that
    `bciigl sweep`, `bciigl plan` or `bciigl reproduce` made. Beside the report a folder is written
    with its figures as SVG files, and the numbers that are drawn in them as TSV files.
    """
    from bciigl.report.write import figure_files, figures_folder, open_page, write_report_of

    if checklist is not None:
        _refuse_checklist(source, checklist)
    with steps() as told:
        path = write_report_of(source, out, subject_folder=folder, report=told)
    if checklist is not None:
        _write_checklist(source, checklist)
    figures = {
        name: {ending: str(file) for ending, file in files.items()}
        for name, files in figure_files(path).items()
    }
    count = f"wrote {len(figures)} figures with their numbers to {figures_folder(path)}"
    found = {"report": str(path), "figures": figures}
    found |= {} if checklist is None else {"checklist": checklist}
    also = [] if checklist is None else [f"wrote the CRED-nf checklist to {checklist}"]
    echo(as_json, found, f"wrote {path}", count, *also)
    if show and not open_page(path):
        warn("no browser was found: open the report by hand")


def _refuse_checklist(source: str, path: str) -> None:
    from bciigl.study.store import is_study

    if is_study(source):
        raise BciiglError("--checklist is for sessions: give the dataset of one")
    if os.path.lexists(path):
        raise BciiglError(f"{path}: exists already, and may be filled in; it is left alone")
    if not Path(path).absolute().parent.is_dir():
        raise BciiglError(f"{path}: there is no folder {Path(path).parent}")


def _write_checklist(source: str, path: str) -> None:
    from bciigl.base.files import write_text
    from bciigl.recording import open_dataset
    from bciigl.report.checklist import checklist_text
    from bciigl.report.views import load

    write_text(path, checklist_text(load(open_dataset(source))))
