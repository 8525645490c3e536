"""Frames in time: events go in, frames come out, and the past never changes."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bciigl.base.errors import BciiglError
from bciigl.brain.events import Event
from bciigl.protocol.schedule import frames_complete

if TYPE_CHECKING:
    from bciigl.brain.simulated import Brain


class ScannerError(BciiglError):
    """What a scanner cannot do, such as change a frame it has given."""


class _Response(NamedTuple):
    """What one event adds to the frames."""

    order: tuple  # responses are summed in this order, whenever they were announced
    first: int  # its first frame
    stop: int  # the frame after its last
    course: np.ndarray  # (frames,)
    amplitude: np.ndarray  # (voxels,)


class Scanner:
    """One run: announce events, take frames. `Brain.scan` makes it.

    Frame k is sampled at (k + 1/2) TR and complete at (k + 1) TR. An event changes only frames that
    are sampled after its onset, and none that has been taken. Whether frames are taken one by one
    or many at once, and when the events are announced, does not change a bit of them.

    It gives out frames alone: those of the background, (voxels,) or (x, y, z) for the whole brain,
    with the responses to the events. Only the caller knows what the events were.
    """

    def __init__(
        self, brain: Brain, background: Iterable[np.ndarray], frames: int, *, whole_brain: bool
    ) -> None:
        self.tr = brain.protocol.timing.tr
        self.frames = frames
        self.taken = 0
        self._brain = brain
        self._background = iter(background)
        # Of all frames.
        self._index: tuple = (slice(None), *(brain.region.index if whole_brain else (slice(None),)))
        self._shape = brain.subject.shape if whole_brain else (len(brain.region),)
        self._responses: list[_Response] = []

    @property
    def time(self) -> float:
        """Seconds from the beginning of the run to the end of the last frame taken."""
        return self.taken * self.tr

    def announce(self, event: Event) -> None:
        """Let an event happen, now or later.

        `ScannerError` if a frame sampled after its onset has been taken, or the run is over then.
        """
        end, sampled = self.frames * self.tr, (self.taken - 0.5) * self.tr
        what = f"{event.kind} at {event.onset:g} s"
        if not 0 <= event.onset < end:
            raise ScannerError(f"{what} is not within the run of {end:g} s")
        if event.onset < sampled:
            late = f"comes too late: the frame sampled at {sampled:g} s has been taken"
            raise ScannerError(f"{what} {late}")
        amplitude = self._brain.amplitude(event)
        first, course = self._brain.course(event)
        order, stop = (event.onset, amplitude.tobytes()), first + len(course)
        response = _Response(order, first, stop, course, amplitude)
        insort(self._responses, response, key=lambda each: each.order)

    def __iter__(self) -> Iterator[np.ndarray]:
        """Take the frames that are left, one by one."""
        return self

    def __next__(self) -> np.ndarray:
        """Take the next frame: (voxels,), or (x, y, z) for the whole brain."""
        if self.taken == self.frames:
            raise StopIteration
        return self._take(1)[0]

    def until(self, seconds: float) -> np.ndarray:
        """Take all frames that are complete by then and have not been taken yet, (frames, ...)."""
        if math.isnan(seconds):
            raise ScannerError("until when? got nan")
        complete = frames_complete(min(seconds, self.frames * self.tr), self.tr)
        return self._take(max(complete - self.taken, 0))

    def play(self, events: Iterable[Event]) -> np.ndarray:
        """Announce all events, and take all frames that are left, (frames, ...)."""
        for event in events:
            self.announce(event)
        return self._take(self.frames - self.taken)

    def _take(self, count: int) -> np.ndarray:
        first, self.taken = self.taken, self.taken + count
        signal = np.zeros((count, len(self._brain.region)))
        for response in self._responses:
            if response.first >= self.taken:
                break
            start, stop = max(response.first, first), min(response.stop, self.taken)
            course = response.course[start - response.first : stop - response.first]
            signal[start - first : stop - first] += course[:, None] * response.amplitude
        self._responses = [each for each in self._responses if each.stop > self.taken]
        frames = np.array(list(islice(self._background, count))).reshape(count, *self._shape)
        frames[self._index] += signal
        return frames
