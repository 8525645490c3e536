"""Realignment of volumes to a reference, measured on moves that are known."""

import os
from pathlib import Path

import numpy as np
import pytest
from realign import displaced, distance, random_movement

from bciigl.brain.images import read_image
from bciigl.brain.subject import load_subject
from bciigl.source.realign import Movement, Realigner, RealignError

SUBJECT = load_subject("brainiak")
BASE, AFFINE = SUBJECT.base, SUBJECT.affine
BRAIN = np.argwhere(SUBJECT.mask)
PLACES = BRAIN @ AFFINE[:3, :3].T + AFFINE[:3, 3]
NOISE = 0.02 * BASE[SUBJECT.mask].mean()
REGION = BRAIN[20000:20064]


@pytest.fixture(scope="module")
def realigner() -> Realigner:
    return Realigner(BASE, AFFINE, REGION)


def scanned(movement: Movement, seed: int = 0) -> np.ndarray:
    """Return a volume of the moved head, with the scanner's noise."""
    noise = NOISE * np.random.default_rng(seed).normal(size=BASE.shape)
    return displaced(BASE, AFFINE, movement.matrix) + noise


def values_of(volume: np.ndarray, voxels: np.ndarray = REGION) -> np.ndarray:
    return volume[tuple(voxels.T)]


def test_head_that_has_not_moved_gives_the_voxels_themselves(realigner):
    movement, values = realigner(BASE)
    assert np.abs(movement.parameters).max() < 1e-9
    np.testing.assert_allclose(values, values_of(BASE))
    noisy = BASE + NOISE * np.random.default_rng(1).normal(size=BASE.shape)
    movement, values = realigner(noisy)
    assert distance(movement.matrix, np.eye(4), PLACES) < 0.02
    # what is left is interpolation over a hundredth of a voxel
    assert np.std(values - values_of(noisy)) < 0.05 * NOISE


@pytest.mark.parametrize("seed", range(4))
def test_known_moves_are_found_and_undone(realigner, seed):
    centre = realigner(BASE)[0].centre
    moved = random_movement(np.random.default_rng(seed), centre, 0.5, 2)
    volume = scanned(moved, seed)
    found, values = realigner(volume)
    assert distance(found.matrix, moved.matrix, PLACES) < 0.05
    np.testing.assert_allclose(found.parameters[:3], moved.parameters[:3], atol=0.05)
    np.testing.assert_allclose(found.parameters[3:], moved.parameters[3:], atol=0.001)
    left = np.std(values - values_of(BASE))
    assert left < 1.5 * NOISE
    assert left < np.std(values_of(volume) - values_of(BASE))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [10, 20])
def test_jumps_are_found(realigner, size, seed):
    moved = random_movement(np.random.default_rng(seed), PLACES.mean(axis=0), size, size)
    found, _ = realigner(scanned(moved))
    assert distance(found.matrix, moved.matrix, PLACES) < 0.05


@pytest.mark.parametrize(("axis", "mm"), [(0, 3.0), (1, -3.0), (2, 3.0)])
def test_translations_are_in_mm_to_the_right_front_and_top(realigner, axis, mm):
    # a voxel further along the grid; its second axis points backwards
    found, values = realigner(np.roll(BASE, 1, axis))
    expected = np.zeros(6)
    expected[axis] = mm
    np.testing.assert_allclose(found.parameters, expected, atol=0.02)
    np.testing.assert_allclose(values, values_of(BASE), rtol=0.02)


@pytest.mark.parametrize("axis", range(3))
def test_rotations_are_right_handed_radians_around_the_centre_of_the_brain(realigner, axis):
    centre = PLACES.mean(axis=0)
    one, other = (axis + 1) % 3, (axis + 2) % 3
    turn, cosine, sine = np.eye(4), np.cos(0.03), np.sin(0.03)
    turn[np.ix_([one, other], [one, other])] = [[cosine, -sine], [sine, cosine]]
    there, back = np.eye(4), np.eye(4)
    there[:3, 3], back[:3, 3] = centre, -centre
    found, _ = realigner(displaced(BASE, AFFINE, there @ turn @ back))
    np.testing.assert_allclose(found.parameters[3:], 0.03 * np.eye(3)[axis], atol=0.0005)
    np.testing.assert_allclose(found.centre, centre, atol=3)
    np.testing.assert_allclose(found.parameters[:3], 0, atol=0.15)  # centres are 3 mm apart


def test_gain_and_offset_of_the_scanner_do_not_look_like_movement(realigner):
    moved = random_movement(np.random.default_rng(7), PLACES.mean(axis=0), 0.5, 2)
    found, _ = realigner(1.3 * scanned(moved) + 40)
    assert distance(found.matrix, moved.matrix, PLACES) < 0.05


def test_voxels_that_left_the_field_of_view_are_not_numbers():
    column = np.array([[26, 31, z] for z in range(BASE.shape[2])])
    realigner = Realigner(BASE, AFFINE, column)
    assert np.isfinite(realigner(BASE)[1]).all()
    upwards = np.eye(4)
    upwards[2, 3] = 3 * 3.0
    _, values = realigner(displaced(BASE, AFFINE, upwards))
    np.testing.assert_array_equal(np.isnan(values), [False] * (len(column) - 3) + [True] * 3)
    # the edge wavers with the noise of the search, but a voxel in view stays a number
    noisy = [BASE + NOISE * np.random.default_rng(seed).normal(size=BASE.shape) for seed in (1, 2)]
    assert all(np.isfinite(realigner(each)[1]).all() for each in noisy)


@pytest.fixture(scope="module")
def moved(realigner):
    """Return a volume of a head that has moved, and what is found of it."""
    volume = scanned(random_movement(np.random.default_rng(0), PLACES.mean(axis=0), 3, 3))
    return volume, realigner(volume)


NOT_NUMBERS, LOWER_HALF, UNLIKE = (
    BASE.copy(),
    BASE.copy(),
    "does not look like the reference",
)
NOT_NUMBERS[20, 20, 20] = np.nan
LOWER_HALF[..., 23:] = 0
NOISE_ALONE = np.random.default_rng(0).normal(size=BASE.shape)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros(BASE.shape), "shows nothing, all its voxels are 0$"),
        (NOT_NUMBERS, "has voxels that are not numbers$"),
        (BASE.transpose(1, 0, 2), "should have 53 x 63 x 46 voxels, got 63 x 53 x 46$"),
        (BASE[..., 0], "should have 53 x 63 x 46 voxels, got 53 x 63$"),
        (NOISE_ALONE, UNLIKE),
        (-BASE, UNLIKE),
        (LOWER_HALF, UNLIKE),
    ],
)
def test_volume_of_wrong_content_is_refused_and_forgotten(realigner, moved, wrong, message):
    volume, expected = moved
    with pytest.raises(RealignError, match=f"^volume: {message}"):
        realigner(wrong)
    found = realigner(volume)
    np.testing.assert_array_equal(found[0].parameters, expected[0].parameters)
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize(
    "reference", [np.ones((20, 20, 20)), np.eye(64)[:, :, None] * np.eye(64)[0], BASE[..., :3]]
)
def test_reference_without_a_head_is_refused(reference):
    with pytest.raises(RealignError, match="^the reference volume: shows"):
        Realigner(reference, AFFINE, REGION)


def test_reference_that_is_no_volume_is_refused():
    with pytest.raises(RealignError, match="should have three dimensions, got 53 x 63$"):
        Realigner(BASE[..., 0], AFFINE, REGION)


@pytest.mark.skipif("BCIIGL_TEST_DATA" not in os.environ, reason="needs a real recording")
@pytest.mark.slow
def test_known_moves_of_a_real_recording_are_found():
    (path,) = Path(os.environ["BCIIGL_TEST_DATA"], "bold").glob("*bold.nii.gz")
    data, affine, _ = read_image(path)
    brain = np.argwhere(data[..., 0] > 0.3 * data.max())
    places = brain @ affine[:3, :3].T + affine[:3, 3]
    realigner = Realigner(data[..., 0], affine, brain[:64])
    rng = np.random.default_rng(11)
    for volume, size in ((0, 0.5), (8, 2), (34, 10), (39, 12)):
        unmoved, _ = realigner(data[..., volume])
        assert distance(unmoved.matrix, np.eye(4), places) < 0.3
        moved = random_movement(rng, places.mean(axis=0), size, size).matrix
        found, _ = realigner(displaced(data[..., volume], affine, moved))
        assert distance(found.matrix, moved @ unmoved.matrix, places) < (0.05 if size < 5 else 0.1)
