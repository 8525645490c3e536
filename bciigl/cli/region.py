"""`bciigl region`: the experiment's region in a participant's own space."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from bciigl.cli.output import echo, json_option, path_option, warn, wrapped
from bciigl.cli.progress import steps

if TYPE_CHECKING:
    from pathlib import Path

    from bciigl.brain.images import Image
    from bciigl.brain.own_region import OwnRegion


@click.command()
@click.argument("protocol", metavar="PROTOCOL")
@click.argument("reference", metavar="REFERENCE", type=click.Path())
@path_option("--out", "Where to write.", required=True)
@path_option(
    "--mask",
    "Use this mask (NIfTI) in the reference's space, instead of the protocol's region.",
    metavar="FILE",
)
@click.option(
    "--method",
    type=click.Choice(["affine", "rigid"]),
    default="affine",
    show_default=True,
    help="Rigid for the head of the protocol's own subject.",
)
@json_option
def region(
    protocol: str, reference: str, out: str, mask: str | None, method: str, as_json: bool
) -> None:
    """Draw the experiment's region in a participant's own space.

    REFERENCE is a volume of the participant, such as the mean of a short functional run: a NIfTI
    file, 3-D or 4-D (its mean is taken), or a folder of NIfTI or DICOM volumes. The template of
    the protocol's subject is fitted to it, and the region moved along. Writes region.nii.gz,
    reference.nii.gz, region.json and region.png, a picture to check by eye, into FOLDER.
    """
    from bciigl.base.files import written_folder
    from bciigl.brain.check import brain_findings
    from bciigl.brain.own_region import bring_region, fit_region
    from bciigl.brain.region import find_region
    from bciigl.brain.subject import load_subject
    from bciigl.protocol import find, load
    from bciigl.source.reference import read_reference

    loaded = load(protocol, None if mask else brain_findings)
    with written_folder(out) as folder, steps() as report:
        report("reading the reference")
        volume = read_reference(reference)
        if mask is None:
            subject = load_subject(loaded.brain.subject, find(protocol).parent)
            wanted = find_region(loaded.brain.region, subject, find(protocol).parent)
            report("fitting the template")
            own = fit_region(wanted, subject, volume, method)
        else:
            own = bring_region(mask, volume)
        facts = {"protocol": loaded.name, **own.facts}
        _write(folder, volume, own, facts)
    for problem in facts["warnings"]:
        warn(problem)
    echo(
        as_json,
        {"folder": out, **facts},
        *map(wrapped, _in_words(facts)),
        f"wrote {out}; check {out}/region.png by eye before the first run, then:",
        f"  bciigl run {protocol} --volumes FOLDER --region {out} --out DIR",
    )


def _write(folder: Path, volume: Image, own: OwnRegion, facts: dict[str, Any]) -> None:
    from bciigl.brain.images import write_image
    from bciigl.report.figures import save
    from bciigl.report.region import own_region_figure

    write_image(folder / "region.nii.gz", own.inside.astype("u1"), volume.affine)
    write_image(folder / "reference.nii.gz", volume.data.astype("f4"), volume.affine)
    (folder / "region.json").write_text(json.dumps(facts, indent=2) + "\n")
    save(own_region_figure(volume, own), folder / "region.png")


def _in_words(facts: dict[str, Any]) -> list[str]:
    voxels = "1 voxel" if facts["voxels"] == 1 else f"{facts['voxels']} voxels"
    place = f"{_place(facts['center_mm'])} mm in the scanner's space"
    if facts["center_mni"]:
        place += f", MNI {_place(facts['center_mni'])}"
    lines = [f"region: {voxels} ({facts['mm3']:.0f} mm3) around {place}"]
    if facts["method"] != "mask":
        lines.append(
            f"fit: {facts['method']}, overlap of the brains {facts['dice']:.2f} (Dice), "
            f"correlation {facts['correlation']:.2f}"
        )
    return lines


def _place(mm: list[float]) -> str:
    return "({:.0f}, {:.0f}, {:.0f})".format(*(round(each) for each in mm))
