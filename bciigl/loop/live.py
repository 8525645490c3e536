"""A live session: the same loop, fed with volumes, that a crash cannot take anything from."""

import logging
import os
import secrets
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bciigl.base.errors import BciiglError
from bciigl.base.progress import Notify, Progress, silent
from bciigl.brain.images import read_image, read_mask, write_image
from bciigl.brain.region import Region, find_region
from bciigl.brain.subject import load_subject
from bciigl.estimate import UNCALIBRATED, Calibration
from bciigl.learn import load_learner, save_learner
from bciigl.loop.live_sink import LiveSink, PatientJournal
from bciigl.loop.session import Lateness, agent_of, refuse_another, session_runs
from bciigl.loop.timely import TimelyAgent
from bciigl.loop.yoked import YokedAgent, in_condition, read_condition
from bciigl.protocol import Protocol, draw, schedule
from bciigl.protocol.summary import first_difference
from bciigl.protocol.validation import validate
from bciigl.recording.calibration import read_calibration, write_calibration
from bciigl.recording.journal import JournalError
from bciigl.recording.layout import CALIBRATION, ESTIMATES, POLICY, SUBJECT, is_finished
from bciigl.source.channel import Address, find_scanner
from bciigl.source.display import ClockDisplay, Draw, RehearsalDisplay, never
from bciigl.source.folder import file_states
from bciigl.source.folder_feed import FolderFeed
from bciigl.source.live import SHORTEST_WAIT, LiveSource
from bciigl.source.lsl import LslFeed, check_stream
from bciigl.source.triggers import check_trigger
from bciigl.source.volumes import Volume, is_volume_name

REFERENCE = ESTIMATES / SUBJECT / "func" / f"{SUBJECT}_desc-reference_boldref.nii.gz"
"""What all volumes of a session are realigned to."""


@dataclass
class Watching:
    """Who watches a live session; each function is called from any thread.

    Attributes
    ----------
    progress : function
        Called after each trial with the number of trials done, and of all.
    lateness : function
        Called with the seconds by which each guess was late.
    draw : function
        Called with an event when the person is to see it (`bciigl.source.display.Draw`).
    is_drawn : function
        Tells in a rehearsal whether the simulated person sees what is drawn, and answers by keys
        that are pressed there; if not, they see everything as planned.
    gate : function
        Called with the number of each run before it begins; returns when it may.
    paused : function
        Tells whether nothing is to be shown now.
    line : function
        Called with each line of the journal; of a session that is resumed, with all earlier ones.
    begin : function
        Called with the source when the session begins, such as to `trigger` its runs.
    notify : function
        Called with what the session does or waits for.
    """

    progress: Progress = silent
    lateness: Lateness = silent
    draw: Draw = silent
    is_drawn: Callable[[], bool] = never
    gate: Callable[[int], None] = silent
    paused: Callable[[], bool] = never
    line: Callable[[dict[str, Any]], None] = silent
    begin: Callable[[LiveSource], None] = silent
    notify: Notify = silent


def record_live(
    protocol: Protocol,
    volumes: str | os.PathLike | None,
    out: str | os.PathLike,
    *,
    lsl: str | None = None,
    region: str | os.PathLike | None = None,
    folder: str | os.PathLike | None = None,
    policy: Any = None,
    calibration: Calibration = UNCALIBRATED,
    condition: str | os.PathLike | None = None,
    watching: Watching | None = None,
) -> None:
    """Run the training session of an experiment on volumes as they come, and record it.

    If it is stopped, `resume_live` joins the run that is being scanned.

    Parameters
    ----------
    protocol : Protocol
        The experiment; its section `live` says how volumes come.
    volumes : path-like
        The folder that the scanner writes volumes to. If a simulated scanner does
        (`bciigl.loop.scanner`), the session is a rehearsal, with its person.
    out : path-like
        A folder that is absent or empty.
    lsl : str, optional
        The name of an LSL stream from which the region's values come (`bciigl.source.lsl`). Then
        `volumes` only tells where a simulated scanner is; at a scanner it is None.
    region : path-like, optional
        What `bciigl region` wrote: the region in the participant's own space, and the reference
        volume. By default it is the protocol's region, for volumes on its subject's grid, and the
        first volume is the reference.
    folder, policy, calibration
        As in `bciigl.loop.record`.
    condition : path-like, optional
        A file that says whether another session's guesses are shown (`bciigl.loop.yoked`).
    watching : Watching, optional
        Who watches.
    """
    protocol, out = draw(protocol), Path(os.path.abspath(out))
    if len(schedule.series(protocol)) > 1 or protocol.brain.responses == "recorded":
        raise BciiglError(
            "a live session has one series of volumes of a person: use recording: shared"
        )
    existing = file_states(volumes) if volumes is not None else {}
    files = existing.items()
    settings: dict[str, Any] = {
        "volumes": None if volumes is None else os.path.abspath(volumes),
        "lsl": lsl,
        "region": None if region is None else os.path.abspath(region),
        "folder": None if folder is None else os.path.abspath(folder),
        "salt": secrets.token_hex(16),
        # Of volumes alone: other files may be from a computer with another clock.
        "newest": max((0, *(at for path, (_, at) in files if is_volume_name(path.name)))),
        "rehearsed": None if (scanner := _scanner(volumes)) is None else scanner.speed,
    }
    settings["condition"] = condition and read_condition(condition, protocol)
    # Refused before anything is written:
    if scanner is not None:
        _refuse_another_experiment(protocol, scanner)
    region_of(protocol, settings["region"], settings["folder"])
    if lsl is not None:
        check_stream(lsl)
    if not settings["rehearsed"]:
        check_trigger(protocol)
        if schedule.decision_time(protocol) >= schedule.steps(protocol)[0].seconds:
            logging.getLogger("bciigl").warning(
                "timing.latency is 0: each guess will be seen as late as the last volume before it "
                "takes to arrive; set it to that time"
            )

    def prepare() -> None:
        if policy is not None:
            save_learner(policy, out / POLICY)
            write_calibration(out / POLICY / CALIBRATION, calibration)

    header = {"protocol": protocol.model_dump(mode="json"), "live": settings}
    with closing(PatientJournal.create(out, header, prepare)) as journal:
        given = (policy, calibration, watching or Watching(), existing)
        _run(journal, protocol, settings, *given)


def resume_live(
    out: str | os.PathLike, *, expected: Protocol | None = None, watching: Watching | None = None
) -> None:
    """Join a session that was stopped, where it is now; what it missed is marked in the dataset.

    Parameters
    ----------
    out : path-like
        The folder of the recording. If it is complete, nothing is done.
    expected : Protocol, optional
        The experiment that it should be of.
    watching : Watching, optional
        Who watches.
    """
    out = Path(os.path.abspath(out))
    if is_finished(out):
        return
    with closing(PatientJournal.reopen(out)) as journal:
        protocol, settings = _settings(journal)
        refuse_another(out, protocol, expected)
        policy = load_learner(out / POLICY) if (out / POLICY).exists() else None
        calibration = read_calibration(out / POLICY / CALIBRATION)
        _run(journal, protocol, settings, policy, calibration, watching or Watching())


def begun_session(out: str | os.PathLike) -> tuple[Protocol, dict[str, Any]]:
    """Return the protocol and the settings of a session that was stopped."""
    with closing(PatientJournal.reopen(Path(os.path.abspath(out)))) as journal:
        return _settings(journal)


def _settings(journal: PatientJournal) -> tuple[Protocol, dict[str, Any]]:
    protocol, findings = validate(journal.header.get("protocol"))
    settings = journal.header.get("live")
    if findings or protocol is None or not isinstance(settings, dict):
        folder = journal.path.parent
        raise JournalError(f"{folder}: is not a live session; use bciigl simulate --resume")
    return protocol, settings


def region_of(
    protocol: Protocol, region: str | os.PathLike | None, folder: str | os.PathLike | None
) -> tuple[Region, tuple[int, ...]]:
    """Return the region of a live session, and the shape of its volumes; as in `record_live`."""
    if region is None:
        subject = load_subject(protocol.brain.subject, folder or "")
        return find_region(protocol.brain.region, subject, folder or ""), subject.shape
    reference = read_image(Path(region, "reference.nii.gz"))
    shape = reference.data.shape
    mask = read_mask(Path(region, "region.nii.gz"), shape, reference.affine, "reference.nii.gz")
    return Region(np.argwhere(mask), reference.affine), shape


def _run(
    journal: PatientJournal,
    protocol: Protocol,
    settings: dict[str, Any],
    policy: Any,
    calibration: Calibration,
    watching: Watching,
    existing: dict[Path, tuple[int, int]] | None = None,
) -> None:
    """Run a session; of a new one, `existing` files are known exactly, and are old."""
    out = journal.path.parent
    region, shape = region_of(protocol, settings["region"], settings["folder"])
    over = _volumes_of_finished_runs(journal.entries())
    old = {each["series"] for each in over}
    feed: LslFeed | FolderFeed
    if settings.get("lsl") is not None:
        feed = LslFeed(settings["lsl"], len(region), dummies=protocol.live.dummies, old=old)
    else:
        feed = FolderFeed(
            Path(settings["volumes"]),
            protocol,
            region,
            shape,
            reference=_reference(out, settings["region"]),
            on_reference=lambda volume: sink.attempt(lambda: _write_reference(out, volume)),
            salt=bytes.fromhex(settings["salt"]),
            old=old,
            newest=max([settings["newest"] * (not existing), *(each["changed"] for each in over)]),
            existing=existing,
        )
    scanner = _scanner(settings["volumes"])

    def display(keep: Callable, elapsed: Callable[[], float]) -> Any:
        if settings["rehearsed"]:
            drawn = (elapsed, watching.draw, watching.is_drawn)
            return RehearsalDisplay(keep, scanner, *drawn, settings["rehearsed"])
        return ClockDisplay(keep, elapsed, watching.draw)

    def keep(session: str, run: int, line: dict[str, Any]) -> None:
        journal.append({"session": session, "run": run, **line})

    rehearsed: float | None = settings["rehearsed"]
    about = {"Manufacturer": "simulated", "NoiseWeight": protocol.brain.noise}
    source = LiveSource(
        protocol,
        region,
        feed,
        display,
        keep=keep,
        group="simulated" if rehearsed else "participant",
        sidecar=about if rehearsed else None,
        speed=rehearsed,
    )
    with closing(source):
        patience = protocol.live.deadline * protocol.timing.tr / (rehearsed or 1.0)
        agent = agent_of(protocol, source.n_voxels, policy, calibration)
        timely = TimelyAgent(agent, max(patience, SHORTEST_WAIT))
        shown = in_condition(timely, settings.get("condition"))
        hear = _without_harm(watching.line)
        for line in journal.entries():
            hear(line)
        journal.heard = hear
        source.gate, source.display.paused = watching.gate, watching.paused
        watching.begin(source)
        sink = LiveSink(journal, protocol, source)
        sink.troubles = timely.troubles
        source.notify = watching.notify
        if isinstance(shown, YokedAgent):
            sink.begin_trial = shown.begin_trial
        # A fast rehearsal waits for guesses, so none is late.
        late = silent if (rehearsed or 0) > 1 else watching.lateness
        runs = session_runs(
            *(protocol, source, shown, sink, ("train",)), progress=watching.progress, lateness=late
        )
        for _ in runs:
            pass


def _without_harm(hear: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    """Return a function whose failures do not reach the session; the first one is logged."""
    failed: list[dict[str, Any]] = []

    def heard(line: dict[str, Any]) -> None:
        try:
            hear(line)
        except Exception:
            if not failed:
                logging.getLogger("bciigl").exception(
                    "what watches the session has failed; all is recorded, but perhaps not shown"
                )
            failed.append(line)

    return heard


def _refuse_another_experiment(protocol: Protocol, scanner: Address) -> None:
    """Refuse a rehearsal with a scanner that is gone, or of another experiment or person."""
    if not scanner.answers():
        raise BciiglError(
            f"the simulated scanner does not answer at port {scanner.port}: start bciigl scan, or "
            "delete scanner.json in the folder of its volumes"
        )
    theirs, findings = validate(scanner.protocol)
    if findings or theirs is None:
        return  # of another version, which says so itself
    # What a scanner and a person do not know of.
    ours = ("name", "description", "agent", "learners", "estimate", "evaluation", "study")
    same = {name: getattr(protocol, name) for name in ours}
    same["live"] = protocol.live.model_copy(update={"dummies": theirs.live.dummies})
    if difference := first_difference(protocol, theirs.model_copy(update=same)):
        name, mine, other = difference
        raise BciiglError(
            f"the simulated scanner runs another experiment: {name} is {other} there, {mine} here"
        )


def _scanner(volumes: str | os.PathLike | None) -> Address | None:
    return None if volumes is None else find_scanner(volumes)


def _volumes_of_finished_runs(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines of a journal about volumes of runs that are over."""
    found, mine = [], []
    for line in lines:
        if "volume" in line:
            mine.append(line)
        if "written" in line:
            found += mine
            mine = []
    return found


def read_reference(out: str | os.PathLike) -> Volume | None:
    """Return what the volumes of a session are realigned to; None if that is not in a dataset."""
    path = Path(out, REFERENCE)
    return _as_volume(path) if path.exists() else None


def _reference(out: Path, region: str | None) -> Volume | None:
    """Return the reference of a session; one that was given becomes part of the dataset."""
    found, given = read_reference(out), given_reference(region)
    if found is None and given is not None:
        _write_reference(out, given)
    return found or given


def given_reference(region: str | os.PathLike | None) -> Volume | None:
    """Return the reference that `bciigl region` wrote, if there is one."""
    return None if region is None else _as_volume(Path(region, "reference.nii.gz"))


def _as_volume(path: Path) -> Volume:
    image = read_image(path)
    return Volume(image.data.astype(np.float32), image.affine, None, "", "", None, None, None)


def _write_reference(out: Path, volume: Volume) -> None:
    (out / REFERENCE).parent.mkdir(parents=True, exist_ok=True)
    write_image(out / REFERENCE, volume.data, volume.affine)
