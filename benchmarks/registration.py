"""Where the built-in subject lies in MNI space, by four affine registrations.

Usage: python benchmarks/registration.py mni_icbm152_t1_tal_nlin_sym_09a.nii.gz   (two minutes)

The image is the brain of the symmetric ICBM 2009a template, without the skull, in voxels of 1 mm.
The first registration is the one in `bciigl.brain.subject`.
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy import ndimage, optimize

from bciigl.brain.images import read_image
from bciigl.brain.subject import load_subject

PLACE, VOXEL = np.array([-38.0, -47.0, 45.0]), np.array([14.5, 41.5, 30.5])
"""The middle of the default region, in MNI mm and in voxels."""


def mutual_information(one: np.ndarray, other: np.ndarray) -> float:
    """Return the normalised mutual information of two images."""
    counts = np.histogram2d(one, other, 32)[0]
    shares = [counts.sum(axis=1), counts.sum(axis=0), counts.ravel()]
    logs = [each[each > 0] / each.sum() for each in shares]
    first, second, both = (-(each * np.log(each)).sum() for each in logs)
    return (first + second) / both


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Return the correlation of two images."""
    return np.corrcoef(one, other)[0, 1]


def minimum(cost: Callable[[np.ndarray], float], parameters: int) -> np.ndarray:
    """Return where a cost is least, searched from 0."""
    best = np.zeros(parameters)
    for _ in range(3):
        options = {"maxiter": 8, "xtol": 0.01, "ftol": 1e-6}
        best = optimize.minimize(cost, best, method="Powell", options=options).x
    return best


def main() -> None:
    """Print the registrations, and how far apart they put the brain's voxels."""
    subject, mni = load_subject("brainiak"), read_image(sys.argv[1])
    voxels = np.argwhere(ndimage.binary_dilation(subject.mask, iterations=2))
    template, mask = (each[tuple(voxels.T)] for each in (subject.template, subject.mask))
    brain = ndimage.gaussian_filter((mni.data > 0.05 * mni.data.max()).astype(float), 2.0)
    anatomy, to_mni = ndimage.gaussian_filter(mni.data, 1.5), np.linalg.inv(mni.affine)

    def places(parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        matrix = subject.affine[:3, :3] + 0.06 * parameters[-9:].reshape(3, 3)
        origin = PLACE + (parameters[:3] if len(parameters) == 12 else 0) - matrix @ VOXEL
        return matrix, origin, voxels @ matrix.T + origin

    found = {"the affine": (voxels @ subject.affine[:3, :3].T + subject.affine[:3, 3])[mask]}
    for name, measure, ours, theirs in (
        ("mutual information", mutual_information, template, anatomy),
        ("outline", correlation, mask.astype(float), brain),
    ):
        for how, parameters in {"default region fixed": 9, "free": 12}.items():

            def cost(tried: np.ndarray, measure=measure, ours=ours, theirs=theirs) -> float:
                at = places(tried)[2] @ to_mni[:3, :3].T + to_mni[:3, 3]
                return -measure(ours, ndimage.map_coordinates(theirs, at.T, order=1))

            matrix, origin, where = places(minimum(cost, parameters))
            print(f"{name}, {how}:\n{np.column_stack([matrix, origin]).round(3)}", flush=True)
            for other, there in found.items():
                away = np.linalg.norm(where[mask] - there, axis=1)
                print(f"  {other}: median {np.median(away):.1f} mm, at most {away.max():.1f} mm")
            found[f"{name}, {how}"] = where[mask]


if __name__ == "__main__":
    main()
