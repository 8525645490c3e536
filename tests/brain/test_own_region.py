"""The region on a reference's grid: its size, its place, and what is refused."""

import numpy as np
import pytest

from bciigl.brain.images import Image, ImageError, write_image
from bciigl.brain.own_region import OwnRegionError, bring_region, fit_region, move_region
from bciigl.brain.region import Region
from bciigl.brain.registration import Fit

AFFINE = np.diag([3.0, -3.0, 3.0, 1.0])
CUBE = Region(np.argwhere(np.ones((4, 4, 4))) + [3, 5, 7], AFFINE)
SHAPE = (24, 24, 24)


def ball(radius: float = 9.0) -> Image:
    """Return a bright ball on a dark ground, on a grid of 3 mm around the origin."""
    affine = AFFINE.copy()
    affine[:3, 3] = -AFFINE[:3, :3] @ [11.5, 11.5, 11.5]
    places = np.argwhere(np.ones(SHAPE)) - 11.5
    bright = np.linalg.norm(places, axis=1).reshape(SHAPE) < radius
    return Image(100.0 * bright + 1, affine, None)


def shift(*mm: float, scale: float = 1.0) -> np.ndarray:
    matrix = np.diag([scale, scale, scale, 1.0])
    matrix[:3, 3] = mm
    return matrix


def test_region_that_does_not_move_stays_as_it_is():
    same = Image(np.ones((9, 12, 14)), AFFINE, None)
    assert (move_region(CUBE, np.eye(4), same) == CUBE.voxels).all()
    # A little is not enough to enter other voxels; a voxel's width is.
    assert (move_region(CUBE, shift(0.9, -0.9, 0.9), same) == CUBE.voxels).all()
    assert (move_region(CUBE, shift(3, -3, 6), same) == CUBE.voxels + [1, 1, 2]).all()
    assert (move_region(CUBE, shift(-30, 0, 0), same) == CUBE.voxels - [10, 0, 0]).all()


@pytest.mark.parametrize("size", [1.5, 2.2, 3.0, 4.0])
@pytest.mark.parametrize("scale", [0.9, 1.0, 1.1])
def test_region_keeps_its_volume_and_place_on_any_grid(size, scale):
    turned = np.array([[0.96, 0.28, 0], [-0.28, 0.96, 0], [0, 0, 1]]) * size
    grid = np.eye(4)
    grid[:3, :3], grid[:3, 3] = turned, [-40, -60, -20]
    matrix = shift(4, 5, 6, scale=scale)
    voxels = move_region(CUBE, matrix, Image(np.ones((9, 9, 9)), grid, None))
    volume = len(CUBE) * 27 * scale**3
    assert len(voxels) * size**3 == pytest.approx(volume, abs=size**3 / 2)
    middle = grid[:3] @ [*voxels.mean(axis=0), 1]
    assert np.linalg.norm(middle - matrix[:3] @ [*CUBE.millimetres.mean(axis=0), 1]) < size / 3
    assert len(np.unique(voxels, axis=0)) == len(voxels)


@pytest.fixture
def fitted(monkeypatch):
    """Have any template fit by a matrix that a test chooses."""

    def choose(matrix: np.ndarray) -> None:
        fit = Fit(matrix, np.ones(SHAPE), np.ones(SHAPE, bool), 0.95, 0.9)
        monkeypatch.setattr("bciigl.brain.own_region.register", lambda *_: fit)

    return choose


class Someone:
    """A subject; its template is not looked at."""

    name, affine, registration = "someone", AFFINE, None


def test_what_is_known_about_the_region(fitted):
    fitted(shift(*-CUBE.millimetres.mean(axis=0)))
    known = fit_region(CUBE, Someone, ball(), "rigid").facts
    assert known["center_mm"] == [0, 0, 0]
    assert known["center_mni"] is None
    assert (known["voxels"], known["mm3"], known["left_out"]) == (64, 1728.0, 0)
    assert (known["method"], known["subject"], known["warnings"]) == ("rigid", "someone", [])
    Someone.registration = shift(1, 2, 3) @ AFFINE
    try:
        known = fit_region(CUBE, Someone, ball()).facts
    finally:
        Someone.registration = None
    # Where the region was in the subject's head, in MNI mm.
    assert known["center_mni"] == pytest.approx(CUBE.millimetres.mean(axis=0) + [1, 2, 3])


def test_voxels_outside_the_brain_are_left_out_or_too_many(fitted):
    middle = CUBE.millimetres.mean(axis=0)
    fitted(shift(*-middle + [24, 0, 0]))
    known = fit_region(CUBE, Someone, ball())
    assert 32 <= known.facts["voxels"] == known.inside.sum() < 64
    assert known.facts["left_out"] == 64 - known.facts["voxels"]
    assert (ball().data[known.inside] > 50).all()
    assert known.facts["warnings"] == [
        f"{known.facts['left_out']} of the region's 64 voxels are not in the brain: left out"
    ]
    fitted(shift(*-middle + [36, 0, 0]))
    with pytest.raises(
        OwnRegionError, match=r"^0 of the region's 64 .* \(32 are outside the field"
    ):
        fit_region(CUBE, Someone, ball())
    fitted(shift(*-middle + [500, 0, 0]))
    with pytest.raises(OwnRegionError, match="64 are outside the field of view, 0 have no signal"):
        fit_region(CUBE, Someone, ball())


def test_mask_of_the_user_is_taken_as_it_is_on_any_grid(tmp_path):
    reference, path = ball(), tmp_path / "mask.nii.gz"
    mine = np.zeros(SHAPE, np.uint8)
    mine[8:12, 9:11, 10:14] = 3
    write_image(path, mine, reference.affine)
    own = bring_region(path, reference)
    assert (own.inside == (mine > 0)).all()
    assert own.fit is None
    assert (own.facts["method"], own.facts["voxels"], own.facts["warnings"]) == ("mask", 32, [])
    # Of 1.5 mm, twice as fine: each voxel of the reference holds eight of these.
    affine = reference.affine @ np.diag([0.5, 0.5, 0.5, 1])
    affine[:3, 3] -= reference.affine[:3, :3] @ [0.25, 0.25, 0.25]
    write_image(path, np.kron(mine, np.ones((2, 2, 2), np.uint8)), affine)
    assert (bring_region(path, reference).inside == (mine > 0)).all()
    mine[:, :, 10] = 3
    write_image(path, mine, reference.affine)
    with pytest.raises(OwnRegionError, match=r"of the region's \d+ voxels lie in the participant"):
        bring_region(path, reference)


def test_mask_with_a_few_voxels_outside_the_brain_is_kept_with_a_warning(tmp_path):
    reference, path = ball(), tmp_path / "mask.nii.gz"
    mine = np.zeros(SHAPE, np.uint8)
    mine[2:12, 11, 11] = 1  # the ball begins at 3
    write_image(path, mine, reference.affine)
    own = bring_region(path, reference)
    assert own.facts["voxels"] == 10
    assert own.facts["warnings"] == [
        "1 of 10 voxels of the mask are not in the brain, by their intensity"
    ]


@pytest.mark.parametrize(
    ("values", "place", "message"),
    [
        (np.zeros((5, 5, 5)), 0, "is empty: all voxels are 0"),
        (np.ones((5, 5, 5)), 900, "has no voxel on the reference's grid"),
        (np.arange(125).reshape(5, 5, 5), 0, "should hold 0 and one other value"),
        (np.ones((5, 5, 5, 2)), 0, "5 x 5 x 5 x 2"),
    ],
)
def test_mask_that_cannot_be_used_is_refused(tmp_path, values, place, message):
    affine = np.diag([3.0, 3, 3, 1])
    affine[0, 3] = place
    write_image(tmp_path / "mask.nii.gz", values.astype("f4"), affine)
    with pytest.raises((OwnRegionError, ImageError), match=message):
        bring_region(tmp_path / "mask.nii.gz", ball())
