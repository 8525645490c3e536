"""A subject's template is found in another head, and a bad fit is noticed."""

import sys

import numpy as np
import pytest
from scipy import ndimage
from scipy.spatial.transform import Rotation

from bciigl.base.errors import BciiglError
from bciigl.brain import load_subject
from bciigl.brain.images import Image
from bciigl.brain.registration import Fit, RegistrationError, brain_mask, register

# Oblique, with another voxel size, and x to the left as scanners store it.
GRID = np.array([[-2.5, 0.1, 0, 100], [0.1, 2.4, -0.4, -112], [0, 0.4, 2.9, -78], [0, 0, 0, 1.0]])
SHAPE = (80, 84, 54)


def moves(degrees: float, shift: float, scales: tuple[float, ...], seed: int) -> np.ndarray:
    """Return a matrix that turns, shifts and scales the built-in subject's head, (4, 4)."""
    subject, rng = load_subject("brainiak"), np.random.default_rng(seed)
    axis, direction = (each / np.linalg.norm(each) for each in rng.standard_normal((2, 3)))
    turn = Rotation.from_rotvec(np.deg2rad(degrees) * axis).as_matrix() @ np.diag(scales)
    middle = subject.affine[:3] @ [*np.argwhere(subject.mask).mean(axis=0), 1]
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = turn, middle - turn @ middle + shift * direction
    return matrix


def participant(matrix: np.ndarray, seed: int = 0) -> Image:
    """Return a noisy volume of the built-in subject's head, moved, on another grid."""
    subject = load_subject("brainiak")
    mapping = np.linalg.inv(matrix @ subject.affine) @ GRID
    volume = ndimage.affine_transform(subject.base, mapping[:3, :3], mapping[:3, 3], SHAPE)
    noise = 0.05 * subject.mean_signal * np.random.default_rng(seed).standard_normal(SHAPE)
    return Image(np.abs(volume + noise), GRID, None)


def distance(fit: Fit, matrix: np.ndarray) -> float:
    """Return how far the brain is from the truth, mm rms."""
    subject = load_subject("brainiak")
    places = subject.affine @ np.insert(np.argwhere(subject.mask), 3, 1, axis=1).T
    return float(np.sqrt((((fit.matrix - matrix) @ places) ** 2).sum(axis=0).mean()))


@pytest.mark.parametrize(
    ("method", "scales"), [("rigid", (1, 1, 1)), ("affine", (1.05, 0.95, 1.05))]
)
@pytest.mark.slow
def test_known_moves_are_found_and_always_alike(method, scales):
    pytest.importorskip("SimpleITK")
    matrix = moves(10, 10, scales, seed=1)
    reference = participant(matrix)
    fit = register(load_subject("brainiak"), reference, method)
    assert distance(fit, matrix) < 0.4
    assert fit.dice > 0.95
    assert fit.correlation > 0.95
    assert fit.problems() == []
    lengths = np.linalg.svd(fit.matrix[:3, :3], compute_uv=False)
    assert method == "affine" or lengths == pytest.approx(np.ones(3))
    assert fit.template.shape == fit.brain.shape == SHAPE
    if method == "rigid":  # the quicker one
        again = register(load_subject("brainiak"), reference, method)
        assert (again.matrix == fit.matrix).all()


@pytest.mark.slow
@pytest.mark.parametrize(("degrees", "seed"), [(25, 0), (25, 1), (25, 2), (40, 3)])
def test_large_moves_are_found(degrees, seed):
    pytest.importorskip("SimpleITK")
    matrix = moves(degrees, 30, (1.1, 0.9, 1.1), seed)
    assert distance(register(load_subject("brainiak"), participant(matrix)), matrix) < 0.6


def test_part_of_a_brain_is_enough():
    pytest.importorskip("SimpleITK")
    matrix = moves(5, 10, (1, 1, 1), seed=2)
    whole = participant(matrix)
    # The field of view ends in the middle of the brain.
    slab = Image(whole.data[:, :, 24:], GRID @ _shifted(24), None)
    fit = register(load_subject("brainiak"), slab, "rigid")
    assert distance(fit, matrix) < 1
    assert fit.dice > 0.9


def _shifted(slices: int) -> np.ndarray:
    matrix = np.eye(4)
    matrix[2, 3] = slices
    return matrix


@pytest.mark.slow
def test_head_the_wrong_way_round_is_noticed():
    pytest.importorskip("SimpleITK")
    around = np.diag([1.0, -1.0, -1.0, 1.0])  # feet first, face down, but the header is silent
    reference = participant(moves(5, 5, (1.1, 1.1, 1.1), seed=3))
    reference = reference._replace(affine=around @ reference.affine)
    problems = register(load_subject("brainiak"), reference, "rigid").problems()
    assert any("overlap" in each for each in problems)
    assert any("correlate" in each for each in problems)


@pytest.mark.parametrize(
    ("size", "dice", "correlation", "problem"),
    [
        (1.1, 0.91, 0.76, None),
        (1.5, 0.95, 0.90, "the head would be 1.00 to 1.50 times the template's size"),
        (1.1, 0.89, 0.90, "the brains overlap by 0.89 only (Dice); good fits have 0.9 or more"),
        (1.1, 0.95, 0.74, "the images correlate by 0.74 only; good fits have 0.75 or more"),
    ],
)
def test_poor_fit_is_noticed(size, dice, correlation, problem):
    fit = Fit(np.diag([size, 1, 1, 1]), np.ones(1), np.ones(1), dice, correlation)
    assert fit.problems() == ([] if problem is None else [problem])


def test_brain_is_found_by_its_intensity():
    subject = load_subject("brainiak")
    noise = np.abs(np.random.default_rng(0).standard_normal(subject.shape))
    for volume in (subject.base + 20 * noise, 1e-3 * subject.base, subject.base * subject.mask):
        found = brain_mask(volume)
        assert 2 * (found & subject.mask).sum() > 0.96 * (found.sum() + subject.mask.sum())


@pytest.mark.parametrize(
    "volume",
    [np.zeros((20, 20, 20)), np.ones((20, 20, 20)), np.random.default_rng(0).random((9,) * 3)],
)
def test_volume_without_a_brain_is_refused(volume):
    with pytest.raises(RegistrationError, match="there is no brain in the reference"):
        register(load_subject("brainiak"), Image(volume, np.diag([3.0, 3, 3, 1]), None))


def test_unknown_method_is_refused():
    with pytest.raises(RegistrationError, match="should be affine or rigid, got 'affin'"):
        register(load_subject("brainiak"), participant(np.eye(4)), "affin")


def test_what_to_install_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "SimpleITK", None)
    with pytest.raises(BciiglError, match=r"needs SimpleITK: pip install 'bciigl\[region\]'"):
        register(load_subject("brainiak"), participant(np.eye(4)))
