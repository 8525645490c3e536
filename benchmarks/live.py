"""How fast, how idle and how flat in memory a live session is.

- From a volume's file being complete to the region's values: 80 x 80 x 35 voxels, realigned, one
  thread, in the watched folder of a real session's feed.
- CPU of scanner and session together at TR 1.5 s, in real time, beside their start.
- Memory of the session over hours of volumes, accelerated.

Usage: OMP_NUM_THREADS=1 python benchmarks/live.py [latency|idle|memory] [RECORDING.nii.gz]

The recording is a real one to take volumes from, such as 40 volumes of 80 x 80 x 35 voxels; without
it they are those of the built-in subject, on a larger grid.
"""

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from scipy import ndimage

from bciigl.brain.images import read_image
from bciigl.brain.region import Region
from bciigl.brain.subject import load_subject
from bciigl.protocol import load
from bciigl.source.folder_feed import FolderFeed
from bciigl.source.live import Arrival
from bciigl.source.volumes import write_nifti_volume

SHAPE = (80, 80, 35)
VOLUMES, APART = 200, 0.25
IDLE_SECONDS = 60.0
TRIALS = 530
"""Of 27 s each: four hours."""


def volumes(recording: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Return volumes, (volumes, x, y, z), and their affine."""
    if recording is not None:
        image = read_image(recording)
        return np.moveaxis(image.data, 3, 0).astype(np.float32), image.affine
    base = load_subject("brainiak").base
    grown = ndimage.zoom(base, np.array(SHAPE) / base.shape, order=1)
    rng = np.random.default_rng(0)
    noisy = grown + 0.02 * grown.mean() * rng.standard_normal((40, *SHAPE))
    return noisy.astype(np.float32), np.diag([3.0, 3.0, 3.3, 1.0])


def latency(recording: str | None) -> None:
    """Print how long volumes take from the file to the region's values."""
    data, affine = volumes(recording)
    shape = data.shape[1:]
    protocol = load("number_guessing", changes={"timing.tr": 2.0})
    middle = np.array(shape) // 2
    region = Region(middle + np.argwhere(np.ones((4, 4, 4))), affine)
    complete, ready = {}, {}
    arrived = threading.Semaphore(0)

    def take(arrival: Arrival) -> None:
        ready[arrival.number] = time.perf_counter()
        arrived.release()

    with tempfile.TemporaryDirectory() as folder:
        feed = FolderFeed(Path(folder), protocol, region, shape)
        feed.take = take
        feed.begin_run("train", 1, ())
        for number in range(VOLUMES):
            path = Path(folder, f"run_{number + 1:05}.nii")
            write_nifti_volume(path, data[number % len(data)], affine, 2.0, 2.0 * number)
            complete[number] = time.perf_counter()
            time.sleep(APART)
        for _ in range(VOLUMES):
            arrived.acquire(timeout=5.0)
        feed.close()
    times = 1000 * np.array([ready[each] - complete[each] for each in sorted(ready)])
    what = "of the built-in subject" if recording is None else "of a real recording"
    print(f"{len(times)} of {VOLUMES} volumes {what}, {' x '.join(map(str, shape))}, realigned")
    print(
        f"file complete to region's values: median {np.median(times):.0f} ms, "
        f"99th percentile {np.percentile(times, 99):.0f} ms, at most {times.max():.0f} ms"
    )


def rehearse(folder: str, speed: float, *settings: str) -> tuple[subprocess.Popen, ...]:
    """Begin a rehearsal; return the scanner and the session."""
    command = [sys.executable, "-m", "bciigl"]
    changed = [word for each in settings for word in ("--set", each)]
    to = str(Path(folder, "volumes"))
    scan = ["scan", "number_guessing", "--to", to, "--speed", str(speed), *changed]
    with Path(folder, "scan.log").open("w") as log:
        scanner = subprocess.Popen([*command, *scan], stderr=log)
    while not Path(to, "scanner.json").exists():
        time.sleep(0.1)
    run = ["run", "number_guessing", "--volumes", to, "--out", str(Path(folder, "out"))]
    with Path(folder, "run.log").open("w") as log:
        session = subprocess.Popen([*command, *run, *changed], stderr=log, stdout=log)
    return scanner, session


def cpu_seconds(process: subprocess.Popen) -> float:
    """Return the CPU time that a process has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(process: subprocess.Popen) -> float:
    """Return the MB that a process holds in memory."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def idle() -> None:
    """Print the CPU that a rehearsal needs in real time."""
    with tempfile.TemporaryDirectory() as folder:
        both = rehearse(folder, 1.0, "task.trials=20", "task.trials_per_run=20")
        time.sleep(20.0)  # the start
        before = [cpu_seconds(each) for each in both]
        time.sleep(IDLE_SECONDS)
        shares = [
            100 * (cpu_seconds(each) - first) / IDLE_SECONDS
            for each, first in zip(both, before, strict=True)
        ]
        for each in both:
            each.kill()
            each.wait()
    print(
        f"{IDLE_SECONDS:g} s in real time, TR 1.5 s: scanner {shares[0]:.1f} %, session "
        f"{shares[1]:.1f} %, together {sum(shares):.1f} % of one core"
    )


def memory() -> None:
    """Print the memory of a session that takes hours of volumes."""
    with tempfile.TemporaryDirectory() as folder:
        settings = (f"task.trials={TRIALS}", "live.realign=false", "brain.noise=0.5")
        scanner, session = rehearse(folder, 400.0, *settings)
        to, seen = Path(folder, "volumes"), []
        while session.poll() is None:
            count = sum(1 for _ in os.scandir(to))
            if count - (seen[-1][0] if seen else 0) >= 800:
                seen.append((count, resident(session)))
                print(f"{count} volumes: {seen[-1][1]:.0f} MB", flush=True)
            time.sleep(0.5)
        scanner.kill()
        scanner.wait()


def main() -> None:
    """Measure what is asked for, or all."""
    names = {"latency": latency, "idle": idle, "memory": memory}
    recording = next((each for each in sys.argv[1:] if each not in names), None)
    for name in [each for each in sys.argv[1:] if each in names] or names:
        names[name](recording) if name == "latency" else names[name]()


if __name__ == "__main__":
    main()
