"""How fast and how precise realignment is, beside SimpleITK.

Usage: OMP_NUM_THREADS=1 python benchmarks/realign.py RECORDING.nii.gz > benchmarks/realign.md
(needs SimpleITK; four minutes)
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np
from scipy import ndimage

from bciigl.brain.images import read_image
from bciigl.brain.subject import load_subject
from bciigl.source.realign import Movement, Realigner, RealignError

HEAD = """# Realignment of fMRI volumes

Made by `OMP_NUM_THREADS=1 python benchmarks/realign.py RECORDING.nii.gz`, on one core. The
recording is 40 volumes of the studyforrest localizer (80 x 80 x 35, 3 x 3 x 3.3 mm); the built-in
subject has 2 % noise in each voxel.

## Milliseconds a volume, with 64 voxels resampled

| volumes | grid | median | 99th percentile | most | volumes |
|---|---|---|---|---|---|"""
PRECISION = """
## Error in mm

Root mean square over the brain's voxels, between where they are and where they are found: median
and most of n volumes. Known moves are in mm and degrees, both at once but in the first row, drawn
at random, and made by splines of order 5, which no method here uses. Those of volumes other than
the reference are counted from where the same method finds the volume unmoved. SimpleITK: rigid,
mean squares, a quarter of the voxels, three resolutions, on fewer volumes.

| series | volumes | median | most | n | SimpleITK: median | most | n |
|---|---|---|---|---|---|---|---|"""

Found = Callable[[np.ndarray], np.ndarray]
"""A method: from a volume to the matrix of its movement, (4, 4)."""


def displaced(volume: np.ndarray, affine: np.ndarray, movement: np.ndarray) -> np.ndarray:
    """Return what is scanned if the head of a volume moves by a matrix (4, 4) in mm."""
    back = np.linalg.inv(movement @ affine) @ affine
    return ndimage.affine_transform(volume, back[:3, :3], back[:3, 3], order=5, mode="nearest")


def distance(one: np.ndarray, other: np.ndarray, places: np.ndarray) -> float:
    """Return how far apart two matrices put places (n, 3), root mean square."""
    apart = (one - other)[:3]
    return np.sqrt(((places @ apart[:, :3].T + apart[:, 3]) ** 2).sum(axis=1).mean())


def random_movement(
    rng: np.random.Generator, centre: np.ndarray, least: float, most: float
) -> Movement:
    """Return a movement by between `least` and `most` mm, and as many degrees, any way."""
    ways = rng.normal(size=(2, 3))
    ways *= rng.uniform(least, most, (2, 1)) / np.linalg.norm(ways, axis=1, keepdims=True)
    return Movement(np.concatenate([ways[0], np.deg2rad(ways[1])]), centre)


def single_movements(centre: np.ndarray) -> Iterator[Movement]:
    """Yield movements of 0.5, 1 and 2 mm or degrees along or about one axis."""
    for size in (0.5, 1.0, 2.0):
        for each in np.diag([size] * 3 + [np.deg2rad(size)] * 3):
            yield Movement(each, centre)


def simpleitk(reference: np.ndarray, affine: np.ndarray) -> Found:
    """Return SimpleITK's rigid registration: mean squares, three resolutions."""
    import SimpleITK

    SimpleITK.ProcessObject.SetGlobalDefaultNumberOfThreads(1)
    flip = np.diag([-1.0, -1.0, 1.0])  # ITK has LPS where we have RAS

    def image(volume: np.ndarray) -> "SimpleITK.Image":
        made = SimpleITK.GetImageFromArray(volume.T.astype(np.float32))
        size = np.linalg.norm(affine[:3, :3], axis=0)
        made.SetSpacing(size.tolist())
        made.SetDirection((flip @ affine[:3, :3] / size).ravel().tolist())
        made.SetOrigin((flip @ affine[:3, 3]).tolist())
        return made

    fixed = image(reference)

    def found(volume: np.ndarray) -> np.ndarray:
        moving, method = image(volume), SimpleITK.ImageRegistrationMethod()
        start = SimpleITK.CenteredTransformInitializer(
            fixed,
            fixed,
            SimpleITK.Euler3DTransform(),
            SimpleITK.CenteredTransformInitializerFilter.MOMENTS,
        )
        method.SetMetricAsMeanSquares()
        method.SetMetricSamplingStrategy(method.REGULAR)
        method.SetMetricSamplingPercentage(0.25, 1)
        method.SetInterpolator(SimpleITK.sitkLinear)
        method.SetOptimizerAsRegularStepGradientDescent(1.0, 1e-4, 200, 0.5, 1e-6)
        method.SetOptimizerScalesFromPhysicalShift()
        method.SetShrinkFactorsPerLevel([4, 2, 1])
        method.SetSmoothingSigmasPerLevel([6, 3, 2])
        method.SmoothingSigmasAreSpecifiedInPhysicalUnitsOn()
        method.SetInitialTransform(start, inPlace=False)
        result = method.Execute(fixed, moving)
        origin = np.array(result.TransformPoint((0.0, 0.0, 0.0)))
        columns = [np.array(result.TransformPoint(each)) - origin for each in np.eye(3).tolist()]
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = flip @ np.column_stack(columns) @ flip, flip @ origin
        return matrix

    return found


def errors(
    find: Found, moved: list, affine: np.ndarray, places: np.ndarray, noise: float
) -> np.ndarray:
    """Return how far from the truth a method finds moved volumes, mm.

    `moved` has volumes, and how they are moved from where the method finds them unmoved.
    """
    rng, found = np.random.default_rng(5), []
    for volume, each in moved:
        scanned = displaced(volume, affine, each) + noise * rng.normal(size=volume.shape)
        found.append(distance(find(scanned), each @ find(volume), places))
    return np.array(found)


def precision(name: str, series: list[np.ndarray], affine: np.ndarray) -> None:
    """Print rows of a table: moved volumes of a series, realigned to its first."""
    reference, others = series[0], series[1:]
    brain = np.argwhere(ndimage.gaussian_filter(reference, 1) > 0.3 * reference.max())
    places = brain @ affine[:3, :3].T + affine[:3, 3]
    realigner, theirs = Realigner(reference, affine, brain), simpleitk(reference, affine)
    centre, rng = places.mean(axis=0), np.random.default_rng(2024)

    def ours(volume: np.ndarray) -> np.ndarray:
        return realigner(volume)[0].matrix

    def random(least: float, most: float, volumes: list[np.ndarray], count: int = 40) -> list:
        drawn = (random_movement(rng, centre, least, most).matrix for _ in range(count))
        return [(volumes[number % len(volumes)], each) for number, each in enumerate(drawn)]

    rows = {
        "first, moved 0.5, 1, 2 along or about one axis": [
            (reference, each.matrix) for each in single_movements(centre)
        ],
        "first, moved 0.5 to 2 any way": random(0.5, 2, [reference]),
        "first, the same, 2 % noise": random(0.5, 2, [reference]),
        "others, moved 0.1 to 0.5 any way": random(0.1, 0.5, others),
        "others, moved 0.5 to 2 any way": random(0.5, 2, others),
        "others, jumped by 10": random(10, 10, others),
        "others, jumped by 12": random(12, 12, others),
        "others, jumped by 20": random(20, 20, others),
    }
    for row, moved in rows.items():
        cells = [name, row]
        sd = 0.02 * reference[tuple(brain.T)].mean() if "noise" in row else 0.0
        for method, few in ((ours, moved), (theirs, moved[-4:])):
            apart = errors(method, few, affine, places, sd)
            cells += [f"{np.median(apart):.3f}", f"{apart.max():.3f}", str(len(few))]
        print(f"| {' | '.join(cells)} |", flush=True)
    apart = [distance(ours(each), theirs(each), places) for each in others]
    cells = [f"{np.median(apart):.3f}", f"{max(apart):.3f}", str(len(apart))]
    print(f"| {name} | others, as they are: from us to SimpleITK | {' | '.join(cells)} | | | |")


def times(name: str, volumes: list[np.ndarray], affine: np.ndarray, count: int) -> None:
    """Print a row of a table: how long realigning and resampling takes, ms."""
    realigner = Realigner(volumes[0], affine, np.argwhere(volumes[0] > volumes[0].mean())[:64])
    taken = []
    for number in range(count):
        begun = time.perf_counter()
        with suppress(RealignError):
            realigner(volumes[1 + number % (len(volumes) - 1)])
        taken.append(1e3 * (time.perf_counter() - begun))
    cells = " | ".join(f"{each:.0f}" for each in np.percentile(taken, [50, 99, 100]))
    grid = " x ".join(map(str, volumes[0].shape))
    print(f"| {name} | {grid} | {cells} | {count} |", flush=True)


def main() -> None:
    """Print the tables."""
    data, affine, _ = read_image(sys.argv[1])
    recording, subject = list(np.moveaxis(data, 3, 0)), load_subject("brainiak")
    rng = np.random.default_rng(0)
    base, noise = subject.base, 0.02 * subject.base[subject.mask].mean()
    simulated = [base + noise * rng.normal(size=base.shape) for _ in range(12)]
    centre = affine[:3, :3] @ np.array(recording[0].shape) / 2 + affine[:3, 3]
    drawn = [random_movement(rng, centre, 1, 12).matrix for _ in range(20)]
    jumped = [displaced(recording[1], affine, each) for each in drawn]
    fine = [ndimage.zoom(each, (1.5, 1.5, 1.65), order=1) for each in recording[:3]]
    fine_affine = affine @ np.diag([1 / 1.5, 1 / 1.5, 1 / 1.65, 1])
    junk = [rng.normal(size=base.shape) for _ in range(20)]

    print(HEAD)
    times("recording", recording, affine, 400)
    times("recording, moved by 1 to 12", [recording[0], *jumped], affine, 200)
    times("recording in voxels of 2 mm", fine, fine_affine, 40)
    times("built-in subject", simulated, subject.affine, 400)
    times("built-in subject, noise alone: refused", [base, *junk], subject.affine, 40)
    print(PRECISION)
    precision("recording", recording, affine)
    precision("built-in subject", simulated, subject.affine)


if __name__ == "__main__":
    main()
