"""From the folder of a session or a study to its page."""

import os
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bciigl.base.errors import BciiglError
from bciigl.base.progress import Notify, silent
from bciigl.learn import InputError
from bciigl.recording import is_dataset, open_dataset
from bciigl.recording.layout import ESTIMATES
from bciigl.report.page import Section, figures_in, refuse_others_file, write_report
from bciigl.study.store import is_study
from bciigl.study.theory import RESULTS as THEORY
from bciigl.study.theory import read_theory

Page = tuple[str, str, list[Section]]
"""Title, lead and sections."""


def write_report_of(
    source: str | os.PathLike,
    out: str | os.PathLike | None = None,
    *,
    subject_folder: str | os.PathLike | None = None,
    report: Notify = silent,
) -> Path:
    """Write the report of a session or a study, and beside it its figures with their numbers.

    Parameters
    ----------
    source : path-like
        The folder of a dataset, or of a study, a plan or the like.
    out : path-like, optional
        The HTML file; by default report.html in the folder of a study, or among the derivatives of
        a dataset.
    subject_folder : path-like, optional
        Where a session's protocol was, if it names a subject or a mask beside it.
    report : function
        Is told, in a few words, what is done at the moment.

    Returns
    -------
    pathlib.Path
        The HTML file.
    """
    page = _page_of(source)
    if page is not _session_page and subject_folder is not None:
        raise BciiglError("--folder is for sessions: a study knows where its protocol was")
    path = Path(out or Path(source, ESTIMATES if page is _session_page else "", "report.html"))
    refuse_others_file(path)
    make = page(source, subject_folder)
    figures = figures_folder(path)
    with _room_for(path, figures):
        try:
            title, lead, sections = make(report)
        except InputError as error:
            raise BciiglError(f"{source}: {error}") from error
        report("writing the report")
        write_report(path, figures, title, sections, lead=lead)
    return path


def figures_folder(path: Path) -> Path:
    """Return where the figures of a report are."""
    return path.with_name(f"{path.stem}_figures")


def figure_files(path: Path) -> dict[str, dict[str, Path]]:
    """Return the files of each figure of a report, by its name and then by their ending."""
    folder = figures_folder(path)
    return {
        name: {ending: folder / f"{name}.{ending}" for ending in ("svg", "tsv")}
        for name in figures_in(path)
    }


def open_page(path: str | os.PathLike) -> bool:
    """Open a page in the browser; return whether there is one."""
    try:
        return webbrowser.open(Path(path).absolute().as_uri())
    except webbrowser.Error:
        return False


def _page_of(source: str | os.PathLike) -> Callable:
    """Return what prepares the page of a folder's kind."""
    if not Path(source).is_dir():
        what = "is not a folder" if Path(source).exists() else "no such folder"
        raise BciiglError(f"{source}: {what}")
    if is_study(source):
        return _study_page
    if is_dataset(source):
        return _session_page
    if Path(source, THEORY).exists():
        return _theory_page
    raise BciiglError(f"{source}: is neither a dataset nor a study of bciigl")


def _session_page(
    source: str | os.PathLike, folder: str | os.PathLike | None
) -> Callable[[Notify], Page]:
    from bciigl.report.session import session_sections
    from bciigl.report.session_words import lead
    from bciigl.report.views import learned

    dataset = open_dataset(source)

    def make(report: Notify) -> Page:
        view = learned(dataset, folder=folder, report=report)
        report("drawing figures")
        kind = "rehearsal" if view.rehearsed else "session"
        return f"{dataset.protocol.name}: report of a {kind}", lead(view), session_sections(view)

    return make


def _theory_page(source: str | os.PathLike, _: object) -> Callable[[Notify], Page]:
    from bciigl.report.theory import TITLE, lead, theory_sections

    found = read_theory(source)
    return lambda report: (TITLE, lead(found), theory_sections(found))


def _study_page(source: str | os.PathLike, _: object) -> Callable[[Notify], Page]:
    from bciigl.labelled import LabelledStudy
    from bciigl.study import Study, open_study
    from bciigl.study.as_published import PublishedStudy
    from bciigl.study.plan import Plan
    from bciigl.study.real_study import RealStudy
    from bciigl.study.store import CELLS, cells_digest, read_rows

    kinds = (Study, Plan, LabelledStudy, PublishedStudy, RealStudy)
    study, results = open_study(source, kinds=kinds)
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
        return lambda _: (title, lead(study, rows), study_sections(study, results, rows, example))
    if isinstance(study, Plan):
        from bciigl.report.plan import lead, plan_sections

        title = f"{study.protocol.name}: a plan"
        return lambda _: (title, lead(study), plan_sections(study, results, rows))
    if isinstance(study, PublishedStudy):
        from bciigl.report.as_published import LEAD as PUBLISHED_LEAD
        from bciigl.report.as_published import published_sections

        title = "Table 2 as published: report of a study"
        return lambda _: (title, PUBLISHED_LEAD, published_sections(study, results, rows))
    if isinstance(study, RealStudy):
        from bciigl.report.real import LEAD, real_sections

        title = "real brains: report of a study"
        return lambda _: (title, LEAD, real_sections(study, results, rows))
    from bciigl.labelled.learnable import read_learnability
    from bciigl.report.labelled import labelled_lead, labelled_sections

    title = f"{study.table or 'labelled data'}: report of a study"
    found = read_learnability(source, cells_digest(results))
    return lambda report: (
        title,
        labelled_lead(study),
        labelled_sections(study, results, rows, found, report=report),
    )


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
