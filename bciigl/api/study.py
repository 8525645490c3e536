"""Studies in Python: many simulated sessions, and what they add up to."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bciigl.api.figure import new_axes
from bciigl.api.protocols import Changes, Source, changes_of, folder_of, load
from bciigl.api.report import report as write_report
from bciigl.api.temporary import folder_for
from bciigl.base.progress import Progress, silent
from bciigl.study import Row, Study, run_study
from bciigl.study import open_study as read_study
from bciigl.study.store import read_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class StudyResults:
    """A study and what its sessions add up to.

    `sweep` and `open_study` return it.

    Attributes
    ----------
    study : bciigl.study.Study
        What was simulated.
    rows : list of bciigl.study.Row
        For each setting and learner, what all repeats add up to.
    folder : pathlib.Path
        Where the results are kept.
    failed : list of pathlib.Path
        The tracebacks of sessions that failed.

    Examples
    --------
    >>> import bciigl
    >>> study = bciigl.sweep(noise=[0.05, 1], repeats=1, trials=46, learners=["ceiling"], jobs=1)
    >>> study.to_dataframe().query("noise == 0.05").accuracy.item()
    100.0
    """

    study: Study
    rows: list[Row]
    folder: Path
    failed: list[Path]

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each setting and learner; accuracies and intervals are in percent."""
        rows = []
        for row in self.rows:
            low, high = row.accuracy.interval or (None, None)
            rows.append(
                {
                    "noise": row.noise,
                    **row.varied,
                    "learner": row.learner,
                    "control": row.control,
                    "accuracy": row.accuracy.mean,
                    "low": low,
                    "high": high,
                    "chance": row.chance.mean,
                    "failed": row.failed,
                    "trusted": row.trusted,
                    "scanner_hours": row.scanner_hours,
                    "sessions": len(row.accuracies),
                }
            )
        return pd.DataFrame(rows)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw accuracy against noise, or against what was varied.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        from bciigl.report.accuracy import draw_accuracy

        return draw_accuracy(new_axes(ax), self.rows)

    def report(self, out: str | os.PathLike | None = None, *, open: bool = False) -> Path:
        """Write the study's report, an HTML page, and return its path: see `bciigl.report`."""
        return write_report(self.folder, out, open=open)

    def __repr__(self) -> str:
        """Return the table of means and intervals."""
        from bciigl.report.study_tables import accuracy_tables

        tables = accuracy_tables(self.rows)
        return "\n\n".join(
            "\n".join(filter(None, [name, each.as_text()])) for name, each in tables.items()
        )

    def _repr_html_(self) -> str:
        from bciigl.report.study_tables import accuracy_tables

        tables = accuracy_tables(self.rows)
        return "".join(f"<p>{name}</p>{each._repr_html_()}" for name, each in tables.items())


def sweep(
    protocol: Source = "number_guessing",
    *,
    noise: float | Sequence[float] | None = None,
    repeats: int | None = None,
    trials: int | None = None,
    seed: int | None = None,
    learners: Sequence[str] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    changes: Changes = None,
    out: str | os.PathLike | None = None,
    jobs: int | None = None,
    progress: Progress = silent,
) -> StudyResults:
    """Simulate an experiment over a grid: noise levels, any fields of the protocol, repeats.

    Every repeat is another person, the same in all settings, and all learners learn from the same
    sessions.

    Parameters
    ----------
    protocol : str, path-like or Protocol
        As in `simulate`. Its section `study` has the noise levels and repeats, unless they are
        given.
    noise : float or sequence of float, optional
        Noise levels; 1 is a real brain.
    repeats : int, optional
        Sessions in each setting.
    trials, seed : int, optional
        As in `simulate`.
    learners : sequence of str, optional
        Ids of learners, in place of the protocol's.
    vary : dict, optional
        Values of further fields, such as ``{"timing.isi": [5, 7]}``.
    changes : dict, optional
        Other values of any fields, in all settings.
    out : path-like, optional
        Where results are kept, and resumed if they are there. By default a temporary folder.
    jobs : int, optional
        Processes; by default one for each core.
    progress : function, optional
        Called with how many sessions are done, and how many there are.

    Returns
    -------
    StudyResults

    Examples
    --------
    >>> import bciigl
    >>> who = ["ai_igl", "ceiling"]
    >>> study = bciigl.sweep(noise=0.05, repeats=2, trials=46, learners=who, jobs=1)
    >>> study.to_dataframe()[["noise", "learner", "accuracy"]]
       noise  learner  accuracy
    0   0.05   ai_igl     100.0
    1   0.05  ceiling     100.0
    """
    levels = None if noise is None else list(noise) if isinstance(noise, Sequence) else [noise]
    fields: dict[str, Any] = {
        "study__noise": levels,
        "study__repeats": repeats,
        "task__trials": trials,
    }
    fields |= {"seed": seed, "learners": learners and list(learners)}
    wanted, folder = load(protocol, changes=changes_of(changes, **fields)), folder_of(protocol)
    study = Study(wanted, None if folder is None else str(folder), vary or {})
    with folder_for(out, f"{wanted.name}_sweep") as (kept, tie):
        outcome = run_study(study, kept, jobs=jobs, progress=progress)
        found = StudyResults(study, outcome.rows, kept, outcome.failed)
        tie(found)
    return found


def open_study(folder: str | os.PathLike) -> StudyResults:
    """Return the study that ``bciigl sweep``, ``bciigl reproduce table2`` or `sweep` left there.

    Parameters
    ----------
    folder : path-like
        The folder of the study.

    Examples
    --------
    >>> import bciigl, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = bciigl.sweep(noise=0.05, repeats=1, trials=46, out=folder, jobs=1)
    ...     len(bciigl.open_study(folder).rows)
    5
    """
    study, results = read_study(folder)
    failed = sorted(Path(folder, "failed").glob("*"))
    return StudyResults(study, read_rows(study, folder, results), Path(folder), failed)
