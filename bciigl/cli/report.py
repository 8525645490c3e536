"""`bciigl report`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click

from bciigl.base.errors import BciiglError
from bciigl.cli.output import echo, json_option, path_option
from bciigl.cli.progress import steps


@click.command()
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
@json_option
def report(
    source: str, out: str | None, checklist: str | None, folder: str | None, as_json: bool
) -> None:
    """Write the report of a session or a study: one HTML file that needs nothing else.

    DIR is a dataset that `bciigl simulate` or `bciigl run` recorded, or the folder of a study that
    `bciigl sweep`, `bciigl plan` or `bciigl reproduce` made. Beside the report a folder is written
    with its figures as SVG files, and the numbers that are drawn in them as TSV files.
    """
    from bciigl.learn import InputError
    from bciigl.recording import is_dataset
    from bciigl.recording.layout import ESTIMATES
    from bciigl.report.page import refuse_others_file, write_report
    from bciigl.study.store import is_study

    if not Path(source).is_dir():
        what = "is not a folder" if Path(source).exists() else "no such folder"
        raise BciiglError(f"{source}: {what}")
    a_study = is_study(source)
    if not a_study and not is_dataset(source):
        raise BciiglError(f"{source}: is neither a dataset nor a study of bciigl")
    if checklist is not None:
        _refuse_checklist(checklist, a_study)
    title, lead, sections = (_study if a_study else _session)(source, folder)
    path = Path(out or Path(source, "" if a_study else ESTIMATES, "report.html"))
    refuse_others_file(path)
    figures = path.with_name(f"{path.stem}_figures")
    with _room_for(path, figures), steps() as told:
        try:
            parts = sections(report=told)
        except InputError as error:
            raise BciiglError(f"{source}: {error}") from error
        told("writing the report")
        written = write_report(path, figures, title, parts, lead=lead)
    if checklist is not None:
        _write_checklist(source, checklist)
    documents = {
        name: {ending: str(file) for ending, file in files.items()}
        for name, files in written.items()
    }
    count = f"wrote {len(written)} figures with their numbers to {figures}"
    found = {"report": str(path), "figures": documents}
    found |= {} if checklist is None else {"checklist": checklist}
    also = [] if checklist is None else [f"wrote the CRED-nf checklist to {checklist}"]
    echo(as_json, found, f"wrote {path}", count, *also)


def _refuse_checklist(path: str, a_study: bool) -> None:
    if a_study:
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


def _session(source: str, folder: str | None) -> tuple[str, str, Callable]:
    """Return title and lead of a session's report, and what makes its sections."""
    from bciigl.recording import open_dataset
    from bciigl.report.session import lead, session_sections
    from bciigl.study.session_results import has_results, learn_and_keep

    dataset = open_dataset(source)

    def sections(report: Callable[[str], None]) -> list:
        if not has_results(dataset):  # of a recording made in Python, or by an older version
            learn_and_keep(dataset, report=report)
        report("drawing figures")
        return session_sections(dataset, folder=folder)

    live = bool(dataset.arrivals("train", 1))
    what = "rehearsal" if live and dataset.group == "simulated" else "session"
    return f"{dataset.protocol.name}: report of a {what}", lead(dataset), sections


def _study(source: str, folder: str | None) -> tuple[str, str, Callable]:
    """Return title and lead of a study's report, and what makes its sections."""
    from bciigl.labelled import LabelledStudy
    from bciigl.study import Study, open_study
    from bciigl.study.plan import Plan
    from bciigl.study.real_study import RealStudy
    from bciigl.study.store import CELLS, cells_digest, read_rows

    if folder is not None:
        raise BciiglError("--folder is for sessions: a study knows where its protocol was")
    study, results = open_study(source, kinds=(Study, Plan, LabelledStudy, RealStudy))
    if not results:
        others = any(Path(source, CELLS).glob("*.json"))
        reason = "its results are of another version or grid" if others else "none is finished yet"
        raise BciiglError(f"{source}: there are no sessions to report: {reason}")
    rows = read_rows(study, source, results)
    if isinstance(study, Study):
        from bciigl.report.study import lead, study_sections
        from bciigl.study.example import open_example

        title = f"{study.protocol.name}: report of a study"
        example = open_example(study, source)
        said = lead(study, rows)
        return title, said, lambda report: study_sections(study, results, rows, example)
    if isinstance(study, Plan):
        from bciigl.report.plan import lead, plan_sections

        title = f"{study.protocol.name}: a plan"
        return title, lead(study), lambda report: plan_sections(study, results, rows)
    if isinstance(study, RealStudy):
        from bciigl.report.real import LEAD, real_sections

        title = "real brains: report of a study"
        return title, LEAD, lambda report: real_sections(study, results, rows)
    from bciigl.labelled.learnable import read_learnability
    from bciigl.report.labelled import labelled_lead, labelled_sections

    title = f"{study.table or 'labelled data'}: report of a study"
    found = read_learnability(source, cells_digest(results))
    return title, labelled_lead(study), partial(labelled_sections, study, results, rows, found)


@contextmanager
def _room_for(path: Path, figures: Path) -> Iterator[None]:
    """Make the folder of figures first: work should not end at a place that cannot be written.

    If it ends otherwise, a folder that was made for nothing is removed.
    """
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
