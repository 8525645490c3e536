"""Where in the head the signal comes from."""

from bciigl.brain import Brain
from bciigl.brain.region import describe, where
from bciigl.report.drawing import Drawing
from bciigl.report.figures import region_figure


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
