"""The dataset: written run by run, valid BIDS in the end."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bciigl import __version__
from bciigl.base.files import write_text, written_file
from bciigl.brain.images import write_image
from bciigl.brain.region import Region
from bciigl.protocol import Protocol, dump
from bciigl.protocol.schedule import event_offsets, trial_start
from bciigl.recording.layout import (
    DESCRIPTION,
    ESTIMATES,
    MASK,
    PROTOCOL,
    SUBJECT,
    TRUTH,
    beside,
    run_stem,
    task_label,
    words,
    write_table,
)
from bciigl.recording.trial import Trial, interactions

BIDS_VERSION = "1.10.0"
Frames = np.ndarray | Mapping[str, np.ndarray]
"""Of one recording (frames, voxels), or of one for each kind of event."""

_COLUMNS = {
    "trial": {"Description": "Number of the trial within the run, from 1"},
    "guess": {"Description": "The option that was guessed in this trial"},
    "propensity": {
        "Description": "Probability with which the guess was made, given all that was known to "
        "whoever made it; in catch trials the share of each option in the guesses shown"
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
    "protocol.yaml",
    "policy",
    "report.html",
    "report_figures",
    "*_interactions.npz",
    "*_mask.nii.gz",
)
_TRUTH_FILES = ("*_truth.json", "*_truth.tsv")


@dataclass(frozen=True)
class RecordedTruth:
    """What is true of the trials of a run; for the scorer and for learners that are told it.

    Attributes
    ----------
    meant, imagined : sequence of int
        Options by number.
    match, judged : sequence of bool
    """

    meant: Sequence[int]
    imagined: Sequence[int]
    match: Sequence[bool]
    judged: Sequence[bool]


def write_description(folder: Path, protocol: Protocol, region: Region) -> None:
    """Write what a dataset says of itself, into a folder that is there."""
    for root in (folder, folder / ESTIMATES, folder / TRUTH):
        root.mkdir(parents=True, exist_ok=True)
    (folder / MASK).parent.mkdir(parents=True, exist_ok=True)
    _write_json(folder / DESCRIPTION, _description(protocol.name, "raw"))
    write_text(folder / "README.md", _README.format(name=protocol.name), overwrite=True)
    write_table(folder / "participants.tsv", {"participant_id": [SUBJECT], "group": ["simulated"]})
    _write_json(
        folder / "participants.json",
        {"group": {"Description": "Who they are", "Levels": {"simulated": "A simulated brain"}}},
    )
    levels = {kind: text for kind, text in _EVENTS.items() if kind in protocol.task.events}
    trial_type = {"Description": "What happens to the brain", "Levels": levels}
    _write_json(
        folder / f"task-{task_label(protocol)}_events.json", {"trial_type": trial_type, **_COLUMNS}
    )
    _write_json(
        folder / ESTIMATES / DESCRIPTION,
        _description(f"{protocol.name}: contexts and feedback", "derivative"),
    )
    write_text(folder / PROTOCOL, dump(protocol), overwrite=True)
    inside = np.ones(len(region), np.uint8)
    write_image(folder / MASK, *region.box(inside))
    _write_json(
        folder / TRUTH / DESCRIPTION, _description(f"{protocol.name}: the truth", "derivative")
    )
    _write_json(folder / TRUTH / f"task-{task_label(protocol)}_truth.json", _TRUTH_COLUMNS)
    # BIDS has no names for these.
    for root, files in {ESTIMATES: _ESTIMATE_FILES, TRUTH: _TRUTH_FILES}.items():
        write_text(folder / root / ".bidsignore", "\n".join(files) + "\n", overwrite=True)


def write_run(
    folder: Path,
    protocol: Protocol,
    region: Region,
    place: tuple[str, int],
    frames: Frames,
    trials: Sequence[Trial],
    feedback: np.ndarray,
) -> list[Path]:
    """Write a run's recording, events and estimates; return the files.

    Parameters
    ----------
    folder : Path
        Of the dataset.
    protocol, region
        The experiment, and which voxels the frames are of.
    place : (str, int)
        The session, and the run within it, from 0.
    frames : array, (frames, voxels), or dict of arrays
        One recording, or one for each kind of event.
    trials : sequence of Trial
        As the agent knew them.
    feedback : array, (trials, voxels)
        Estimated from the whole run.
    """
    written = []
    separate = isinstance(frames, Mapping)
    for kind, series in frames.items() if separate else [(None, frames)]:
        stem = run_stem(protocol, *place, kind)
        (folder / stem.parent).mkdir(parents=True, exist_ok=True)
        kinds = (kind,) if separate else protocol.task.events
        image, affine = region.box(series.astype(np.float32))
        bold, sidecar, events = (
            beside(folder, stem, ending) for ending in ("bold.nii.gz", "bold.json", "events.tsv")
        )
        write_image(bold, image, affine, protocol.timing.tr)
        _write_json(sidecar, _bold(protocol))
        write_table(events, _events(protocol, kinds, trials))
        written += [bold, sidecar, events]
    path = beside(folder / ESTIMATES, run_stem(protocol, *place), "interactions.npz")
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_file(path) as temporary:
        np.savez(
            temporary,
            **interactions(trials, feedback),
            feedback_so_far=np.array([each.feedback for each in trials]),
        )
    return [*written, path]


def write_truth(
    folder: Path, protocol: Protocol, place: tuple[str, int], truth: RecordedTruth
) -> Path:
    """Write what is true of a run's trials, apart from all else; return the file.

    Parameters
    ----------
    folder : Path
        Of the dataset.
    protocol : Protocol
        The experiment.
    place : (str, int)
        The session, and the run within it, from 0.
    truth : RecordedTruth
        Of the run.
    """
    path = beside(folder / TRUTH, run_stem(protocol, *place), "truth.tsv")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(
        path,
        {
            "trial": [str(trial + 1) for trial in range(len(truth.meant))],
            "meant": [str(protocol.task.options[each]) for each in truth.meant],
            "imagined": [str(protocol.task.options[each]) for each in truth.imagined],
            "match": words(truth.match),
            "judged": words(truth.judged),
        },
    )
    return path


def _events(
    protocol: Protocol, kinds: Sequence[str], trials: Sequence[Trial]
) -> dict[str, list[str]]:
    offsets = event_offsets(protocol)
    rows = [
        (
            _number(trial_start(protocol, number) + offsets[kind]),
            _number(protocol.timing.event),
            kind,
            str(number + 1),
            str(protocol.task.options[trial.action]),
            _number(trial.propensity),
            *words([trial.explored, trial.catch]),
        )
        for number, trial in enumerate(trials)
        for kind in kinds
    ]
    names = ("onset", "duration", "trial_type", *_COLUMNS)
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def _number(value: float) -> str:
    """Return a number without the last digits, in which sums of decimals are not exact."""
    return f"{value:.12g}"


def _bold(protocol: Protocol) -> dict[str, Any]:
    return {
        "TaskName": protocol.name,
        "TaskDescription": protocol.description or protocol.name,
        "RepetitionTime": protocol.timing.tr,
        "Manufacturer": "simulated",
        "NoiseWeight": protocol.brain.noise,
    }


def _description(name: str, kind: str) -> dict[str, Any]:
    description = {
        "Name": name,
        "BIDSVersion": BIDS_VERSION,
        "DatasetType": kind,
        "GeneratedBy": [{"Name": "bciigl", "Version": __version__}],
    }
    if kind == "derivative":
        description["SourceDatasets"] = [{"URL": "../../"}]
    return description


def _write_json(path: Path, document: Any) -> None:
    write_text(path, json.dumps(document, indent=2) + "\n", overwrite=True)


_README = """\
# {name}

A closed-loop experiment on simulated fMRI, made by bciigl. In each trial a person imagines an
option, an agent guesses it from the recording, and the person sees the guess and judges it: match
or mismatch.

- `sub-01/ses-train` is what an agent can learn from, `sub-01/ses-test` what it can be tested on:
  the same person with the same patterns, new noise and other options in mind. Guesses in `ses-test`
  are uniform.
- `*_bold.nii.gz` are the recorded voxels, in their place in the head.
- `*_events.tsv` says when things happened and what was guessed. What was imagined is not in it.
- `derivatives/bciigl` has the experiment (`protocol.yaml`) and, for each run, what imagination
  evoked (`context`, from the frames before the decision alone), the guess (`action`, from 0) with
  its `propensity`, whether it was a catch trial (`catch`), and what the guess evoked
  (`feedback`, from the whole run; `feedback_so_far`, from the frames up to the trial's end, as the
  agent got it).
- `derivatives/truth` has what was imagined and judged. No agent and no label-free learner is given
  it; without this folder they learn the same.

`bciigl learn` with the path of this folder learns from it.
"""
