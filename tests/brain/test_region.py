"""Voxels and their place."""

import nibabel
import numpy as np
import pytest
from heads import head

from bciigl.brain.atlas import on_grid, read_names
from bciigl.brain.images import Image, ImageError, read_image, write_image
from bciigl.brain.region import Region, RegionError, describe, find_region
from bciigl.brain.subject import load_subject
from bciigl.protocol.model import Atlas, Cube, Mask, Sphere


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


def test_default_region_may_be_given_in_mm():
    subject = load_subject("brainiak")
    mm = (-38.0, -47.0, 45.0)
    for size in (4, 3):  # an even cube's middle lies between voxels, where these mm are
        found = find_region(Cube(mni=mm, size=size), subject).voxels
        np.testing.assert_array_equal(found, find_region(Cube(size=size), subject).voxels)
    # posterior is up the second axis, and the other side up the first
    for other, voxel in {(-38, -57, 40): (14, 44, 28), (38, -47, 45): (38, 41, 30)}.items():
        region = find_region(Cube(mni=other), subject)
        np.testing.assert_allclose(describe(region)["voxel"], voxel, atol=1)
        told = describe(region, subject.registration)
        np.testing.assert_allclose(told["mm"], other, atol=2)  # half a voxel, in MNI's mm
        assert told["space"] == "MNI"


def test_sphere_in_mm_is_around_that_very_place():
    subject, place = head(), np.array([1.0, 2.2, 7.3])  # between voxels
    region = find_region(Sphere(mni=tuple(place), radius=6.0), subject)
    everywhere = Region(np.argwhere(np.ones(subject.shape)), subject.affine)
    distance = np.linalg.norm(everywhere.millimetres - place, axis=1)
    np.testing.assert_array_equal(region.voxels, everywhere.voxels[distance <= 6])
    facts = describe(region)
    assert facts["mm3"] == round(len(region) * 31.5, 1)
    np.testing.assert_allclose(facts["mm"], place, atol=1)
    with pytest.raises(RegionError, match="use 1.5 or more") as caught:
        find_region(Sphere(mni=tuple(place), radius=1.0), subject)
    assert caught.value.field == "radius"


def test_place_in_mm_outside_the_head_is_refused_with_the_nearest_that_fits():
    for subject in (head(), load_subject("brainiak")):
        for wanted in (
            Cube(mni=(0, 300, 0)),
            Cube(mni=(-90, 0, 9), size=3),
            Sphere(mni=(0, 0, 99)),
        ):
            with pytest.raises(RegionError, match="outside the brain") as caught:
                find_region(wanted, subject)
            assert caught.value.field == "mni"
            place = str(caught.value).split("nearest mni that fits is ")[1].strip("[]").split(",")
            found = find_region(
                wanted.model_copy(update={"mni": tuple(map(float, place))}), subject
            )
            assert subject.mask[found.index].all(), wanted


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


def test_label_of_an_atlas_on_another_grid_is_put_onto_the_subject_s(tmp_path):
    subject = head()
    # 2 mm voxels, the first axis towards the left, the others swapped
    affine = np.array([[-2.0, 0, 0, 30], [0, 0, 2.0, -34], [0, 2.0, 0, -24], [0, 0, 0, 1]])
    every = Region(np.argwhere(np.ones((29, 33, 36))), affine)
    labels = np.zeros((29, 33, 36), np.float32)
    labels[every.index] = 7 + (every.millimetres[:, 0] > 0.1)  # 7: left of 0 mm, 8: right of it
    write_image(tmp_path / "a_dseg.nii.gz", labels[..., None], affine)
    (tmp_path / "a_dseg.tsv").write_text("name\tindex\nLeft half\t7\nRight half\t8\n")
    (tmp_path / "lut.txt").write_text("# no. name\n7 Left half 1 2 3 0\n8\tright\t4 5 6 0\n")
    brain = Region(np.argwhere(subject.mask), subject.affine)
    right = brain.voxels[brain.millimetres[:, 0] > 1.01]  # beyond the middle between two voxels
    for how in ({"label": 8}, {"label": "Right half"}, {"label": "right", "labels": "lut.txt"}):
        region = find_region(Atlas(file="a_dseg.nii.gz", **how), subject, tmp_path)
        np.testing.assert_array_equal(region.voxels, right)


def test_atlas_reaches_to_the_edges_of_its_outermost_voxels():
    atlas = Image(np.ones((2, 2, 2), np.uint8), np.eye(4), None)
    assert on_grid(atlas, 1, (2, 2, 2), np.eye(4) + 0.4 * np.eye(4, k=3)).all()
    assert on_grid(atlas, 1, (2, 2, 2), np.eye(4) + 0.6 * np.eye(4, k=3)).sum() == 4


def test_names_of_labels_may_end_in_numbers_as_colours_do(tmp_path):
    table = tmp_path / "table.txt"
    for text, names in {
        "1 BA 44\n2 BA 45": ["BA 44", "BA 45"],
        "1 Area 44 255 0 0\n2 Area 45 0 255 0": ["Area 44", "Area 45"],
        "1 Area 44 255 0 0 0\n2 Rest\t0 255 0 0": ["Area 44", "Rest"],
        "1 air 1 2 3 0\n2 air 3 2 1 0\n3 fire 0 0 0 0": ["air", "air", "fire"],
        "1 44 1 2 3\n2 air 3 2 1": ["44", "air"],
    }.items():
        table.write_text(text)
        assert read_names(table) == list(enumerate(names, start=1))


def test_atlas_that_cannot_be_used_is_refused(tmp_path):
    subject = head()
    air = (~subject.mask).astype(np.int16) * 5
    write_image(tmp_path / "air.nii", air, subject.affine)
    write_image(tmp_path / "far.nii", air, subject.affine + np.eye(4, k=3) * 900)
    write_image(tmp_path / "half.nii", air / 2, subject.affine)
    write_image(tmp_path / "four.nii", np.ones((2, 2, 2, 2), np.uint8), subject.affine)
    for name, text in {
        "names.tsv": "index\tname\n5\tair\n6\tfire\n",
        "two.tsv": "index\tname\n5\tair\n7\tair\n",
        "bad.tsv": "index\tname\nfive\tair\n",
        "bad.txt": "5 air\nair\n",
        "none.txt": "# nothing\n",
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "latin.txt").write_bytes(b"5 caf\xe9")
    for how, message, field in [
        ({"label": 5}, "voxels lie outside the brain .* same space", "label"),
        ({"file": "far.nii", "label": 5}, "no voxel on the grid of subject small", "label"),
        ({"file": "half.nii", "label": 5}, "should hold whole numbers", None),
        ({"file": "four.nii", "label": 1}, "should be 3-D, got 4-D", None),
        ({"label": 9}, "no voxel of label 9; its labels are 5 to 5", "label"),
        ({"label": "fire", "labels": "names.tsv"}, "'fire', number 6 in .*names.tsv", "label"),
        ({"label": "water", "labels": "names.tsv"}, "in .*names.tsv; it has air, fire", "label"),
        ({"label": "air", "labels": "two.tsv"}, "5, 7 are all called 'air' in .*number", "label"),
        ({"label": "air"}, "no air.tsv and no air.txt beside", "label"),
        ({"label": "air", "labels": "bad.tsv"}, "bad.tsv:2: .*, got 'five", "labels"),
        ({"label": "air", "labels": "bad.txt"}, "bad.txt:2: .*, got 'air'", "labels"),
        ({"label": "air", "labels": "none.txt"}, "lists no labels", "labels"),
        ({"label": "air", "labels": "latin.txt"}, "is not UTF-8", "labels"),
        ({"label": "air", "labels": "no.txt"}, "cannot be read: No such file", "labels"),
    ]:
        with pytest.raises((RegionError, ImageError), match=message) as caught:
            find_region(Atlas(**{"file": "air.nii", **how}), subject, tmp_path)
        assert getattr(caught.value, "field", None) == field, how


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
