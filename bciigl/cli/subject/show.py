"""`bciigl subject show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bciigl.cli.output import echo_json, json_option

if TYPE_CHECKING:
    from bciigl.brain import Subject


@click.command()
@click.argument("name", metavar="[SUBJECT]", default="brainiak")
@click.option("--out", metavar="FOLDER", type=click.Path(), help="Also write it to a new folder.")
@json_option
def show(name: str, out: str | None, as_json: bool) -> None:
    """Show a subject's grid and the strength of each of its noise sources.

    SUBJECT is brainiak (the default, a real head that brainiak ships) or a folder that `fit` wrote.
    With --out its template and mask can be opened in a viewer, to draw a region on.
    """
    from bciigl.brain import load_subject

    subject = load_subject(name)
    if out is not None:
        subject.save(out, source=name)
    if as_json:
        echo_json(as_document(subject))
    else:
        click.echo(in_words(subject))
        if out is not None:
            click.echo(f"wrote {out}")


def as_document(subject: Subject) -> dict[str, Any]:
    """Return what is known of a subject as plain data."""
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


def in_words(subject: Subject) -> str:
    """Return a subject's grid and noise, one fact a line."""
    from bciigl.brain.images import dimensions
    from bciigl.brain.subject import BRAIN_SOURCES

    noise = subject.noise
    shape = dimensions(subject.shape)
    size = " x ".join(f"{edge:g}" for edge in subject.voxel_size.round(2))
    weights = {source: getattr(noise, weight) ** 2 for source, weight in BRAIN_SOURCES.items()}
    mixture = ", ".join(
        f"{source} {100 * weight / sum(weights.values()):.0f} %"
        for source, weight in weights.items()
        if weight
    )
    ar, ma = (", ".join(f"{each:.3g}" for each in c) for c in (noise.auto_reg_rho, noise.ma_rho))
    return "\n".join(
        [
            f"{subject.name}: {shape} voxels of {size} mm, {subject.mask.sum()} in the brain",
            f"  mean signal {subject.mean_signal:.4g}, SNR {noise.snr:.1f}, SFNR {noise.sfnr:.1f},"
            f" smoothness {noise.fwhm:.2f} mm",
            f"  noise of a voxel, SD in scanner units: {subject.noise_sd:.3g} in time, of which",
            f"    brain   {subject.brain_sd:.3g} ({mixture or 'no source'}; AR {ar}, MA {ma})",
            f"    system  {subject.system_sd:.3g}, and a static offset of {subject.offset_sd:.3g}",
            f"    drift   {noise.drift_sigma:.3g}",
        ]
    )
