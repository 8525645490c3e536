"""How time and memory grow with the number of examples of labelled data.

Usage: OMP_NUM_THREADS=1 python benchmarks/labelled.py [ROWS ...]   (about six minutes)

One repeat of a study, all learners and both rules of Table 1, on synthetic data of 50 features and
10 classes: by default 10 000, 100 000 and 1 000 000 rows. Each size is run in a process of its own,
so that its peak of memory is its own, too.
"""

import json
import resource
import subprocess
import sys
import time

import numpy as np

from bciigl.labelled.paper import TABLE1_FEEDBACK
from bciigl.labelled.rules import Labelled
from bciigl.labelled.study import LabelledStudy, describe

ROWS = (10_000, 100_000, 1_000_000)
FEATURES, CLASSES, SEPARATION = 50, 10, 3.0


def synthetic(rows: int) -> Labelled:
    """Return Gaussian classes whose means lie in a few directions, with some features squared."""
    rng = np.random.default_rng(0)
    label = rng.integers(CLASSES, size=rows)
    means = rng.normal(size=(CLASSES, FEATURES))
    means *= SEPARATION / np.linalg.norm(means, axis=1, keepdims=True)
    features = means[label] + rng.normal(size=(rows, FEATURES))
    features[:, ::5] **= 2  # so that no learner's model is exactly right
    return Labelled("synthetic", features.astype(np.float32), label, tuple("abcdefghij"))


def measure(rows: int) -> dict[str, float]:
    """Return seconds, gigabytes at the peak, and accuracies of one repeat."""
    data = synthetic(rows)
    study = LabelledStudy([describe(data)], TABLE1_FEEDBACK, repeats=1)
    found: dict[str, float] = {}
    for cell in study.cells:
        began = time.perf_counter()
        result = cell.run()
        found[f"{cell.feedback} s"] = time.perf_counter() - began
        for each in result["results"]:
            found[f"{cell.feedback} {each['learner']} %"] = 100 * each["right"] / each["tested"]
    # Kilobytes on Linux, bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    found["peak GB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9
    return found


def main(sizes: list[int]) -> None:
    """Print a table of all sizes."""
    before = None
    for rows in sizes:
        command = [sys.executable, __file__, "--one", str(rows)]
        found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        seconds = sum(value for name, value in found.items() if name.endswith(" s"))
        print(f"{rows} rows: {seconds:.1f} s, peak {found['peak GB']:.2f} GB")
        if before is not None:
            print(f"  {rows / before[0]:g} x the rows: {seconds / before[1]:.1f} x the time")
        for name, value in found.items():
            if name != "peak GB":
                print(f"  {name}: {value:.1f}")
        before = rows, seconds


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(int(sys.argv[2]))))
    else:
        main([int(each) for each in sys.argv[1:]] or list(ROWS))
