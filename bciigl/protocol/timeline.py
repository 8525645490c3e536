"""A trial as a line of text: what happens when, so that designs can be compared at a glance."""

import math

from bciigl.protocol import Protocol
from bciigl.protocol.schedule import decision_time, durations, event_offsets, steps, trial_seconds

WIDTH = 54
MARKS = {"imagination": "I", "perception": "P", "judgment": "J"}


def timeline(protocol: Protocol) -> list[str]:
    """Return lines that show one trial: each event, pauses, and when the agent guesses."""
    lasts, offsets = durations(protocol), event_offsets(protocol)
    parts = steps(protocol)
    separate = protocol.recording == "separate"
    end = trial_seconds(protocol) if separate else sum(p.seconds for p in parts)
    guess = decision_time(protocol)
    step = _unit(end)
    columns = math.ceil(round(end / step, 6))
    row = ["."] * columns
    for kind in reversed(offsets):  # imagination is drawn over what begins with it
        first = int(offsets[kind] / step)
        last = max(math.ceil(round((offsets[kind] + lasts[kind]) / step, 6)), first + 1)
        row[first:last] = MARKS[kind] * (min(last, columns) - first)
    pointer = min(int(guess / step), columns - 1) * " " + "^ guess"
    lines = [f"one trial, a character is {step:g} s:", f"|{''.join(row)}|", f" {pointer}"]
    for part in parts:
        for kind in part.kinds:
            pause = part.seconds - lasts[kind] - (protocol.timing.iti if part is parts[-1] else 0)
            if separate:
                pause = end - offsets[kind] - lasts[kind]
            longer = f", up to {part.jitter:g} s longer" if part.jitter else ""
            lines.append(
                f"{MARKS[kind]} {kind}: from {offsets[kind]:g} s, lasts {lasts[kind]:g} s, "
                f"then {max(pause, 0):g} s of pause{longer}"
            )
    if protocol.timing.iti:
        lines.append(f"  then {protocol.timing.iti:g} s between trials")
    if protocol.timing.null_trials:
        lines.append(f"  and {protocol.timing.null_trials:g} null trials for each trial")
    return lines


def _unit(seconds: float) -> float:
    """Return how long a character is: a round number of seconds, so that a trial fits."""
    sizes = (size * 10.0**power for power in range(-2, 3) for size in (1, 2, 5))
    return next(size for size in sizes if seconds / size <= WIDTH)
