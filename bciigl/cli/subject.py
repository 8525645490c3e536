"""`bciigl subject`: the simulated subject."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from bciigl.cli.output import echo, json_option, path_option, warn
from bciigl.cli.progress import steps

if TYPE_CHECKING:
    from bciigl.brain import Subject
    from bciigl.brain.recorded import RecordedSubject


@click.group()
def subject() -> None:
    """Make subjects of recordings, and show them.

    A protocol names its subject in brain.subject: brainiak, or a folder that `fit` or
    `from-recording` wrote.
    """


@subject.command()
@click.argument("bold", metavar="BOLD.nii.gz", type=click.Path())
@path_option("--out", "Where to write.", required=True)
@path_option("--mask", "Brain mask (NIfTI) to use instead of fmrisim's.", metavar="FILE")
@click.option("--tr", type=float, help="Seconds per volume, where the file does not say.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@json_option
def fit(bold: str, out: str, as_json: bool, **how: Any) -> None:
    """Fit a subject to a recording: its template, brain mask and noise.

    BOLD.nii.gz is a 4-D NIfTI file of at least 20 volumes, not skull-stripped. Writes
    template.nii.gz, mask.nii.gz and subject.json into FOLDER, which a protocol can then name in
    brain.subject. Takes about a second per volume.
    """
    from bciigl.base.files import written_folder
    from bciigl.brain.fit import ENOUGH_FRAMES, fit_subject

    name = os.path.basename(os.path.abspath(out))
    # The folder is made first, so that minutes of work cannot fail at the end for want of it.
    with written_folder(out) as temporary, steps() as report:
        fitted, about = fit_subject(bold, name=name, report=report, **how)
        fitted.write_files(temporary, **about)
    if about["frames"] < ENOUGH_FRAMES:
        warn(
            f"{about['frames']} volumes tell little about autocorrelation (AR, MA); "
            f"with fewer than {ENOUGH_FRAMES} it depends on --seed"
        )
    echo(as_json, {"folder": out, **_as_document(fitted)}, _wrote(out), _in_words(fitted))


@subject.command()
@click.argument("bold", metavar="BOLD.nii.gz...", nargs=-1, required=True, type=click.Path())
@path_option(
    "--events",
    "BIDS table of events of each recording, in their order; or one with a column run.",
    metavar="FILE",
    multiple=True,
    required=True,
)
@path_option("--out", "Where to write.", required=True)
@click.option("--column", default="trial_type", show_default=True, help="What was shown.")
@click.option("--skip", metavar="NAME", multiple=True, help="Not to be used; may be repeated.")
@click.option(
    "--lag",
    type=click.FloatRange(0, 30),
    default=5.0,
    show_default=True,
    help="Seconds from an onset to its response.",
)
@click.option(
    "--window",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Frames of a response.",
)
@click.option(
    "--voxels",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    help="As many voxels, those that respond most to any event.",
)
@path_option("--mask", "Choose voxels from this mask (NIfTI).", metavar="FILE")
@click.option("--test-runs", metavar="N,N,...", help="To test on; by default the last third.")
@click.option("--tr", type=float, help="Seconds per volume, where the files do not say.")
@json_option
def from_recording(
    bold: tuple[str, ...], events: tuple[str, ...], out: str, as_json: bool, **how: Any
) -> None:
    """Make a recorded subject: a brain of real responses.

    BOLD.nii.gz are the runs of a labelled recording, preprocessed as you like, with a table of
    events each (onset, duration, trial_type). What was shown are the options that a protocol can
    have. Events called match and mismatch are judgments. Writes subject.json, windows.npz and
    mask.nii.gz into FOLDER, which a protocol can then name in brain.subject.
    """
    from bciigl.base.files import written_folder
    from bciigl.brain.from_recording import subject_from_recording

    how["test_runs"] = _numbers(how["test_runs"])
    name = os.path.basename(os.path.abspath(out))
    with written_folder(out) as temporary, steps() as report:
        made = subject_from_recording(bold, events, name=name, report=report, **how)
        made.write_files(temporary)
    document = {"folder": out, **_recorded_document(made)}
    echo(as_json, document, _wrote(out), _recorded_in_words(made))


def _wrote(out: str) -> str:
    return f"wrote {out}; use it in a protocol with brain.subject: {out}"


def _numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(each) for each in text.split(",")]
    except ValueError:
        said = f"{text!r} should be numbers of runs, such as 9,10"
        raise click.BadParameter(said, param_hint="--test-runs") from None


@subject.command()
@click.argument("name", metavar="[SUBJECT]", default="brainiak")
@path_option("--out", "Also write it to a new folder.")
@json_option
def show(name: str, out: str | None, as_json: bool) -> None:
    """Show a subject's grid and the strength of each of its noise sources.

    SUBJECT is brainiak (the default, a real head that brainiak ships) or a folder that `fit` or
    `from-recording` wrote.
    With --out its template and mask can be opened in a viewer, to draw a region on.
    """
    from bciigl.brain import load_subject
    from bciigl.brain.recorded import is_recorded, load_recorded

    if is_recorded(name) and out is None:
        recorded = load_recorded(name)
        echo(as_json, _recorded_document(recorded), _recorded_in_words(recorded))
        return
    shown = load_subject(name)
    if out is not None:
        shown.save(out, source=name)
    wrote = [] if out is None else [f"wrote {out}"]
    echo(as_json, _as_document(shown), _in_words(shown), *wrote)


def _recorded_document(subject: RecordedSubject) -> dict[str, Any]:
    about = subject.about
    return {
        "name": about.name,
        "kind": about.kind,
        "voxels": len(subject.region),
        "tr": about.tr,
        "lag": about.lag,
        "frames": about.frames,
        "runs": about.runs,
        "test_runs": about.test_runs,
        "labelled": about.labelled,
        "windows": {
            each: {name: len(subject.pool(each, name)) for name in ("train", "test")}
            for each in about.categories
        },
    }


def _recorded_in_words(subject: RecordedSubject) -> str:
    about, facts = subject.about, _recorded_document(subject)
    counts = (
        f"{each} {count['train']} + {count['test']}" for each, count in facts["windows"].items()
    )
    judged = "judgments are real ones" if about.labelled else "judgments will be added (brain.cnr)"
    return (
        f"{about.name}: recorded, {facts['voxels']} voxels, TR {about.tr:g} s; windows of "
        f"{about.frames} x {about.tr:g} s, {about.lag:g} s after onset\n"
        f"  windows to learn from + to test on: {', '.join(counts)}\n"
        f"  runs to test on: {', '.join(map(str, about.test_runs))} of {len(about.runs)}; {judged}"
    )


def _as_document(subject: Subject) -> dict[str, Any]:
    return {
        "name": subject.name,
        "shape": list(subject.shape),
        "voxel_size": [round(float(edge), 4) for edge in subject.voxel_size],
        "affine": subject.affine.tolist(),
        "brain_voxels": int(subject.mask.sum()),
        "mean_signal": subject.mean_signal,
        "noise_sd": subject.noise_sd,
        "noise": subject.noise.model_dump(mode="json"),
    }


def _in_words(subject: Subject) -> str:
    from bciigl.brain.images import dimensions
    from bciigl.brain.subject import BRAIN_SOURCES

    noise = subject.noise
    size = " x ".join(f"{edge:g}" for edge in subject.voxel_size.round(2))
    weights = {source: getattr(noise, weight) ** 2 for source, weight in BRAIN_SOURCES.items()}
    mixture = ", ".join(
        f"{source} {100 * weight / sum(weights.values()):.0f} %"
        for source, weight in weights.items()
        if weight
    )
    ar, ma = (", ".join(f"{each:.3g}" for each in c) for c in (noise.auto_reg_rho, noise.ma_rho))
    return (
        f"{subject.name}: {dimensions(subject.shape)} voxels of {size} mm,"
        f" {subject.mask.sum()} in the brain\n"
        f"  mean signal {subject.mean_signal:.4g}, SNR {noise.snr:.1f}, SFNR {noise.sfnr:.1f},"
        f" smoothness {noise.fwhm:.2f} mm\n"
        f"  noise of a voxel, SD in scanner units: {subject.noise_sd:.3g} in time, of which\n"
        f"    brain   {subject.brain_sd:.3g} ({mixture or 'no source'}; AR {ar}, MA {ma})\n"
        f"    system  {subject.system_sd:.3g}, and a static offset of {subject.offset_sd:.3g}\n"
        f"    drift   {noise.drift_sigma:.3g}"
    )
