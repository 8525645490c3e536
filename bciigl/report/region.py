"""Where in the head the signal comes from."""

from matplotlib.figure import Figure

from bciigl.brain import Brain
from bciigl.brain.images import Image, voxel_size
from bciigl.brain.own_region import OwnRegion
from bciigl.brain.region import describe, where
from bciigl.report.drawing import Drawing
from bciigl.report.figures import region_figure
from bciigl.report.slices import draw_outline, draw_slice, facing_right_front_up, fullest
from bciigl.report.style import REGION_COLOR, SKY, new_figure


def region_drawing(brain: Brain) -> Drawing:
    """Return the region on the subject's template, with the places of its voxels."""
    region = brain.region
    place = where(describe(region, brain.subject.registration))
    names = ("i", "j", "k", "x_mm", "y_mm", "z_mm")
    columns = [*region.voxels.T, *region.millimetres.T]
    voxels = f"{len(region)} voxels" if len(region) > 1 else "1 voxel"
    return Drawing(
        "region",
        region_figure(brain),
        f"The region that is recorded (orange), {voxels} around {place}, on "
        "three slices of the subject's template. Voxels off a slice are projected onto it. Letters "
        "are left, right, anterior, posterior, superior and inferior.",
        f"Three slices of a head with the recorded region of {voxels} marked.",
        {name: column.tolist() for name, column in zip(names, columns, strict=True)},
    )


def own_region_figure(reference: Image, own: OwnRegion) -> Figure:
    """Return slices of a participant's reference volume through the region, to check by eye.

    Below them are the same slices of the fitted template; its brain is outlined on both. A mask
    that the user brought has no template.
    """
    inside, affine = facing_right_front_up(own.inside, reference.affine)
    images, outlines = {"participant": reference.data}, [(inside, REGION_COLOR)]
    words = "orange: the region"
    if own.fit is not None:
        images["template, fitted"] = own.fit.template
        outlines.insert(0, (facing_right_front_up(own.fit.brain, reference.affine)[0], SKY))
        words += "; blue: the fitted template's brain, whose edge should be the participant's"
    middle = [fullest(inside, axis) for axis in range(3)]
    extent = voxel_size(affine) * inside.shape
    figure = new_figure(0.9 + 3.3 * len(images), 9.6)
    figure.set_facecolor("black")
    figure.supxlabel(words, color="white", fontsize=8)
    axes = figure.subplots(len(images), 3, squeeze=False, width_ratios=extent[[1, 0, 0]])
    for row, (what, data) in zip(axes, images.items(), strict=True):
        image, _ = facing_right_front_up(data, reference.affine)
        for normal, axis in enumerate(row):
            draw_slice(axis, image, affine, normal, middle, f"{what}\n")
            for mask, color in outlines:
                draw_outline(axis, mask, normal, middle, color)
    return figure
