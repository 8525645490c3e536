"""Reports: HTML pages of sessions and studies."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def report(source: Any, out: str | os.PathLike | None = None, *, open: bool = False) -> Path:
    """Write the report of a session, a study or a plan: one HTML file that needs nothing else.

    Parameters
    ----------
    source : path-like, RecordedSession or StudyResults
        What is reported, or the folder that it is in.
    out : path-like, optional
        The file to write; by default ``report.html`` in the folder of a study, or among the
        derivatives of a session.
    open : bool
        Whether to show it in the browser.

    Returns
    -------
    pathlib.Path
        The file. Beside it is a folder with its figures as SVG files, and their numbers as TSV.

    Examples
    --------
    >>> import bciigl
    >>> session = bciigl.simulate("number_guessing", noise=0.05, trials=46)
    >>> bciigl.report(session).name
    'report.html'
    """
    from bciigl.report.write import open_page, write_report_of

    path = write_report_of(getattr(source, "folder", source), out)
    if open:
        open_page(path)
    return path
