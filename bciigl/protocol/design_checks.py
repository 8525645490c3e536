"""Checks of the experiment that a well-formed protocol describes: refusals and warnings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from bciigl.protocol import schedule

if TYPE_CHECKING:
    from bciigl.protocol.model import Protocol

FieldPath = tuple[str | int, ...]
"""A field of a protocol, such as ``("timing", "isi")``; whole numbers are places in a list."""

Position = tuple[int, int]
"""Line and column, from 1."""

NIFTI_FRAMES = 32_767
"""Most volumes that a NIfTI-1 file can hold."""

LONGEST_WAIT = 60
"""Seconds of jitter in a trial, beyond which a protocol is warned of."""

LEAST_CONTRAST = 4.5
"""Contrast of letters, below which a protocol is warned of."""


class Finding(NamedTuple):
    """One problem of a protocol: the field to change, what is wrong, and how to correct it."""

    path: FieldPath
    message: str
    about: tuple[FieldPath, ...] = ()  # the other fields or sections it depends on
    position: Position | None = None


def refusals(protocol: Protocol) -> list[Finding]:
    """Return why the experiment cannot be run or cannot work; empty if it can."""
    checks = (_events, _symmetry, _timing, _one_time_for_all, _length)
    return [finding for check in checks for finding in check(protocol)]


def advice(protocol: Protocol) -> list[Finding]:
    """Return warnings about what is allowed but probably not intended."""
    checks = (
        _rests_on_resemblance,
        _peak,
        _too_little_to_learn_from,
        _long_run,
        _long_wait,
        _silent_judgment,
        _seen_and_judged_as_one,
        _never_learns,
        _drawn_anyway,
        _hard_to_read,
    )
    return [finding for check in checks for finding in check(protocol)]


def judged_match_rate(protocol: Protocol, match_rate: float) -> float:
    """Return how often a match is judged where `match_rate` of the guesses do match."""
    lapse = protocol.human.judgment_lapse
    return match_rate * (1 - lapse) + (1 - match_rate) * lapse


def known_match_rate(protocol: Protocol) -> float | None:
    """Return how often guesses match on catch trials, or None where there are none."""
    catch = protocol.task.catch
    # Learners need a rate that is neither 0 nor 1.
    return min(max(catch.match_rate, 0.01), 0.99) if catch.share else None


def _events(protocol: Protocol) -> Iterator[Finding]:
    events, weights = protocol.task.events, protocol.feedback
    allowed = [kind for kind in ("imagination", "perception", "judgment") if kind in events]
    if list(events) != allowed or "imagination" not in events:
        message = "should be imagination, then perception, judgment or both in this order, got "
        yield Finding(("task", "events"), message + ", ".join(events))
    elif not any(getattr(weights, kind) for kind in events[1:]):
        yield Finding(
            ("feedback",),
            "no event has a weight above 0, so the agent would get no feedback; "
            f"raise feedback.{events[-1]}",
            (("task", "events"),),
        )


def _symmetry(protocol: Protocol) -> Iterator[Finding]:
    task = protocol.task
    if len(task.options) == 2 and not _blind(protocol) and abs(task.catch.match_rate - 0.5) < 0.099:
        yield Finding(
            ("task", "catch", "match_rate"),
            "with two options only the catch trials tell match from mismatch, so their match rate "
            f"should be 0.4 or less, or 0.6 or more, got {task.catch.match_rate:g}",
            (("task", "options"),),
        )


def _blind(protocol: Protocol) -> bool:
    """Tell whether match and mismatch are equally frequent, and no catch trials tell them apart."""
    task = protocol.task
    return len(task.options) == 2 and task.catch.share * task.trials < 1


def _rests_on_resemblance(protocol: Protocol) -> Iterator[Finding]:
    if _blind(protocol):
        yield Finding(
            ("task", "options"),
            "two options guessed uniformly match half of the time, so match and mismatch are told "
            "apart by one assumption only: that imagining an option resembles seeing it; to do "
            "without it, add catch trials (task.catch.share: 0.2) or a third option",
            (("task", "catch"), ("task", "trials")),
        )


def _timing(protocol: Protocol) -> Iterator[Finding]:
    timing = protocol.timing
    spacing, decision = schedule.steps(protocol)[0].seconds, schedule.decision_time(protocol)
    lasts = schedule.estimate_frames(protocol) * timing.tr
    about: tuple[FieldPath, ...] = (("timing",),)
    end = f"at {spacing:g} s: imagination and the pause after it"
    if decision <= 0:
        field = "latency"
        message = f"should be less than {spacing:g}, when the guess is due, got {timing.latency:g}"
    elif decision + timing.latency > spacing + 1e-9:
        field = "decision"
        message = (
            f"decision and latency ({decision:g} + {timing.latency:g} s) should end before the "
            f"next event begins, {end}; decide earlier or make the pause longer"
        )
    elif decision < timing.tr - 1e-9:
        field = "decision" if timing.decision else "latency" if timing.latency else "tr"
        remedy = "use a longer isi or a shorter tr" if field == "tr" else "decide later"
        message = (
            f"the agent would guess {decision:g} s into the trial, before the first frame is "
            f"complete ({timing.tr:g} s); {remedy}"
        )
    elif protocol.estimate.method != "glm" and timing.frame_lag + lasts > decision + 1e-9:
        field, about = "frame_lag", (("timing",), ("estimate",))
        frame = "frame" if lasts == timing.tr else "last frame of the window"
        message = (
            f"the {frame} {timing.frame_lag:g} s after onset may be complete only {lasts:g} s "
            f"later, after the decision at {decision:g} s; lower frame_lag or decide later"
        )
    else:
        return
    yield Finding(("timing", field), message, about)


def _one_time_for_all(protocol: Protocol) -> Iterator[Finding]:
    """Refuse times that differ where frames of separate series are put together."""
    timing = protocol.timing
    separate = protocol.recording == "separate"
    window = protocol.estimate.method == "window"
    if not separate and not window:
        return
    kinds = ("imagination", "perception", "judgment")
    own = [kind for kind in kinds if getattr(timing, kind) != type(timing.imagination)()]
    fields = [*own, *(each for each in ("jitter", "iti", "null_trials") if getattr(timing, each))]
    if not fields:
        return
    here, needs = "recording: separate", "recording: shared"
    if not separate:
        here, needs = "estimate: window", "estimate: glm or frame"
    named = ", ".join(f"timing.{each}" for each in fields)
    yield Finding(
        ("timing", fields[0]),
        f"does not go with {here}, in which all events have the times timing.event and timing.isi; "
        f"use {needs}, or leave out {named}",
        (("timing",), ("recording",) if separate else ("estimate",)),
    )


def _longest_run(protocol: Protocol) -> int:
    """Return the most trials in any run of the session or of its test."""
    task = protocol.task
    return min(task.trials_per_run, max(task.trials, protocol.evaluation.test_trials))


def _length(protocol: Protocol) -> Iterator[Finding]:
    longest = _longest_run(protocol)
    seconds = schedule.longest_run_seconds(protocol, longest)
    frames = math.ceil(round(seconds / protocol.timing.tr, 6))
    if frames > NIFTI_FRAMES:
        each = schedule.longest_run_seconds(protocol, longest + 1) - seconds
        most = max(longest - math.ceil((seconds - NIFTI_FRAMES * protocol.timing.tr) / each), 1)
        yield Finding(
            ("task", "trials_per_run"),
            f"a run of {longest} trials has {frames} frames, but a NIfTI file holds "
            f"{NIFTI_FRAMES}; use at most {most} trials per run",
            (("task",), ("timing",), ("evaluation",)),
        )


def _peak(protocol: Protocol) -> Iterator[Finding]:
    from bciigl.protocol.hrf import peak_time, shape_of  # scipy, which a protocol needs not

    timing = protocol.timing
    if protocol.brain.responses == "recorded":  # cut out around their peaks
        return
    spacing, decision = schedule.steps(protocol)[0].seconds, schedule.decision_time(protocol)
    lasts = schedule.durations(protocol)["imagination"]
    peak = round(peak_time(lasts, shape_of(protocol.brain)), 1)
    if spacing < peak + timing.tr:
        own = timing.imagination.pause is not None
        yield Finding(
            ("timing", "imagination", "pause") if own else ("timing", "isi"),
            f"responses overlap before they peak: the next event begins {spacing:g} s after an "
            f"event, but its response peaks at {peak:g} s and a frame takes {timing.tr:g} s; "
            f"{'a pause' if own else 'an isi'} of {peak + timing.tr - lasts:g} s or more shows the "
            "peak",
        )
    if decision < peak <= spacing:
        message = f"the agent guesses at {decision:g} s, before the response peaks at {peak:g} s"
        yield Finding(("timing", "decision"), message)


def _too_little_to_learn_from(protocol: Protocol) -> Iterator[Finding]:
    task = protocol.task
    options = len(task.options)
    free = 1 - task.catch.share
    guesses = task.trials * free / options
    # At a real brain's noise, learners hardly trust themselves with fewer than 40 guesses of each
    # option; fewer than 10 matches of each are too rare to be discovered.
    needed = math.ceil(max(40 * options, 10 * options**2) / free)
    if task.trials < needed:
        yield Finding(
            ("task", "trials"),
            f"too few to learn from: about {guesses:.0f} guesses of each option, of which "
            f"{guesses / options:.0f} match; use {needed} or more (bciigl plan tells how many)",
        )
        return
    if _blind(protocol):
        return
    path: FieldPath
    if options == 2:
        path, kind = ("task", "catch", "share"), "catch trials"
        trials, rate = task.trials * task.catch.share, task.catch.match_rate
    else:
        path, kind = ("task", "trials"), "trials"
        trials, rate = task.trials * free, 1 / options
    rate = judged_match_rate(protocol, rate)
    error = math.sqrt(rate * (1 - rate) / trials)
    # Sampling error alone may put the match rate on the wrong side of 1/2.
    if abs(rate - 0.5) < 3 * error:
        yield Finding(
            path,
            f"{trials:.0f} {kind}, judged a match at a rate of {rate:.2f} +- {error:.2f}, "
            "may not tell match from mismatch (a rate near 1/2 fits both); use more "
            f"{kind}, or have fewer lapses of judgment",
        )


def _long_run(protocol: Protocol) -> Iterator[Finding]:
    minutes = schedule.longest_run_seconds(protocol, _longest_run(protocol)) / 60
    if minutes > 60:
        message = f"a run lasts {minutes:.0f} minutes without pause; "
        yield Finding(("task", "trials_per_run"), message + "few people lie still for more than 60")


def _long_wait(protocol: Protocol) -> Iterator[Finding]:
    jitter = sum(step.jitter for step in schedule.steps(protocol))
    if jitter > LONGEST_WAIT:
        message = f"jitter can make a trial {jitter:g} s longer; few people stay attentive for more"
        yield Finding(("timing",), f"{message} than {LONGEST_WAIT}")


def _seen_and_judged_as_one(protocol: Protocol) -> Iterator[Finding]:
    """Warn of weights that cannot be had where responses to two events are one."""
    weights = protocol.feedback
    one = protocol.timing.together and len(protocol.task.events) == 3
    if one and protocol.estimate.method == "glm" and weights.perception != weights.judgment:
        yield Finding(
            ("feedback",),
            "seeing and judging a guess begin together, so regression gives their sum whatever the "
            "weights; use equal ones, or let judgment begin later (timing.together: false)",
        )


def _silent_judgment(protocol: Protocol) -> Iterator[Finding]:
    if "judgment" not in protocol.task.events:
        yield Finding(
            ("task", "events"),
            "nobody judges guesses, so nothing can be learned from the feedback: a control only",
        )
    elif protocol.feedback.judgment == 0:
        effect = "so nothing can be learned from it: a control only"
        if protocol.recording == "shared" and protocol.estimate.method == "glm":
            effect = (
                "and yet leak into it, as regression does not part neighbouring events entirely: "
                "for a control leave them out of task.events"
            )
        message = f"judgments have no weight in the feedback, {effect}"
        yield Finding(("feedback", "judgment"), message)


def _never_learns(protocol: Protocol) -> Iterator[Finding]:
    runs = schedule.run_count(protocol, protocol.task.trials)
    learns = protocol.agent.policy in ("explore-then-commit", "epsilon-greedy")
    if learns and protocol.agent.uniform_runs >= runs:
        yield Finding(
            ("agent", "uniform_runs"),
            f"the agent never acts on what it learns: all runs of the session ({runs}) are "
            "uniform; use fewer uniform runs, or fewer trials per run",
        )


def _drawn_anyway(protocol: Protocol) -> Iterator[Finding]:
    for name in protocol.population:
        path = tuple(name.split("."))
        section = reduce(getattr, path[:-1], protocol)
        value = getattr(section, path[-1])
        if value != type(section).model_fields[path[-1]].default:
            yield Finding(path, f"{value:g} is not used: people's values are drawn (population)")


def _hard_to_read(protocol: Protocol) -> Iterator[Finding]:
    from bciigl.protocol.screen import contrast  # which needs the class Finding

    screen = protocol.screen
    if (found := contrast(screen.text_colour, screen.background)) < LEAST_CONTRAST:
        yield Finding(
            ("screen", "text_colour"),
            f"hard to read on {screen.background}: a contrast of {found:.1f}, where WCAG asks for "
            f"{LEAST_CONTRAST} or more",
        )
