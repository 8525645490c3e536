"""Games put together from recordings of real brains: test beds A, B and C.

No recording at hand has a person's thought and their answer to a guess about it in the same trial.
So both are taken from recordings, each used once as long as they last: the noise in them is real.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from bciigl.base.arrays import read_arrays
from bciigl.base.seeds import Seed
from bciigl.learn.interactions import (
    InputError,
    MaybeArray,
    check_matrix,
    check_vector,
    check_whole,
)
from bciigl.study.grid import StudyError
from bciigl.study.learning import Sessions, check_arrays
from bciigl.study.recorded import normalise

BEDS = {
    "A": "fMRI of one person looking at pictures; in a match, a random pattern is added",
    "B": "the same fMRI, with the EEG of another person who sees a right or a wrong action",
    "C": "EEG of people looking at flickering lights, with the same EEG answers",
}
CATEGORIES, FREQUENCIES, VOXELS = 8, 3, 64
LAG = 2  # volumes of 2.5 s: the response to a picture comes about 5 s after it
PATTERNS, VOLUMES, LEAK = (0.5, 0.25), (24, 48), 0.5
FMRI, LIGHTS, ANSWERS = "haxby_slice.npz", "ssvep.npz", "errp_*.npz"
FILES = {"A": (FMRI,), "B": (FMRI, ANSWERS), "C": (LIGHTS, ANSWERS)}


@dataclass(frozen=True)
class Setting:
    """One kind of game.

    `pattern` is the RMS of what is added in a match, in SDs of a voxel: bed A's judgment, and 0 if
    there is none. `volumes` are those of each option, by default all. With `control` the picture
    that is shown is never that of the guess: perception is then of no use. `leak` is how much of
    the context is added to the feedback. `person` is whose EEG answers are used.
    """

    bed: str
    options: int = 3
    pattern: float | None = None
    volumes: int | None = None
    control: bool = False
    leak: float = 0.0
    person: str | None = None

    def __str__(self) -> str:
        """Return it in words."""
        judged = f"judgment {self.pattern:g}" if self.pattern else "no judgment"
        words = [f"K = {self.options}", f"answers of {self.person}" if self.person else judged]
        words += [f"{self.volumes} volumes"] if self.volumes else []
        words += ["leak"] if self.leak else []
        return ", ".join(words + (["control"] if self.control else []))


def settings(beds: Sequence[str], people: Sequence[str]) -> list[Setting]:
    """Return all settings of some beds, with the answers of some people."""
    versions, sizes = (False, True), (3, 5, 8)
    found = [Setting("A", k, s, control=c) for k in sizes for s in PATTERNS for c in versions]
    found += [Setting("A", k, PATTERNS[0], volumes=n) for k in sizes for n in VOLUMES]
    found += [Setting("A", 3, 0.0, control=c, leak=leak) for c in versions for leak in (0.0, LEAK)]
    found += [Setting("B", k, person=each) for k in sizes for each in people]
    found += [Setting("C", person=each) for each in people]
    return [each for each in found if each.bed in beds]


@dataclass(frozen=True)
class Recordings:
    """The recordings of a folder, checked; `digest` is a hash of the files."""

    digest: str
    volumes: MaybeArray = None  # (volumes, voxels), z-scored by run
    category: MaybeArray = None  # that a volume responds to; -1 at rest
    run: MaybeArray = None
    windows: MaybeArray = None  # EEG, (windows, features)
    light: MaybeArray = None  # the frequency looked at, from 0
    session: MaybeArray = None
    # Features, and whether correct, by person.
    answers: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    @property
    def people(self) -> tuple[str, ...]:
        """Whose answers there are."""
        return tuple(self.answers)


def find_files(folder: str | os.PathLike, beds: Sequence[str]) -> list[Path]:
    """Return the files that beds need, or say which one is missing."""
    found = []
    for bed in beds:
        for pattern in FILES[bed]:
            files = sorted(Path(folder).glob(pattern))
            if not files:
                raise StudyError(
                    f"{Path(folder) / pattern}: no such file; bed {bed} needs it, and it does not "
                    "come with bciigl: docs/real_brains.md says where to get it (--data FOLDER)"
                )
            found += files
    return sorted(set(found))


def load(folder: str | os.PathLike, beds: Sequence[str]) -> Recordings:
    """Return the recordings in a folder that beds need."""
    digest, files = hashlib.sha256(), find_files(folder, beds)
    for path in files:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return _read(tuple(files), digest.hexdigest())


@lru_cache(maxsize=1)
def _read(files: tuple[Path, ...], digest: str) -> Recordings:
    found: dict[str, Any] = {}
    answers: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for path in files:
        arrays = read_arrays(path)
        try:
            if path.name == FMRI:
                found |= _fmri(arrays)
            elif path.name == LIGHTS:
                found |= _lights(arrays)
            else:
                features = check_matrix(arrays["features"], "features")
                correct = check_vector(arrays["correct"].astype(float), "correct", len(features))
                if len(np.unique(correct > 0)) < 2:
                    raise InputError("correct must be true of some answers and false of others")
                answers[path.stem.removeprefix("errp_")] = features, correct > 0
        except KeyError as error:
            raise StudyError(f"{path}: array {error.args[0]} is missing") from None
        except InputError as error:
            raise StudyError(f"{path}: {error}") from None
    return Recordings(digest, **found, answers=answers)


def _fmri(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    volumes = check_matrix(arrays["volumes"], "volumes")
    shown = check_whole(arrays["category"], "category", len(volumes))
    run = check_whole(arrays["run"], "run", len(volumes))
    scored, category = np.zeros(volumes.shape), np.full(len(volumes), -1)
    for each in np.unique(run):
        rows = np.flatnonzero(run == each)
        trend = np.vander(np.linspace(-1, 1, len(rows)), 3)
        left = volumes[rows] - trend @ np.linalg.lstsq(trend, volumes[rows], rcond=None)[0]
        scored[rows] = left / np.maximum(left.std(axis=0), 1e-9)
        category[rows[LAG:]] = shown[rows[:-LAG]]
        if not np.isin(range(CATEGORIES), category[rows]).all() or category.max() >= CATEGORIES:
            ask = f"category must have all of 0 to {CATEGORIES - 1} in each run, and nothing else"
            raise InputError(f"{ask}, but run {each} has not")
    return {"volumes": scored, "category": category, "run": run}


def _lights(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    features = check_matrix(arrays["features"], "features")
    light = check_whole(arrays["frequency"], "frequency", len(features))
    session = check_whole(arrays["session"], "session", len(features))
    if not set(light) <= set(range(FREQUENCIES + 1)):
        raise InputError(f"frequency must be 0 (rest) to {FREQUENCIES}, got {light.max()}")
    looking = light > 0
    return {
        "windows": features[looking],
        "light": light[looking] - 1,
        "session": session[looking],
    }


def make_game(setting: Setting, data: Recordings, seed: Seed) -> Sessions:
    """Return a game as sessions to learn from and to be tested on, in SDs of the noise.

    The same seed draws the same runs, options, contexts and guesses whatever the judgment.
    """
    arrays = (_eeg if setting.bed == "C" else game_of_volumes)(setting, data, seed)
    if setting.bed == "C":
        arrays["feedback"] = _answers(setting, data, arrays["reward"], seed)
    sessions = normalise(check_arrays(arrays))
    given, truth = sessions["train"]
    if setting.bed == "B" and truth is not None:
        answers = _answers(setting, data, truth.match > 0, seed)
        given = replace(given, feedback=np.hstack([given.feedback, answers]))
        sessions["train"] = sessions["train"]._replace(interactions=given)
    return sessions


def game_of_volumes(setting: Setting, data: Recordings, seed: Seed) -> dict[str, np.ndarray]:
    """Return the arrays of a game whose contexts and perception are fMRI volumes."""
    category, run = data.category, data.run
    learned = _to_learn(run, seed)
    options = seed.rng("options").permutation(CATEGORIES)
    options, others = options[: setting.options], options[setting.options :]
    features = data.volumes[:, _responding(data, learned)]

    right = (category[:, None] == options).argmax(axis=1)
    of_game = np.isin(category, options)
    rows = seed.rng("contexts").permutation(np.flatnonzero(learned & of_game))
    rows = rows[: setting.volumes and setting.volumes * setting.options]
    action = seed.rng("guesses").integers(setting.options, size=len(rows))
    match = right[rows] == action
    shown = options
    if setting.control:
        enough = len(others) >= setting.options
        shown = others[: setting.options] if enough else np.roll(options, -1)
    seen = other_volumes(category, run, learned, shown[action], run[rows], seed.rng("seen"))
    feedback = features[seen] + setting.leak * features[rows]
    if setting.pattern:
        pattern = seed.rng("pattern").normal(size=features.shape[1])
        pattern *= setting.pattern / np.sqrt(np.mean(pattern**2))
        feedback += np.outer(match, pattern)
    tested = np.flatnonzero(~learned & of_game)
    return {
        **_contexts(features, right, run, rows, tested),
        **{"action": action, "reward": match, "feedback": feedback},
        **{"noise": features[learned], "noise_run": run[learned]},
    }


def _eeg(setting: Setting, data: Recordings, seed: Seed) -> dict[str, np.ndarray]:
    """Return the arrays, but for feedback, of a game whose contexts are EEG."""
    learned = _to_learn(data.session, seed)
    rows = seed.rng("contexts").permutation(np.flatnonzero(learned))
    action = seed.rng("guesses").integers(setting.options, size=len(rows))
    found = _contexts(data.windows, data.light, data.session, rows, np.flatnonzero(~learned))
    return {**found, "action": action, "reward": data.light[rows] == action}


def _contexts(
    features: np.ndarray, right: np.ndarray, run: np.ndarray, rows: np.ndarray, tested: np.ndarray
) -> dict[str, np.ndarray]:
    named = {"context": features, "label": right, "run": run}
    tests = {f"test_{name}": each[tested] for name, each in named.items()}
    return {**{name: each[rows] for name, each in named.items()}, **tests}


def _to_learn(run: np.ndarray, seed: Seed) -> np.ndarray:
    """Tell which rows are to be learned from: a third of the runs is for testing."""
    runs = seed.rng("runs").permutation(np.unique(run))
    return ~np.isin(run, runs[: len(runs) // 3])


def _responding(data: Recordings, learned: np.ndarray) -> np.ndarray:
    """Return the voxels that differ most between any picture and rest, by Welch's t."""
    seeing, rest = (
        data.volumes[learned & each] for each in (data.category >= 0, data.category < 0)
    )
    error = np.sqrt(seeing.var(axis=0) / len(seeing) + rest.var(axis=0) / len(rest))
    t = np.abs(seeing.mean(axis=0) - rest.mean(axis=0)) / np.maximum(error, 1e-9)
    return np.argsort(-t, kind="stable")[:VOXELS]


def other_volumes(
    category: np.ndarray,
    run: np.ndarray,
    allowed: np.ndarray,
    wanted: np.ndarray,
    avoided: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return a volume of the wanted category for each trial, of another run than that to avoid.

    None is taken again as long as there are others.
    """
    used, found = np.zeros(len(category), int), []
    for each, own in zip(wanted, avoided, strict=True):
        there = np.flatnonzero(allowed & (category == each) & (run != own))
        taken = rng.choice(there[used[there] == used[there].min()])
        used[taken] += 1
        found.append(taken)
    return np.array(found)


def _answers(setting: Setting, data: Recordings, match: np.ndarray, seed: Seed) -> np.ndarray:
    """Return EEG answers to matches and mismatches; none twice as long as they last."""
    person = setting.person or ""
    features, correct = data.answers[person]
    rng, found = seed.rng("answers", person), np.zeros((len(match), features.shape[1]))
    for kind in (True, False):
        there, rows = np.flatnonzero(correct == kind), np.flatnonzero(match == kind)
        times = -(-len(rows) // len(there))
        dealt = np.concatenate([rng.permutation(there) for _ in range(times)])
        found[rows] = features[dealt[: len(rows)]]
    return found
