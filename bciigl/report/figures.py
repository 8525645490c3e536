"""The response to an event as a figure, and how figures become files."""

import os
import warnings
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from bciigl.base.files import written_file
from bciigl.brain import Brain
from bciigl.protocol.hrf import event_response, peak_time, response_length, shape_of
from bciigl.protocol.schedule import steps
from bciigl.report.direct import say
from bciigl.report.style import EVENT_COLOR, NOISE_COLOR, RESPONSE_COLOR, SMALL, new_figure, plain

UNDATED = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""What keeps the time and matplotlib's version out of files."""


def response_figure(brain: Brain) -> Figure:
    """Return the response to a lone event, with the frames that sample it and the noise around."""
    timing, settings = brain.protocol.timing, brain.protocol.brain
    duration, shape = timing.event, shape_of(settings)
    end = response_length(duration, shape)
    next_event = steps(brain.protocol)[0].seconds
    last = max(end, next_event + 1)
    frames = np.arange(0.5 * timing.tr, end, timing.tr)
    peak, high = peak_time(duration, shape), max(settings.cnr, settings.noise)
    figure = new_figure(3.2)
    axis = figure.subplots()
    axis.axhspan(-settings.noise, settings.noise, color=NOISE_COLOR, lw=0)
    axis.axhline(0, color="black", lw=0.5)
    axis.axvspan(0, duration, color=EVENT_COLOR, lw=0, alpha=0.8)
    for when, look in ((np.linspace(0, end, 600), "-"), (frames, "o")):
        height = settings.cnr * event_response(when, duration, shape)
        axis.plot(when, height, look, ms=4.5, color=RESPONSE_COLOR, zorder=3)
    axis.axvline(next_event, color="black", lw=0.8, ls=":")
    axis.set(xlim=(0, last), ylim=(-1.1 * max(settings.noise, 0.2 * settings.cnr), 1.25 * high))
    words = [
        (f"event, {duration:g} s", (duration, 1.12 * high), "left"),
        ("next event", (next_event, 1.12 * high), "left"),
        (f"a frame every {timing.tr:g} s", (peak + 1.5, 0.85 * settings.cnr), "left"),
        ("noise as recorded, ±1 SD", (last, settings.noise), "right"),
    ]
    for text, place, side in words:
        shift = {"textcoords": "offset points", "xytext": (4 if side == "left" else -4, 3)}
        axis.annotate(text, place, ha=side, fontsize=SMALL, zorder=4, **shift)
    axis.set_xlabel("seconds after the event's onset")
    axis.set_ylabel("signal where the pattern is 1\n(SDs of the full-strength noise)")
    plain(axis)
    sampled = (
        f"{len(frames[frames < next_event])} frames" if next_event > timing.tr else "one frame"
    )
    say(
        axis,
        f"The response to a {duration:g} s event peaks {peak:.1f} s after its onset, at "
        f"{settings.cnr:g} SDs of the noise; {sampled} before the next event",
    )
    return figure


def save(figure: Figure, path: str | os.PathLike) -> None:
    """Write a figure as a .png, .svg or .pdf file; the same figure gives the same bytes."""
    with written_file(path) as temporary:
        render(figure, temporary, os.path.splitext(path)[1])


def render(figure: Figure, target: Any, ending: str) -> None:
    """Write a figure to a path or binary file, in the format that files of this ending have."""
    with matplotlib.rc_context({"svg.hashsalt": "bciigl"}), warnings.catch_warnings():
        # An option may be written in letters that matplotlib's font lacks: it draws boxes then.
        warnings.filterwarnings("ignore", r"Glyph .* missing from font")
        look = {"facecolor": figure.get_facecolor(), "metadata": UNDATED[ending]}
        figure.savefig(target, format=ending.lstrip("."), **look)
