"""Made-up recordings with the layout of those of real brains."""

from pathlib import Path

import numpy as np

RUNS, CATEGORIES, BLOCK, VOXELS = 6, 8, 4, 64
PEOPLE = ("one", "two")


def write_recordings(folder: Path, *, people=PEOPLE, **changes) -> Path:
    """Write files for all beds; `changes` replace arrays of the fMRI file, or leave out by None."""
    rng = np.random.default_rng(0)
    folder.mkdir(exist_ok=True)
    blocks = [np.r_[np.full(3, -1), np.repeat(rng.permutation(CATEGORIES), BLOCK)]]
    category = np.concatenate([np.r_[rng.permutation(blocks[0][:3]), blocks[0][3:], -1, -1]] * RUNS)
    run = np.repeat(np.arange(1, RUNS + 1), len(category) // RUNS)
    response = np.vstack([rng.normal(size=(CATEGORIES, VOXELS)), np.zeros(VOXELS)])
    late = np.concatenate([np.r_[-1, -1, category[run == each][:-2]] for each in np.unique(run)])
    volumes = 1000 + 20 * response[late] + 10 * rng.normal(size=(len(run), VOXELS))
    fmri = {"volumes": volumes, "category": category, "run": run, **changes}
    np.savez(folder / "haxby_slice.npz", **{k: v for k, v in fmri.items() if v is not None})
    frequency, session = np.tile(np.arange(4), 8 * 6), np.repeat(np.arange(6), 32)
    lights = rng.normal(size=(len(frequency), 5)) + 2 * np.eye(4, 5)[frequency]
    np.savez(folder / "ssvep.npz", features=lights, frequency=frequency, session=session)
    for each in people:
        correct = np.arange(90) % 3 > 0
        answers = rng.normal(size=(90, 4)) + 3 * correct[:, None]
        np.savez(folder / f"errp_{each}.npz", features=answers, correct=correct)
    return folder
