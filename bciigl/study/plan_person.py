"""One simulated person of a plan: a test session, and a training session that grows."""

import os
from copy import deepcopy
from itertools import islice
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from bciigl.estimate import Calibration, Calibrator, contexts, feedback
from bciigl.learn.ceiling import CEILING
from bciigl.learn.interactions import (
    InputError,
    Interactions,
    MaybeArray,
    Scaling,
    folds,
    run_codes,
)
from bciigl.loop.session import agent_of, session_runs
from bciigl.protocol import Protocol
from bciigl.protocol.schedule import run_count, session_hours
from bciigl.recording.dataset import joined_session
from bciigl.recording.sink import MemorySink
from bciigl.recording.trial import RecordedRun, RunId, run_arrays
from bciigl.recording.truth import Session, Truth
from bciigl.source import make_source
from bciigl.study.learning import Result, learn_from
from bciigl.study.plan_search import Look
from bciigl.study.plan_time import ended_after, run_times
from bciigl.study.recorded import Sessions


class Person:
    """A simulated person, whose training session is simulated as far as it is looked at.

    Parameters
    ----------
    protocol : Protocol
        The experiment with the person's seed. `task.trials` is the longest training session.
    folder : path-like, optional
        What paths in the protocol are relative to.
    """

    def __init__(self, protocol: Protocol, folder: str | os.PathLike | None = None) -> None:
        self._protocol = protocol
        source = make_source(protocol, folder)
        self.fingerprint = source.fingerprint
        self._sink = MemorySink()
        agent = agent_of(protocol, source.n_voxels)
        given = (protocol, source, agent, self._sink)
        tested = run_count(protocol, protocol.evaluation.test_trials)
        self._test = [
            self._sink.runs[each] for each in islice(session_runs(*given, ["test"]), tested)
        ]
        self._train = session_runs(*given, ["train"])
        self._calibrators = [Calibrator(protocol)]  # after each whole run
        self._estimated: dict[RunId, tuple] = {}

    def look(self, trials: int, learner: str) -> Look:
        """Return what is learned from the first trials, as if the session had ended there."""
        sessions, seed = self.sessions(trials), self._protocol.seed
        chance = 100 / len(self._protocol.task.options)
        found: Result | None = None
        accuracy: dict[str, Any] = {}
        for each in (CEILING.id, learner):
            try:
                found = learn_from(sessions, each, seed=seed)
                accuracy[each] = found.accuracy
            except InputError:  # too little to learn from
                found, accuracy[each] = None, chance
        verdict = None if found is None else found.diagnosis
        estimated = getattr(verdict, "accuracy", None)
        return Look(
            trials,
            session_hours(self._protocol, trials),
            accuracy[learner],
            accuracy[CEILING.id],
            None if verdict is None else verdict.verdict,
            None if estimated is None else 100 * estimated,
        )

    def signal(self) -> float:
        """Return what supervised learning reaches in the test session itself, in percent.

        Cross-validated over its runs, which are also calibrated by themselves: more than can be
        learned from a training session that is shorter.
        """
        calibrator = Calibrator(self._protocol)
        for number, run in enumerate(self._test, start=1):
            self._calibrate(calibrator, RunId("test", number), run)
        test, truth = self._tested(calibrator.calibration)
        runs = run_codes(test.run, test.trials)
        scaled = Scaling.of(test.context, runs).apply(test.context, runs)
        classifier = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        given = {"X": scaled, "y": truth.meant, "cv": PredefinedSplit(folds(runs))}
        return 100 * float(np.mean(cross_val_predict(classifier, **given) == truth.meant))

    def sessions(self, trials: int) -> Sessions:
        """Return both sessions, calibrated by the first trials of the training session alone."""
        full, rest = divmod(trials, self._protocol.task.trials_per_run)
        runs = {run: self._run(run) for run in range(1, full + 1)}
        calibrator = self._calibrators[full]
        if rest:
            place = RunId("train", full + 1)
            last = ended_after(self._protocol, place, self._run(full + 1), rest)
            runs[full + 1], calibrator = last, deepcopy(calibrator)
            self._calibrate(calibrator, place, last)
        known = calibrator.calibration
        arrays = {
            number: run_arrays(run.trials, *self._estimates(RunId("train", number), run, known))
            for number, run in runs.items()
        }
        truths = [each.truth for each in runs.values()]
        train = joined_session(self._protocol, arrays, truths, known.whitening)
        return {"train": train, "test": Session(*self._tested(known))}

    def _run(self, number: int) -> RecordedRun:
        """Return a run of the training session, which is simulated when it is first needed."""
        while len(self._calibrators) <= number:
            place = next(self._train)
            calibrator = deepcopy(self._calibrators[-1])
            self._calibrate(calibrator, place, self._sink.runs[place])
            self._calibrators.append(calibrator)
        return self._sink.runs[RunId("train", number)]

    def _calibrate(self, calibrator: Calibrator, place: RunId, run: RecordedRun) -> None:
        calibrator.add(run.frames, run_times(self._protocol, place, len(run.trials)))

    def _tested(self, known: Calibration) -> tuple[Interactions, Truth]:
        """Return the test session in the units of a calibration."""
        found = [
            self._estimates(RunId("test", number), run, known)[0]
            for number, run in enumerate(self._test, start=1)
        ]
        number = np.repeat(np.arange(len(found)) + 1, [len(each) for each in found])
        truths = (each.truth for each in self._test)
        meant = np.concatenate([each.meant for each in truths if each is not None])
        options = len(self._protocol.task.options)
        given = Interactions(np.concatenate(found), run=number, n_actions=options)
        return given, Truth(meant)

    def _estimates(
        self, place: RunId, run: RecordedRun, known: Calibration
    ) -> tuple[np.ndarray, MaybeArray]:
        """Return contexts and, in training, feedback of a run in the units of a calibration."""
        # From length to length the whitening changes, which is quick to apply, and little else.
        basis = known._replace(whitening=None)
        same = (len(run.trials), basis)
        if self._estimated.get(place, (None,))[0] != same:
            when = run_times(self._protocol, place, len(run.trials))
            given = (run.frames, self._protocol, basis, when)
            answers = None if place.session == "test" else feedback(*given)
            self._estimated[place] = same, contexts(*given), answers
        _, context, answers = self._estimated[place]
        return known.normalised(context), None if answers is None else known.normalised(answers)
