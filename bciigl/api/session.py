"""Sessions in Python: simulated, or recorded before; learned from, drawn and reported."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bciigl import loop
from bciigl.api.figure import new_axes
from bciigl.api.protocols import Changes, Source, changes_of, folder_of, load
from bciigl.api.report import report as write_report
from bciigl.api.results import Results
from bciigl.api.temporary import folder_for, is_temporary
from bciigl.base.errors import BciiglError
from bciigl.base.files import written_folder
from bciigl.base.html import facts_html, facts_text
from bciigl.base.progress import Notify, Progress, silent
from bciigl.base.registry import AGENTS, LEARNERS
from bciigl.learn import load_learner
from bciigl.loop import Agent
from bciigl.protocol import Protocol
from bciigl.protocol.summary import facts
from bciigl.recording import Dataset
from bciigl.recording import open_dataset as read_dataset
from bciigl.recording.calibration import read_calibration
from bciigl.recording.layout import CALIBRATION, NOTHING
from bciigl.recording.trial import NO_GUESS
from bciigl.study.session_results import has_results, learn_and_keep, read_results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bciigl.report.views import SessionView


@dataclass(frozen=True, eq=False)
class RecordedSession:
    """A recorded session: what happened, what was learned from it, and its figures.

    `simulate` and `open_dataset` return it.

    Attributes
    ----------
    dataset : bciigl.recording.Dataset
        The recording on disk, a BIDS dataset: event tables, frames, contexts and feedback.

    Examples
    --------
    >>> import bciigl
    >>> session = bciigl.simulate("number_guessing", noise=0.05, trials=92)
    >>> session.learn().verdict
    'trust'
    >>> session.to_dataframe()[["run", "trial", "guess", "imagined", "match"]].head(2)
       run  trial  guess  imagined  match
    0    1      1      8         7  False
    1    1      2      7         7   True
    """

    dataset: Dataset

    @property
    def protocol(self) -> Protocol:
        """The experiment, as it was recorded."""
        return self.dataset.protocol

    @property
    def folder(self) -> Path:
        """Where the dataset is."""
        return self.dataset.folder

    @property
    def results(self) -> Results:
        """What the protocol's learners make of it; learned now if that has not been done."""
        return self._cache["results"] if "results" in self._cache else self.learn()

    @cached_property
    def _cache(self) -> dict[str, Any]:
        return {}

    def learn(self, *, report: Notify = silent) -> Results:
        """Let the protocol's learners learn from it, and keep the results in the dataset.

        Propensities, runs and catch trials are taken from the recording. Learners that are told
        labels or rewards are left out where these are not known. For other learners, or some of the
        runs, use `bciigl.learn`.

        Parameters
        ----------
        report : function, optional
            Called with each step that begins, as text.

        Returns
        -------
        Results
            What each learner makes of it: accuracy in the test session, and its own verdict.
        """
        _, found = learn_and_keep(self.dataset, report=report)
        if not found:
            raise BciiglError("without its truth, none of the protocol's learners can learn")
        self._cache.clear()
        self._cache["results"] = Results(found, self.protocol.task.options)
        return self._cache["results"]

    @property
    def events(self) -> pd.DataFrame:
        """All that happened, a row for each event, in the words of its BIDS event tables.

        Onsets and durations are in seconds from the beginning of the run; in a live session they
        are those that were measured.
        """
        rows = [
            {"session": session, "run": run, **event._asdict()}
            for session, run in self._runs
            for event in self.dataset.events(session, run)
        ]
        return pd.DataFrame(rows).rename(columns={"kind": "trial_type"}).replace(NOTHING, None)

    @property
    def _runs(self) -> list[tuple[str, int]]:
        return [
            (session, run)
            for session in ("train", "test")
            if self.dataset.has(session)
            for run in self.dataset.runs(session)
        ]

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each trial.

        Returns
        -------
        pandas.DataFrame
            `session` ("train" to learn from, "test"), `run`, `trial`, `guess`, `propensity` of the
            guess, whether it was `explored` (drawn uniformly), whether it was a `catch` trial, and
            whether it is `usable` (it has context and feedback). Where the truth is known, which
            scorers see and learners do not: the option that was `meant`, the one that was
            `imagined`, whether the guess was a `match`, and whether it was `judged` to be one. Once
            it was learned from: `decoded`, the probability of a match that the first learner
            without labels reads from the feedback.
        """
        found = pd.concat([self._trials(*each) for each in self._runs], ignore_index=True)
        if has_results(self.dataset):
            kept, decoded = read_results(self.dataset)
            blind = (each.learner_id for each in kept.learners if each.learner_id in decoded)
            if (first := next(blind, None)) is not None:
                runs = kept.train_runs or found.run.unique()
                learned = found.usable & (found.session == "train") & found.run.isin(runs)
                found.loc[learned, "decoded"] = decoded[first]
        return found

    def _trials(self, session: str, run: int) -> pd.DataFrame:
        options, dataset = list(self.protocol.task.options), self.dataset
        shown = dataset.shown(session, run)
        found = pd.DataFrame([each._asdict() for each in shown]).rename(columns={"action": "guess"})
        found["guess"] = [None if each == NO_GUESS else options[each] for each in found["guess"]]
        found.insert(0, "session", session)
        found.insert(1, "run", run)
        found.insert(2, "trial", range(1, len(found) + 1))
        found["usable"] = dataset.usable(session, run)
        truth = dataset.run_truth(session, run)
        if truth is not None:
            for name in ("meant", "imagined"):
                found[name] = [options[each] for each in getattr(truth, name)]
            found["match"], found["judged"] = truth.match, truth.judged
        return found

    @property
    def _view(self) -> SessionView:
        """What figures are drawn from; learned first if that has not been done."""
        if "view" not in self._cache:
            from bciigl.report.views import learned

            self._cache["view"] = learned(self.dataset)
        return self._cache["view"]

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw how accurate the policy becomes with the hours in the scanner.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from bciigl.report.learning_curve import HEIGHT, draw_learning_curve

        return draw_learning_curve(new_axes(ax, HEIGHT), self._view)

    def plot_rewards(self, *, ax: Axes | None = None) -> Axes:
        """Draw how well matches and mismatches are told apart; `ax` as in `plot`."""
        from bciigl.report.rewards import HEIGHT, draw_rewards

        return draw_rewards(new_axes(ax, HEIGHT), self._view)

    def plot_time_course(self, *, ax: Axes | None = None) -> np.ndarray:
        """Draw the region's signal with the response that is expected.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            As in `plot`; its place is divided between the panels.

        Returns
        -------
        numpy.ndarray of matplotlib.axes.Axes
        """
        from bciigl.report.time_course import HEIGHT, draw_time_course

        return draw_time_course(new_axes(ax, HEIGHT), self._view)

    def plot_region(self, *, ax: Axes | None = None) -> np.ndarray:
        """Draw where in the brain the signal comes from; `ax` as in `plot_time_course`."""
        from bciigl.report.region import HEIGHT, draw_region

        return draw_region(new_axes(ax, HEIGHT), self._view)

    def plot_patterns(self, *, ax: Axes | None = None) -> np.ndarray:
        """Draw what events evoke in the region; `ax` as in `plot_time_course`."""
        from bciigl.report.patterns import HEIGHT, draw_patterns

        return draw_patterns(new_axes(ax, HEIGHT), self._view)

    def report(self, out: str | os.PathLike | None = None, *, open: bool = False) -> Path:
        """Write the session's report, an HTML page, and return its path.

        Parameters
        ----------
        out : path-like, optional
            The file to write; by default ``report.html`` among the dataset's derivatives.
        open : bool
            Whether to show it in the browser.
        """
        return write_report(self.folder, out, open=open)

    def save(self, folder: str | os.PathLike) -> RecordedSession:
        """Copy the dataset to a folder that is not there yet, and return the session in it."""
        with written_folder(folder) as new:
            shutil.copytree(self.folder, new, dirs_exist_ok=True)
        return open_dataset(folder)

    def _facts(self) -> tuple[str, dict[str, object]]:
        found: dict[str, object] = dict(facts(self.protocol))
        found = {"of": f"a {self.dataset.group} person", **found}
        if has_results(self.dataset):
            kept, _ = read_results(self.dataset)
            for each in kept.learners:
                name = LEARNERS.get(each.learner_id).name
                accuracy = "" if each.accuracy is None else f"{each.accuracy:.1f} %"
                verdict = each.diagnosis.verdict if each.diagnosis else ""
                found[name] = ", ".join(filter(None, (accuracy, verdict)))
        else:
            found["learned"] = "not yet: session.learn()"
        found["folder"] = "temporary: save() keeps it" if is_temporary(self.folder) else self.folder
        return f"session of {self.protocol.name}", found

    def __repr__(self) -> str:
        """Return what it is of, and what was learned from it."""
        return facts_text(*self._facts())

    def _repr_html_(self) -> str:
        return facts_html(*self._facts())


def simulate(
    protocol: Source = "number_guessing",
    *,
    noise: float | None = None,
    trials: int | None = None,
    seed: int | None = None,
    agent: str | os.PathLike | Agent | None = None,
    engine: str | None = None,
    changes: Changes = None,
    out: str | os.PathLike | None = None,
    progress: Progress = silent,
) -> RecordedSession:
    """Simulate an experiment in a closed loop, and record it.

    A simulated person imagines options, an agent guesses, and the brain answers. The numbers are
    those of the command ``bciigl simulate``, bit for bit.

    Parameters
    ----------
    protocol : str, path-like or Protocol
        The name of a protocol that comes with bciigl, the path of a file, or a protocol.
    noise : float, optional
        Share of a real brain's noise, ``brain.noise``: 1 is a real brain.
    trials : int, optional
        How many trials to learn from, ``task.trials``.
    seed : int, optional
        The same seed gives the same bytes.
    agent : str, path-like or Agent, optional
        ``"uniform"``, ``"explore-then-commit"`` or ``"epsilon-greedy"``; the folder of a learner
        that was saved by ``bciigl learn --out``; or a custom agent.
    engine : str, optional
        ``"exact"`` or ``"fmrisim"``, ``brain.engine``.
    changes : dict, optional
        Other values of any fields, such as ``{"timing.isi": 8}``.
    out : path-like, optional
        Where to record the dataset: a folder that is absent or empty. By default a temporary
        folder, which is deleted when the session is no longer used; `RecordedSession.save` keeps
        it.
    progress : function, optional
        Called after each trial with the number of trials done, and of all.

    Returns
    -------
    RecordedSession

    Examples
    --------
    >>> import bciigl
    >>> session = bciigl.simulate("number_guessing", noise=0.05, trials=92, seed=1)
    >>> session.learn()["ai_igl"].accuracy
    100.0
    """
    told: dict[str, Any] = {}
    policy = agent
    if isinstance(agent, Agent):
        policy, told["agent"] = None, agent
    elif agent is not None and agent not in AGENTS.ids and os.path.isdir(agent):
        policy, told["policy"] = "fixed", load_learner(agent)
        told["calibration"] = read_calibration(Path(agent, CALIBRATION))
    fields: dict[str, Any] = {"brain__noise": noise, "task__trials": trials, "seed": seed}
    fields |= {"brain__engine": engine, "agent__policy": policy}
    wanted = load(protocol, changes=changes_of(changes, **fields))
    with folder_for(out, wanted.name) as (folder, tie):
        loop.record(wanted, folder, folder=folder_of(protocol), progress=progress, **told)
        session = open_dataset(folder)
        tie(session.dataset)
    return session


def open_dataset(folder: str | os.PathLike) -> RecordedSession:
    """Return the session that was recorded in a folder, simulated or live.

    Parameters
    ----------
    folder : path-like
        What ``bciigl simulate``, ``bciigl run`` or `simulate` recorded.

    Examples
    --------
    >>> import bciigl, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = bciigl.simulate("number_guessing", trials=46, out=folder)
    ...     bciigl.open_dataset(folder).events.trial_type.value_counts().to_dict()
    {'imagination': 506, 'perception': 506, 'judgment': 506}
    """
    return RecordedSession(read_dataset(folder))
