"""Voxels and their place."""

import nibabel
import numpy as np
import pytest
from heads import head

from bciigl.brain.images import ImageError, read_image, write_image
from bciigl.brain.region import Region, RegionError, find_region
from bciigl.brain.subject import load_subject
from bciigl.protocol.model import Cube, Mask, Sphere


def test_cube_is_fmrisim_s():
    from brainiak.utils import fmrisim  # takes seconds

    subject = load_subject("brainiak")
    for size in range(1, 7):
        expected = fmrisim.generate_signal(
            np.array(subject.shape), np.array([[14, 41, 30]]), [size], ["cube"]
        )
        found = find_region(Cube(size=size), subject).voxels
        np.testing.assert_array_equal(found, np.argwhere(expected))


def test_default_region_is_the_parietal_cube():
    region = find_region(Cube(), load_subject("brainiak"))
    assert len(region) == 64
    np.testing.assert_array_equal(region.voxels.min(axis=0), [13, 40, 29])
    np.testing.assert_array_equal(region.voxels.max(axis=0), [16, 43, 32])
    np.testing.assert_allclose(region.millimetres.mean(axis=0), [-38, -47, 45], atol=0.5)


def test_sphere_holds_the_voxels_within_its_radius():
    subject = head()  # voxels of 3 x 3 x 3.5 mm
    region = find_region(Sphere(center=(9, 11, 8), radius=6.0), subject)
    everywhere = np.argwhere(np.ones(subject.shape))
    distance = np.linalg.norm((everywhere - [9, 11, 8]) * [3, 3, 3.5], axis=1)
    np.testing.assert_array_equal(region.voxels, everywhere[distance <= 6])


def test_region_outside_the_brain_is_refused_with_the_nearest_place_that_fits():
    subject = head()
    shapes = [
        Cube(center=(1, 11, 8), size=3),
        Cube(center=(16, 11, 8), size=4),
        Cube(center=(17, 20, 1), size=5),
        Sphere(center=(2, 2, 2), radius=7.0),
    ]
    for wanted in [*shapes, *(each.model_copy(update={"center": (400, 2, 3)}) for each in shapes)]:
        with pytest.raises(RegionError, match="outside the brain") as caught:
            find_region(wanted, subject)
        place = str(caught.value).split("nearest center that fits is ")[1]
        center = tuple(int(each) for each in place.strip("[]").split(","))
        found = find_region(wanted.model_copy(update={"center": center}), subject)
        assert subject.mask[found.index].all(), wanted


def test_nearest_place_is_nearest():
    subject = head()
    size = 4
    wanted = Cube(center=(1, 11, 8), size=size)
    fits = []
    for center in np.argwhere(subject.mask):
        try:
            find_region(Cube(center=tuple(map(int, center)), size=size), subject)
            fits.append(center)
        except RegionError:
            pass
    best = min(np.linalg.norm(np.array(fits) - wanted.center, axis=1))
    with pytest.raises(RegionError) as caught:
        find_region(wanted, subject)
    place = str(caught.value).split("fits is ")[1].strip("[]").split(",")
    assert np.linalg.norm(np.array(place, int) - wanted.center) == best


def test_region_too_large_for_the_brain_is_told_so():
    with pytest.raises(RegionError, match="make the region smaller"):
        find_region(Cube(center=(8, 10, 8), size=20), head())


def test_mask_file_gives_its_voxels(tmp_path):
    subject = head()
    wanted = np.zeros(subject.shape, np.uint8)
    wanted[7:9, 10, 5:8] = 1
    write_image(tmp_path / "m.nii.gz", wanted, subject.affine)
    region = find_region(Mask(file="m.nii.gz"), subject, tmp_path)
    np.testing.assert_array_equal(region.voxels, np.argwhere(wanted))
    write_image(tmp_path / "four.nii.gz", wanted[..., None], subject.affine)
    region = find_region(Mask(file="four.nii.gz"), subject, tmp_path)
    np.testing.assert_array_equal(region.voxels, np.argwhere(wanted))


def test_mask_file_that_does_not_fit_is_refused(tmp_path):
    subject = head()
    inside = (subject.mask & (np.arange(16) == 8)).astype(np.uint8)
    cases = {
        "on the grid of the subject's template, 18 x 22 x 16 voxels, got 17": (
            inside[1:],
            subject.affine,
        ),
        "another affine": (inside, np.diag([2.0, 2, 2, 1])),
        "is empty: all voxels are 0": (0 * inside, subject.affine),
        "outside the brain": (1 - 0 * inside, subject.affine),
        "0 and one other value, got 1 to 2; threshold": (inside + subject.mask, subject.affine),
        "0 and one other value, got nan": (np.where(inside, np.nan, 0), subject.affine),
    }
    for message, (data, affine) in cases.items():
        write_image(tmp_path / "m.nii", data, affine)
        with pytest.raises((RegionError, ImageError), match=message):
            find_region(Mask(file="m.nii"), subject, tmp_path)
    with pytest.raises(ImageError, match="no such file"):
        find_region(Mask(file="none.nii"), subject, tmp_path)


def test_image_of_a_region_opens_in_its_place(tmp_path):
    region = find_region(Sphere(center=(9, 11, 8), radius=6.0), head())
    frames = np.random.default_rng(0).random((5, len(region)))
    image, affine = region.box(frames)
    write_image(tmp_path / "r.nii.gz", image, affine, tr=1.5)
    read = read_image(tmp_path / "r.nii.gz")
    assert read.tr == 1.5
    assert nibabel.load(tmp_path / "r.nii.gz").header.get_xyzt_units() == ("mm", "sec")
    # each voxel of the file lies where the region's voxel with the same values lies
    for voxel, value in zip(region.millimetres, frames.T, strict=True):
        index = np.linalg.solve(read.affine, [*voxel, 1])[:3].round().astype(int)
        np.testing.assert_array_equal(read.data[tuple(index)], value)
    assert (read.data != 0).sum() == frames.size


def test_image_of_one_value_per_voxel_has_three_dimensions():
    region = Region(np.array([[3, 4, 5], [4, 4, 5]]), np.eye(4))
    image, affine = region.box(np.array([7.0, 8.0]))
    np.testing.assert_array_equal(image, [[[7.0]], [[8.0]]])
    np.testing.assert_array_equal(affine[:3, 3], [3, 4, 5])
