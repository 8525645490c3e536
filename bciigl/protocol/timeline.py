"""A trial as a line of text: what happens when, so that designs can be compared at a glance."""

import math

from bciigl.protocol import Protocol
from bciigl.protocol.schedule import decision_time, durations, event_offsets, steps

WIDTH = 54
MARKS = {"imagination": "I", "perception": "P", "judgment": "J"}
BOTH = "B"


def timeline(protocol: Protocol) -> list[str]:
    """Return lines that show one trial: each event, pauses, and when the agent guesses.

    Where each kind of event has a series of its own there is no picture.
    """
    lasts, offsets = durations(protocol), event_offsets(protocol)
    parts = steps(protocol)
    lines = ["one trial; each kind of event has a series of its own:"]
    if protocol.recording != "separate":
        lines = _picture(protocol, sum(part.seconds for part in parts))
    for part in parts:
        for kind in part.kinds:
            pause = part.seconds - lasts[kind] - (protocol.timing.iti if part is parts[-1] else 0)
            longer = f", up to {part.jitter:g} s longer" if part.jitter else ""
            lines.append(
                f"{MARKS[kind]} {kind}: from {offsets[kind]:g} s, lasts {lasts[kind]:g} s, "
                f"then {max(pause, 0):g} s of pause{longer}"
            )
        if len(part.kinds) > 1:
            lines.append(f"{BOTH} {' and '.join(part.kinds)} together")
    if protocol.timing.iti:
        lines.append(f"  then {protocol.timing.iti:g} s between trials")
    if protocol.timing.null_trials:
        lines.append(f"  and {protocol.timing.null_trials:g} null trials for each trial")
    return lines


def _picture(protocol: Protocol, end: float) -> list[str]:
    """Return a trial that ends after `end` seconds, drawn as a line of characters."""
    lasts, offsets = durations(protocol), event_offsets(protocol)
    step = _unit(end)
    columns = math.ceil(round(end / step, 6))
    row = ["."] * columns
    for kind in reversed(offsets):  # what begins first is drawn over what follows
        first = int(offsets[kind] / step)
        last = max(math.ceil(round((offsets[kind] + lasts[kind]) / step, 6)), first + 1)
        for place in range(first, min(last, columns)):
            both = kind == "perception" and protocol.timing.together and row[place] != "."
            row[place] = BOTH if both else MARKS[kind]
    pointer = min(int(decision_time(protocol) / step), columns - 1) * " " + "^ guess"
    return [f"one trial, a character is {step:g} s:", f"|{''.join(row)}|", f" {pointer}"]


def _unit(seconds: float) -> float:
    """Return how long a character is: a round number of seconds, so that a trial fits."""
    sizes = (size * 10.0**power for power in range(-2, 3) for size in (1, 2, 5))
    return next(size for size in sizes if seconds / size <= WIDTH)
