"""`bciigl report`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bciigl.cli.output import echo_json, json_option
from bciigl.cli.progress import steps

if TYPE_CHECKING:
    from bciigl.recording import Dataset


@click.command()
@click.argument("source", metavar="DIR", type=click.Path())
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(),
    help="Write this HTML file; by default report.html among the dataset's derivatives.",
)
@click.option(
    "--folder",
    metavar="FOLDER",
    type=click.Path(),
    help="Where the protocol's file was, if it names a subject or mask beside it.",
)
@json_option
def report(source: str, out: str | None, folder: str | None, as_json: bool) -> None:
    """Write the report of a recorded session: one HTML file that needs nothing else.

    DIR is a dataset that `bciigl simulate` recorded. Beside the report a folder is written with
    its figures as SVG files, and the numbers that are drawn in them as TSV files.
    """
    from bciigl.base.errors import BciiglError
    from bciigl.learn import InputError
    from bciigl.report.page import refuse_others_file, write_report
    from bciigl.report.session import lead, session_sections

    dataset = _dataset(source)
    path = Path(out) if out is not None else dataset.folder / _default()
    refuse_others_file(path)
    figures = path.with_name(f"{path.stem}_figures")
    with _room_for(path, figures), steps() as told:
        try:
            sections = session_sections(dataset, folder=folder, report=told)
        except InputError as error:
            raise BciiglError(f"{source}: {error}") from error
        told("writing the report")
        title = f"{dataset.protocol.name}: report of a session"
        written = write_report(path, figures, title, sections, lead=lead(dataset))
    if as_json:
        document = {
            name: {ending: str(file) for ending, file in files.items()}
            for name, files in written.items()
        }
        echo_json({"report": str(path), "figures": document})
    else:
        click.echo(f"wrote {path}")
        click.echo(f"wrote {len(written)} figures with their numbers to {figures}")


def _dataset(source: str) -> Dataset:
    from bciigl.base.errors import BciiglError
    from bciigl.recording import open_dataset

    if not Path(source).is_dir():
        what = "is not a folder" if Path(source).exists() else "no such folder"
        raise BciiglError(f"{source}: {what}")
    return open_dataset(source)


def _default() -> Path:
    from bciigl.recording.layout import ESTIMATES

    return ESTIMATES / "report.html"


@contextmanager
def _room_for(path: Path, figures: Path) -> Iterator[None]:
    """Make the folder of figures first: work should not end at a place that cannot be written.

    If it ends otherwise, a folder that was made for nothing is removed.
    """
    from bciigl.base.errors import BciiglError

    if not path.parent.is_dir():
        raise BciiglError(f"{path}: there is no folder {path.parent}")
    new = not figures.exists()
    figures.mkdir(exist_ok=True)
    try:
        yield
    except BaseException:
        if new and not any(figures.iterdir()):
            figures.rmdir()
        raise
