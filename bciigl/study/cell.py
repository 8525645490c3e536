"""The work of one cell: simulate a session, let all learn from it, count what they get right."""

import threading
from importlib.metadata import version
from typing import Any

from bciigl.base.seeds import Seed
from bciigl.base.threads import one_thread
from bciigl.loop import simulate
from bciigl.source import make_source
from bciigl.study.controls import CONTROLS
from bciigl.study.grid import Cell, Entry, StudyError
from bciigl.study.learning import Sessions, check_sessions, learn_from

PACKAGES = ("numpy", "scipy", "scikit-learn", "brainiak")
# Cluster workers run tasks in threads, but fmrisim's random numbers and the number of threads of a
# matrix product are global.
ONE_AT_A_TIME = threading.Lock()


def run_cell(cell: Cell) -> dict[str, Any]:
    """Return what all learners of a cell made of its session, the same in any process."""
    with ONE_AT_A_TIME, one_thread():
        source = make_source(cell.protocol, cell.folder)
        sessions = check_sessions(simulate(cell.protocol, source=source))
        return {
            **cell.identity,
            # As it is here and now, which may not be what the cell was made with.
            "source": source.fingerprint,
            "repeat": cell.repeat,
            "versions": versions(),
            "truth_objective": truth_objective(sessions),
            "results": [entry_result(sessions, each, cell.protocol.seed) for each in cell.entries],
        }


def versions() -> dict[str, str]:
    """Return the versions of what results depend on besides bciigl."""
    return {name: version(name) for name in PACKAGES}


def truth_objective(sessions: Sessions) -> float | None:
    """Return full-CI IGL's objective of the truth; None where rewards are not known."""
    train, truth = sessions["train"]
    if truth is None or truth.match is None:
        return None
    uniform = 1 / train.n_actions
    propensity = uniform if train.propensity is None else train.propensity
    return float((truth.match * (1 - uniform) / propensity).mean())


def entry_result(sessions: Sessions, entry: Entry, seed: int, *draw: int) -> dict[str, Any]:
    """Return what a learner makes of sessions, or of a control of them; of one draw of several."""
    if entry.control is not None:
        rng = Seed(seed).rng("control", entry.control, *draw)
        sessions = CONTROLS[entry.control].apply(sessions, rng)
    found = learn_from(sessions, entry.learner, seed=seed)
    if found.confusion is None:
        raise StudyError("there is no test session to score learners on")
    return {
        **entry._asdict(),
        "confusion": found.confusion.tolist(),
        "verdict": None if found.diagnosis is None else found.diagnosis.verdict,
        "rests_on": getattr(found.diagnosis, "rests_on", None) or None,
        "objective": found.objective,
    }
