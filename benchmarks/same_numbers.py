"""Whether two versions of bciigl give the same bits: sessions and what is learned from them.

Each setting is simulated and learned from by the command line of one version. What is compared is
a digest of every array: contexts, actions, propensities, feedback, frames and learned policies.

Usage: python benchmarks/same_numbers.py OUT.json [PYTHON]   digests of one version
       python benchmarks/same_numbers.py ONE.json OTHER.json compare two of them

PYTHON is the interpreter of the version; by default this one.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel
import numpy as np
from scipy.ndimage import gaussian_filter

SHORT = "--trials 138 --set evaluation.test_trials=92"
LEARNERS = ("ai_igl", "ai_igl_paper", "igl_full_ci", "cb")
SETTINGS = {
    "paper": f"number_guessing --noise 0.05 {SHORT}",
    "half noise": f"number_guessing --noise 0.5 --seed 3 {SHORT}",
    "real noise": "number_guessing --noise 1 --seed 4 --trials 322 --set evaluation.test_trials=92",
    "epsilon-greedy": "number_guessing --noise 0.5 --agent epsilon-greedy --seed 5 --trials 322 "
    "--set evaluation.test_trials=46",
    "explore-then-commit": "number_guessing --noise 0.2 --agent explore-then-commit --trials 230 "
    "--set agent.uniform_runs=2 --set agent.learn_every=2 --set evaluation.test_trials=46",
    "catch trials": f"yes_no_with_catch_trials --noise 0.5 {SHORT}",
    "catch trials, learning": "yes_no_with_catch_trials --noise 0.3 --agent epsilon-greedy "
    "--trials 230 --set evaluation.test_trials=46",
    "six options, lapses": "gaze_typing --trials 598 --set evaluation.test_trials=46 --noise 0.1",
    "separate, frame": f"number_guessing --set recording=separate --set estimate=frame {SHORT}",
    "separate, regression": f"number_guessing --set recording=separate {SHORT} --seed 9",
    "one frame": f"number_guessing --set estimate=frame --noise 0.1 {SHORT}",
    "two options": f"number_guessing --set task.options=[a,b] --set task.catch.share=0.3 {SHORT}",
    "no judgment": "number_guessing --set task.events=[imagination,perception] "
    f"--set feedback.perception=1.0 {SHORT}",
    "sphere, motion": 'number_guessing --set brain.region={"shape":"sphere","radius":8.0} '
    f"--set brain.motion.spikes_per_minute=2 --noise 0.3 {SHORT}",
    "late response": f"number_guessing --set brain.hrf_delay=1.5 --set timing.latency=1 {SHORT}",
    "other times": "number_guessing --set timing.tr=2 --set timing.isi=5.5 --set timing.burn_in=7 "
    f"--set task.trials_per_run=30 {SHORT}",
    "imagination lapses": f"number_guessing --set human.imagination_lapse=0.2 --noise 0.2 {SHORT}",
    "fmrisim": "number_guessing --engine fmrisim --trials 8 --set task.trials_per_run=4 "
    "--set evaluation.test_trials=4",
    "own subject": f"own.yaml --noise 0.5 {SHORT}",
    "fixed policy": f"number_guessing --agent policy --seed 11 {SHORT}",
}
OWN = """name: own
task: {options: [left, right, rest]}
brain: {subject: own_subject, region: {shape: cube, center: [10, 10, 10], size: 4}}
"""


def run(python: str, folder: Path, *arguments: object) -> str:
    """Run a command of bciigl, and return what it prints."""
    command = [python, "-m", "bciigl", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout


def digest(array: np.ndarray) -> str:
    """Return a short digest of an array's values, whatever its integer or boolean type."""
    values = np.ascontiguousarray(array, float) + 0.0  # -0 is 0
    return hashlib.sha256(repr(values.shape).encode() + values.tobytes()).hexdigest()[:16]


def write_own_subject(python: str, folder: Path) -> None:
    """Fit a subject to a made-up recording."""
    rng = np.random.default_rng(0)
    place = np.linspace(-1, 1, 20)
    far = np.sqrt(sum(each**2 for each in np.meshgrid(place, place, place, indexing="ij")))
    noise = gaussian_filter(rng.standard_normal((20, 20, 20, 60)), (1, 1, 1, 0.6))
    head = np.where(far < 0.8, 800 - 200 * far, 20)[..., None] + 40 * noise
    head = np.abs(head + 3 * rng.standard_normal(noise.shape)).astype(np.float32)
    image = nibabel.Nifti1Image(head, np.diag([3.0, 3.0, 3.0, 1.0]))
    image.header.set_zooms((3, 3, 3, 2.0))
    nibabel.save(image, folder / "own_bold.nii.gz")
    run(python, folder, "subject", "fit", "own_bold.nii.gz", "--out", "own_subject")
    (folder / "own.yaml").write_text(OWN)


def arrays_of(dataset: Path) -> dict[str, str]:
    """Return digests of all arrays of a recorded session."""
    found = {}
    for path in sorted((dataset / "derivatives" / "bciigl").rglob("*_interactions.npz")):
        with np.load(path) as file:
            for name in file.files:
                known_as = {"baseline": "catch"}.get(name, name)
                found[f"{path.name[:-17]} {known_as}"] = digest(file[name])
    for path in sorted(dataset.glob("sub-*/**/*_bold.nii.gz")):
        found[f"{path.name} frames"] = digest(np.asarray(nibabel.load(path).dataobj))
    return found


def of_version(python: str) -> dict[str, dict[str, str]]:
    """Return the digests of all settings."""
    found = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_own_subject(python, folder)
        for number, (name, arguments) in enumerate(SETTINGS.items()):
            out = folder / f"session{number}"
            run(
                python,
                folder,
                "simulate",
                *arguments.split(),
                "--set",
                "learners=[cb]",
                "--out",
                out,
            )
            found[name] = arrays_of(out)
            for learner in LEARNERS:
                policy = folder / f"policy{number}_{learner}"
                text = run(
                    python, folder, "learn", out, "--learner", learner, "--out", policy, "--json"
                )
                result = json.loads(text)["learners"][learner]
                found[name][f"{learner} accuracy"] = repr(result["accuracy"])
                with np.load(policy / "learner.npz") as file:
                    for array in file.files:
                        found[name][f"{learner} {array}"] = digest(file[array])
                if name == "paper" and learner == LEARNERS[0]:
                    policy.rename(folder / "policy")
            print(f"{name}: {len(found[name])} arrays", flush=True)
    return found


def main() -> None:
    """Write digests, or compare them; exit with 1 if they differ."""
    first, *others = sys.argv[1:]
    if others and others[0].endswith(".json"):
        one, other = (json.loads(Path(each).read_text()) for each in (first, others[0]))
        differing = 0
        for name in {**one, **other}:
            ours, theirs = one.get(name, {}), other.get(name, {})
            odd = [key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key)]
            differing += len(odd)
            print(f"{name}: {len(ours)} arrays, {len(odd)} differ", *odd[:6], sep="\n  ")
        sys.exit(1 if differing else 0)
    found = of_version(others[0] if others else sys.executable)
    Path(first).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
