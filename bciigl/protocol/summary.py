"""Key facts of an experiment (size, chance level, scanner time), and how two differ."""

from collections.abc import Iterator
from typing import Any

from bciigl.protocol import schedule
from bciigl.protocol.model import Protocol


def summary(protocol: Protocol) -> dict[str, Any]:
    """Return key facts; chance is in percent, hours are without pauses between runs."""
    trials, test_trials = protocol.task.trials, protocol.evaluation.test_trials
    return {
        "name": protocol.name,
        "description": protocol.description,
        "hash": protocol.content_hash,
        "options": list(protocol.task.options),
        "chance": 100 / len(protocol.task.options),
        "population": {name: str(each) for name, each in protocol.population.items()},
        "trials": trials,
        "catch_trials": round(trials * protocol.task.catch.share),
        "runs": schedule.run_count(protocol, trials),
        "trial_seconds": schedule.trial_seconds(protocol),
        "decision_seconds": schedule.decision_time(protocol),
        "scanner_hours": schedule.session_hours(protocol, trials),
        "test_scanner_hours": schedule.session_hours(protocol, test_trials),
    }


def facts(protocol: Protocol) -> dict[str, str]:
    """Return what notebooks show of an experiment, by name."""
    about, options = summary(protocol), ", ".join(map(str, protocol.task.options))
    return {
        "options": f"{options} (chance {about['chance']:.1f} %)",
        "trials": f"{about['trials']} in {about['runs']} runs, {about['trial_seconds']:g} s each",
        "scanner": f"{about['scanner_hours']:.1f} h to learn, "
        f"{about['test_scanner_hours']:.1f} h more to test",
        "agent": f"guesses {protocol.agent.policy}",
        "noise": f"{protocol.brain.noise:g} (1 is a real brain)",
        "seed": str(protocol.seed),
    }


def first_difference(one: Protocol, other: Protocol) -> tuple[str, Any, Any] | None:
    """Return the first field in which protocols differ, and its values; None if there is none."""
    ours, theirs = (dict(_fields(each.model_dump(mode="json"))) for each in (one, other))
    for name in {**ours, **theirs}:
        if ours.get(name) != theirs.get(name):
            return name, ours.get(name), theirs.get(name)
    return None


def _fields(section: dict, within: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in section.items():
        inside = isinstance(value, dict)
        yield from _fields(value, f"{within}{name}.") if inside else [(within + name, value)]
