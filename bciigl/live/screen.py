"""What the participant sees: one view at a time, on pages that say when it was seen."""

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bciigl.base.errors import BciiglError
from bciigl.base.progress import silent
from bciigl.brain.events import Event
from bciigl.protocol import Protocol
from bciigl.protocol.schedule import durations, session_trials, trials_per_run
from bciigl.protocol.screen import image_type, placeholder_values, say, texts
from bciigl.protocol.timetable import Timetable, timetable
from bciigl.source.display import NotSeenError

ANSWER = 3.0
"""Seconds in which a page says that it has drawn something; a hidden or closed one never does."""
VIEWS = {"imagination": "imagine", "perception": "guess", "judgment": "judge"}


class ParticipantScreen:
    """The views of a session, and what its pages say.

    Parameters
    ----------
    protocol : Protocol
        The experiment.
    speed : float
        How many times as fast as a scanner it is.
    folder : path-like
        What paths of images are relative to.
    """

    def __init__(self, protocol: Protocol, speed: float = 1.0, folder: Any = "") -> None:
        self.protocol, self._speed = protocol, speed
        self.changed: Callable[[], None] = silent
        self.pressed: Callable[[str, float], None] = silent
        """Called with a key that was pressed on a page, and how many seconds ago."""
        self.pages_changed: Callable[[], None] = silent
        """Called when a page opens, closes, hides or has tested itself."""
        self._texts, self._values = texts(protocol), placeholder_values(protocol)
        self._lasts, self._options = durations(protocol), [str(o) for o in protocol.task.options]
        live = protocol.live
        self._keys = [live.trigger_from] if live.trigger == "key" else []
        self._keys += live.answers if protocol.human.key_press else []
        # A recording has no images beside it.
        self.images = {} if folder is None else read_images(protocol, folder)
        self._answered = threading.Condition()
        self._pages: dict[object, dict[str, Any]] = {}
        # When a view was seen, by this computer's clock, on each page that says so.
        self._seen: dict[int, dict[object, float]] = {}
        self._paused = False
        self._counts = self._trials_of("train")
        self._run = 1
        self._when: Timetable | None = None
        self.guess: str | None = None
        """The guess of the present trial."""
        self._view: dict[str, Any] = {"id": 0, "view": "instructions", "text": ""}
        self._view |= {"image": None, "small": ""}
        self.show("instructions", say(self._texts["instructions"], **self._values))

    @property
    def about(self) -> dict[str, Any]:
        """What the operator is told of the pages."""
        pages = list(self._pages.values())
        test: dict[str, Any] = next((each["test"] for each in reversed(pages) if each["test"]), {})
        return {
            "pages": len(pages),
            "keys": bool(self._keys),
            "visible": sum(each["visible"] for each in pages),
            "focused": any(each["visible"] and each["focused"] for each in pages),
            "frame_rate": test.get("frame_rate"),
            "onset_error": test.get("onset_error"),
        }

    @property
    def visible(self) -> bool:
        """Whether a page can be seen."""
        return any(each["visible"] for each in list(self._pages.values()))

    def snapshot(self) -> dict[str, Any]:
        """Return what a page shows, as plain data."""
        look = self.protocol.screen
        return {
            **self._view,
            "look": {
                "language": look.language,
                "font_size": look.font_size,
                "text": look.text_colour,
                "background": look.background,
            },
            "keys": self._keys,
            "images": [f"/images/{number}" for number in range(len(self.images))],
        }

    def show(self, view: str, text: str = "", option: str | None = None) -> int:
        """Show something from now on, and return its number; an option's image if it has one."""
        image = None
        if option in self.images:
            image = f"/images/{list(self.images).index(option)}"
        with self._answered:
            small = self._counters(view)
            self._view = {"id": self._view["id"] + 1, "view": view, "text": text}
            self._view |= {"image": image, "small": small}
            number = self._view["id"]
        self.changed()
        return number

    def _counters(self, view: str) -> str:
        return "" if view in ("fixation", "imagine", "guess", "judge") else self._say("part")

    def _trials_of(self, session: str) -> dict[int, int]:
        counts = trials_per_run(self.protocol, session_trials(self.protocol)[session])
        return dict(enumerate(counts, start=1))

    def begin_run(self, run: int, session: str = "train") -> None:
        """Get ready for a run: the person waits for the scanner."""
        self._run, self._counts = run, self._trials_of(session)
        self._when = timetable(self.protocol, self._counts[run], session, run)
        name = "instructions" if run == 1 else "rest"
        self.show(name, self._say(name))

    def draw(self, event: Event) -> float:
        """Show an event, and return the seconds until all open pages have drawn it; see `Draw`.

        Of several, nobody knows which one the person sees: the last one counts.
        """
        began, number = time.monotonic(), self._show_event(event)
        with self._answered:
            self._answered.wait_for(lambda: not self._awaited(number), ANSWER)
            seen = [] if self._awaited(number) else [*self._seen.get(number, {}).values()]
            self._seen.clear()
        self._rest_after(number, event)  # not before it was seen, however fast a rehearsal is
        if not seen:
            raise NotSeenError
        return min(max(max(seen) - began, 0.0), time.monotonic() - began)

    def _awaited(self, number: int) -> bool:
        """Tell whether there are pages that can be seen, and have not drawn a view."""
        seen = self._seen.get(number, {})
        return any(about["visible"] and page not in seen for page, about in self._pages.items())

    def mirror(self, event: Event) -> None:
        """Show an event, without asking whether it was seen."""
        self._rest_after(self._show_event(event), event)

    def _show_event(self, event: Event) -> int:
        """Show an event from now on, and return the number of its view."""
        view = name = VIEWS[event.kind]
        option = None if event.content is None else str(event.content)
        if event.kind == "perception":
            self.guess = option
        elif event.kind == "judgment":  # what it is about may be the judgment of a simulated person
            at_once = self.protocol.timing.together or "perception" not in self.protocol.task.events
            option = self.guess if at_once else None
        elif option is not None:
            name = "imagine_cued"
        values: dict[str, Any] = {"trial": self._trial(event)}
        values["trials"] = self._counts.get(self._run, 0)
        values["option"] = option or self.guess or ""
        return self.show(view, self._say(name, **values), option)

    def _trial(self, event: Event) -> int:
        onsets: list[float] = []
        if self._when is not None:
            onsets = self._when.onsets[event.kind].tolist()
        return 1 + min(range(len(onsets)), key=lambda at: abs(onsets[at] - event.onset), default=0)

    def _rest_after(self, number: int, event: Event) -> None:
        """Show the fixation cross when an event is over, unless something else is shown then."""

        def rest() -> None:
            with self._answered:
                if self._view["id"] != number:
                    return
            self._rest()

        timer = threading.Timer(self._lasts[event.kind] / self._speed, rest)
        timer.daemon = True
        timer.start()

    def _say(self, name: str, **values: object) -> str:
        values = {**self._values, "run": self._run, "runs": len(self._counts), **values}
        return say(self._texts[name], **values)

    def _rest(self) -> None:
        if self._paused:
            self.show("paused", self._say("paused"))
        else:
            self.show("fixation")

    def fixate(self) -> None:
        """Show the fixation cross: a run has begun."""
        self.show("fixation")

    def pause(self, paused: bool, running: bool) -> None:
        """Show that there is a break, or that it is over; an event is shown to its end."""
        name, self._paused = "instructions" if self._run == 1 else "rest", paused
        if running and self._view["view"] in VIEWS.values():
            return
        if paused or running:
            self._rest()
        else:
            self.show(name, self._say(name))

    def finish(self) -> None:
        """Show that the session is over."""
        self.show("over", self._say("goodbye"))

    def opened(self, page: object) -> None:
        """Take notice of a new page."""
        about = {"visible": False, "focused": False, "test": None, "trip": 0.0, "sent": 0.0}
        with self._answered:
            self._pages[page] = about

    def left(self, page: object) -> None:
        """Take notice that a page is gone."""
        with self._answered:
            self._pages.pop(page, None)
            self._answered.notify_all()
        self.pages_changed()

    def sending(self, page: object) -> None:
        """Take notice that the present view is being sent to a page."""
        if page in self._pages:
            self._pages[page]["sent"] = time.monotonic()

    def heard(self, page: object, message: Mapping[str, Any]) -> None:
        """Take notice of what a page says; what is not as it should be is ignored."""
        about = self._pages.get(page)
        if about is None:
            return
        match message:
            case {"visible": bool(visible)}:
                with self._answered:
                    about["visible"] = visible
                    about["focused"] = message.get("focused") is True
                    self._answered.notify_all()
                self.pages_changed()
            case {"seen": int(number), "delay": int() | float() as delay} if 0 <= delay < 1e5:
                with self._answered:
                    if number == self._view["id"] and about["visible"]:
                        seen = about["sent"] + about["trip"] / 2 + delay / 1000
                        self._seen.setdefault(number, {}).setdefault(page, seen)
                    self._answered.notify_all()
            case {"key": str(key), "ago": ago} if len(key) <= 20 and _is_number(ago):
                self.pressed(key, min(max(ago, 0.0), 1000.0) / 1000)
            case {"test": {"frame_rate": rate, "onset_error": [usual, most]}} if all(
                map(_is_number, (rate, usual, most))
            ):
                about["test"] = {"frame_rate": rate, "onset_error": [usual, most]}
                self.pages_changed()

    def round_trip(self, page: object, seconds: float) -> None:
        """Take notice of how long a message to a page and back takes."""
        if page in self._pages:
            known = self._pages[page]["trip"]
            self._pages[page]["trip"] = min(seconds, known or seconds)


def _is_number(value: Any) -> bool:
    """Tell whether a page sent a number that can be written down, not one such as NaN."""
    return isinstance(value, int | float) and abs(value) < 1e9


def read_images(protocol: Protocol, folder: Any = "") -> dict[str, tuple[str, bytes]]:
    """Return media type and content of the options' images."""
    found = {}
    for option, file in protocol.screen.images.items():
        path = Path(folder, file)
        try:
            kind = image_type(path)
            content = path.read_bytes()
        except OSError as error:
            raise BciiglError(f"screen.images.{option}: {path}: {error.strerror}") from error
        if kind is None:
            raise BciiglError(f"screen.images.{option}: {path} is no PNG, JPEG or GIF image")
        found[option] = kind, content
    return found
