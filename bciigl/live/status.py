"""What a monitor shows, in one line for a terminal."""

from collections.abc import Mapping
from typing import Any

PHASES = {"ready": "ready to start"} | {
    each: each for each in ("waiting", "paused", "over", "stopped")
}


def status_line(snapshot: Mapping[str, Any]) -> str:
    """Return run, trial, what happens now, the guess, volumes and time left of a snapshot."""
    volumes, parts = snapshot["volumes"], []
    test = ", test session" if snapshot["session"] == "test" else ""
    parts.append(f"run {snapshot['run']} of {snapshot['runs']}{test}")
    if snapshot["trial"] is not None:
        parts.append(f"trial {snapshot['trial']} of {snapshot['trials']}")
    if snapshot["phase"] in PHASES:
        parts.append(PHASES[snapshot["phase"]])
    elif snapshot["now"] is not None:
        parts.append(snapshot["now"]["words"])
    guess = next((each["option"] for each in reversed(snapshot["guesses"]) if each["option"]), None)
    if guess is not None:
        parts.append(f"last guess {guess}")
    lost = f", {volumes['lost']} lost" if volumes["lost"] else ""
    late = f", {volumes['late']} late" if volumes["late"] else ""
    parts.append(f"{volumes['arrived']} of {volumes['due']} volumes{late}{lost}")
    run_left = max(snapshot["length"] - snapshot["elapsed"], 0.0) / snapshot["speed"]
    parts.append(f"{clock(run_left)} left of the run")
    if snapshot["runs"] > 1:
        parts.append(f"{clock(snapshot['seconds_left'] / snapshot['speed'])} of the session")
    return " · ".join(parts)


def clock(seconds: float) -> str:
    """Return a time as minutes and seconds, or with hours."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
