"""What learners make of recorded interactions."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bciigl.base.progress import Notify, silent
from bciigl.base.registry import LEARNERS
from bciigl.learn.diagnose import Verdict
from bciigl.recording import Dataset, is_dataset, open_dataset
from bciigl.report.results import results_table
from bciigl.study import learning
from bciigl.study.learning import Result
from bciigl.study.recorded import by_person


class Results(Mapping[str, Result]):
    """What learners made of a session, by their ids such as ``"ai_igl"``.

    A `Result` has the fitted `learner`, its `accuracy` in percent of the test trials with its 95 %
    `interval`, the `confusion` table, and the learner's own `diagnosis`.

    Examples
    --------
    >>> import bciigl
    >>> results = bciigl.simulate("number_guessing", noise=0.05, trials=92).learn()
    >>> results.accuracy, results.verdict
    (100.0, 'trust')
    >>> results["ai_igl"].learner
    ActionInclusiveIGL(n_actions=3)
    >>> results.to_dataframe().learner["ai_igl"]
    'AI-IGL, no labels'
    """

    def __init__(self, found: Sequence[Result], options: Sequence[object] | None = None) -> None:
        self._found = {each.learner_id: each for each in found}
        self._options = options

    def __getitem__(self, learner_id: str) -> Result:
        """Return what a learner made of it."""
        if learner_id not in self._found:
            raise KeyError(f"{learner_id!r}: there are results of {', '.join(self._found)}")
        return self._found[learner_id]

    def __iter__(self) -> Iterator[str]:
        """Return the learners' ids in order."""
        return iter(self._found)

    def __len__(self) -> int:
        """Return how many learners there are."""
        return len(self._found)

    @property
    def main(self) -> Result:
        """That of the first learner which is told neither labels nor rewards."""
        blind = (each for each in self.values() if not LEARNERS.get(each.learner_id).told)
        return next(blind, next(iter(self.values())))

    @property
    def accuracy(self) -> float | None:
        """Percent of the test trials that the main learner recognises; None without a test."""
        return self.main.accuracy

    @property
    def diagnosis(self) -> Verdict | None:
        """How far the main learner can be trusted, and why, in the options' own names."""
        found = self.main.diagnosis
        return None if found is None else found.named(self._options)

    @property
    def verdict(self) -> str | None:
        """The main learner's verdict about itself: "trust", "doubtful" or "do not use"."""
        return None if self.diagnosis is None else self.diagnosis.verdict

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each learner; the index has their ids."""
        rows = {
            each.learner_id: {
                "learner": LEARNERS.get(each.learner_id).name,
                "accuracy": each.accuracy,
                "low": None if each.interval is None else each.interval[0],
                "high": None if each.interval is None else each.interval[1],
                "verdict": each.diagnosis and each.diagnosis.verdict,
            }
            for each in self.values()
        }
        return pd.DataFrame.from_dict(rows, orient="index")

    def __repr__(self) -> str:
        """Return the verdict, and a table of all learners."""
        table = results_table(list(self.values())).as_text()
        return table if self.diagnosis is None else f"{self.diagnosis}\n\n{table}"

    def _repr_html_(self) -> str:
        said = "" if self.diagnosis is None else self.diagnosis._repr_html_()
        return said + results_table(list(self.values()))._repr_html_()


def learn(
    source: Any,
    learners: Sequence[str] = (),
    *,
    train_runs: Collection[int] | None = None,
    test_runs: Collection[int] | None = None,
    several_right: bool = False,
    mix_people: bool = False,
    seed: int | None = None,
    report: Notify = silent,
) -> Results | dict[str, Results]:
    """Learn from recorded interactions, without labels and rewards.

    Parameters
    ----------
    source : RecordedSession, path-like or dict
        A session; the folder of a dataset; an NPZ file, or a folder of NPY files; or a dict of
        arrays. Arrays are `context`, `action` (numbers from 0) and `feedback`, one row a trial, and
        optionally those that ``bciigl learn`` takes, such as `run` and `test_context`.
    learners : sequence of str, optional
        Ids of learners; by default all that have what they need.
    train_runs, test_runs : collection of int, optional
        Learn from, or test on, these runs only.
    several_right : bool
        Whether several options may be right, or none.
    mix_people : bool
        Learn from all people together. By default each is learned from apart, and a dict of results
        by person is returned if there are ids of people.
    seed : int, optional
        Of random starts; by default the dataset's own, or 0.
    report : function, optional
        Called with each step that begins, as text.

    Returns
    -------
    Results, or dict of Results

    Examples
    --------
    >>> import bciigl, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> imagined, action = rng.integers(3, size=(2, 300))
    >>> context = np.eye(3)[imagined] + 0.1 * rng.normal(size=(300, 3))
    >>> feedback = np.c_[np.eye(3)[action], imagined == action] + 0.1 * rng.normal(size=(300, 4))
    >>> found = bciigl.learn({"context": context, "action": action, "feedback": feedback})
    >>> found.verdict
    'trust'
    >>> int((found.main.learner.predict(context) == imagined).sum())
    300
    """
    dataset = getattr(source, "dataset", None)
    if dataset is None and not isinstance(source, Mapping) and is_dataset(source):
        dataset = open_dataset(source)
    sessions = learning.select(_sessions(source, dataset), train_runs, test_runs)
    people = by_person(sessions, mix=mix_people)
    options = None
    if dataset is not None:
        options = dataset.protocol.task.options
        seed = dataset.protocol.seed if seed is None else seed
        learners = learners or learning.session_learners(dataset.protocol, sessions)
    learners = [learners] if isinstance(learners, str) else learners
    wanted = learning.learners_for(sessions, learners)
    how: dict[str, Any] = {"seed": seed or 0, "one_right": not several_right, "report": report}
    found: dict[Any, Results] = {
        person: Results(learning.learn_with(own, wanted, **how), options)
        for person, own in people.items()
    }
    return found.get(None, found)


def _sessions(source: Any, dataset: Dataset | None) -> learning.Sessions:
    if dataset is not None:
        return learning.load_sessions(dataset)
    if isinstance(source, Mapping):
        return learning.named_arrays({name: np.asarray(each) for name, each in source.items()})
    return learning.load_arrays(os.fspath(source))
