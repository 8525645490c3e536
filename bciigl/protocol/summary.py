"""Key facts of an experiment: size, chance level and scanner time."""

from typing import Any

from bciigl.protocol import schedule
from bciigl.protocol.model import Protocol


def summary(protocol: Protocol) -> dict[str, Any]:
    """Return a protocol's name, hash, size and cost in a real scanner, as plain data.

    `chance` is in percent; the hours are those of the session the agent learns from and of the
    test session, both without the pauses between runs.
    """
    trials, test_trials = protocol.task.trials, protocol.evaluation.test_trials
    return {
        "name": protocol.name,
        "description": protocol.description,
        "hash": protocol.content_hash,
        "options": list(protocol.task.options),
        "chance": 100 / len(protocol.task.options),
        "trials": trials,
        "catch_trials": round(trials * protocol.task.catch.share),
        "runs": schedule.run_count(protocol, trials),
        "trial_seconds": schedule.trial_seconds(protocol),
        "decision_seconds": schedule.decision_time(protocol.timing),
        "scanner_hours": schedule.session_hours(protocol, trials),
        "test_scanner_hours": schedule.session_hours(protocol, test_trials),
    }
