"""What was learned from a session, computed once and kept beside it for reports and notebooks."""

import json
import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bciigl import __version__
from bciigl.base.arrays import read_arrays
from bciigl.base.files import remove_unfinished, write_text, written_file
from bciigl.base.json_files import read_json
from bciigl.base.progress import Notify, silent
from bciigl.base.registry import LEARNERS
from bciigl.estimate import UNCALIBRATED, Calibration
from bciigl.learn import InputError, save_learner
from bciigl.learn.diagnose import Diagnosis, Verdict
from bciigl.learn.full_conditional import FullConditionalDiagnosis
from bciigl.learn.interactions import Interactions
from bciigl.recording import Dataset, DatasetError, Session
from bciigl.recording.calibration import write_calibration
from bciigl.recording.layout import CALIBRATION, ESTIMATES
from bciigl.study import learning
from bciigl.study.learning import Result, Sessions, learn_from, select
from bciigl.study.results import Kept
from bciigl.study.statistics import share_with_interval

RESULTS, DECODED, POLICIES = "results.json", "decoded_rewards.npz", "policies"
CURVE_POINTS = 7
FIRST_RUN = (0.25, 0.5, 1.0)
"""Shares of the first run that are learned from, too, where there are few runs."""


class LearnerResult(Kept):
    """What one learner made of a session; attributes as in `bciigl.study.learning.Result`."""

    learner_id: str
    accuracy: float | None
    interval: tuple[float, float] | None
    confusion: list[list[int]] | None
    match_rates: list[float] | None
    objective: float | None
    diagnosis: Diagnosis | FullConditionalDiagnosis | Verdict | None


class CurvePoint(Kept):
    """The accuracy of a learner after a number of runs, in percent, with its 95 % interval.

    The last of these runs may not be over. Where there is no test, the accuracy is what the learner
    estimates of itself, None without trust.
    """

    learner_id: str
    runs: int
    trials: int
    accuracy: float | None
    low: float | None
    high: float | None
    verdict: str | None = None  # of the learner about itself, if it has one


class RunMatches(Kept):
    """How many percent of the agent's guesses in a run matched, with the 95 % interval."""

    run: int
    guesses: int
    uniform: bool
    matched: float
    low: float
    high: float


class SessionResults(Kept):
    """All that was computed from a session; runs are None where they are not known."""

    bciigl: str
    seed: int
    several_right: bool
    train_runs: list[int] | None
    test_runs: list[int] | None
    trials: int
    test_trials: int
    actions: int
    uniform_guesses: bool
    learners: list[LearnerResult]
    learning_curve: list[CurvePoint]
    matches_by_run: list[RunMatches]
    matches_by_fifths: list[float | None] | None


def learn_and_keep(dataset: Dataset, *, report: Notify = silent) -> tuple[Sessions, list[Result]]:
    """Let the learners of a dataset's protocol learn from it, and keep the results there."""
    sessions, seed = learning.load_sessions(dataset), dataset.protocol.seed
    try:
        learners = learning.session_learners(dataset.protocol, sessions)
    except DatasetError:
        learners = ()  # all of them need the truth, which is not known
    results = learning.learn_with(sessions, learners, seed=seed, report=report)
    keep_results(
        dataset.folder / ESTIMATES,
        sessions,
        results,
        seed=seed,
        calibration=dataset.calibration,
        report=report,
    )
    return sessions, results


def keep_results(
    folder: Path,
    sessions: Sessions,
    results: Sequence[Result],
    *,
    seed: int = 0,
    one_right: bool = True,
    calibration: Calibration = UNCALIBRATED,
    report: Notify = silent,
) -> None:
    """Write what was learned to a folder that exists, in place of earlier results there.

    `calibration` is that of the contexts, which policies are kept with.
    """
    train, _ = sessions["train"]
    document = SessionResults(
        bciigl=__version__,
        seed=seed,
        several_right=not one_right,
        train_runs=_runs(sessions["train"]),
        test_runs=_runs(sessions.get("test")),
        trials=train.trials,
        test_trials=_tested(sessions),
        actions=train.n_actions,
        uniform_guesses=bool(np.allclose(_guesses(train.propensity, train), 1 / train.n_actions)),
        learners=[_learner_result(each) for each in results],
        learning_curve=learning_curve(sessions, results, seed, one_right, report),
        matches_by_run=matches_by_run(sessions["train"]),
        matches_by_fifths=learning.matches_by_fifths(sessions["train"]),
    )
    remove_unfinished(folder)  # of a command that was killed while it wrote
    (folder / RESULTS).unlink(missing_ok=True)
    shutil.rmtree(folder / POLICIES, ignore_errors=True)
    decoded = {}
    for each in results:
        if hasattr(each.learner, "_learned"):  # a yardstick is not a policy to keep
            save_learner(each.learner, folder / POLICIES / each.learner_id)
            write_calibration(folder / POLICIES / each.learner_id / CALIBRATION, calibration)
        if not LEARNERS.get(each.learner_id).told:
            found = each.learner.decode(train.feedback, train.action, run=train.run)
            decoded[each.learner_id] = found
    with written_file(folder / DECODED) as temporary:
        np.savez(temporary, **decoded)
    # Deleted first and written last, so that results that are found are whole and of one time.
    text = json.dumps(document.model_dump(mode="json"), indent=1)
    write_text(folder / RESULTS, text + "\n", overwrite=True)


def has_results(dataset: Dataset) -> bool:
    """Tell whether results are kept beside a dataset."""
    return (dataset.folder / ESTIMATES / RESULTS).exists()


def read_results(dataset: Dataset) -> tuple[SessionResults, dict[str, np.ndarray]]:
    """Return the results kept beside a dataset, and the rewards that each learner decoded."""
    folder = dataset.folder / ESTIMATES
    again = f"run bciigl learn {dataset.folder}"
    if not has_results(dataset):
        raise DatasetError(f"{dataset.folder}: nothing has been learned from it yet: {again}")
    found = read_json(folder / RESULTS, SessionResults, error=DatasetError)
    decoded = read_arrays(folder / DECODED)
    trials = select(dataset.sessions, found.train_runs, None)["train"].interactions.trials
    if found.trials != trials or any(each.shape != (trials,) for each in decoded.values()):
        raise DatasetError(f"{folder / RESULTS}: is not of this recording: {again}")
    return found, decoded


def _learner_result(result: Result) -> LearnerResult:
    values = {name: getattr(result, name) for name in LearnerResult.model_fields}
    values["confusion"] = None if result.confusion is None else result.confusion.tolist()
    return LearnerResult(**values)


def _runs(session: Session | None) -> list[int] | None:
    run = None if session is None else session.interactions.run
    return None if run is None else np.unique(run).tolist()


def _tested(sessions: Sessions) -> int:
    test = sessions.get("test")
    return 0 if test is None or test.truth is None else test.interactions.trials


def _guesses(values: np.ndarray | None, train: Interactions) -> np.ndarray:
    """Return the values of trials in which the agent guessed; of uniform guesses if not given."""
    values = np.full(train.trials, 1 / train.n_actions) if values is None else values
    return values if train.catch is None else values[~train.catch.astype(bool)]


def learning_curve(
    sessions: Sessions, results: Sequence[Result], seed: int, one_right: bool, report: Notify
) -> list[CurvePoint]:
    """Return accuracies after more and more runs, of told learners and the first untold.

    Without a test they are those that the first untold learner estimates of itself.
    """
    run = sessions["train"].interactions.run
    if run is None:
        return []
    runs = list(dict.fromkeys(run.tolist()))
    after = np.unique(np.linspace(1, len(runs), CURVE_POINTS).round().astype(int)).tolist()
    blind = [each.learner_id for each in results if not LEARNERS.get(each.learner_id).told]
    shown = [each for each in results if each.learner_id not in blind[1:]]
    if not _tested(sessions):
        shown = [each for each in shown if isinstance(each.diagnosis, Diagnosis)]
    points = []
    for finished in shown:
        name = finished.learner_id
        report(f"learning curve of {LEARNERS.get(name).name}")
        for count in after:
            some = select(sessions, runs[:count], None)
            for share in FIRST_RUN if count == 1 and len(after) < CURVE_POINTS else (1.0,):
                part = _first_trials(some, share)
                whole = count == len(runs) and share == 1
                result = finished if whole else _learned(part, name, seed, one_right)
                if result is not None:
                    points.append(_point(result, count, part["train"].interactions.trials))
    return points


def _first_trials(sessions: Sessions, share: float) -> Sessions:
    """Return a share of the trials to learn from, the first ones."""
    train = sessions["train"]
    trials = round(share * train.interactions.trials)
    return {**sessions, "train": train.rows(np.arange(max(trials, 1)))}


def _point(result: Result, runs: int, trials: int) -> CurvePoint:
    found, accuracy, interval = result.diagnosis, result.accuracy, result.interval
    if accuracy is None and isinstance(found, Diagnosis) and found.accuracy is not None:
        accuracy = 100 * found.accuracy
        interval = found.interval and (100 * found.interval[0], 100 * found.interval[1])
    low, high = interval or (None, None)
    return CurvePoint(
        learner_id=result.learner_id,
        runs=runs,
        trials=trials,
        accuracy=accuracy,
        low=low,
        high=high,
        verdict=found.verdict if found else None,
    )


def _learned(sessions: Sessions, learner_id: str, seed: int, one_right: bool) -> Result | None:
    """Return what a learner makes of few trials; None if they are too few to begin with."""
    with warnings.catch_warnings():
        # Few trials of many options are just that.
        warnings.filterwarnings("ignore", "The number of unique classes is greater than")
        try:
            return learn_from(sessions, learner_id, seed=seed, one_right=one_right)
        except InputError:
            return None


def matches_by_run(session: Session) -> list[RunMatches]:
    """Return how often the agent's guesses, which catch trials are not, matched in each run."""
    trials, truth = session
    if truth is None or truth.match is None or trials.run is None:
        return []
    match, run = _guesses(np.asarray(truth.match), trials), _guesses(trials.run, trials)
    propensity = _guesses(trials.propensity, trials)
    found = []
    for each in np.unique(run).tolist():
        mine = run == each
        guesses = int(mine.sum())
        share, (low, high) = share_with_interval(match[mine].sum(), guesses)
        uniform = bool(np.allclose(propensity[mine], 1 / trials.n_actions))
        shares = {"matched": share, "low": low, "high": high}
        found.append(RunMatches(run=each, guesses=guesses, uniform=uniform, **shares))
    return found
