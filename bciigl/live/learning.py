"""What a session's brain answers have told so far: the verdict as it develops."""

import logging
import threading
import warnings
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from bciigl.base.progress import silent
from bciigl.base.registry import LEARNERS
from bciigl.base.threads import one_thread
from bciigl.estimate import UNCALIBRATED, Calibrator, context, feedback_so_far
from bciigl.learn.diagnose import Diagnosis
from bciigl.live.state import Guess, Line, RunState, SessionState
from bciigl.loop.finished import FinishedRuns
from bciigl.recording.dataset import joined_session
from bciigl.recording.trial import NO_GUESS, RunId, run_arrays
from bciigl.recording.truth import Truth
from bciigl.study.learning import fit_learner

RECENT = 30
"""Trials over which the true accuracy of a rehearsal is shown."""


class LearningWatch:
    """Learns again and again from a session's training runs, in a thread of its own.

    It learns as `bciigl learn` would if the session ended now: with the protocol's first learner
    that is told nothing, from estimates in the units of the runs that are over. The session does
    not wait for it and is not told what it finds.

    Parameters
    ----------
    state : SessionState
        Where lines of the journal go first, and what is found then.
    truth : function
        Returns what was true in a run, if that is known; only pages that ask for it show it.
    """

    def __init__(
        self, state: SessionState, truth: Callable[[RunId], Truth | None] = silent
    ) -> None:
        self._state, self._truth, self._protocol = state, truth, state.protocol
        blind = (LEARNERS.get(each) for each in self._protocol.learners)
        self._learner: Any = next((each for each in blind if not each.told), None)
        self._calibrator, self._calibration = Calibrator(self._protocol), UNCALIBRATED
        self._over = FinishedRuns(self._protocol, "train", lambda at: state.runs[at].frames)
        self._estimates: dict[RunId, tuple[np.ndarray, np.ndarray]] = {}
        self._fitted: BaseEstimator | None = None
        self._chosen: dict[tuple[RunId, int], int] = {}
        self._history: list[dict[str, Any]] = []
        self._decisions: deque[tuple[RunId, int]] = deque()
        self._changed, self._open = threading.Condition(), True
        self._taken = self._learned = 0  # lines that there may be something to learn from
        self._thread = threading.Thread(target=self._run, daemon=True)
        if self._learner is not None and self._protocol.recording == "shared":
            self._thread.start()

    def take(self, line: Line) -> None:
        """Take notice of a line of the journal that the state has taken."""
        if line["session"] != "train":
            return
        if "decision" in line:
            self._decisions.append((RunId("train", line["run"]), line["decision"]))
        if {"decision", "trial", "written"} & set(line):
            with self._changed:
                self._taken += 1
                self._changed.notify_all()

    def finish(self, seconds: float = 10.0) -> None:
        """Wait until all has been learned from that was taken, but no longer than some seconds."""
        if self._thread.is_alive():
            with self._changed:
                self._taken += 1  # the truth may have come since
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._learned == self._taken, seconds)

    def close(self) -> None:
        """Learn no more."""
        with self._changed:
            self._open = False
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._taken > self._learned or not self._open)
                taken = self._taken
            if not self._open:
                return
            try:
                with one_thread():
                    self._predict()
                    self._finish_runs()
                    self._learn()
            except Exception:  # a session continues without its monitor
                logging.getLogger("bciigl").exception("the monitor cannot learn from the session")
            self._state.changed()
            with self._changed:
                self._learned = taken
                self._changed.notify_all()

    def _predict(self) -> None:
        """Say what the learner makes of contexts in which guesses were decided on."""
        while self._decisions:
            place, trial = self._decisions.popleft()
            if self._fitted is None:
                continue
            run = self._copy(place)
            seen = context(run.frames, self._protocol, trial, self._calibration, run.when)
            if not np.isfinite(seen).all():
                continue
            probabilities = self._fitted.predict_proba(seen[None])[0]
            self._chosen[place, trial] = int(probabilities.argmax())
            with self._state.lock:
                guess = self._state.runs[place].guesses[trial]
                guess.probabilities = np.round(probabilities, 3).tolist()

    def _copy(self, place: RunId) -> RunState:
        """Return a run whose arrays do not change any more."""
        with self._state.lock:
            run = self._state.runs[place]
            when = run.when.copy()
            return RunState(
                place,
                when,
                run.frames.copy(),
                *(run.status, run.delay, run.movement, run.expected),
                trials=list(run.trials),
                over=run.over,
            )

    def _finish_runs(self) -> None:
        """Take notice of runs that are over, which change the units of all estimates."""
        for place, run in list(self._state.runs.items()):
            if place.session != "train" or not run.over:
                continue
            if place not in self._estimates:
                self._calibrator.add(run.frames, run.when)
                self._over.add(run.trials, UNCALIBRATED, run.when)
                self._calibration = self._calibrator.calibration
                found = self._over.estimates(self._calibration)
                for number, each in enumerate(found, start=1):
                    self._estimates[RunId("train", number)] = each
                self._fitted = None  # until it has learned in the new units
            self._tell_truth(place, run)

    def _tell_truth(self, place: RunId, run: RunState) -> None:
        if all(each.truth for each in run.guesses.values()):
            return
        truth = self._truth(place)
        if truth is None:
            return
        with self._state.lock:
            for trial, guess in run.guesses.items():
                guess.truth = str(self._protocol.task.options[truth.meant[trial]])

    def _learn(self) -> None:
        """Learn from all trials so far, if there are new ones."""
        arrays, rows = {}, []
        places = [place for place in list(self._state.runs) if place.session == "train"]
        for place in places:
            run = self._copy(place)
            if not run.trials:
                continue
            estimates = self._estimates.get(place) or self._so_far(run)
            arrays[place.run] = run_arrays(run.trials, *estimates)
            usable = ~np.logical_or(*(np.isnan(each).all(axis=1) for each in estimates))
            rows += [(place, int(trial)) for trial in np.flatnonzero(usable)]
        if not rows:
            return
        if self._fitted is not None and len(rows) == self._history[-1]["trials"]:
            with self._state.lock:
                self._score(rows)
            return
        given = joined_session(self._protocol, arrays, [None]).interactions
        if len(np.unique(given.action)) < 2:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = fit_learner(self._learner, given, seed=self._protocol.seed)
            match = fitted.decode(given.feedback, given.action, run=given.run)
        self._fitted = fitted
        self._tell(fitted, rows, match)

    def _so_far(self, run: RunState) -> tuple[np.ndarray, np.ndarray]:
        """Return contexts and feedback of a run that goes on, (trials, voxels)."""
        found = []
        for trial, each in enumerate(run.trials):
            if each.action == NO_GUESS or run.when.missed(trial) or trial in run.when.left_out:
                found.append((np.full(run.frames.shape[1], np.nan),) * 2)
                continue
            given = (self._protocol, trial, self._calibration, run.when)
            found.append((context(run.frames, *given), feedback_so_far(run.frames, *given)))
        width = max(len(each[0]) for each in found)
        nothing = np.full(width, np.nan)
        padded = [[each if len(each) == width else nothing for each in pair] for pair in found]
        contexts, answers = zip(*padded, strict=True)
        return np.array(contexts), np.array(answers)

    def _tell(self, fitted: BaseEstimator, rows: list, match: np.ndarray) -> None:
        """Let the state know what was learned."""
        found: Any = getattr(fitted, "diagnosis_", None)
        state, diagnosed = self._state, isinstance(found, Diagnosis)
        verdict = found.verdict if diagnosed else "too early"
        with state.lock:
            for (place, trial), each in zip(rows, match.tolist(), strict=True):
                # Without trust, what is decoded need not be the judgment.
                known = verdict == "trust"
                state.runs[place].guesses[trial].match = round(each, 3) if known else None
            accuracy = None
            if diagnosed and found.accuracy is not None:
                accuracy = [round(each, 3) for each in (found.accuracy, *found.interval)]
            point = {"trials": len(rows), "verdict": verdict}
            point["accuracy"] = accuracy and accuracy[0]
            self._history.append(point)
            self._score(rows)
            state.learning = {
                "learner": self._learner.name,
                "trials": len(rows),
                "verdict": verdict,
                "words": "" if found is None else found.named(self._protocol.task.options).reason,
                "match_rate": _match_rate(found) if diagnosed else None,
                "chance": 1 / len(self._protocol.task.options),
                "accuracy": accuracy,
                "history": self._history,
            }

    def _score(self, rows: list) -> None:
        """Take down how often it was right of late about contexts that were new to it.

        That is as far as the truth is known by now. The session waits meanwhile.
        """
        options = [str(each) for each in self._protocol.task.options]
        right: list[bool] = []
        known = [0]  # of how many of the first trials it is known
        for place, trial in rows:
            guess: Guess = self._state.runs[place].guesses[trial]
            if guess.truth is not None and (place, trial) in self._chosen:
                right.append(options[self._chosen[place, trial]] == guess.truth)
            known.append(len(right))
        for each in self._history:
            end = known[min(each["trials"], len(rows))]
            recent = right[max(end - RECENT, 0) : end]
            enough = len(recent) >= RECENT / 3
            each["true_accuracy"] = round(sum(recent) / len(recent), 3) if enough else None


def _match_rate(found: Diagnosis) -> float:
    """Return the share of guesses that were decoded as matches, over all options."""
    trials = [each.trials for each in found.actions]
    return round(float(np.average([each.match_rate for each in found.actions], weights=trials)), 3)
