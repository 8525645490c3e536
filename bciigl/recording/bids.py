"""The dataset: written run by run, valid BIDS in the end."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bciigl import __version__
from bciigl.base.files import write_text, written_file
from bciigl.brain.images import write_image
from bciigl.brain.region import Region
from bciigl.protocol import Protocol, dump
from bciigl.protocol.recorded import caveat
from bciigl.protocol.schedule import durations, series
from bciigl.protocol.timetable import timetable
from bciigl.recording import layout
from bciigl.recording.calibration import calibration_arrays
from bciigl.recording.layout import ESTIMATES, beside, run_stem, task_label, words, write_table
from bciigl.recording.trial import NO_GUESS, RecordedRun, RunId, Trial
from bciigl.recording.truth import Truth

BIDS_VERSION = "1.10.0"
HEAD_RADIUS = 50.0
"""mm, of the sphere on which rotations count as displacement (Power et al. 2012)."""

_COLUMNS = {
    "trial": {"Description": "Number of the trial within the run, from 1"},
    "guess": {"Description": "The option that was guessed in this trial"},
    "propensity": {
        "Description": "Probability with which the guess was made, given all that was known to "
        "the agent; in catch trials the share of each option in the guesses shown"
    },
    "explored": {
        "Description": "Whether the agent drew the guess uniformly, whatever it had learned",
        "Levels": {"true": "drawn uniformly", "false": "chosen by a policy or an experimenter"},
    },
    "catch": {
        "Description": "Whether the imagined option was cued and the experimenter chose the guess",
        "Levels": {"true": "catch trial", "false": "the agent guessed"},
    },
}
_KEYS = {
    "response": {
        "Description": "The key that the judgment was given by; the agent was not told",
        "Levels": {"match": "the guess was right", "mismatch": "it was wrong"},
    },
    "response_time": {"Description": "From the onset of judgment to the key press", "Units": "s"},
}
_LEFT_OUT = {
    "left_out": {
        "Description": "Why the trial is not learned from, though it happened; n/a if it is",
        "Levels": {
            "unseen": "the participant's screen was closed or hidden",
            "marked bad": "the operator marked it",
        },
    }
}
_EVENTS = {
    "imagination": "The person imagines an option",
    "perception": "The person sees the guess",
    "judgment": "The person judges whether the guess matches",
}
_TRUTH_COLUMNS = {
    "trial": {"Description": "Number of the trial within the run, from 1"},
    "meant": {"Description": "The option that the guess was judged against"},
    "imagined": {"Description": "The option that was imagined; another one in a lapse"},
    "match": {"Description": "Whether the guess was the option meant"},
    "judged": {"Description": "Whether the person judged it a match; the other way in a lapse"},
}


# Folders without a slash at the end: the validator (3.0.2) does not ignore them with one.
_ESTIMATE_FILES = (
    "protocol.yaml policy policies results.json decoded_rewards.npz report.html report_figures "
    "calibration.npz *_interactions.npz *_estimates.npz *_frames.tsv *_log.tsv *_mask.nii.gz "
    "*_boldref.nii.gz condition.json journal.txt cred-nf.md"
).split()
_UNITS = {True: "in SDs of the noise", False: "in scanner units"}
GROUPS = {
    "simulated": "A simulated brain",
    "semi-real": "Real responses of a person to other events, in a simulated task",
    "replayed": "A recording, played back",
    "participant": "A participant",
}


def write_description(
    folder: Path, protocol: Protocol, region: Region, group: str = "simulated"
) -> None:
    """Write what a dataset says about itself, into a folder that exists."""
    (folder / layout.MASK).parent.mkdir(parents=True, exist_ok=True)
    _write_json(folder / layout.DESCRIPTION, _description(protocol.name, "raw"))
    readme = _README.format(name=protocol.name, units=_UNITS[protocol.estimate.normalise])
    readme += f"\nIt is {said}.\n" if (said := caveat(protocol)) else ""
    write_text(folder / "README.md", readme, overwrite=True)
    write_table(folder / "participants.tsv", {"participant_id": [layout.SUBJECT], "group": [group]})
    about = {"Description": "Who they are", "Levels": {group: GROUPS.get(group, group)}}
    _write_json(folder / "participants.json", {"group": about})
    levels = {kind: text for kind, text in _EVENTS.items() if kind in protocol.task.events}
    columns: dict[str, Any] = {
        "trial_type": {"Description": "What happens to the brain", "Levels": levels}
    }
    columns |= _COLUMNS | (_KEYS if protocol.human.key_press else {})
    _write_json(folder / f"task-{task_label(protocol)}_events.json", columns)
    name = f"{protocol.name}: contexts and feedback, {_UNITS[protocol.estimate.normalise]}"
    _begin_derivative(folder / ESTIMATES, name, _ESTIMATE_FILES)
    write_text(folder / layout.PROTOCOL, dump(protocol), overwrite=True)
    write_image(folder / layout.MASK, *region.box(np.ones(len(region), np.uint8)))


def write_run(
    folder: Path,
    protocol: Protocol,
    region: Region,
    place: RunId,
    run: RecordedRun,
    sidecar: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write a run's recording, events, interactions and, if known, the truth; return the files."""
    written = []
    frames = run.frames if isinstance(run.frames, Mapping) else {"": run.frames}
    task = {
        "TaskName": protocol.name,
        "TaskDescription": protocol.description or protocol.name,
        "RepetitionTime": protocol.timing.tr,
    }
    for name, kinds in series(protocol).items():
        stem = run_stem(protocol, *place, name)
        (folder / stem.parent).mkdir(parents=True, exist_ok=True)
        image, affine = region.box(frames[name].astype(np.float32))
        bold, about, events = (
            beside(folder, stem, ending) for ending in ("bold.nii.gz", "bold.json", "events.tsv")
        )
        write_image(bold, image, affine, protocol.timing.tr)
        _write_json(about, task | dict(sidecar or {}))
        write_table(events, _events(protocol, kinds, place, run))
        written += [bold, about, events]
        if run.when is not None and run.when.left_out:
            _write_json(events.with_suffix(".json"), _LEFT_OUT)
            written.append(events.with_suffix(".json"))
    stem = run_stem(protocol, *place)
    path = beside(folder / ESTIMATES, stem, "interactions.npz")
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_file(path) as temporary:
        np.savez(temporary, **_interactions(run))
    written.append(path)
    for ending, columns in _tables(run).items():
        path = beside(folder / ESTIMATES, stem, ending)
        write_table(path, columns)
        written.append(path)
    if run.truth is not None:
        written.append(write_truth(folder, protocol, place, run.truth))
    return written


def _tables(run: RecordedRun) -> dict[str, dict[str, list[str]]]:
    """Return the tables of a run that are not empty: its frames, the head's movement, its log."""
    found, (arrived, movement, faults) = {}, run.report
    if arrived or run.status:
        frames = sorted({*arrived, *run.status})
        columns = {"frame": [str(index + 1) for index in frames]}
        columns["status"] = [run.status.get(index, "ok") for index in frames]
        if arrived:
            times = (arrived.get(index, np.nan) for index in frames)
            columns["arrived"] = [_number(each, 3) for each in times]
        found["frames.tsv"] = columns
    if movement is not None:
        found[layout.CONFOUNDS] = {
            name: [_number(each, 6) for each in values] for name, values in confounds(movement)
        }
    if faults:
        found["log.tsv"] = {
            "seconds": [_number(each.seconds, 3) for each in faults],
            "volume": [str(each.volume or layout.NOTHING) for each in faults],
            "what": [each.what for each in faults],
        }
    return found


def _number(value: float, digits: int) -> str:
    return layout.NOTHING if np.isnan(value) else f"{value:.{digits}f}"


def confounds(movement: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the columns of BIDS confounds, (frames,), of movements (frames, 6)."""
    yield from zip(layout.MOVEMENT, movement.T, strict=True)
    steps = np.abs(np.diff(movement, axis=0, prepend=np.full((1, 6), np.nan)))
    yield "framewise_displacement", steps @ ([1.0] * 3 + [HEAD_RADIUS] * 3)


def _interactions(run: RecordedRun) -> dict[str, Any]:
    """Return what the agent saw and did, and the calibration it was estimated with, as arrays."""
    names = {name: name for name in ("context", "action", "propensity", "catch")}
    names |= {"feedback_so_far": "feedback"}
    arrays = {
        name: np.array([getattr(each, of_trial) for each in run.trials])
        for name, of_trial in names.items()
    }
    return arrays | calibration_arrays(run.calibration)


def write_estimates(
    folder: Path, protocol: Protocol, place: RunId, context: np.ndarray, feedback: np.ndarray
) -> None:
    """Write what learners get of a run: contexts and feedback in the units of the session."""
    path = beside(folder / ESTIMATES, run_stem(protocol, *place), "estimates.npz")
    with written_file(path) as temporary:
        np.savez(temporary, context=context, feedback=feedback)


def write_truth(folder: Path, protocol: Protocol, place: RunId, truth: Truth) -> Path:
    """Write what was true in a run, apart from all else; return the file."""
    root = folder / layout.TRUTH
    path = beside(root, run_stem(protocol, *place), "truth.tsv")
    path.parent.mkdir(parents=True, exist_ok=True)
    _begin_derivative(root, f"{protocol.name}: the truth", ("*_truth.json", "*_truth.tsv"))
    _write_json(root / f"task-{task_label(protocol)}_truth.json", _TRUTH_COLUMNS)
    options = [str(each) for each in protocol.task.options]
    columns = {
        "trial": [str(trial + 1) for trial in range(len(truth.meant))],
        "meant": [options[each] for each in truth.meant],
        "imagined": [options[each] for each in truth.imagined],
        "match": words(truth.match),
        "judged": words(truth.judged),
    }
    write_table(path, columns)
    return path


def _begin_derivative(root: Path, name: str, files: Sequence[str]) -> None:
    """Write what a derivative dataset says about itself; BIDS has no names for its files."""
    root.mkdir(parents=True, exist_ok=True)
    _write_json(root / layout.DESCRIPTION, _description(name, "derivative"))
    write_text(root / ".bidsignore", "\n".join(files) + "\n", overwrite=True)


def _events(
    protocol: Protocol, kinds: Sequence[str], place: RunId, run: RecordedRun
) -> dict[str, list[str]]:
    when, lasts = run.when, durations(protocol)
    if when is None:
        when = timetable(protocol, len(run.trials), *place)
    keys = protocol.human.key_press
    rows = [
        (
            # Without the last digits, in which sums of decimals are not exact.
            f"{when.onsets[kind][number]:.12g}",
            f"{lasts[kind]:.12g}",
            kind,
            str(number + 1),
            *_guess(protocol, trial),
            *(_key(run, number, kind) if keys else ()),
            *([when.left_out.get(number, layout.NOTHING)] if when.left_out else ()),
        )
        for number, trial in enumerate(run.trials)
        for kind in kinds
        if not np.isnan(when.onsets[kind][number])
    ]
    names = ("onset", "duration", "trial_type", *_COLUMNS, *(_KEYS if keys else ()))
    names += (*(_LEFT_OUT if when.left_out else ()),)
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _guess(protocol: Protocol, trial: Trial) -> tuple[str, ...]:
    """Return the columns about the guess of a trial; n/a where none was shown."""
    if trial.action == NO_GUESS:
        return (layout.NOTHING,) * 4
    return (
        str(protocol.task.options[trial.action]),
        repr(trial.propensity).removesuffix(".0"),  # to the last bit, for replays
        *words([trial.explored, trial.catch]),
    )


def _key(run: RecordedRun, number: int, kind: str) -> tuple[str, str]:
    """Return the key that was pressed in an event, and when; n/a where there was none."""
    key = run.keys[number] if run.keys and kind == "judgment" else None
    if key is None:
        return layout.NOTHING, layout.NOTHING
    return "match" if key.match else "mismatch", f"{key.seconds:.12g}"


def _description(name: str, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {"Name": name, "BIDSVersion": BIDS_VERSION, "DatasetType": kind}
    found["GeneratedBy"] = [{"Name": "bciigl", "Version": __version__}]
    return found | ({"SourceDatasets": [{"URL": "../../"}]} if kind == "derivative" else {})


def _write_json(path: Path, document: Any) -> None:
    write_text(path, json.dumps(document, indent=2) + "\n", overwrite=True)


_README = """\
# {name}

A closed-loop fMRI experiment, recorded by bciigl. In each trial a person imagines an
option, an agent guesses it from the recording, and the person sees the guess and judges it: match
or mismatch.

- `sub-01/ses-train` is what an agent can learn from, `sub-01/ses-test` what it can be tested on:
  the same person with the same patterns, new noise and other options in mind. Guesses in `ses-test`
  are uniform.
- `*_bold.nii.gz` are the recorded voxels, in their place in the head.
- `*_events.tsv` says when things happened and what was guessed. What was imagined is not in it.
- `derivatives/bciigl` has the experiment (`protocol.yaml`) and, for each run, what learners get
  (`*_estimates.npz`): what imagination evoked (`context`, from the frames before the decision
  alone) and what the guess evoked (`feedback`, from the whole run), both {units}.
  `calibration.npz` has what they were estimated with, which all training runs together told.
- `*_interactions.npz` has what the agent saw and did: `context`, the guess (`action`, from 0) with
  its `propensity`, whether it was a catch trial (`catch`), and `feedback_so_far`, from the frames
  up to the trial's end. It was estimated with what the runs before had told: `response`,
  `whitening` and `autocorrelation`, where they are there.
- A trial with too few frames has no numbers in these files, and `*_frames.tsv`, if there is one,
  says which frames of a run were missing or corrupt.
- Of a live session, `*_frames.tsv` has when each frame arrived (seconds of the run), `*_log.tsv`
  what went wrong, `*_desc-confounds_timeseries.tsv` how the head moved (mm, radians) from the
  reference volume (`*_boldref.nii.gz`), and `journal.txt` every line of the session's journal.
- Trials that happened but are not learned from have the reason in the column `left_out` of
  `*_events.tsv`, which is there only if there are any.
- `derivatives/truth`, where it is known, has what was imagined and judged. No agent and no
  label-free learner is given it; without this folder they learn the same.

`bciigl learn` with the path of this folder learns from it.
"""
